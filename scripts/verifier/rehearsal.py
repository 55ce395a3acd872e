"""The rehearsal: every probe against stand-ins for the cloud's ways, and cases through a bad network."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from .cases import Case
from .client import Client
from .faults import Fault
from .probes import PROBES
from .probes.bench import Redeploy
from .probing import Prober
from .record import Record
from .run import Runner
from .selftest import Finding
from .standins import Between, StandIn

DEPLOYED_WITHIN_S = 3
PACE = 0.1
AT_ONCE = 6
PROBE_BY_ID = {probe.id: probe for probe in PROBES}


async def rehearse(url: str, token: str, stand_ins: Iterable[StandIn]) -> list[Finding]:
    """One finding for each stand-in: whether its probe says what it must. The queue's go in turn."""
    lanes: dict[str, list[StandIn]] = {}
    for number, stand_in in enumerate(stand_ins):
        lanes.setdefault(PROBE_BY_ID[stand_in.probe].lane or str(number), []).append(stand_in)

    slots = asyncio.Semaphore(AT_ONCE)

    async def run(lane: list[StandIn]) -> list[Finding]:
        async with slots:
            return [await _one(stand_in, url, token) for stand_in in lane]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run(lane)) for lane in lanes.values()]
    return [finding for task in tasks for finding in task.result()]


async def _one(stand_in: StandIn, url: str, token: str) -> Finding:
    async def deployed() -> None:
        pass

    between = Between(stand_in)
    async with Client(url, token, between) as client:
        facts = await client.meet()
        prober = Prober(
            client,
            facts,
            Record(None, {}),
            redeploy=Redeploy(deployed, DEPLOYED_WITHIN_S) if stand_in.deploys else None,
            time=between.time,
        )
        (result,) = await prober.run_all([PROBE_BY_ID[stand_in.probe]])
    verdict = result.judged.verdict
    detail = "" if verdict == stand_in.verdict else f"it says {verdict}: {result.judged.detail['en']}"
    name = f"{stand_in.probe} under {stand_in.name}: {stand_in.verdict}"
    return Finding(name, noticed=verdict == stand_in.verdict, detail=detail)


async def endure(url: str, token: str, cases: list[Case], faults: Iterable[Fault]) -> list[Finding]:
    """One finding for each fault: whether the cases hold all the same, and it was met with and told."""
    return [await _through(fault, url, token, cases) for fault in faults]


async def _through(fault: Fault, url: str, token: str, cases: list[Case]) -> Finding:
    transport = fault.transport()
    async with Client(url, token, transport, pace=PACE, clock=fault.clock) as client:
        facts = await client.meet()
        outcomes = await Runner(client, cleans=True).run_all(cases)
    problems = [f"{outcome.case.id} ({outcome.detail})" for outcome in outcomes if not outcome.held]
    if transport.struck and fault.repeats and not client.retried:
        problems.append("nothing is told to have been repeated")
    if not transport.struck and not facts["ahead_ms"]:
        problems.append("the fault did not occur")
    return Finding(f"cases through {fault.name}", noticed=not problems, detail="; ".join(problems))
