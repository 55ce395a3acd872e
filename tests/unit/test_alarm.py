"""The alarm across its firings, on a platform that keeps one alarm and counts retries.

The platform here does what workerd was seen to do: it keeps what setAlarm gave it, clears it before the
handler, and after a failure keeps the time of the failed firing until the retry, unless another was set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any

import pytest

import yungong
from yungong import alarm, events, platform
from yungong.alarm import MAX_TIME_MS
from yungong.alarm_record import AlarmRecord
from yungong.durable import Durable
from yungong.errors import 豫言异常

from .doubles import AlarmStorage, as_platform, make_event

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

    async def run(self, handler: Handler, kind: str = "durable-fetch", **members: Any) -> Any:
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
        seen = await alarm.begin_firing(self.durable, scheduled_ms, retries)
        if seen is None:
            return None
        failed = False
        try:
            await self.run(handler, "durable-alarm", alarm_retries=seen)
        except Failure:
            failed = True
        await alarm.end_firing(self.durable, failed=failed)
        if failed and self.storage.alarm_ms is None:
            self.storage.alarm_ms = scheduled_ms
        return seen

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


async def fail() -> None:
    raise Failure


# Setting and reading


async def test_a_new_object_has_no_alarm(host: Platform) -> None:
    assert await host.get() == (False, 0)


@pytest.mark.parametrize(
    "time_ms",
    [0, 1, NOW_MS - 1, NOW_MS, NOW_MS + 1, LATER_MS, platform.MAX_ALARM_MS, PAST_2262_MS, MAX_TIME_MS],
)
@pytest.mark.parametrize("evicted", [False, True])
async def test_every_time_is_read_as_it_was_set(host: Platform, time_ms: int, evicted: bool) -> None:
    await host.set(time_ms)
    if evicted:
        host.construct_anew()
    assert await host.get() == (True, time_ms)
    assert host.storage.alarm_ms is not None
    assert NOW_MS < host.storage.alarm_ms <= platform.MAX_ALARM_MS


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
    assert host.durable.alarm_records.read() is None


@pytest.mark.parametrize("time_ms", [-1, MAX_TIME_MS + 1, 10**30])
async def test_a_time_out_of_range_is_refused_and_the_alarm_stays(host: Platform, time_ms: int) -> None:
    await host.set(LATER_MS)
    with pytest.raises(豫言异常, match=r"^持久告警时刻须在 0 至 8640000000000000 之间$"):
        await host.set(time_ms)
    assert await host.get() == (True, LATER_MS)


@pytest.mark.parametrize("time_ms", [True, 1.0, "1", None, 10**20 * 1.0])
async def test_a_time_that_is_no_int_is_a_type_error_before_anything_else(time_ms: Any) -> None:
    with pytest.raises(TypeError, match=r"^持久告警时刻 must be an int, not "):
        await yungong.set_alarm(time_ms)


async def test_a_time_that_the_platform_can_hold_leaves_no_record(host: Platform) -> None:
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
    host.storage.alarm_ms = platform.MAX_ALARM_MS
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
    assert host.durable.alarm_records.read() is None


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
    assert host.durable.alarm_records.read() is None


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


async def test_a_platform_that_counts_anew_is_followed(host: Platform) -> None:
    """A handler that was killed with its process runs again with the platform's count of 0."""
    await host.set(LATER_MS)
    await host.fire(fail)
    await host.set(LATER_MS + 5)
    assert await host.fire(fail, retries=1) == 0
    assert await host.fire(fail, retries=0) == 0
    assert await host.fire(succeed, retries=1) == 1


async def test_what_the_handler_s_failure_leaves_behind_is_no_alarm_time(host: Platform) -> None:
    await host.set(0)
    await host.fire(fail)
    assert host.durable.alarm_records.read() == AlarmRecord(None, None, 0)
    assert await host.get() == (True, NOW_MS + 1)


async def test_the_note_of_a_failure_waits_for_a_transaction_that_still_runs(host: Platform) -> None:
    await host.durable.gate.enter()
    noting = asyncio.create_task(alarm.end_firing(host.durable, failed=True))
    await asyncio.sleep(0.001)
    assert not noting.done()
    host.durable.gate.leave()
    await noting
    assert host.durable.alarm_records.read() == AlarmRecord(None, None, 0)
