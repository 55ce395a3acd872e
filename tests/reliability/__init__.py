"""Reliability: each workload has faults and one checker for each promise; scripts/soak runs all."""
