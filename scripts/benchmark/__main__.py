"""scripts/bench: measures, prints a table, writes JSON. No test: its exit code says nothing of targets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from display import console, progress

from . import cases, memory, report, rounds, startup
from .cases import Case, Target
from .host import Client, benchmark_host
from .summary import Rounds, Row, row


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    budget_ms: float
    starts: int
    operations: int


THOROUGH = Effort(rounds=15, budget_ms=60, starts=15, operations=100_000)
QUICK = Effort(rounds=5, budget_ms=25, starts=2, operations=20_000)

Advance = Callable[[], None]


@dataclass
class Results:
    """What has been measured so far."""

    rows: list[Row] = field(default_factory=list)
    rounds: dict[tuple[str, str], Rounds] = field(default_factory=dict)
    memory: memory.Memory | None = None

    def add(self, case: Case, measured: Rounds) -> None:
        """Sum up one case."""
        self.rows.append(row(case, measured))
        self.rounds[case.operation, case.size] = measured


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument(
        "--only", choices=cases.OPERATIONS, metavar="OPERATION", help=", ".join(cases.OPERATIONS)
    )
    options = parser.parse_args()
    results = measure(QUICK if options.quick else THOROUGH, options.only)
    report.show(results.rows, results.memory, console())
    if options.json:
        report.write_json(options.json, results.rows, results.rounds, results.memory)
    return 0


def measure(effort: Effort, only: str | None) -> Results:
    """Run every case, or those of one operation, with a display of the progress."""

    def wanted(operation: str) -> bool:
        return only in (None, operation)

    chosen = [case for case in cases.CASES if wanted(case.operation)]
    results = Results()
    with progress(console(to_stderr=True)) as display:

        def task(name: str, total: int) -> Advance:
            number = display.add_task(name, total=total)
            return lambda: display.advance(number)

        batches = [case for case in cases.READ_BATCHES if wanted(case.operation)]
        if chosen or batches:
            with benchmark_host() as host:
                client = Client(host)
                for case in chosen:
                    advance = task(f"{case.operation} {case.size}", effort.rounds)
                    measured = rounds.run(client, case, effort.rounds, effort.budget_ms, advance)
                    results.add(case, measured)
                for case in batches:
                    advance = task(f"{case.operation} {case.size}", 1)
                    results.add(case, rounds.read_batch(client, case, effort.rounds, effort.budget_ms))
                    advance()
        if wanted(cases.COLD_START):
            measured = startup.run(effort.starts, task(cases.COLD_START, effort.starts))
            results.add(_cold_start(), measured)
        if wanted(cases.MEMORY):
            with benchmark_host() as host:
                results.memory = memory.run(host, effort.operations, task(cases.MEMORY, 10))
    return results


def _cold_start() -> Case:
    target = Target("sdk", "slower", cases.COLD_START_BOUND)
    return Case(cases.COLD_START, "first answer", lambda: "", {}, (target,))


if __name__ == "__main__":
    sys.exit(main())
