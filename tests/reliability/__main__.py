"""scripts/soak: the long forms of all workloads, one after another; exit code 0 only without violations."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import display
from repository import LocalHost
from rich.table import Table

from . import concurrency, hostile, kills, model, purefuzz, queue_model, refusals, retries, turns
from .host import reliability_host
from .workload import Effort, Report

WITHOUT_WORKER = {"pure": purefuzz.run, "atheris": purefuzz.run_guided}


@dataclass(frozen=True)
class Long:
    """A workload's long form: how many runs it is meant to reach, and its share of the time."""

    name: str
    runs: int
    share: float
    run: Callable[[LocalHost, Effort], Report] | None = None


LONG = (
    Long(refusals.NAME, 1, 0.02, refusals.run),
    Long(retries.NAME, 25, 0.04, retries.run),
    Long(turns.NAME, 40, 0.02, turns.run),
    Long("hurried", 1, 0.02, turns.run_hurried),
    Long(model.NAME, 20_000, 0.16, model.run),
    Long(queue_model.NAME, 1_000, 0.08, queue_model.run),
    Long(concurrency.NAME, 20_000, 0.16, concurrency.run),
    Long(hostile.NAME, 1_000_000, 0.2, hostile.run),
    Long("linearity", 10_000, 0.08, hostile.run_linearity),
    Long("pure", 200_000, 0.02),
    Long("atheris", 10**9, 0.04),
    Long(kills.NAME, 100, 0.2, kills.run),
)


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="the time for all workloads (60)")
    parser.add_argument(
        "--seed", type=int, default=random.randrange(2**31), help="by default another each time"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument(
        "--only",
        choices=[workload.name for workload in LONG],
        metavar="WORKLOAD",
        help=", ".join(workload.name for workload in LONG),
    )
    options = parser.parse_args()
    chosen = [workload for workload in LONG if options.only in (None, workload.name)]
    output = display.console(to_stderr=True)
    output.print(f"seed {options.seed}")
    warnings.simplefilter("ignore")  # of Hypothesis, about long texts
    reports = []
    left_s = options.minutes * 60
    with display.progress(output) as progress:
        for place, workload in enumerate(chosen):
            started = time.monotonic()
            # What a workload does not use of its share, the later ones have.
            share = workload.share / sum(other.share for other in chosen[place:])
            task = progress.add_task(workload.name, total=workload.runs)
            effort = Effort(
                options.seed,
                workload.runs,
                max(1.0, left_s * share),
                lambda done, task=task: progress.update(task, completed=done),  # type: ignore[misc]
            )
            report = _run(workload, effort)
            took_s = time.monotonic() - started
            left_s -= took_s
            report.figures["seconds"] = round(took_s, 1)
            progress.update(task, completed=report.runs)
            reports.append(report)
    _show(reports)
    if options.json:
        results = {"seed": options.seed, "workloads": [report.as_json() for report in reports]}
        options.json.write_text(json.dumps(results, ensure_ascii=False, indent=2) + "\n", "utf-8")
    return 1 if any(report.violations for report in reports) else 0


def _run(workload: Long, effort: Effort) -> Report:
    try:
        if workload.run is None:
            return WITHOUT_WORKER[workload.name](effort)
        with reliability_host() as host:
            try:
                # The Worker's start does not count.
                return workload.run(host, replace(effort, _started=time.monotonic()))
            except Exception as error:
                error.add_note(host.log()[-3000:])
                raise
    except Exception:
        return Report(
            workload.name, effort.seed, violations=[f"the workload failed:\n{traceback.format_exc()}"]
        )


def _show(reports: list[Report]) -> None:
    table = Table("workload", "runs", "faults", "violations", "figures")
    for report in reports:
        figures = ", ".join(f"{name} {value}" for name, value in report.figures.items())
        table.add_row(report.name, str(report.runs), str(report.faults), str(len(report.violations)), figures)
    display.console().print(table)
    for report in reports:
        if report.violations:
            print(report.text())


if __name__ == "__main__":
    sys.exit(main())
