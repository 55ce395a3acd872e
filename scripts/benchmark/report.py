"""What the user sees: progress while cases run, the tables, the JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from .cases import WAYS, Target
from .memory import LIST_BOUND_MIB, Memory
from .summary import Rounds, Row, Spread, Verdict


def show(rows: list[Row], memory: Memory | None, output: Console) -> None:
    """The table of all rows, then memory, then the count of targets."""
    table = Table(pad_edge=False, title="µs: median (quartiles); ratios of medians (quartiles of the rounds)")
    for name in ("operation", "size"):
        table.add_column(name, overflow="fold")
    for way in WAYS:
        table.add_column(way, justify="right")
    table.add_column("ratio, target [aim]", overflow="fold")
    for row in rows:
        times = [_time(row.lanes.get(way)) for way in WAYS]
        told = "\n".join(_verdict(one) for one in row.verdicts)
        table.add_row(row.case.operation, row.case.size, *times, told)
    if rows:
        output.print(table)
    if memory is not None:
        _show_memory(memory, output)
    verdicts = [one for row in rows for one in row.verdicts]
    reached = sum(one.reached for one in verdicts)
    output.print(f"{reached} of {len(verdicts)} targets reached", highlight=False)


def write_json(
    path: Path, rows: list[Row], rounds: dict[tuple[str, str], Rounds], memory: Memory | None
) -> None:
    """The same as data, with the rounds."""
    document: dict[str, Any] = {
        "rows": [_data(row, rounds[row.case.operation, row.case.size]) for row in rows]
    }
    if memory is not None:
        document["memory_mib"] = {
            "operations": memory.operations,
            "series": memory.series,
            "growth_in_second_half": memory.growth,
            "largest_list": {
                "idle": memory.list_idle,
                "peak": memory.list_peak,
                "after": memory.list_after,
                "bound": LIST_BOUND_MIB,
            },
        }
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _data(row: Row, rounds: Rounds) -> dict[str, Any]:
    times = {f"{way}_us": row.lanes[way].median if way in row.lanes else None for way in WAYS}
    targets = [
        {
            "against": one.target.against,
            "kind": one.target.kind,
            "bound": one.target.bound,
            "aim": one.target.aim,
            "value": one.value,
            "quartiles": [one.low, one.high],
            "reached": one.reached,
        }
        for one in row.verdicts
    ]
    quartiles = {name: [lane.low, lane.high] for name, lane in row.lanes.items()}
    return {
        "operation": row.case.operation,
        "size": row.case.size,
        **times,
        "quartiles": quartiles,
        "targets": targets,
        "rounds": rounds,
    }


def _show_memory(memory: Memory, output: Console) -> None:
    series = " ".join(f"{value:.0f}" for value in memory.series)
    output.print(
        f"memory over {memory.operations} operations, MiB: {series} (second half: {memory.growth:+.1f})",
        highlight=False,
    )
    extra = memory.list_peak - memory.list_idle
    output.print(
        f"the largest list, MiB: idle {memory.list_idle:.0f}, peak {memory.list_peak:.0f}, "
        f"after {memory.list_after:.0f}; peak above idle {extra:.0f}, target < {LIST_BOUND_MIB:.0f}: "
        f"{_word(extra < LIST_BOUND_MIB)}",
        highlight=False,
    )


def _time(lane: Spread | None) -> str:
    if lane is None:
        return "–"  # noqa: RUF001  # a dash for what does not exist
    return f"{_figure(lane.median)} ({_figure(lane.low)}–{_figure(lane.high)})"  # noqa: RUF001


def _verdict(one: Verdict) -> str:
    target = one.target
    value = f"{one.value:.2f} ({one.low:.2f}–{one.high:.2f})"  # noqa: RUF001
    colour = "green" if one.reached else "bold red"
    return f"{_meaning(target)} {value}: [{colour}]{_word(one.reached)}[/]"


def _meaning(target: Target) -> str:
    aim = "" if target.aim is None else f" \\[{target.aim:g}]"
    match target.kind:
        case "faster":
            return f"{target.against} ÷ {target.of} ≥ {target.bound:g}{aim}:"
        case "slower":
            return f"{target.of} ÷ {target.against} ≤ {target.bound:g}{aim}:"
        case "extra":
            return f"{target.of} - {target.against} ≤ {target.bound:g}{aim} µs:"


def _word(reached: bool) -> str:
    return "reached" if reached else "NOT reached"


def _figure(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"
