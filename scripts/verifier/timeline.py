"""Where a timeline's marks stand, in percent of the width: the drawing fits a desktop and a phone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from .forms import Json

LEFT, RIGHT = 3.0, 97.0
MANY = 40
"""Above so many moments the marks are small and bear no numbers."""
MOST_LEVELS = 12
"""Of small marks; above, they cover each other."""
MOST_STEPS = 6
"""Between two ticks; more labels would touch on a phone."""
KINDS = frozenset({"set", "fire", "fail", "retry", "delivery", "ack", "give-up", "read"})
LINE, MARGIN = 26, 14


@dataclass(frozen=True)
class Mark:
    """One moment as it is drawn: its middle, `x` in percent of the width and `y` in pixels."""

    number: int
    x: float
    y: float
    kind: str
    lane: Json
    label: Json
    at: str
    after: str
    """The time since the mark before it in the same lane; empty for the first."""


@dataclass(frozen=True)
class Lane:
    """One lane's name, where it stands, and its base line."""

    name: Json
    top: float
    base: float
    marks: list[Mark]


@dataclass(frozen=True)
class Drawing:
    """A timeline, laid out."""

    lanes: list[Lane]
    ticks: list[tuple[float, str]]
    height: float
    radius: float
    numbered: bool

    @property
    def marks(self) -> list[Mark]:
        """Every mark, in order of time."""
        return sorted((mark for lane in self.lanes for mark in lane.marks), key=lambda mark: mark.number)


def lay_out(moments: list[Json]) -> Drawing:
    """Places a timeline's moments; marks that would touch on a phone stand one above the other."""
    ordered = sorted(moments, key=lambda one: one["at_ms"])
    numbered = len(ordered) <= MANY
    radius, gap = (9.0, 6.5) if numbered else (3.5, 2.5)
    first, last = ordered[0]["at_ms"], ordered[-1]["at_ms"]
    names: list[Json] = []
    for one in ordered:
        if one["lane"] not in names:
            names.append(one["lane"])
    lanes: list[Lane] = []
    top = 0.0
    for name in names:
        own = [(number, one) for number, one in enumerate(ordered, 1) if one["lane"] == name]
        places = [_x(one["at_ms"], first, last) for _, one in own]
        levels = list(_levels(places, gap, MANY if numbered else MOST_LEVELS))
        base = top + LINE + (max(levels) + 1) * (2 * radius + 3) + 6
        marks = []
        for index, ((number, one), x, level) in enumerate(zip(own, places, levels, strict=True)):
            after = one["at_ms"] - own[index - 1][1]["at_ms"] if index else None
            marks.append(
                Mark(
                    number=number,
                    x=x,
                    y=base - radius - 7 - level * (2 * radius + 3),
                    kind=one["kind"] if one["kind"] in KINDS else "other",
                    lane=name,
                    label=one["label"],
                    at=duration(one["at_ms"]),
                    after="" if after is None else f"+{duration(after)}",
                )
            )
        lanes.append(Lane(name, top, base, marks))
        top = base + MARGIN
    return Drawing(lanes, list(_ticks(first, last)), top + LINE, radius, numbered)


def duration(ms: float) -> str:
    """A time in the unit that suits it."""
    if abs(ms) < 1000:
        return f"{ms:.0f} ms"
    if abs(ms) < 600_000:
        return f"{ms / 1000:.1f} s"
    return f"{ms / 60_000:.1f} min"


def _x(at_ms: float, first: float, last: float) -> float:
    share = (at_ms - first) / (last - first) if last > first else 0.5
    return round(LEFT + share * (RIGHT - LEFT), 2)


def _levels(places: list[float], gap: float, most: int) -> Iterator[int]:
    """The lowest level that is free at each place; from the topmost on, marks cover each other."""
    taken: list[float] = []
    for x in places:
        level = next((index for index, end in enumerate(taken) if end + gap <= x), len(taken))
        level = min(level, most - 1)
        taken[level : level + 1] = [x]
        yield level


def _ticks(first: float, last: float) -> Iterator[tuple[float, str]]:
    """A few round times, from the first moment on."""
    span = last - first
    if span <= 0:
        yield _x(first, first, last), duration(first)
        return
    unit = 10 ** math.floor(math.log10(span / MOST_STEPS))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * MOST_STEPS >= span)
    for count in range(math.ceil(first / step), math.floor(last / step) + 1):
        at_ms = count * step
        yield _x(at_ms, first, last), f"{at_ms:g} ms" if last < 1000 else f"{at_ms / 1000:g} s"
