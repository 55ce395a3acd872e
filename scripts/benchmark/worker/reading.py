"""Reading a delivered batch into JSON text, four ways, and as values, two ways, inside its consumer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from .clock import edge

Read = Callable[[], Awaitable[object]]
"""Its result is dropped."""


def ways(batch: Any, yungong: Read, pythonic: Read) -> dict[str, Read]:
    """The ways; each reads as if the batch had just been delivered."""
    import js
    from workers import import_from_javascript

    wrapper, raw = type(batch), batch._binding
    stringify: Any = js.JSON.stringify
    javascript = import_from_javascript("javascript.mjs").readBatch

    async def sdk() -> object:
        delivered = wrapper(raw)
        messages = [
            {
                "id": message.id,
                "attempts": message.attempts,
                "timestamp": int(message.timestamp.timestamp() * 1000),
                "body": message.body,
            }
            for message in delivered.messages
        ]
        return json.dumps({"queue": delivered.queue, "messages": messages})

    async def sdk_values() -> object:
        return [
            (message.id, message.attempts, message.timestamp, message.body)
            for message in wrapper(raw).messages
        ]

    async def unchecked() -> object:
        messages = [
            f'{{"id":"{message.id}","attempts":{message.attempts},'
            f'"timestamp":{message.timestamp.getTime()},"body":{stringify(message.body)}}}'
            for message in raw.messages
        ]
        return f'{{"queue":"{raw.queue}","messages":[{",".join(messages)}]}}'

    async def in_javascript() -> object:
        return javascript(raw)

    return {
        "yungong": yungong,
        "sdk": sdk,
        "raw": unchecked,
        "js": in_javascript,
        "pythonic": pythonic,
        "sdk values": sdk_values,
    }


async def measure(reads: dict[str, Read], rounds: int, budget_ms: float) -> list[dict[str, float]]:
    """Return the microseconds of one reading, each way, in each of `rounds`."""
    counts = {}
    for way, read in reads.items():
        await read()
        took_us = await _microseconds(read, 5)
        counts[way] = max(3, round(budget_ms * 1000 / took_us))
    return [
        {way: await _microseconds(read, counts[way]) for way, read in reads.items()} for _ in range(rounds)
    ]


async def _microseconds(read: Read, count: int) -> float:
    start = edge()
    for _ in range(count):
        await read()
    return max(perf_counter() - start, 0.0005) * 1e6 / count
