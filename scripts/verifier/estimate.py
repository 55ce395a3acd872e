"""What a run will ask of its Worker, and how long it will take: told before it starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .cases import Case, Pause
from .probes import Probe

POLLS = 8
"""Requests that a wait for the platform takes, about."""

ALONE_S = 3.0
"""How long a case that has the queue to itself takes, about; the others run beside it."""

AT_ONCE = 16
SPARE_S = 20.0


@dataclass(frozen=True)
class Estimate:
    """Requests and minutes, to be read as orders of magnitude."""

    requests: int
    minutes: float

    def told(self) -> str:
        """One sentence."""
        return f"about {self.requests} requests in about {self.minutes:.1f} minutes"


def estimate(
    cases: Iterable[Case], probes: Iterable[Probe], round_trip_s: float, *, cleans: bool
) -> Estimate:
    """The estimate for what is still to be run, at this distance from the Worker."""
    requests = alone_s = longest_s = 0.0
    for case in cases:
        exchanges = case.exchanges()
        requests += sum(POLLS if exchange.until_s is not None else 1 for exchange in exchanges)
        requests += len({exchange.object for exchange in exchanges}) if cleans else 0
        alone_s += ALONE_S if case.alone else 0
        pauses_s = sum(move.ms for move in case.moves if isinstance(move, Pause)) / 1000
        longest_s = max(longest_s, pauses_s)
    lanes: dict[str, float] = {}
    last_s = 0.0
    for probe in probes:
        requests += probe.requests
        if probe.last:
            last_s += probe.seconds
        else:
            lane = probe.lane or probe.id
            lanes[lane] = lanes.get(lane, 0) + probe.seconds
    vectors_s = max(alone_s, longest_s, requests * round_trip_s / AT_ONCE)
    seconds = SPARE_S + max(vectors_s + lanes.pop("queue", 0), *lanes.values(), 0.0) + last_s
    return Estimate(round(requests), seconds / 60)
