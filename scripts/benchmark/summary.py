"""Medians and quartiles of rounds, and whether a target is reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from .cases import Case, Target

Rounds = list[dict[str, float]]
"""Microseconds of one turn: for each round, for each lane."""


@dataclass(frozen=True)
class Spread:
    """A median and its quartiles."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """A target, the ratio (or difference) of medians, its quartiles over the rounds."""

    target: Target
    value: float
    low: float
    high: float
    reached: bool


@dataclass(frozen=True)
class Row:
    """What one case came to."""

    case: Case
    lanes: dict[str, Spread]
    verdicts: list[Verdict]


def spread(values: Sequence[float]) -> Spread:
    """The median and quartiles of `values`."""
    if len(values) < 2:
        return Spread(values[0], values[0], values[0])
    low, _, high = quantiles(values, n=4, method="inclusive")
    return Spread(median(values), low, high)


def row(case: Case, rounds: Rounds) -> Row:
    """Sum up the rounds of a case."""
    lanes = {name: spread([one[name] for one in rounds]) for name in rounds[0]}
    verdicts = []
    for target in case.targets:
        # Ratios within a round: what slowed the machine down slowed both.
        each = spread([_value(target, one[target.of], one[target.against]) for one in rounds])
        value = _value(target, lanes[target.of].median, lanes[target.against].median)
        if target.kind == "extra":  # a small difference of large medians says little
            value = each.median
        verdicts.append(
            Verdict(
                target,
                value,
                each.low,
                each.high,
                meets(target, value, target.bound),
            )
        )
    return Row(case, lanes, verdicts)


def meets(target: Target, value: float, bound: float) -> bool:
    """Whether `value` is on the right side of `bound`."""
    return value >= bound if target.kind == "faster" else value <= bound


def _value(target: Target, ours: float, other: float) -> float:
    match target.kind:
        case "faster":
            return other / ours
        case "slower":
            return ours / other
        case "extra":
            return ours - other
