"""One run: who answers, what is still to be settled, the cases and probes, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from display import console, progress
from rich.console import Console
from rich.markup import escape

from .cases import Case
from .cleaning import clear
from .client import Client
from .estimate import estimate
from .platform import Platform, describe, source_digest, verifier_digest
from .probes import Probe
from .probes.bench import Redeploy
from .probes.shape import Result
from .probing import Prober
from .record import Record
from .run import Outcome, Runner

STRAY_S = 5.0
"""How long a queue may still deliver what the last cases sent."""

CLOCK_TOLD_MS = 5_000


@dataclass(frozen=True)
class Findings:
    """What a run came to."""

    platform: Platform
    outcomes: list[Outcome]
    results: list[Result]
    started: datetime
    ended: datetime
    requests: int
    retried: dict[str, int]


@dataclass(frozen=True)
class Run:
    """What is to be run, and on what. `state` is where an interrupted run of a deployed Worker is kept."""

    cases: list[Case]
    probes: list[Probe]
    url: str | None
    state: Path | None
    anew: bool
    redeploy: Redeploy | None
    pythonic: bool = False
    """Whether the Worker runs scripts through Python values, which some cases have no meaning in."""

    async def carry_out(self, client: Client, output: Console) -> Findings:
        """Run what is not settled yet, and clear every object used; locally they go with their server."""
        started = datetime.now(UTC)
        facts = await client.meet()
        platform = describe(facts, self.url)
        _warn(platform, output)
        heading = {"url": self.url, "worker": facts["source"], "verifier": verifier_digest()}
        record = Record(self.state, heading, anew=self.anew)
        self._tell_plan(record, platform, output)
        try:
            outcomes, results = await self._run(client, record, platform)
            if self.url:
                await self._leave_nothing(client, record, output)
        except BaseException:
            if record.path:
                record.asked(client.requests)
                output.print(
                    f"Interrupted: what is settled and what is to be cleared stands in {record.path};"
                    " the same command goes on from there.",
                    style="yellow",
                    highlight=False,
                )
            raise
        if not record.open or not self.url:
            record.finish()
        requests = record.requests + client.requests
        ended = datetime.now(UTC)
        return Findings(platform, outcomes, results, started, ended, requests, dict(client.retried))

    def _tell_plan(self, record: Record, platform: Platform, output: Console) -> None:
        cases = [case for case in self.cases if case.id not in record.settled]
        probes = [probe for probe in self.probes if probe.id not in record.settled]
        round_trip_s = platform.facts["round_trip_ms"] / 1000
        planned = estimate(cases, probes, round_trip_s, cleans=bool(self.url))
        known = f" ({len(record.settled)} are settled already)" if record.settled else ""
        output.print(
            f"{len(cases)} cases and {len(probes)} probes on {escape(platform.label['en'])}{known}:"
            f" {planned.told()}",
            highlight=False,
        )
        if record.path:
            output.print(f"State, should it be interrupted: {record.path}", highlight=False)
        slow = [f"{probe.id} {probe.seconds:.0f} s" for probe in probes if probe.slow]
        if slow:
            output.print(f"Slow (--quick leaves them out): {', '.join(slow)}", highlight=False)

    async def _run(
        self, client: Client, record: Record, platform: Platform
    ) -> tuple[list[Outcome], list[Result]]:
        # The slow ones wait for the platform: the cases run meanwhile.
        beside = [probe for probe in self.probes if probe.slow and not probe.lane]
        after = [probe for probe in self.probes if probe not in beside]
        with _progress(len(self.cases), len(self.probes)) as (told_case, told_probe):
            runner = Runner(
                client,
                in_cloud=platform.where == "cloud",
                record=record,
                cleans=bool(self.url),
                excuses=self.pythonic,
                on_outcome=told_case,
            )
            prober = Prober(client, platform.facts, record, redeploy=self.redeploy, on_result=told_probe)
            async with asyncio.TaskGroup() as group:
                slow = group.create_task(prober.run_all([probe for probe in beside if not probe.last]))
                outcomes = await runner.run_all(self.cases)
                quick = await prober.run_all([probe for probe in after if not probe.last])
            last = await prober.run_all([probe for probe in self.probes if probe.last])
        found = {result.probe.id: result for result in (*slow.result(), *quick, *last)}
        return outcomes, [found[probe.id] for probe in self.probes]

    async def _leave_nothing(self, client: Client, record: Record, output: Console) -> None:
        if record.open:
            await asyncio.sleep(STRAY_S)
        left = await clear(client, record, record.open)
        if left:
            output.print(f"[yellow]not empty, something writes to them still:[/] {escape(', '.join(left))}")


def _warn(platform: Platform, output: Console) -> None:
    if not platform.is_mine:
        output.print(
            f"[bold yellow]warning:[/] the Worker runs the source {platform.facts['source']}, and beside this"
            f" verifier lies {source_digest()}: deploy it, or use the verifier of that version"
        )
    ahead_ms = platform.facts["ahead_ms"]
    if abs(ahead_ms) > CLOCK_TOLD_MS:
        output.print(
            f"The Worker's clock is {ahead_ms / 1000:+.1f} s from this one; it is the one that counts."
        )


@contextlib.contextmanager
def _progress(
    cases: int, probes: int
) -> Iterator[tuple[Callable[[Outcome], None], Callable[[Result], None]]]:
    with progress(console(to_stderr=True)) as display:
        verifying = display.add_task("cases", total=cases)
        probing = display.add_task("probes", total=probes)

        def told_case(outcome: Outcome) -> None:
            display.advance(verifying)
            if outcome.verdict == "differs":
                display.console.print(f"[bold red]differs[/] {escape(outcome.case.id)}")

        def told_probe(result: Result) -> None:
            display.advance(probing)

        yield told_case, told_probe
