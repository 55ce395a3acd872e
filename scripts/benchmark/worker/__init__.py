"""What runs inside workerd."""
