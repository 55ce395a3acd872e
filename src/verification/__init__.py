"""The application that the verifier drives: it runs scripts of interface calls, given as data."""
