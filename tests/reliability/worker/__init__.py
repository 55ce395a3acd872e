"""Inside the Worker: the deployed one, with counters, a judge of hostile text and storage that refuses."""
