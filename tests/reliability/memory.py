"""What the Worker has in use once nothing more can be collected.

The size of the process does not tell whether something is kept: the engine collects late, a proxy holds its
Python object until then, and what was freed is not given back. A Worker that is one line of JavaScript grew
from 170 MB to 480 here in its first 30 000 requests, and no more in the next 10 000.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from repository import LocalHost
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.client import Client

_COLLECT_SECONDS = 60
# HeapProfiler.collectGarbage waits for a turn that workerd does not give; a sampling's end collects at once.
_COLLECT = ("enable", "startSampling", "stopSampling", "disable")
_ROUNDS = 100
_IDLE_ROUNDS = 2


@dataclass(frozen=True)
class InUse:
    """What is in use in the Worker's isolate."""

    engine_bytes: int
    """JavaScript's, Python's memory apart."""
    python_bytes: int
    references: int
    """To JavaScript's objects, from Python."""


BOUNDS = InUse(engine_bytes=16_000_000, python_bytes=500_000, references=400)
"""How much each may grow. Over 20 000 mixed requests of a warm Worker it was 540 000, -1 200 and -6 here.
A new one's engine takes 12 MB first, in about 5 000 requests.
"""


def in_use(host: LocalHost) -> InUse:
    """Collect until nothing more comes of it, and return what is left; the Worker must be idle.

    When the engine has collected a proxy, Python lets go of its object at the next event, and of the proxies
    that it held: those are for the next collection.
    """
    rounds: list[InUse] = []
    with Client(host) as client:
        for _ in range(_ROUNDS):
            rounds.append(InUse(_collect(host), **client.ask("/memory", {})))
            last = rounds[-1 - _IDLE_ROUNDS :]
            if len(last) > _IDLE_ROUNDS and last[-1].references >= last[0].references:
                break
    return rounds[-1]


def growth(early: InUse, late: InUse) -> dict[str, int]:
    """Return by how much each has grown."""
    return {name: getattr(late, name) - value for name, value in vars(early).items()}


def check_growth(early: InUse, late: InUse) -> list[str]:
    """No more is in use late than early, but for what caches take."""
    bounds = vars(BOUNDS)
    return [
        f"{name} in use grew by {more}, over {bounds[name]}"
        for name, more in growth(early, late).items()
        if more > bounds[name]
    ]


def _collect(host: LocalHost) -> int:
    """Have the engine collect all garbage, and return the bytes that it has in use after."""
    # Wrangler asks for an origin, tells first what it has kept of the log, and does not answer a close.
    origin = Origin("http://localhost")
    with connect(
        host.inspector_url, origin=origin, open_timeout=_COLLECT_SECONDS, close_timeout=0, max_size=None
    ) as inspector:
        for name in _COLLECT:
            _ask(inspector, f"HeapProfiler.{name}")
        usage = _ask(inspector, "Runtime.getHeapUsage")
    return int(usage["usedSize"] + usage["embedderHeapUsedSize"] + usage["backingStorageSize"])


def _ask(inspector: ClientConnection, method: str) -> Any:
    inspector.send(json.dumps({"id": 1, "method": method}))
    while True:
        message = json.loads(inspector.recv(_COLLECT_SECONDS))
        if message.get("id") == 1:
            return message["result"]
