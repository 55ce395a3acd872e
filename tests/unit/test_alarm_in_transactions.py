"""The alarm beside transactions, on a platform whose answers come when they are let."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import yungong
from yungong import platform
from yungong.alarm import Firing
from yungong.alarm_state import Armed, Running
from yungong.errors import 豫言异常

from . import doubles
from .doubles import as_platform
from .test_alarm import LATER_MS, NOW_MS
from .test_transaction import FAILED, Object, host

__all__ = ["host"]


class Turned(doubles.TransactionStorage):
    """A platform whose answer about its alarm comes when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()
        self.asked = asyncio.Event()

    def getAlarm(self) -> Any:
        async def answer() -> int | None:
            self.asked.set()
            await self.let.wait()
            return self.alarm_ms

        return asyncio.ensure_future(answer())


@pytest.mark.parametrize("call", [lambda: yungong.set_alarm(5), yungong.delete_alarm])
async def test_no_transaction_begins_while_the_alarm_is_changed(
    monkeypatch: pytest.MonkeyPatch, host: Object, call: Any
) -> None:
    """On the platform the change would be rolled back with it."""
    monkeypatch.setattr(platform, "now_ms", lambda: NOW_MS)
    host.storage = storage = Turned()
    host.durable = type(host.durable)(as_platform(storage))
    host.durable.alarm_note.write(Running(0, 0, host.durable.alarm_note.instance))
    changing = host.start(call)
    await storage.asked.wait()
    transacting = host.start(lambda: yungong.run_transaction("1"))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not host.durable.gate.open
    assert not transacting.done()
    storage.let.set()
    await changing
    await transacting


async def test_the_time_that_the_platform_took_is_not_noted_past_its_own_transaction(
    monkeypatch: pytest.MonkeyPatch, host: Object
) -> None:
    monkeypatch.setattr(platform, "now_ms", lambda: NOW_MS)
    host.storage = storage = Turned()
    host.durable = type(host.durable)(as_platform(storage))
    raw: Any = doubles.RawTransaction
    monkeypatch.setattr(raw, "setAlarm", lambda _, at_ms: storage.setAlarm(at_ms))
    monkeypatch.setattr(raw, "getAlarm", lambda _: storage.getAlarm(), raising=False)
    setting: list[asyncio.Task[None]] = []

    async def handler() -> None:
        setting.append(asyncio.create_task(yungong.set_alarm(5)))
        await storage.asked.wait()
        yungong.complete_transaction("null")

    await host.transact(handler)
    storage.alarm_ms = NOW_MS + 7
    storage.let.set()
    await asyncio.wait(setting)
    assert host.durable.alarm_note.read() == Armed(5, NOW_MS + 1, miscounted=False)


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("call", [lambda: yungong.set_alarm(LATER_MS), yungong.delete_alarm])
async def test_the_alarm_is_armed_again_after_a_transaction_that_changed_it_failed(
    monkeypatch: pytest.MonkeyPatch, host: Object, call: Any, refused: bool
) -> None:
    """One that fell due meanwhile may never fire by itself."""
    storage: Any = host.storage
    armed: list[int] = []
    set_alarm = storage.setAlarm

    def arm(at_ms: int) -> asyncio.Future[Any]:
        armed.append(at_ms)
        done: asyncio.Future[Any] = set_alarm(at_ms)
        return done

    monkeypatch.setattr(storage, "setAlarm", arm)
    storage.alarm_ms = LATER_MS
    if refused:
        storage.refusal = platform.PlatformError("broken")

    async def handler() -> None:
        await call()
        await asyncio.sleep(0)
        raise ValueError("坏")

    with pytest.raises(豫言异常, match=rf"{FAILED}坏$"):  # the handler's reason, not the platform's
        await host.transact(handler)
    assert armed == [LATER_MS]


@pytest.mark.parametrize("time_ms", [5, NOW_MS, NOW_MS + 500])
async def test_a_time_that_the_platform_turned_into_its_now_is_read_as_it_was_set(
    monkeypatch: pytest.MonkeyPatch, host: Object, time_ms: int
) -> None:
    """On its way to the platform the time had passed."""
    monkeypatch.setattr(platform, "now_ms", lambda: NOW_MS)
    host.storage = storage = Turned()
    host.durable = type(host.durable)(as_platform(storage))
    setting = host.start(lambda: yungong.set_alarm(time_ms))
    for _ in range(3):
        await asyncio.sleep(0)
    storage.alarm_ms = NOW_MS + 700
    storage.let.set()
    await setting
    assert await host.start(yungong.get_alarm) == (True, time_ms)


async def test_a_caller_that_is_cancelled_while_its_alarm_is_restored_does_not_stop_that(
    host: Object,
) -> None:
    host.storage = storage = Turned()
    host.durable = type(host.durable)(as_platform(storage))
    storage.alarm_ms = LATER_MS

    async def handler() -> None:
        await yungong.delete_alarm()
        raise ValueError("坏")

    host.handler = handler
    caller = host.start(lambda: yungong.run_transaction("1"))
    await storage.asked.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert not host.durable.gate.open
    storage.let.set()
    await host.durable.gate.enter()
    assert (storage.deleted, storage.alarm_ms) == (1, LATER_MS)


async def test_a_deletion_in_an_alarm_s_handler_that_has_ended_meanwhile_is_refused(host: Object) -> None:
    host.storage = storage = Turned()
    host.durable = type(host.durable)(as_platform(storage))
    host.durable.alarm_note.write(Running(0, 0, host.durable.alarm_note.instance))
    storage.alarm_ms = LATER_MS
    event = host.event()
    deleting = host.start(yungong.delete_alarm, event)
    await storage.asked.wait()
    event.close()
    storage.let.set()
    with pytest.raises(豫言异常, match=r"^当前事件不属于持久对象$"):
        await deleting
    assert storage.deleted == 0


async def test_the_alarm_is_armed_again_after_a_commit_that_the_platform_refused(host: Object) -> None:
    class Refusing(doubles.TransactionStorage):
        def transaction(self, closure: Callable[[Any], Any]) -> asyncio.Future[Any]:
            async def refuse() -> None:
                await closure(doubles.RawTransaction(None))
                raise platform.PlatformError("disk is full")

            return asyncio.ensure_future(refuse())

    host.storage = storage = Refusing()
    host.durable = type(host.durable)(as_platform(storage))
    storage.alarm_ms = LATER_MS

    async def handler() -> None:
        await yungong.delete_alarm()
        await asyncio.sleep(0)
        yungong.complete_transaction("1")

    with pytest.raises(豫言异常, match=rf"^{FAILED}disk is full$"):
        await host.transact(handler)
    assert (storage.deleted, storage.alarm_ms) == (1, LATER_MS)


@pytest.mark.parametrize("rolls_back", [False, True])
@pytest.mark.parametrize("comes", ["meanwhile", "afterwards"])
async def test_a_firing_is_passed_over_where_a_transaction_deletes_its_alarm_and_commits(
    monkeypatch: pytest.MonkeyPatch, host: Object, rolls_back: bool, comes: str
) -> None:
    """The platform has cleared the alarm and calls it."""
    raw: Any = doubles.RawTransaction
    monkeypatch.setattr(raw, "getAlarm", lambda _: host.storage.getAlarm(), raising=False)
    deleted, let = asyncio.Event(), asyncio.Event()

    async def handler() -> None:
        await yungong.delete_alarm()
        deleted.set()
        await let.wait()
        assert await yungong.get_alarm() == (False, 0)
        if rolls_back:
            yungong.rollback_transaction()
        yungong.complete_transaction("1")

    scheduled = SimpleNamespace(getTime=platform.now_ms)
    firing = Firing(host.durable, as_platform(SimpleNamespace(scheduledTime=scheduled, retryCount=0)))
    entering: asyncio.Task[int | None] | None = None
    host.handler = handler
    transacting = host.start(lambda: yungong.run_transaction("1"))
    await deleted.wait()
    if comes == "meanwhile":
        entering = asyncio.create_task(firing.__aenter__())
        await asyncio.sleep(0)
    let.set()
    await transacting
    retries = await (firing.__aenter__() if entering is None else entering)
    assert retries == (0 if rolls_back else None)
