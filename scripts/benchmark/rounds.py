"""Running a case: its lanes in turn, round after round, so that noise hits all alike."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from .cases import Case, Lane, names
from .host import Client
from .summary import Rounds

_FEWEST = 3
_FIRST = 4
_DELIVERY_SECONDS = 90.0
_POLL_SECONDS = 0.2


def run(client: Client, case: Case, rounds: int, budget_ms: float, advance: Callable[[], None]) -> Rounds:
    """Measure a case; `advance` is called after each round."""
    text = case.text()
    best = {name: _first_us(client, case, lane, text, budget_ms) for name, lane in case.lanes.items()}
    results = []
    for _ in range(rounds):
        took = {}
        for name, lane in case.lanes.items():
            count = _count(case, best[name], budget_ms)
            took[name] = _measure(client, case, lane, text, count)
            best[name] = min(best[name], took[name])
        results.append(took)
        advance()
    return results


def read_batch(client: Client, case: Case, rounds: int, budget_ms: float) -> Rounds:
    """Have a batch delivered; its consumer measures by itself."""
    wanted = {"body": json.loads(case.text()), "rounds": rounds, "budget_ms": budget_ms}
    client.post("/deliver", wanted)
    deadline = time.monotonic() + _DELIVERY_SECONDS
    while time.monotonic() < deadline:
        results: Rounds | None = client.get("/read")
        if results is not None:
            return results
        time.sleep(_POLL_SECONDS)
    raise RuntimeError(
        f"no batch was read within {_DELIVERY_SECONDS:g} seconds:\n{client.host.log()[-2000:]}"
    )


def _first_us(client: Client, case: Case, lane: Lane, text: str, budget_ms: float) -> float:
    """About how long one turn takes, from loops that grow until the clock can tell."""
    count = _FIRST
    while True:
        took_us = _measure(client, case, lane, text, count)
        if took_us * count > budget_ms * 250 or count == case.most:
            return took_us
        count = min(count * 4, case.most)


def _count(case: Case, turn_us: float, budget_ms: float) -> int:
    """How many turns of the loop fill the budget."""
    return min(max(round(budget_ms * 1000 / turn_us), _FEWEST), case.most)


def _measure(client: Client, case: Case, lane: Lane, text: str, count: int) -> float:
    wanted = {
        "way": lane.way,
        "in_javascript": lane.way == "js",
        "operation": lane.operation,
        "text": text,
        "count": count,
        "names": names(case, count),
        "stored": lane.stored,
        "target": lane.target,
        "object": case.object,
        "ballast": case.ballast,
    }
    # Below the clock's step nothing is known: half a step is assumed.
    return max(float(client.post("/measure", wanted)["microseconds"]), 500 / count)
