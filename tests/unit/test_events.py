"""The current event: none, open, closed or aborted, and what belongs to it."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from time import monotonic
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import yungong
from yungong import events, platform, running
from yungong.durable import Durable
from yungong.entrypoints import Worker
from yungong.errors import 宿主中止, 豫言异常
from yungong.events import MAX_EXCHANGED_BYTES
from yungong.kinds import KINDS, Kind
from yungong.platform.runtime import FetchResponse

from .doubles import AlarmStorage, LoopTimer, as_platform, make_event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NO_EVENT = "^当前没有入站事件$"


def within(event: events.Event, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in an event, in a context of its own."""
    context = copy_context()
    context.run(events.enter, event)
    return context.run(function, *arguments)


def start_within(event: events.Event, coroutine: Any) -> asyncio.Task[Any]:
    """Start a task in an event."""
    context = copy_context()
    context.run(events.enter, event)
    return asyncio.get_running_loop().create_task(coroutine, context=context)


# The kind


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_knows_its_kind(kind: Kind) -> None:
    assert within(make_event(kind), yungong.event_kind) == kind


def test_outside_of_an_event_there_is_no_kind() -> None:
    with pytest.raises(豫言异常, match=NO_EVENT):
        yungong.event_kind()


def test_a_closed_event_is_none() -> None:
    event = make_event()
    event.close()
    assert within(event, events.current) is None
    assert within(event, events.peek) is None
    with pytest.raises(豫言异常, match=NO_EVENT):
        within(event, yungong.event_kind)


def test_every_call_in_an_aborted_event_raises_what_aborted_it() -> None:
    event = make_event()
    aborted = event.abort("存储坏了")
    for function in (events.current, events.open_event, yungong.event_kind):
        with pytest.raises(宿主中止, match=r"^存储坏了$") as raised:
            within(event, function)
        assert raised.value is aborted


def test_an_event_is_aborted_once_and_keeps_its_first_reason_and_cause() -> None:
    event = make_event()
    cause = OSError("disk")
    first = event.abort("先", cause)
    assert event.abort("后") is first
    assert (str(first), first.__cause__) == ("先", cause)


@pytest.mark.parametrize("end", [None, "close", "abort"])
def test_the_retry_count_never_fails(end: str | None) -> None:
    """Of a closed event it is 0; of an aborted one still the event's own."""
    assert yungong.alarm_retry_count() == 0
    event = make_event("durable-alarm", alarm_retries=3)
    if end == "close":
        event.close()
    if end == "abort":
        event.abort("坏了")
    assert within(event, yungong.alarm_retry_count) == (0 if end == "close" else 3)


def test_any_other_event_and_a_transaction_inside_an_alarm_count_no_retries() -> None:
    for kind in KINDS:
        assert within(make_event(kind), yungong.alarm_retry_count) == 0


# Isolation


async def test_interleaved_tasks_see_their_own_events_and_so_do_the_tasks_they_start() -> None:
    async def look(event: events.Event, seen: list[events.Event | None]) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
            seen.append(events.current())
        await asyncio.gather(asyncio.create_task(note(seen)), note(seen))
        assert set(seen) == {event}

    async def note(seen: list[events.Event | None]) -> None:
        await asyncio.sleep(0)
        seen.append(events.current())

    entered = [make_event(kind) for kind in KINDS]
    await asyncio.gather(*(start_within(event, look(event, [])) for event in entered))
    assert events.current() is None


async def test_a_task_that_outlives_its_event_does_not_see_the_next_one() -> None:
    seen: list[events.Event | None] = []
    go_on = asyncio.Event()

    async def linger() -> None:
        seen.append(events.current())
        await go_on.wait()
        seen.append(events.current())

    first = make_event()
    task = start_within(first, linger())
    await asyncio.sleep(0)
    first.leave()

    async def wake() -> None:
        go_on.set()
        await task

    await start_within(make_event(), wake())
    assert seen == [first, None]


# Text over 16 MiB


@pytest.mark.parametrize("character", ["a", "é", "字", "😀", "\ud800"])
def test_text_of_16_mib_is_exchanged_and_one_byte_more_aborts_the_event(character: str) -> None:
    size = len(character.encode("utf-8", "surrogatepass"))
    full = character * (MAX_EXCHANGED_BYTES // size) + "a" * (MAX_EXCHANGED_BYTES % size)
    event = make_event()
    event.check_exchanged("", full)
    assert event.aborted is None
    with pytest.raises(宿主中止, match=r"^交换文字超过宿主上限 16 MiB：16777217 字节$"):
        event.check_exchanged("", full + "a")
    assert event.aborted is not None


# Closing


async def test_an_event_closes_when_its_handler_and_all_it_waits_for_have_ended() -> None:
    event = make_event()
    first, second = asyncio.Event(), asyncio.Event()
    for awaited in (first, second):
        within(event, yungong.wait_until, awaited.wait())
    event.leave()  # the handler
    first.set()
    await asyncio.sleep(0.001)
    assert not event.closed
    second.set()
    await asyncio.sleep(0.001)
    assert event.closed


async def test_the_order_in_which_handler_and_tasks_end_does_not_matter() -> None:
    event = make_event()
    within(event, yungong.wait_until, asyncio.sleep(0))
    await asyncio.sleep(0.001)
    assert not event.closed
    event.leave()
    assert event.closed


async def test_an_awaited_task_sees_the_event_after_its_handler_has_ended() -> None:
    event = make_event("queue")
    kinds: list[str] = []

    async def late() -> None:
        await asyncio.sleep(0)
        kinds.append(yungong.event_kind())

    within(event, yungong.wait_until, late())
    event.leave()
    await asyncio.sleep(0.001)
    assert (kinds, event.closed) == (["queue"], True)


async def test_what_is_waited_for_may_itself_wait_for_more() -> None:
    event = make_event()
    more = asyncio.Event()

    async def grow() -> None:
        yungong.wait_until(more.wait())

    within(event, yungong.wait_until, grow())
    event.leave()
    await asyncio.sleep(0.001)
    assert not event.closed
    more.set()
    await asyncio.sleep(0.001)
    assert event.closed


@pytest.mark.parametrize("failure", [ValueError("坏"), 豫言异常("坏"), asyncio.CancelledError()])
async def test_an_error_in_what_is_waited_for_does_not_fail_the_event(failure: BaseException) -> None:
    async def fail() -> None:
        raise failure

    event = make_event()
    task = asyncio.ensure_future(fail())
    within(event, yungong.wait_until, task)
    event.leave()
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert (event.closed, event.aborted) == (True, None)


@pytest.mark.parametrize("as_task", [False, True])
async def test_what_fails_where_nobody_waits_is_logged_once_with_its_traceback(
    as_task: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail_here() -> None:
        raise ValueError("坏")

    def handler() -> None:
        failing = fail_here()
        yungong.wait_until(asyncio.ensure_future(failing) if as_task else failing)

    event = make_event()
    await running.run(event, handler)
    await asyncio.sleep(0.001)
    assert event.closed
    assert [record.message for record in caplog.records] == [
        "what wait_until was given in a fetch event failed"
    ]
    assert "fail_here" in caplog.text
    assert "ValueError: 坏" in caplog.text


async def test_a_time_limit_after_the_handler_s_end_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    event = make_event(limit_ms=5)
    closed = asyncio.Event()
    event.at_close(closed.set)
    await running.run(event, lambda: yungong.wait_until(asyncio.Event().wait()))
    await closed.wait()
    assert "事件超过时限 5 毫秒" in caplog.text


async def test_wait_until_needs_an_open_event() -> None:
    waiting = asyncio.get_running_loop().create_future()
    with pytest.raises(豫言异常, match=NO_EVENT):
        yungong.wait_until(waiting)
    event = make_event()
    event.abort("坏了")
    with pytest.raises(宿主中止, match=r"^坏了$"):
        within(event, yungong.wait_until, waiting)


async def test_the_platform_is_kept_waiting_once_from_the_first_task_to_the_close() -> None:
    kept: list[asyncio.Future[Any]] = []
    event = make_event(keep_alive=kept.append)
    assert not kept
    within(event, yungong.wait_until, asyncio.sleep(0))
    within(event, yungong.wait_until, asyncio.sleep(0))
    assert [promise.done() for promise in kept] == [False]
    event.leave()
    await asyncio.sleep(0.001)
    assert [promise.done() for promise in kept] == [True]


async def test_cancelling_the_tasks_of_an_event_cancels_all_that_it_waits_for() -> None:
    event = make_event()
    tasks = [asyncio.create_task(asyncio.Event().wait()) for _ in range(3)]
    for task in tasks:
        within(event, yungong.wait_until, task)
    event.cancel_tasks()
    await asyncio.wait(tasks)
    assert all(task.cancelled() for task in tasks)


def test_what_was_asked_for_happens_once_at_the_close() -> None:
    event = make_event()
    calls: list[str] = []
    event.at_close(lambda: calls.append("first"))
    event.at_close(lambda: calls.append("second"))
    event.close()
    event.close()
    assert calls == ["first", "second"]


# Sleeping


async def test_sleep_waits_and_leaves_no_timer() -> None:
    before = monotonic()
    await start_within(make_event(), yungong.sleep(20))
    assert monotonic() - before >= 0.02
    assert not LoopTimer.pending


async def test_a_sleep_that_is_cancelled_leaves_no_timer() -> None:
    task = start_within(make_event(), yungong.sleep(60_000))
    await asyncio.sleep(0)
    assert len(LoopTimer.pending) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not LoopTimer.pending


async def test_sleeps_end_when_the_event_closes_and_leave_no_timer() -> None:
    event = make_event()
    tasks = [start_within(event, yungong.sleep(60_000)) for _ in range(2)]
    await asyncio.sleep(0)
    event.close()
    await asyncio.gather(*tasks)
    assert not LoopTimer.pending


async def test_a_sleep_in_an_event_that_is_aborted_meanwhile_raises_what_aborted_it() -> None:
    event = make_event()
    task = start_within(event, yungong.sleep(1))
    await asyncio.sleep(0)
    event.abort("坏了")
    with pytest.raises(宿主中止, match=r"^坏了$"):
        await task


async def test_sleep_needs_an_open_event() -> None:
    with pytest.raises(豫言异常, match=NO_EVENT):
        await yungong.sleep(0)


# What fails, or ends, beside


async def leave() -> None:
    raise SystemExit(3)


class Leaving:
    """Neither a coroutine nor a future."""

    def __await__(self) -> Any:
        return leave().__await__()


@pytest.mark.parametrize("awaitable", [leave, Leaving])
async def test_an_exit_of_what_is_waited_for_aborts_the_event_and_ends_nothing_else(
    awaitable: Callable[[], Awaitable[None]],
) -> None:
    async def handler() -> None:
        yungong.wait_until(awaitable())
        await asyncio.sleep(0.001)

    with pytest.raises(宿主中止, match=r"^事件等待的任务要求退出：3$"):
        await running.run(make_event(), handler)


async def test_what_cannot_be_awaited_cannot_be_waited_for() -> None:
    with pytest.raises(TypeError, match=r"^awaitable must be awaitable, not int$"):
        yungong.wait_until(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["fetch", "queue"])
async def test_a_worker_s_event_keeps_the_platform_waiting_for_what_it_waits_for(kind: Kind) -> None:
    app = yungong.App()
    promises: list[Any] = []
    worker: Any = Worker.__new__(Worker)
    worker._app, worker._environment = app, as_platform(None)
    worker._execution = make_event().execution
    worker.ctx = SimpleNamespace(waitUntil=promises.append)

    @app.on(kind)
    def handle(*_: Any) -> Any:
        yungong.wait_until(asyncio.sleep(0.001))
        return FetchResponse.__new__(FetchResponse)

    await (
        worker.fetch("request") if kind == "fetch" else worker.queue(SimpleNamespace(queue="q", messages=[]))
    )
    assert len(promises) == 1
    assert not promises[0].done()
    await promises[0]


async def test_an_event_that_was_aborted_before_the_platform_failed_keeps_its_own_cause() -> None:
    cause = ValueError("先")

    class Failing(AlarmStorage):
        def getAlarm(self) -> Any:
            async def answer() -> int:
                event.abort("先", cause)
                raise platform.PlatformError("disk")

            return answer()

    event = make_event("durable-fetch", durable=Durable(as_platform(Failing())))
    events.enter(event)
    with pytest.raises(宿主中止, match=r"^先$") as raised:
        await yungong.get_alarm()
    assert raised.value.__cause__ is cause


def test_a_fault_after_an_abort_without_a_cause_is_told_beside_it() -> None:
    event = make_event()
    event.abort("先")

    def fail_too() -> None:
        try:
            raise platform.PlatformError("disk")
        except platform.PlatformError as error:
            event.fault("存储故障", error)

    with pytest.raises(宿主中止, match=r"^先$") as raised:
        fail_too()
    assert isinstance(raised.value.__context__, platform.PlatformError)
    assert not raised.value.__suppress_context__
