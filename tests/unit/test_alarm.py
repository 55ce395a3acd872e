"""The alarm across its firings, on a platform that keeps one alarm and counts retries.

The platform here does what workerd was seen to do: it keeps what setAlarm gave it, clears it before the
handler, and after a failure keeps the time of the failed firing until the retry, unless another was set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import yungong
from yungong import events, platform
from yungong.alarm import MAX_TIME_MS, Firing
from yungong.alarm_state import MAX_PLATFORM_MS, Retrying
from yungong.durable import Durable
from yungong.errors import 宿主中止, 豫言异常

from .doubles import AlarmStorage, as_platform, make_event

if TYPE_CHECKING:
    from yungong.kinds import Kind

NOW_MS = 1_800_000_000_000
LATER_MS = 1_900_000_000_000
PAST_2262_MS = 9_223_372_036_855

Handler = Callable[[], Awaitable[Any]]


class Platform:
    """One object with its alarm and a clock that the tests set."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS
        self.storage = AlarmStorage()
        self.durable = Durable(as_platform(self.storage))

    async def run(self, handler: Handler, kind: Kind = "durable-fetch", **members: Any) -> Any:
        """Run a handler in an event of the object."""
        context = copy_context()
        context.run(events.enter, make_event(kind, durable=self.durable, **members))

        async def body() -> Any:
            return await handler()

        return await asyncio.get_running_loop().create_task(body(), context=context)

    async def get(self) -> tuple[bool, int]:
        result: tuple[bool, int] = await self.run(yungong.get_alarm)
        return result

    async def set(self, time_ms: int) -> None:
        await self.run(lambda: yungong.set_alarm(time_ms))

    async def fire(self, handler: Handler, *, retries: int = 0) -> int | None:
        """Fire the alarm; return the retry count that the application saw, or None if it saw nothing."""
        scheduled_ms = self.storage.alarm_ms
        assert scheduled_ms is not None
        self.now_ms = max(self.now_ms, scheduled_ms)
        self.storage.alarm_ms = None
        failed = False
        try:
            async with self.firing(scheduled_ms, retries) as seen:
                if seen is not None:
                    await self.run(handler, "durable-alarm", alarm_retries=seen)
        except Failure:
            failed = True
        if failed and self.storage.alarm_ms is None:
            self.storage.alarm_ms = scheduled_ms
        return seen

    def firing(self, scheduled_ms: int, retries: int = 0) -> Firing:
        """Return what holds a firing of the alarm, as the platform announces it."""
        scheduled = SimpleNamespace(getTime=lambda: scheduled_ms)
        info = SimpleNamespace(scheduledTime=scheduled, retryCount=retries)
        return Firing(self.durable, as_platform(info))

    def construct_anew(self) -> None:
        """Have the object evicted: what is in memory is gone, what is stored stays."""
        self.durable = Durable(as_platform(self.storage))


class Failure(Exception):
    """A handler's."""


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Platform:
    host = Platform()
    monkeypatch.setattr(platform, "now_ms", lambda: host.now_ms)
    return host


async def succeed() -> None: ...


async def turns() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


async def fail() -> None:
    raise Failure


# Setting and reading


async def test_a_new_object_has_no_alarm(host: Platform) -> None:
    assert await host.get() == (False, 0)


@pytest.mark.parametrize(
    "time_ms",
    [0, 1, NOW_MS - 1, NOW_MS, NOW_MS + 1, LATER_MS, MAX_PLATFORM_MS, PAST_2262_MS, MAX_TIME_MS],
)
@pytest.mark.parametrize("evicted", [False, True])
async def test_every_time_is_read_as_it_was_set(host: Platform, time_ms: int, evicted: bool) -> None:
    await host.set(time_ms)
    if evicted:
        host.construct_anew()
    assert await host.get() == (True, time_ms)
    assert host.storage.alarm_ms is not None
    assert NOW_MS < host.storage.alarm_ms <= MAX_PLATFORM_MS


@pytest.mark.parametrize("first", [0, LATER_MS, MAX_TIME_MS])
@pytest.mark.parametrize("second", [5, LATER_MS + 5, MAX_TIME_MS - 5])
async def test_a_second_time_replaces_the_first(host: Platform, first: int, second: int) -> None:
    await host.set(first)
    await host.set(second)
    assert await host.get() == (True, second)


async def test_a_time_that_the_platform_holds_replaces_one_it_cannot_hold(host: Platform) -> None:
    await host.set(0)
    assert host.storage.alarm_ms == NOW_MS + 1
    await host.set(NOW_MS + 1)
    assert await host.get() == (True, NOW_MS + 1)


async def test_an_alarm_set_past_the_package_is_read_as_the_platform_has_it(host: Platform) -> None:
    await host.set(0)
    host.storage.alarm_ms = LATER_MS
    assert await host.get() == (True, LATER_MS)


@pytest.mark.parametrize("time_ms", [0, LATER_MS, MAX_TIME_MS])
async def test_a_deleted_alarm_is_gone_and_deleting_none_does_nothing(host: Platform, time_ms: int) -> None:
    await host.run(yungong.delete_alarm)
    await host.set(time_ms)
    await host.run(yungong.delete_alarm)
    assert await host.get() == (False, 0)
    assert host.durable.alarm_note.read() is None


@pytest.mark.parametrize("time_ms", [-1, MAX_TIME_MS + 1, 10**30])
async def test_a_time_out_of_range_is_refused_and_the_alarm_stays(host: Platform, time_ms: int) -> None:
    await host.set(LATER_MS)
    with pytest.raises(豫言异常, match=r"^持久告警时刻须在 0 至 8640000000000000 之间$"):
        await host.set(time_ms)
    assert await host.get() == (True, LATER_MS)


@pytest.mark.parametrize("time_ms", [True, 1.0, "1", None, 10**20 * 1.0])
async def test_a_time_that_is_no_int_is_a_type_error_before_anything_else(time_ms: Any) -> None:
    with pytest.raises(TypeError, match=r"^time_ms \(持久告警时刻\) must be an int, not "):
        await yungong.set_alarm(time_ms)


async def test_a_time_that_the_platform_can_hold_leaves_no_note(host: Platform) -> None:
    await host.set(LATER_MS)
    assert host.storage.tables() == []


# Firing


@pytest.mark.parametrize("time_ms", [0, NOW_MS, LATER_MS])
async def test_an_alarm_is_cleared_when_its_handler_starts(host: Platform, time_ms: int) -> None:
    found: list[tuple[bool, int]] = []

    async def look() -> None:
        found.append(await yungong.get_alarm())

    await host.set(time_ms)
    assert await host.fire(look) == 0
    assert found == [(False, 0)]
    assert await host.get() == (False, 0)


async def test_an_alarm_set_in_its_handler_is_the_next_one(host: Platform) -> None:
    await host.set(0)
    assert await host.fire(lambda: yungong.set_alarm(0)) == 0
    assert await host.get() == (True, 0)
    assert await host.fire(succeed) == 0
    assert await host.get() == (False, 0)


async def test_a_time_past_the_platform_s_last_is_waited_for_in_stages_that_nobody_sees(
    host: Platform,
) -> None:
    await host.set(PAST_2262_MS)
    assert await host.fire(fail) is None
    assert await host.get() == (True, PAST_2262_MS)
    host.now_ms = PAST_2262_MS
    host.storage.alarm_ms = MAX_PLATFORM_MS
    assert await host.fire(succeed) == 0


# Retries


@pytest.mark.parametrize("evicted", [False, True])
@pytest.mark.parametrize("time_ms", [0, LATER_MS])
async def test_retries_count_up_and_the_alarm_is_set_between_them(
    host: Platform, time_ms: int, evicted: bool
) -> None:
    await host.set(time_ms)
    for retries in range(7):
        assert await host.fire(fail, retries=retries) == retries
        assert (await host.get())[0]
        if evicted:
            host.construct_anew()


async def test_after_a_success_the_next_alarm_counts_from_zero(host: Platform) -> None:
    await host.set(LATER_MS)
    assert await host.fire(fail) == 0
    assert await host.fire(succeed, retries=1) == 1
    await host.set(LATER_MS + 5)
    assert await host.fire(succeed) == 0
    assert host.durable.alarm_note.read() is None


@pytest.mark.parametrize("time_ms", [0, LATER_MS, LATER_MS + 5])
@pytest.mark.parametrize("platform_retries", [0, 1, 3])
async def test_an_alarm_that_replaces_a_pending_retry_counts_from_zero(
    host: Platform, time_ms: int, platform_retries: int
) -> None:
    """The platform fires it anew, or in the retry's place with the retry's count."""
    await host.set(LATER_MS)
    assert await host.fire(fail) == 0
    await host.set(time_ms)
    assert await host.get() == (True, time_ms)
    assert await host.fire(fail, retries=platform_retries) == 0
    assert await host.fire(fail, retries=platform_retries + 1) == 1
    assert await host.fire(succeed, retries=platform_retries + 2) == 2
    assert host.durable.alarm_note.read() is None


async def test_an_alarm_set_after_a_pending_retry_was_deleted_counts_from_zero(host: Platform) -> None:
    await host.set(LATER_MS)
    await host.fire(fail)
    await host.run(yungong.delete_alarm)
    assert await host.get() == (False, 0)
    await host.set(LATER_MS + 5)
    assert await host.fire(succeed, retries=1) == 0


@pytest.mark.parametrize("time_ms", [0, LATER_MS + 5])
async def test_an_alarm_set_in_a_handler_that_then_fails_wins_and_counts_from_zero(
    host: Platform, time_ms: int
) -> None:
    async def set_and_fail() -> None:
        await yungong.set_alarm(time_ms)
        raise Failure

    await host.set(LATER_MS)
    assert await host.fire(set_and_fail) == 0
    assert await host.get() == (True, time_ms)
    assert await host.fire(succeed) == 0


async def test_the_package_s_own_count_goes_on_where_the_platform_counts_anew(host: Platform) -> None:
    """As it does when its server was restarted while the retry was pending."""
    await host.set(LATER_MS)
    for retries in range(4):
        host.construct_anew()
        assert await host.fire(fail, retries=0) == retries


async def test_a_handler_that_ends_with_its_instance_is_retried_with_the_next_count(host: Platform) -> None:
    await host.set(LATER_MS)
    for retries in range(3):
        host.storage.alarm_ms = None
        assert await host.firing(LATER_MS).__aenter__() == retries
        host.construct_anew()
        host.storage.alarm_ms = LATER_MS  # as the platform has it after its restart
        assert (await host.get())[0]


async def test_an_alarm_set_after_the_instance_of_a_handler_was_lost_counts_from_zero(host: Platform) -> None:
    """It may fire in the place of the retry, with the platform's count of that."""
    await host.set(LATER_MS)
    host.storage.alarm_ms = None
    await host.firing(LATER_MS).__aenter__()
    host.construct_anew()
    host.storage.alarm_ms = LATER_MS
    await host.set(LATER_MS + 1200)
    assert await host.fire(succeed, retries=1) == 0


@pytest.mark.parametrize("failures", [1, 3])
async def test_an_alarm_set_after_the_store_was_cleared_while_a_retry_was_pending_counts_from_zero(
    host: Platform, failures: int
) -> None:
    await host.set(LATER_MS)
    for retries in range(failures):
        assert await host.fire(fail, retries=retries) == retries
    await host.run(yungong.store_clear)
    assert await host.get() == (False, 0)
    await host.set(LATER_MS + 1200)
    assert await host.fire(fail, retries=failures) == 0
    assert await host.fire(succeed, retries=failures + 1) == 1
    assert host.durable.alarm_note.read() is None


async def test_a_handler_that_clears_the_store_and_fails_leaves_no_alarm(host: Platform) -> None:
    await host.set(LATER_MS)
    firing = host.firing(LATER_MS)
    host.storage.alarm_ms = None
    assert await firing.__aenter__() == 0
    await host.run(yungong.store_clear, "durable-alarm")
    await firing.__aexit__(Failure, Failure(), None)
    assert await host.get() == (False, 0)


async def test_while_a_retry_is_pending_its_own_time_is_read(host: Platform) -> None:
    await host.set(0)
    for retries in range(7):
        await host.fire(fail, retries=retries)
        assert host.storage.alarm_ms == NOW_MS + 1  # the platform tells the firing that failed
        assert await host.get() == (True, host.now_ms + 2000 * 2**retries)
    host.storage.alarm_ms = LATER_MS  # and the retry's, where it knows better
    assert await host.get() == (True, LATER_MS)


async def test_an_alarm_that_the_platform_has_given_up_is_not_set(host: Platform) -> None:
    await host.set(0)
    for retries in range(7):
        await host.fire(fail, retries=retries)
    host.storage.alarm_ms = None
    assert await host.get() == (False, 0)


async def test_a_failure_shows_before_its_note_and_the_platform_knows_of_it(host: Platform) -> None:
    """The note waits for a transaction that still runs."""
    await host.set(LATER_MS)
    host.now_ms, host.storage.alarm_ms = LATER_MS, None
    firing = host.firing(LATER_MS)
    await firing.__aenter__()
    assert await host.get() == (False, 0)
    await host.durable.gate.enter()
    ending = asyncio.create_task(firing.__aexit__(Failure, Failure(), None))
    asking = asyncio.create_task(host.get())
    await asyncio.sleep(0.001)
    assert not ending.done()
    host.durable.gate.leave()
    assert await asking == (True, LATER_MS + 2000)
    await ending
    assert host.durable.alarm_note.read() == Retrying(1, 0, LATER_MS)


async def test_deleting_an_alarm_that_its_handler_set_gives_up_the_retries_too(host: Platform) -> None:
    """As delete_alarm says; deleting alone keeps them."""

    async def set_delete_and_fail() -> None:
        await yungong.set_alarm(LATER_MS + 5)
        await delete_and_fail()

    async def delete_and_fail() -> None:
        await yungong.delete_alarm()
        raise Failure

    await host.set(LATER_MS)
    assert await host.fire(delete_and_fail) == 0
    assert host.storage.deleted == 0
    assert (await host.get())[0]
    assert await host.fire(set_delete_and_fail, retries=1) == 1
    assert host.storage.deleted == 1


# Beside transactions


async def test_an_alarm_set_past_the_package_fires_at_its_own_time(host: Platform) -> None:
    """The record counts only while the platform holds its time."""
    await host.set(MAX_TIME_MS)
    host.storage.alarm_ms = LATER_MS
    assert await host.fire(succeed) == 0


@pytest.mark.parametrize("stays", [True, False])
async def test_clearing_keeps_the_exact_time_where_the_alarm_stays(host: Platform, stays: bool) -> None:
    """Under an older compatibility date deleteAll leaves the alarm; else nothing stays behind."""
    storage: Any = host.storage

    await host.set(MAX_TIME_MS)
    storage.alarm_is_cleared = not stays
    await host.run(yungong.store_clear)
    assert await host.get() == ((True, MAX_TIME_MS) if stays else (False, 0))
    if not stays:
        assert host.durable.alarm_note.read() is None


async def test_an_alarm_set_after_one_that_replaced_a_pending_retry_was_deleted_counts_from_zero(
    host: Platform,
) -> None:
    await host.set(LATER_MS)
    await host.fire(fail)
    await host.set(MAX_TIME_MS)
    await host.run(yungong.delete_alarm)
    await host.set(LATER_MS + 5000)
    assert await host.fire(succeed, retries=1) == 0


async def test_a_replacement_that_fires_in_a_retry_s_place_and_fails_counts_its_own_first_retry(
    host: Platform,
) -> None:
    """The platform fires it anew, with its own count of 0, as the first retry."""
    await host.set(LATER_MS)
    await host.fire(fail)
    await host.set(NOW_MS + 5)
    host.now_ms, host.storage.alarm_ms = LATER_MS, None
    firing = host.firing(LATER_MS + 2000, 1)
    assert await firing.__aenter__() == 0
    await firing.__aexit__(Failure, Failure(), None)
    assert await host.firing(NOW_MS + 5).__aenter__() == 1


async def test_the_firing_of_an_alarm_that_was_replaced_meanwhile_is_passed_over(
    host: Platform,
) -> None:
    """As it comes after a transaction that changed the alarm, fell due in it and was rolled back."""
    await host.set(NOW_MS + 5)
    async with host.firing(NOW_MS - 5) as retries:
        assert retries is None
    assert await host.get() == (True, NOW_MS + 5)
    assert await host.fire(fail) == 0
    assert await host.fire(succeed, retries=1) == 1


async def test_an_alarm_that_fires_waits_for_the_transaction_that_may_restore_it(
    host: Platform,
) -> None:
    await host.set(LATER_MS)
    await host.durable.gate.enter()
    firing = asyncio.create_task(host.firing(LATER_MS).__aenter__())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not firing.done()
    host.storage.alarm_ms = LATER_MS + 100  # restored
    host.durable.gate.leave()
    assert await firing is None


@pytest.mark.parametrize("ending", [yungong.delete_alarm, yungong.store_clear])
@pytest.mark.parametrize("is_retry", [False, True])
@pytest.mark.parametrize("comes", ["before the deletion", "while it is under way", "after it"])
async def test_an_alarm_that_is_deleted_before_its_firing_has_begun_enters_no_handler(
    host: Platform, ending: Handler, is_retry: bool, comes: str
) -> None:
    """The platform has cleared it and calls it; it waits for the object, or the call is still under way."""
    await host.set(LATER_MS)
    if is_retry:
        await host.fire(fail)
    scheduled_ms, gate = host.storage.alarm_ms, host.durable.gate
    assert scheduled_ms is not None
    host.now_ms, host.storage.alarm_ms = LATER_MS + 2500, None
    deletion = asyncio.Future[None]()
    host.storage.deleteAlarm = host.storage.delete_all = lambda: deletion  # type: ignore[method-assign]

    async def fire() -> asyncio.Task[int | None]:
        firing = asyncio.create_task(host.firing(scheduled_ms, int(is_retry)).__aenter__())
        await turns()
        return firing

    await gate.enter()
    deleting = asyncio.create_task(host.run(ending))
    await turns()
    if comes == "before the deletion":
        firing = await fire()
    gate.leave()
    await turns()
    if comes == "while it is under way":
        firing = await fire()
    deletion.set_result(None)
    await deleting
    assert await host.get() == (False, 0)
    if comes == "after it":
        firing = await fire()
    assert await firing is None
    assert await host.get() == (False, 0)


@pytest.mark.parametrize("ending", [yungong.delete_alarm, yungong.store_clear])
async def test_an_alarm_that_is_set_after_a_deletion_fires(host: Platform, ending: Handler) -> None:
    await host.set(LATER_MS)
    await host.run(ending)
    await host.set(NOW_MS)
    assert await host.fire(succeed) == 0
    await host.run(ending)
    host.storage.alarm_ms = LATER_MS  # past the package
    assert await host.fire(succeed) == 0


async def test_a_store_that_is_cleared_without_its_alarm_lets_it_fire(host: Platform) -> None:
    host.storage.alarm_is_cleared = False
    await host.set(NOW_MS)
    await host.run(yungong.store_clear)
    assert await host.fire(succeed) == 0


async def test_an_alarm_that_fires_early_can_be_set_to_the_same_time_again(host: Platform) -> None:
    """The platform takes the time that it holds for no change, and is done with it."""
    await host.set(NOW_MS + 500)
    host.now_ms, host.storage.alarm_ms = NOW_MS + 497, None
    async with host.firing(NOW_MS + 500) as retries:
        assert retries == 0
        await host.run(lambda: yungong.set_alarm(NOW_MS + 500))
        assert host.storage.alarm_ms == NOW_MS + 501
    assert await host.get() == (True, NOW_MS + 500)
    assert await host.fire(succeed) == 0


@pytest.mark.parametrize("time_ms", [LATER_MS, 5, PAST_2262_MS])
async def test_an_alarm_whose_firing_waits_for_the_object_is_still_set(host: Platform, time_ms: int) -> None:
    await host.set(time_ms)
    scheduled_ms = host.storage.alarm_ms
    assert scheduled_ms is not None
    host.storage.alarm_ms = None
    await host.durable.gate.enter()
    reading = asyncio.create_task(host.get())
    await turns()
    firing = asyncio.create_task(host.firing(scheduled_ms).__aenter__())
    await turns()
    host.durable.gate.leave()
    assert await reading == (True, time_ms)
    await firing


@pytest.mark.parametrize(
    "call",
    [yungong.get_alarm, yungong.delete_alarm, yungong.store_clear, lambda: yungong.set_alarm(LATER_MS)],
)
async def test_a_storage_that_fails_aborts_the_event_when_the_alarm_s_note_is_read(
    host: Platform, call: Handler
) -> None:
    def broken(*_: Any) -> Any:
        raise platform.PlatformError("disk I/O error")

    host.storage.query = broken  # type: ignore[assignment]
    with pytest.raises(宿主中止, match="disk I/O error"):
        await host.run(call)


@pytest.mark.parametrize("error", [None, Failure()])
async def test_an_alarm_that_has_ended_leaves_its_note_outside_of_any_transaction(
    host: Platform, error: Failure | None
) -> None:
    await host.set(LATER_MS)
    host.storage.alarm_ms = None
    firing = host.firing(LATER_MS)
    await firing.__aenter__()
    await host.durable.gate.enter()
    ending = asyncio.create_task(firing.__aexit__(None, error, None))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not ending.done()
    assert "Running" in host.storage.query("SELECT state FROM yungong_alarm")[0][0]
    host.durable.gate.leave()
    await ending


async def test_a_firing_waits_for_the_transaction_that_runs_but_for_none_that_waits(
    host: Platform,
) -> None:
    """One of them could delete the alarm, and be told so, before the handler is entered."""
    order: list[str] = []
    await host.set(LATER_MS)
    gate = host.durable.gate
    await gate.enter()

    async def wait() -> None:
        await gate.enter()
        order.append("transaction")
        gate.leave()

    async def fire() -> None:
        host.storage.alarm_ms = None
        await host.firing(LATER_MS).__aenter__()
        order.append("firing")

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    firing = asyncio.create_task(fire())
    await asyncio.sleep(0)
    gate.leave()
    await asyncio.gather(waiting, firing)
    assert order == ["firing", "transaction"]


async def test_an_alarm_that_fires_by_a_clock_ahead_of_the_worker_s_is_not_put_off(
    host: Platform,
) -> None:
    """Arming it again for the time that fires would change nothing, and lose it."""
    await host.set(NOW_MS + 500)
    host.now_ms, host.storage.alarm_ms = NOW_MS + 497, None
    assert await host.firing(NOW_MS + 500).__aenter__() == 0
