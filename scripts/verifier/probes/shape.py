"""What a probe is: a clause, an expectation, a measurement of the platform and a judge of the measurement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..forms import Json, Words, words

if TYPE_CHECKING:
    from .bench import Bench

Measurement = dict[str, Json]
Verdict = Literal["holds", "differs", "unsettled"]


@dataclass(frozen=True)
class Judged:
    """A verdict with the sentence that says why."""

    verdict: Verdict
    detail: Words


def holds(en: str, zh: str) -> Judged:
    """The platform does as the specification has it."""
    return Judged("holds", words(en, zh))


def differs(en: str, zh: str) -> Judged:
    """The platform does something else."""
    return Judged("differs", words(en, zh))


def unsettled(en: str, zh: str) -> Judged:
    """The measurement decides nothing."""
    return Judged("unsettled", words(en, zh))


@dataclass(frozen=True)
class Moment:
    """One thing that happened, for the timeline: when by the Worker's clock, and in which lane."""

    at_ms: int
    lane: Words
    label: Words
    kind: str


@dataclass(frozen=True)
class Limit:
    """A limit as it is specified and as it was observed; None where it is not known."""

    name: Words
    specified: float | None
    observed: float | None
    unit: str


@dataclass(frozen=True)
class Probe:
    """One claim.

    `seconds` and `requests` are estimates. Probes of one `lane` run one after another, for they share a
    queue; without one a probe runs beside all others. `slow` ones can be left out. `last` ones disturb all.
    """

    id: str
    interface: str
    section: str
    clause: str
    title: Words
    expectation: Words
    seconds: float
    requests: int
    measure: Callable[[Bench], Awaitable[Measurement]]
    judge: Callable[[Measurement], Judged]
    timeline: Callable[[Measurement], list[Moment]] = lambda _: []
    limits: Callable[[Measurement], list[Limit]] = lambda _: []
    lane: str = ""
    slow: bool = False
    last: bool = False


@dataclass(frozen=True)
class Result:
    """What one probe came to."""

    probe: Probe
    measurement: Measurement
    judged: Judged
    seconds: float

    def told(self) -> dict[str, Json]:
        """The report's form."""
        probe = self.probe
        # What could not be measured has no moments and no limits.
        settled = self.judged.verdict != "unsettled"
        moments = probe.timeline(self.measurement) if settled else []
        first = min((moment.at_ms for moment in moments), default=0)
        return {
            "id": probe.id,
            "interface": probe.interface,
            "section": probe.section,
            "clause": probe.clause,
            "title": probe.title,
            "expectation": probe.expectation,
            "verdict": self.judged.verdict,
            "detail": self.judged.detail,
            "measurement": self.measurement,
            "timeline": [
                {
                    "at_ms": moment.at_ms - first,
                    "lane": moment.lane,
                    "label": moment.label,
                    "kind": moment.kind,
                }
                for moment in sorted(moments, key=lambda moment: moment.at_ms)
            ],
            "limits": [
                {
                    "name": limit.name,
                    "specified": limit.specified,
                    "observed": limit.observed,
                    "unit": limit.unit,
                }
                for limit in (probe.limits(self.measurement) if settled else [])
            ],
            "seconds": round(self.seconds, 1),
        }
