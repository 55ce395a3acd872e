"""What all ways have in common; javascript.mjs repeats it."""

QUEUE = "SINK_QUEUE"
"""A queue without a consumer."""

LISTED = "list:"
LISTED_COUNT = 100

TRANSACTION_KEYS = ("t:0", "t:1", "t:2", "t:3")

ALARM_MS = 4_000_000_000_000
