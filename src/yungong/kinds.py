"""The kinds of events: what an application can be entered for."""

from __future__ import annotations

from typing import Final, Literal, get_args

Kind = Literal[
    "fetch",
    "queue",
    "scheduled",
    "durable-fetch",
    "durable-alarm",
    "durable-transaction",
    "durable-rpc",
    "durable-websocket-message",
    "durable-websocket-close",
    "durable-websocket-error",
]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

RESPONDING: Final[frozenset[Kind]] = frozenset({"fetch", "durable-fetch"})
"""The kinds whose handler gets a request and returns a response."""

EXCLUSIVE: Final = frozenset({"durable-transaction", "durable-block"})
"""The kinds that have their object to themselves; 持久独占 (durable-block) has a limit and no event yet."""
