"""What a measurement works with: objects of its own, steps, waiting, and the search for a limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ..client import Answer, Client
from ..forms import Json

POLL_FIRST_S = 0.2
POLL_MOST_S = 4.0


@dataclass(frozen=True)
class Redeploy:
    """A way to deploy the Worker anew, and the time that it stays within."""

    run: Callable[[], Awaitable[None]]
    within_seconds: int


class Time:
    """How time passes for a measurement: as it does."""

    def now(self) -> float:
        """Seconds, from any beginning."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)


class Unmeasured(Exception):
    """The measurement cannot be made: the Worker answered what it should not."""


class Bench:
    """The bench of one probe in one run.

    `time` is how time passes, which stand-ins make quick; `redeploy` deploys the Worker anew, where there is
    a way; `facts` are what the Worker told of itself.
    """

    def __init__(
        self,
        client: Client,
        prefix: str,
        facts: dict[str, Json],
        *,
        opened: Callable[[str], None],
        redeploy: Redeploy | None = None,
        time: Time,
    ) -> None:
        self.client = client
        self.facts = facts
        self.redeploy = redeploy
        self._prefix = prefix
        self._opened = opened
        self.time = time

    def name(self, symbol: str) -> str:
        """The real name of an object of this probe's own; it will be cleared."""
        name = f"{self._prefix}.{symbol}"
        self._opened(name)
        return name

    async def answer(self, symbol: str, *steps: Json) -> Answer:
        """One event of an object, however it ends."""
        return await self.client.run(self.name(symbol), "durable-fetch", list(steps))

    async def see(self, symbol: str, *steps: Json) -> list[Any]:
        """One event of an object that must end normally: the value of each step, or its error's result."""
        answer = await self.answer(symbol, *steps)
        if answer.status != 200:
            raise Unmeasured(f"the event ended with {answer.status} {str(answer.body)[:200]}")
        return [
            result.get("value", result) if "error" not in result else result
            for result in answer.body["results"]
        ]

    async def until(self, symbol: str, step: Json, good: Callable[[Any], bool], seconds: float) -> Any:
        """The value of a step that reads, once it is good; or as it was last seen when the time was up."""
        ends = self.time.now() + seconds
        pause = POLL_FIRST_S
        while True:
            (value,) = await self.see(symbol, step)
            if good(value) or self.time.now() > ends:
                return value
            await self.time.sleep(pause)
            pause = min(pause * 1.3, POLL_MOST_S)


async def largest(
    accepts: Callable[[int], Awaitable[bool]], low: int, high: int, resolution: int
) -> int | None:
    """The largest size that is accepted from `low` to `high`, to within `resolution`; None where none is."""
    if await accepts(high):
        return high
    if not await accepts(low):
        return None
    while high - low > resolution:
        middle = (low + high) // 2
        if await accepts(middle):
            low = middle
        else:
            high = middle
    return low
