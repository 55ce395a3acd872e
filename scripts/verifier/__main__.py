"""The command line: see --help."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import time
import traceback
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import NoReturn, TypeVar
from urllib.parse import urlsplit

from display import console, progress
from rich.console import Console
from rich.markup import escape

from . import report
from .cases import SETS, Case, VectorError, load
from .client import Client, Stuck
from .run import Outcome, Runner
from .selftest import fool_with_doubles, fool_with_mutants

Found = TypeVar("Found")

HOLDS, DIFFERS, STUCK, CRASHED = range(4)
LOG_SHOWN = 4000
DESCRIPTION = """\
Runs every conformance case of the three specifications (tests/vectors) against a Worker: one started
locally, or with --url one that is deployed. Prints a table of interface, case, section and result.

A result is `holds`, `differs`, or `unsettled`: a claim that only the cloud can settle, run against a
local Worker."""
EPILOG = """\
exit status:
  0  every case holds (or is unsettled)
  1  a case differs; with --self-test: a broken double went unnoticed
  2  the run got stuck: the Worker could not be started or reached, or did not answer in time
  3  the verifier itself crashed or was called wrongly, or a vector is malformed"""


def main() -> int:
    """Parses the arguments, runs, and returns the exit status."""
    options = _arguments()
    output = console()
    try:
        cases = _chosen(load(), options.set, options.case)
        return _verify(options, cases, output)
    except VectorError as malformed:
        output.print(f"[bold red]vectors:[/] {escape(str(malformed))}")
        return CRASHED
    except Stuck as stuck:
        output.print(f"[bold red]stuck:[/] {escape(str(stuck))}")
        return STUCK


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # argparse would exit with 2, which means that the run got stuck.
        self.print_usage(sys.stderr)
        self.exit(CRASHED, f"{self.prog}: {message}\n")


def _arguments() -> argparse.Namespace:
    parser = _Parser(
        prog="scripts/verify",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--url", help="verify this deployed Worker instead of starting one")
    parser.add_argument(
        "--token", help="the deployed Worker's token (default: the environment variable TOKEN, with --url)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as JSON too")
    parser.add_argument(
        "--self-test", action="store_true", help="show that the verifier can fail, with broken doubles"
    )
    parser.add_argument("--case", action="append", metavar="ID", help="run this case only (may be repeated)")
    parser.add_argument("--set", choices=[*SETS, "all"], default="all", help="which to run (default: all)")
    parser.add_argument(
        "--pythonic",
        action="store_true",
        help="run scripts through yungong.pythonic; a case that asks for what has no Python value or call is"
        " listed as meaningless, with the reason",
    )
    options = parser.parse_args()
    if options.pythonic and (options.url is not None or options.self_test):
        parser.error("--pythonic is for a local run of the cases")
    if options.url is not None and options.token is None:
        options.token = os.environ.get("TOKEN")
    if (options.url is None) != (options.token is None):
        parser.error("--url and --token (or the variable TOKEN) go together")
    if options.url is not None and not _is_confidential(options.url):
        parser.error("the token must not go over http to another machine: use https")
    if options.token is not None and not options.token.isascii():
        parser.error("a token is ASCII")
    if options.json is not None and not options.json.absolute().parent.is_dir():
        parser.error(f"the folder of {options.json} does not exist")
    return options


def _is_confidential(url: str) -> bool:
    address = urlsplit(url)
    return address.scheme == "https" or address.hostname in ("127.0.0.1", "::1", "localhost")


def _chosen(cases: list[Case], wanted_set: str, ids: list[str] | None) -> list[Case]:
    unknown = set(ids or ()) - {case.id for case in cases}
    if unknown:
        raise VectorError(f"unknown case {', '.join(sorted(unknown))}")
    chosen = [
        case
        for case in cases
        if (wanted_set == "all" or case.set == wanted_set) and (not ids or case.id in ids)
    ]
    if not chosen:
        raise VectorError("--set and --case leave no case to run")
    return chosen


@contextlib.contextmanager
def _worker(options: argparse.Namespace, output: Console) -> Iterator[tuple[str, str]]:
    """The address and token of the Worker to ask: the deployed one, or a local one with nothing in it yet."""
    if options.url:
        yield options.url, options.token
        return
    from repository import LocalHost

    host = LocalHost(variables={"FACE": "pythonic"} if options.pythonic else None)
    try:
        host.start()
    except Exception as error:
        raise Stuck(f"the local Worker did not start: {error}") from error
    try:
        yield host.url, host.token
    except Stuck:
        output.print("the local Worker's log, its end:", style="bold")
        output.print(escape(host.log()[-LOG_SHOWN:]), highlight=False)
        raise
    finally:
        host.stop()


def _verify(options: argparse.Namespace, cases: list[Case], output: Console) -> int:
    started = time.monotonic()
    with _worker(options, output) as (url, token):
        outcomes = _await(_run(cases, url, token, in_cloud=bool(options.url), excuses=options.pythonic))
    platform = options.url or ("local workerd, Python values" if options.pythonic else "local workerd")
    report.show(outcomes, output, platform, time.monotonic() - started)
    if options.json:
        report.write_json(options.json, outcomes, platform)
    held = not any(outcome.verdict == "differs" for outcome in outcomes)
    if options.self_test and not _test_itself(options, outcomes, output):
        return DIFFERS
    return HOLDS if held else DIFFERS


def _test_itself(options: argparse.Namespace, outcomes: list[Outcome], output: Console) -> bool:
    # A Worker of their own: what the run before left in the queue would come among the doubles' messages.
    with _worker(options, output) as (url, token):
        doubles = _await(fool_with_doubles(url, token, load()))
    mutants = fool_with_mutants(outcomes)
    report.show_findings("broken double", doubles, output)
    report.show_findings("mutated answers", mutants, output)
    return all(finding.noticed for finding in doubles + mutants)


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


async def _run(cases: list[Case], url: str, token: str, *, in_cloud: bool, excuses: bool) -> list[Outcome]:
    with progress(console(to_stderr=True)) as display:
        task = display.add_task("verifying", total=len(cases))

        def told(outcome: Outcome) -> None:
            display.advance(task)
            if outcome.verdict == "differs":
                display.console.print(f"[bold red]differs[/] {escape(outcome.case.id)}")

        async with Client(url, token) as client:
            await _greet(client, url)
            return await Runner(client, in_cloud=in_cloud, excuses=excuses, on_outcome=told).run_all(cases)


async def _greet(client: Client, url: str) -> None:
    """Make sure that it is the verification application that answers."""
    answer = await client.run("greeting", "fetch", [{"kind": True}])
    if (answer.status, answer.body) != (200, {"results": [{"value": "fetch"}]}):
        raise Stuck(f"no verification application answers at {url}: status {answer.status}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception:
        traceback.print_exc()
        sys.exit(CRASHED)
