"""Timing inside the Worker.

A deployed Worker's clock stands still between two I/O operations; a local one goes on, in whole
milliseconds. A measurement begins at the edge of one and must take many.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter


def edge() -> float:
    """Return the time at which the clock has just gone on, in seconds."""
    before = perf_counter()
    while (now := perf_counter()) == before:
        pass
    return now


async def microseconds(
    loop: Callable[[list[str]], Awaitable[None]],
    keys: list[str],
    commit: Callable[[], Awaitable[object]] | None = None,
) -> float:
    """Return how long one turn of `loop`, which has one for each key, takes; `commit` counts too."""
    start = edge()
    await loop(keys)
    if commit is not None:
        await commit()
    return (perf_counter() - start) * 1e6 / len(keys)
