"""Benchmarks: the package beside the SDK's wrapper, the raw JavaScript objects and a JavaScript Worker."""
