"""What refusing a hostile text costs, as the text grows up to the limits: it must stay linear."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.client import Client

from .workload import Effort, Report

SIZES = (262_144, 524_288, 1_048_576, 2_000_000)
BATCH_SIZES = (131_072, 262_144, 524_288, 1_000_000)
ROUNDS = 5
STEEP = 2.83
"""What a doubling may multiply the cost by, over all sizes: halfway from a line's 2 to a square's 4."""

NOISE_S = 0.02
"""What costs less is not judged."""


def repeated(part: str, start: str = "", end: str = "") -> Callable[[int], str]:
    """Return what makes a text of about a size."""
    return lambda size: start + part * max(1, (size - len(start) - len(end)) // len(part)) + end


SHAPES: dict[str, tuple[str, Callable[[int], str]]] = {
    "deep brackets": ("refuse-value", lambda size: "[" * (size // 2) + "]" * (size // 2)),
    "deep objects": ("refuse-value", lambda size: '{"":' * (size // 5) + "1" + "}" * (size // 5)),
    "open brackets": ("refuse-value", repeated("[")),
    "escapes": ("refuse-value", repeated("\\u0041", '["$"],"', '"')),
    "backslashes": ("refuse-value", repeated("\\\\", '[1e999,"', '"]')),
    "quotes": ("refuse-value", repeated('\\"', '[1e999,"', '"]')),
    "brackets in a string": ("refuse-value", repeated("[{", '[1e999,"', '"]')),
    "members": ("refuse-value", repeated('"k":1,', "{", '"$a":1e999}')),
    "dollar members": ("refuse-value", repeated('"$k":1,', '{"$x":{"$数字":1},', '"a":1}')),
    "dollar records": ("refuse-value", repeated('{"$k":1},', "[", '{"$数字":1}]')),
    "dollar strings": ("refuse-value", repeated('"$k" ,', "[", '{"$数字":1}]')),
    "spaces": ("refuse-value", repeated(" ", '[{"$a"', ":1e999}]")),
    "spaces in braces": ("refuse-value", repeated("{ ", "[", "")),
    "a long number": ("refuse-value", repeated("1")),
    "a long fraction": ("refuse-value", repeated("1", "[1e999,0.", "]")),
    "a long exponent": ("refuse-value", repeated("0", "1e", "999")),
    "exponents": ("refuse-value", repeated("1e100,", "[", "1e999]")),
    "empty strings": ("refuse-value", repeated('"",', "[", '{"$数字":1}]')),
    "a batch of members": ("batch", repeated('"k":1,', '[{"body":{', '"$数字":1}}]')),
    "a batch of items": ("batch", repeated('{"body":1},', "[", '{"body":1}]')),
    "a batch of unknown members": ("batch", repeated('"k":1,', "[{", '"body":1}]')),
    "an option": ("options", repeated("\\u0041", '{"prefix":"', '","x":1}')),
    "members of options": ("options", repeated('"k":1,', "{", '"limit":0}')),
}


def check_linear(shape: str, costs_s: list[float]) -> list[str]:
    """The last size, a doubling beyond each one before, does not cost as a square would."""
    first, last = max(costs_s[0], NOISE_S / 4), costs_s[-1]
    doublings = len(costs_s) - 1
    if last > NOISE_S and last / first >= STEEP**doublings:
        return [f"{shape}: {doublings} doublings take it from {first:.4f} s to {last:.4f} s"]
    return []


def measure(client: Client, effort: Effort, report: Report) -> None:
    """Measure every shape at every size; the least of some rounds, without what sending it costs."""
    for shape, (kind, make) in SHAPES.items():
        if not effort.goes_on(report.runs):
            return
        sizes = BATCH_SIZES if kind == "batch" else SIZES
        costs_s = [_cost(client, kind, make(size)) for size in sizes]
        report.runs += len(sizes)
        report.figures[shape] = [round(cost_s * 1000, 2) for cost_s in costs_s]
        report.check(check_linear(shape, costs_s))


def _cost(client: Client, kind: str, text: str) -> float:
    """Return the least time of one refusal: of three in one request, less one, halved."""
    least = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for place, times in enumerate((1, 3)):
            started = time.perf_counter()
            given = client.ask("/judge", {"keys": [], "inputs": [(kind, text)], "times": times})
            least[place] = min(least[place], time.perf_counter() - started)
            if "error" not in given[0]:
                raise ValueError(f"a text of {len(text)} characters for {kind} was not refused: {text[:80]}")
    return max(0.0, (least[1] - least[0]) / 2)
