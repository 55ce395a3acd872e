"""The command line: see --help."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import traceback
from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, TypeVar

from display import console
from rich.console import Console
from rich.markup import escape

from . import html, report
from .arguments import CRASHED, DIFFERS, HOLDS, PROBES_SET, STUCK, parse
from .cases import SETS, Case, VectorError, load
from .client import Client, Stuck
from .probes import PROBES, Probe
from .probes.bench import Redeploy
from .run import Outcome, uses_queue
from .selftest import fool_with_doubles, fool_with_mutants
from .session import Findings, Run

if TYPE_CHECKING:
    from repository import LocalHost

Found = TypeVar("Found")

LOG_SHOWN = 4000
LOCAL_DEPLOYMENT_S = 15
DEPLOYMENT_S = 180


def main() -> int:
    """Parses the arguments, runs, and returns the exit status."""
    options = parse()
    output = console()
    try:
        if options.from_report:
            html.write(options.html, html.read(options.from_report))
            return HOLDS
        if options.rehearse:
            return _rehearse(output)
        cases, probes = _chosen(load(), options)
        return _verify(options, cases, probes, output)
    except VectorError as malformed:
        output.print(f"[bold red]vectors:[/] {escape(str(malformed))}")
        return CRASHED
    except html.ReportError as wrong:
        output.print(f"[bold red]report:[/] {escape(str(wrong))}")
        return CRASHED
    except Stuck as stuck:
        output.print(f"[bold red]stuck:[/] {escape(str(stuck))}")
        return STUCK


def _chosen(cases: list[Case], options: argparse.Namespace) -> tuple[list[Case], list[Probe]]:
    ids = set(options.case or ())
    unknown = ids - {case.id for case in cases} - {probe.id for probe in PROBES}
    if unknown:
        raise VectorError(f"unknown case {', '.join(sorted(unknown))}")
    chosen = [case for case in cases if options.set in ("all", case.set) and (not ids or case.id in ids)]
    probes = [
        probe
        for probe in PROBES
        if options.set in ("all", PROBES_SET)
        and not options.pythonic
        and (probe.id in ids if ids else not (options.quick and probe.slow))
    ]
    if not chosen and not probes:
        raise VectorError("--set and --case leave no case to run")
    return chosen, probes


@contextlib.contextmanager
def _local_worker(output: Console, *, pythonic: bool = False) -> Iterator[LocalHost]:
    """A local Worker with nothing in it yet."""
    from repository import LocalHost

    host = LocalHost(variables={"FACE": "pythonic"} if pythonic else None)
    try:
        host.start()
    except Exception as error:
        raise Stuck(f"the local Worker did not start: {error}") from error
    try:
        yield host
    except Stuck:
        output.print("the local Worker's log, its end:", style="bold")
        output.print(escape(host.log()[-LOG_SHOWN:]), highlight=False)
        raise
    finally:
        host.stop()


def _verify(options: argparse.Namespace, cases: list[Case], probes: list[Probe], output: Console) -> int:
    if options.url:
        deploy = Redeploy(lambda: _deploy(options.deploy), DEPLOYMENT_S) if options.deploy else None
        run = Run(cases, probes, options.url, options.state, options.anew, deploy)
        findings = _await(_carry_out(run, options.url, options.token, output))
    else:
        with _local_worker(output, pythonic=options.pythonic) as host:
            restart = Redeploy(lambda: asyncio.to_thread(host.restart), LOCAL_DEPLOYMENT_S)
            run = Run(cases, probes, None, None, False, restart, options.pythonic)
            findings = _await(_carry_out(run, host.url, host.token, output))
    report.show(findings, output)
    told = report.told(findings)
    if options.json:
        report.write_json(options.json, told)
    if options.html:
        html.write(options.html, told)
    if options.self_test and not _test_itself(options, findings.outcomes, output):
        return DIFFERS
    return status_of(findings)


def status_of(findings: Findings) -> int:
    """The exit status: what a probe says of the local platform is no difference of the cloud's."""
    verdicts = [outcome.verdict for outcome in findings.outcomes]
    if findings.platform.where == "cloud":
        verdicts += [result.judged.verdict for result in findings.results]
    return DIFFERS if "differs" in verdicts else HOLDS


async def _carry_out(run: Run, url: str, token: str, output: Console) -> Findings:
    async with Client(url, token) as client:
        return await run.carry_out(client, output)


async def _deploy(command: str) -> None:
    process = await asyncio.create_subprocess_shell(command)
    if await process.wait():
        raise Stuck(f"the command of --deploy ended with status {process.returncode}")


def _test_itself(options: argparse.Namespace, outcomes: list[Outcome], output: Console) -> bool:
    if options.url:
        doubles = _await(fool_with_doubles(options.url, options.token, load()))
    else:
        # A Worker of their own: what the run before left in the queue would come among the doubles' messages.
        with _local_worker(output) as host:
            doubles = _await(fool_with_doubles(host.url, host.token, load()))
    mutants = fool_with_mutants(outcomes)
    report.show_findings("broken double", doubles, output)
    report.show_findings("mutated answers", mutants, output)
    return all(finding.noticed for finding in doubles + mutants)


def _rehearse(output: Console) -> int:
    from .faults import FAULTS
    from .rehearsal import endure, rehearse
    from .standins import STAND_INS

    with _local_worker(output) as host:
        findings = _await(rehearse(host.url, host.token, STAND_INS))
        report.show_findings("stand-in", findings, output)
        core = [case for case in load() if case.set == SETS[0] and not uses_queue(case)]
        for fault in FAULTS:
            found = _await(endure(host.url, host.token, core, [fault]))
            report.show_findings("fault", found, output)
            findings += found
    return HOLDS if all(finding.noticed for finding in findings) else DIFFERS


def _await(work: Coroutine[None, None, Found]) -> Found:
    """Runs to the end; a Stuck within groups of tasks comes out alone."""
    try:
        return asyncio.run(work)
    except ExceptionGroup as group:
        stuck, others = group.split(Stuck)
        if others is not None or stuck is None:
            raise
        error: Exception = stuck
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        raise error from group


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception:
        traceback.print_exc()
        sys.exit(CRASHED)
