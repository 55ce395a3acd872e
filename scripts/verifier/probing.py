"""Runs probes: those that share a queue one after another, all others at once, what disturbs all last."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Sequence

from .client import Client, Lost
from .forms import Json
from .probes.bench import Bench, Redeploy, Time, Unmeasured
from .probes.shape import Probe, Result, unsettled
from .record import Record

TRIES = 3


class Prober:
    """Runs probes over one client."""

    def __init__(
        self,
        client: Client,
        facts: dict[str, Json],
        record: Record,
        *,
        redeploy: Redeploy | None = None,
        time: Time | None = None,
        on_result: Callable[[Result], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._facts = facts
        self._record = record
        self._redeploy = redeploy
        self._time = time or Time()
        self._on_result = on_result

    async def run_all(self, probes: Sequence[Probe]) -> list[Result]:
        """Every probe's result, in the order given; those of the record are not run again."""
        lanes: dict[str, list[Probe]] = {}
        for probe in probes:
            if not probe.last:
                lanes.setdefault(probe.lane or probe.id, []).append(probe)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._lane(lane)) for lane in lanes.values()]
        results = [result for task in tasks for result in task.result()]
        results += await self._lane(probe for probe in probes if probe.last)
        by_id = {result.probe.id: result for result in results}
        return [by_id[probe.id] for probe in probes]

    async def _lane(self, probes: Iterable[Probe]) -> list[Result]:
        return [await self._one(probe) for probe in probes]

    async def _one(self, probe: Probe) -> Result:
        known = self._record.settled.get(probe.id)
        if known is not None:
            measurement = known["measurement"]
            return Result(probe, measurement, probe.judge(measurement), known["seconds"])
        result = await self._measured(probe)
        if result.judged.verdict != "unsettled":
            told = {"measurement": result.measurement, "seconds": result.seconds}
            self._record.settle(probe.id, told)
        self._on_result(result)
        return result

    async def _measured(self, probe: Probe) -> Result:
        started = self._time.now()
        reason = ""
        for _ in range(TRIES):
            prefix = f"{probe.id}.{secrets.token_hex(4)}"
            bench = Bench(
                self._client,
                prefix,
                self._facts,
                opened=self._record.opened,
                redeploy=self._redeploy,
                time=self._time,
            )
            try:
                measurement = await probe.measure(bench)
                return Result(probe, measurement, probe.judge(measurement), self._time.now() - started)
            except* (Lost, Unmeasured) as group:
                reason = "; ".join(map(str, group.exceptions))
        judged = unsettled(f"Not measured: {reason}", f"未能测得：{reason}")
        return Result(probe, {}, judged, self._time.now() - started)
