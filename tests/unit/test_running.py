"""Handlers under their time limits.

The limits pass on asyncio's clock (doubles.LoopTimer): CPython has no setTimeout.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import pytest

import yungong
from yungong import events, platform
from yungong.errors import 宿主中止, 豫言异常
from yungong.kinds import KINDS, Kind
from yungong.running import Run, run

from .doubles import LoopTimer, make_event

if TYPE_CHECKING:
    from collections.abc import Callable

SHORT_MS = 20
TIMED_OUT = rf"^fetch 事件超过时限 {SHORT_MS} 毫秒"
WHILE_WAITING = TIMED_OUT + r"，停在 test_running\.py:[0-9]+ [^，]+$"


async def test_a_handler_gets_its_arguments_and_its_value_is_returned() -> None:
    async def handler(*arguments: Any) -> Any:
        return arguments

    assert await run(make_event(), handler, 1, "a") == (1, "a")


async def test_a_plain_function_is_a_handler_too() -> None:
    event = make_event()
    assert await run(event, yungong.event_kind) == "fetch"
    assert event.closed


async def test_an_awaitable_that_a_plain_function_returns_is_awaited() -> None:
    def start() -> asyncio.Task[str]:
        return asyncio.create_task(asyncio.sleep(0, "value"))

    assert await run(make_event(), start) == "value"


async def test_the_handler_runs_in_its_event_and_the_caller_does_not() -> None:
    event = make_event("queue")

    async def handler() -> events.Event | None:
        await asyncio.sleep(0)
        return events.current()

    assert await run(event, handler) is event
    assert events.peek() is None


async def test_the_event_is_closed_and_its_timer_gone_when_the_handler_has_ended() -> None:
    event = make_event()
    pending: list[int] = []

    async def handler() -> None:
        await asyncio.sleep(0)
        pending.append(len(LoopTimer.pending))

    await run(event, handler)
    assert (event.closed, pending, len(LoopTimer.pending)) == (True, [1], 0)


@pytest.mark.parametrize("failure", [ValueError("坏"), 豫言异常("坏"), asyncio.CancelledError("坏")])
@pytest.mark.parametrize("waits", [False, True])
async def test_what_escapes_the_handler_is_raised_unchanged(failure: BaseException, waits: bool) -> None:
    async def handler() -> None:
        if waits:
            await asyncio.sleep(0)
        raise failure

    event = make_event()
    with pytest.raises(type(failure)) as raised:
        await run(event, handler)
    assert raised.value is failure
    assert event.closed


@pytest.mark.parametrize("ending", [SystemExit(3), KeyboardInterrupt("停")])
@pytest.mark.parametrize("plain", [False, True])
async def test_an_ending_of_the_whole_runtime_becomes_an_abort(ending: BaseException, plain: bool) -> None:
    def fail() -> None:
        raise ending

    async def fail_later() -> None:
        await asyncio.sleep(0)
        raise ending

    with pytest.raises(宿主中止, match=rf"^处理入口要求退出：{ending}$") as raised:
        await run(make_event(), fail if plain else fail_later)
    assert raised.value.__cause__ is ending


async def test_an_event_that_was_aborted_fails_even_when_its_handler_swallows_the_abort() -> None:
    async def handler() -> str:
        try:
            raise events.open_event().abort("存储坏了")
        except BaseException:
            return "as if nothing had happened"

    with pytest.raises(宿主中止, match=r"^存储坏了$"):
        await run(make_event(), handler)


async def test_an_abort_that_a_handler_replaces_by_its_own_error_is_still_what_fails() -> None:
    def handler() -> None:
        events.open_event().abort("存储坏了")
        raise ValueError("mine")

    with pytest.raises(宿主中止, match=r"^存储坏了$"):
        await run(make_event(), handler)


# Time limits


async def test_a_handler_that_waits_past_its_limit_is_cancelled_and_its_event_fails() -> None:
    ends: list[str] = []

    async def handler() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    event = make_event(limit_ms=SHORT_MS)
    with pytest.raises(宿主中止, match=WHILE_WAITING):
        await run(event, handler)
    await asyncio.sleep(0)
    assert (event.closed, ends) == (True, ["cancelled"])


async def test_what_a_handler_does_before_it_first_waits_counts_for_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    delays_ms: list[float] = []

    def timer(delay_ms: float, fire: Callable[[], None]) -> LoopTimer:
        delays_ms.append(delay_ms)
        return LoopTimer(delay_ms, fire)

    async def handler() -> None:
        time.sleep(0.05)  # noqa: ASYNC251  # it never waits before
        await asyncio.sleep(0)

    monkeypatch.setattr(platform, "Timer", timer)
    await run(make_event(limit_ms=5000), handler)
    assert [delay_ms <= 4950 for delay_ms in delays_ms] == [True]


async def test_a_handler_that_swallows_its_cancellation_gets_no_further() -> None:
    calls: list[BaseException] = []
    ended = asyncio.Event()

    async def handler() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        for call in (yungong.event_kind, yungong.read_batch, events.open_event):
            try:
                call()
            except BaseException as error:
                calls.append(error)
        ended.set()

    event = make_event(limit_ms=SHORT_MS)
    with pytest.raises(宿主中止, match=WHILE_WAITING):
        await run(event, handler)
    await ended.wait()
    assert calls == [event.aborted] * 3


async def test_a_handler_that_never_ends_after_its_cancellation_does_not_hold_its_event_up() -> None:
    stop = asyncio.Event()

    async def handler() -> None:
        with suppress(asyncio.CancelledError):
            await stop.wait()
        await stop.wait()

    with pytest.raises(宿主中止, match=WHILE_WAITING):
        await run(make_event(limit_ms=SHORT_MS), handler)
    stop.set()
    await asyncio.sleep(0)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_handler_that_ends_too_late_without_ever_waiting_has_failed_too(fails: bool) -> None:
    def handler() -> str:
        time.sleep(2 * SHORT_MS / 1000)  # no timer can interrupt this
        if fails:
            raise ValueError("late")
        return "late"

    with pytest.raises(宿主中止, match=TIMED_OUT):
        await run(make_event(limit_ms=SHORT_MS), handler)


@pytest.mark.parametrize("kind", KINDS)
async def test_the_limit_is_that_of_the_event_s_kind(kind: Kind) -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(宿主中止, match=rf"^{kind} 事件超过时限 1 毫秒，停在 test_[a-z]+\.py:[0-9]+ [^，]+$"):
        await run(make_event(kind, limit_ms=1), wait)


async def test_the_limit_counts_on_for_what_the_event_waits_for() -> None:
    tasks: list[asyncio.Task[Any]] = []

    async def handler() -> str:
        tasks.append(asyncio.create_task(asyncio.Event().wait()))
        yungong.wait_until(tasks[0])
        return "value"

    event = make_event(limit_ms=SHORT_MS)
    assert await run(event, handler) == "value"
    assert not event.closed
    await asyncio.wait(tasks)
    assert (event.closed, tasks[0].cancelled(), len(LoopTimer.pending)) == (True, True, 0)


async def test_a_task_that_swallows_its_cancellation_does_not_keep_the_event_open() -> None:
    stop = asyncio.Event()

    async def stay() -> None:
        with suppress(asyncio.CancelledError):
            await stop.wait()
        await stop.wait()

    def handler() -> None:
        yungong.wait_until(stay())

    event = make_event(limit_ms=10 * SHORT_MS)
    await run(event, handler)
    closed = asyncio.Event()
    event.at_close(closed.set)
    await closed.wait()
    stop.set()
    await asyncio.sleep(0)


async def test_the_end_of_a_run_is_told_once_however_late_its_handler_ends() -> None:
    told: list[Run] = []
    stop = asyncio.Event()

    async def handler() -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        stop.set()
        return "late"

    late = Run(make_event(limit_ms=1), handler, (), 1, told.append, copy_context())
    await stop.wait()
    await asyncio.sleep(0)
    assert told == [late]
    with pytest.raises(宿主中止):
        late.result()


async def test_two_events_at_once_have_limits_of_their_own() -> None:
    async def wait(end: Callable[[], Any]) -> str:
        await asyncio.sleep(0.01)
        return str(end())

    quick, slow = make_event(limit_ms=1), make_event("queue")
    results = await asyncio.gather(
        run(quick, wait, yungong.event_kind), run(slow, wait, yungong.event_kind), return_exceptions=True
    )
    assert isinstance(results[0], 宿主中止)
    assert results[1] == "queue"
