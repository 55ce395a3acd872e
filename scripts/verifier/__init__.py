"""The conformance verifier: runs the cases of tests/vectors against a Worker and says what differs."""
