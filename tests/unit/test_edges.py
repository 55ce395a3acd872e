"""Edges between the modules, each found by breaking a line and seeing no test fail."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import pytest

import yungong
from yungong import alarm, events, jsontext, platform, running, store
from yungong.alarm import MAX_TIME_MS
from yungong.alarm_record import AlarmRecord
from yungong.durable import Durable
from yungong.entrypoints import Worker
from yungong.errors import 宿主中止, 豫言异常

from . import doubles
from .doubles import as_platform, make_event
from .test_alarm import LATER_MS, NOW_MS, Platform, fail, succeed
from .test_alarm import host as alarm_host
from .test_interfaces import ARGUMENTS, TABLE, _event, _parameters
from .test_transaction import FAILED, Object, host, write_and_complete

__all__ = ["alarm_host", "host"]


# 16 MiB, in every text of every function

TEXTS = [
    (name, place)
    for name in TABLE
    for place, parameter in enumerate(_parameters(getattr(yungong, name)))
    if parameter.annotation == "str"
]


@pytest.mark.parametrize(("name", "place"), TEXTS)
async def test_a_text_over_16_mib_aborts_the_event_whichever_argument_it_is(name: str, place: int) -> None:
    function = getattr(yungong, name)
    arguments = [ARGUMENTS[parameter.annotation] for parameter in _parameters(function)]
    arguments[place] = "1" * (events.MAX_EXCHANGED_BYTES + 1)
    event = _event(TABLE[name]["events"][0])
    context = copy_context()
    context.run(events.enter, event)

    async def call() -> Any:
        value = function(*arguments)
        return await value if inspect.isawaitable(value) else value

    with pytest.raises(宿主中止, match=r"^交换文字超过宿主上限 16 MiB：16777217 字节$"):
        await asyncio.get_running_loop().create_task(call(), context=context)


async def test_a_text_over_16_mib_that_would_leave_the_store_aborts_the_event(
    monkeypatch: pytest.MonkeyPatch, host: Object
) -> None:
    host.storage.committed = {"k": "x"}
    monkeypatch.setattr(jsontext, "outgoing", lambda *_: "1" * (events.MAX_EXCHANGED_BYTES + 1))
    with pytest.raises(宿主中止, match=r"^交换文字超过宿主上限 16 MiB"):
        await host.start(lambda: yungong.store_get("k"))


# The batch


class Message(SimpleNamespace):
    id, attempts, timestamp = "m", 1, SimpleNamespace(getTime=lambda: 0)


class BadBatch:
    queue = "q"

    def __init__(self, *bodies: Any) -> None:
        self.messages = [Message(body=body) for body in bodies]

    def heads(self) -> list[tuple[str, str, str]]:
        return [('"m"', "1", "0") for _ in self.messages]

    def bodies_utf8(self, *_: object) -> None:
        """Have the bodies read one by one."""

    def boxed_body(self, index: int) -> list[Any]:
        return [self.messages[index].body]

    def ack(self, index: int) -> None:
        raise platform.PlatformError("broken")

    def retry(self, index: int, options: str | None) -> None:
        raise platform.PlatformError("broken")


def refusing(name: str, words: str) -> Any:
    """Return a JSON.stringify that throws."""

    def stringify(*_: Any) -> str:
        error = platform.PlatformError(words)
        error.name = name
        raise error

    return stringify


async def in_queue_event(batch: Any, function: Any) -> Any:
    context = copy_context()
    context.run(events.enter, make_event("queue", batch=as_platform(batch)))

    async def call() -> Any:
        return function()

    return await asyncio.get_running_loop().create_task(call(), context=context)


async def test_a_batch_over_16_mib_aborts_the_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "outgoing", lambda *_: "1" * 2**20)
    with pytest.raises(宿主中止, match=r"^交换文字超过宿主上限 16 MiB"):
        await in_queue_event(BadBatch(*["x"] * 16), yungong.read_batch)


async def test_a_body_may_nest_32_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "stringify", lambda boxed: f"[{boxed[0]}]")
    monkeypatch.setattr(jsontext, "_is_doubtful", lambda *_: False)
    deep = "[" * 32 + "]" * 32
    assert deep in await in_queue_event(BadBatch(deep), yungong.read_batch)
    with pytest.raises(宿主中止, match=r"^队列消息正文嵌套超过 32 层：序号 1$"):
        await in_queue_event(BadBatch(deep, f"[{deep}]"), yungong.read_batch)


@pytest.mark.parametrize("call", [lambda: yungong.ack_message(0), lambda: yungong.retry_message(0, 0)])
async def test_a_platform_that_refuses_an_acknowledgement_or_a_retry_aborts_the_event(call: Any) -> None:
    with pytest.raises(宿主中止, match=r"^队列故障：broken$"):
        await in_queue_event(BadBatch(1), call)


@pytest.mark.parametrize(
    ("name", "words", "error", "told"),
    [
        ("TypeError", "Do not know how to serialize a BigInt", 豫言异常, "队列消息正文不是 JSON 值：序号 0"),
        ("RangeError", "Maximum call stack size exceeded", 宿主中止, "队列消息正文嵌套超过 32 层：序号 0"),
        ("RangeError", "Invalid string length", 宿主中止, "交换文字超过宿主上限 16 MiB"),
    ],
)
async def test_a_body_without_a_text_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, words: str, error: type[BaseException], told: str
) -> None:
    monkeypatch.setattr(platform, "stringify", refusing(name, words))
    with pytest.raises(error, match=f"^{told}$"):
        await in_queue_event(BadBatch("x"), yungong.read_batch)


async def test_an_empty_batch_has_no_messages() -> None:
    assert await in_queue_event(BadBatch(), yungong.read_batch) == '{"queue":"q","messages":[]}'


# wait_until


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
async def test_a_worker_s_event_keeps_the_platform_waiting_for_what_it_waits_for(kind: str) -> None:
    app = yungong.App()
    promises: list[Any] = []
    worker: Any = Worker.__new__(Worker)
    worker._app, worker._environment = app, as_platform(None)
    worker._execution = make_event().execution
    worker.ctx = SimpleNamespace(waitUntil=promises.append)

    @app.on(kind)
    def handle(*_: Any) -> None:
        yungong.wait_until(asyncio.sleep(0.001))

    await (
        worker.fetch("request") if kind == "fetch" else worker.queue(SimpleNamespace(queue="q", messages=[]))
    )
    assert len(promises) == 1
    assert not promises[0].done()
    await promises[0]


# Listings


class Entries(list[Any]):
    @property
    def length(self) -> int:
        return len(self)


async def test_a_listing_far_over_its_limit_is_refused_after_a_fraction_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """300 MB of which no more than 24 MiB may be read, and no more than 16 MiB at once."""
    read: list[int] = []

    class Storage:
        def size(self) -> int:
            return 300_000_000

        def list(self, text: str) -> Any:
            options = json.loads(text)
            first = options.get("startAfter", "")
            keys = [key for key in (f"k{n:03}" for n in range(150)) if key > first][: options["limit"]]
            read.append(len(keys) * 2_000_000)
            return Entries([key, "x" * 2_000_000] for key in keys)

    monkeypatch.setattr(jsontext, "outgoing_utf8", lambda value, _: json.dumps(value).encode())
    event: Any = make_event("durable-fetch", durable=SimpleNamespace(storage=Storage()))
    with pytest.raises(豫言异常, match=r"^列举结果超过 8 MiB"):
        store.listing(event, {})
    assert sum(read) <= 24 * 2**20, read
    assert max(read) <= 16 * 2**20, read


# Alarms


async def test_an_event_that_was_aborted_before_the_platform_failed_keeps_its_own_cause() -> None:
    cause = ValueError("先")

    class Failing(doubles.AlarmStorage):
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


async def test_the_time_that_the_platform_took_is_not_noted_inside_another_transaction(
    monkeypatch: pytest.MonkeyPatch, host: Object
) -> None:
    """The record would go back with it."""
    monkeypatch.setattr(platform, "now_ms", lambda: NOW_MS)
    host.storage = storage = Turned()
    host.durable = type(host.durable)(as_platform(storage))
    setting = host.start(lambda: yungong.set_alarm(5))
    await storage.asked.wait()
    storage.alarm_ms = NOW_MS + 7  # the platform's clock had passed that time already
    await host.durable.gate.enter()
    storage.let.set()
    await setting
    assert host.durable.alarm_records.read() == AlarmRecord(NOW_MS + 1, 5, None)
    host.durable.gate.leave()


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
    assert host.durable.alarm_records.read() == AlarmRecord(NOW_MS + 1, 5, None)


async def test_a_deletion_in_an_alarm_s_handler_waits_for_a_transaction_that_began_meanwhile(
    host: Object,
) -> None:
    """On the platform it would be rolled back with the transaction."""
    host.storage = storage = Turned()
    host.durable = type(host.durable)(as_platform(storage))
    host.durable.alarm_fires = True
    storage.alarm_ms = LATER_MS
    deleting = host.start(yungong.delete_alarm)
    await storage.asked.wait()
    await host.durable.gate.enter()
    storage.let.set()
    await asyncio.sleep(0.001)
    assert (deleting.done(), storage.deleted) == (False, 0)
    host.durable.gate.leave()
    await deleting
    assert storage.deleted == 1


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


async def test_an_alarm_set_past_the_package_fires_at_its_own_time(alarm_host: Platform) -> None:
    """The record counts only while the platform holds its time."""
    await alarm_host.set(MAX_TIME_MS)
    alarm_host.storage.alarm_ms = LATER_MS
    assert await alarm_host.fire(succeed) == 0


@pytest.mark.parametrize("stays", [True, False])
async def test_clearing_keeps_the_exact_time_where_the_alarm_stays(
    alarm_host: Platform, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    """Under an older compatibility date deleteAll leaves the alarm; else nothing stays behind."""
    storage: Any = alarm_host.storage

    def delete_all() -> asyncio.Future[Any]:
        for table in storage.tables():
            storage.query(f"DROP TABLE {table}")
        if not stays:
            storage.alarm_ms = None
        done: asyncio.Future[Any] = asyncio.Future()
        done.set_result(None)
        return done

    monkeypatch.setattr(storage, "delete_all", delete_all, raising=False)
    await alarm_host.set(MAX_TIME_MS)
    await alarm_host.run(yungong.store_clear)
    assert await alarm_host.get() == ((True, MAX_TIME_MS) if stays else (False, 0))
    if not stays:
        assert alarm_host.durable.alarm_records.read() is None


# Transactions


async def test_a_transaction_whose_caller_s_event_has_ended_meanwhile_is_rolled_back(host: Object) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def handler() -> None:
        await write_and_complete()
        entered.set()
        await go_on.wait()

    host.handler = handler
    event = host.event()
    caller = host.start(lambda: yungong.run_transaction("1"), event)
    await entered.wait()
    event.close()
    go_on.set()
    with pytest.raises(豫言异常, match=rf"{FAILED}启动事务的事件已经结束$"):
        await caller
    assert host.storage.committed == {}


async def test_a_handler_that_never_waits_and_cannot_be_rolled_back_commits_nothing(
    host: Object,
) -> None:
    """Its event is closed before the platform has its promise."""
    host.storage.refusal = platform.PlatformError("broken")

    async def handler() -> None:
        await write_and_complete()
        raise ValueError("坏")

    with pytest.raises(豫言异常, match=rf"{FAILED}坏$"):
        await host.transact(handler)
    assert host.storage.committed == {}


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


async def test_an_alarm_set_after_one_that_replaced_a_pending_retry_was_deleted_counts_from_zero(
    alarm_host: Platform,
) -> None:
    await alarm_host.set(LATER_MS)
    await alarm_host.fire(fail)
    await alarm_host.set(MAX_TIME_MS)
    await alarm_host.run(yungong.delete_alarm)
    await alarm_host.set(LATER_MS + 5000)
    assert await alarm_host.fire(succeed, retries=1) == 0


async def test_what_a_failed_transaction_waits_for_is_cancelled(host: Object) -> None:
    tasks: list[asyncio.Future[Any]] = []

    async def handler() -> None:
        tasks.append(asyncio.ensure_future(asyncio.Event().wait()))
        yungong.wait_until(tasks[0])
        raise ValueError("坏")

    with pytest.raises(豫言异常, match=rf"{FAILED}坏$"):
        await host.transact(handler)
    await asyncio.sleep(0)
    assert tasks[0].cancelled()


@pytest.mark.parametrize(
    "call",
    [
        lambda: yungong.store_get("k"),
        lambda: yungong.store_put("k", "1"),
        lambda: yungong.store_delete("k"),
        lambda: yungong.store_list("{}"),
        yungong.store_clear,
        yungong.get_alarm,
        lambda: yungong.set_alarm(LATER_MS),
        yungong.delete_alarm,
        lambda: yungong.run_transaction("1"),
    ],
)
async def test_every_access_waits_for_the_transaction_that_runs(
    host: Object, monkeypatch: pytest.MonkeyPatch, call: Any
) -> None:
    monkeypatch.setattr(platform, "stringify", json.dumps)
    event = host.event()
    await host.durable.gate.enter()
    host.durable.storage = as_platform(doubles.Unreachable())
    waiting = host.start(call, event)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    event.close()
    host.durable.gate.leave()
    with pytest.raises(豫言异常, match=r"^当前事件不属于持久对象$"):
        await waiting


async def test_a_replacement_that_fires_in_a_retry_s_place_and_fails_counts_its_own_first_retry(
    alarm_host: Platform,
) -> None:
    """The platform fires it anew, with its own count of 0, as the first retry."""
    await alarm_host.set(LATER_MS)
    await alarm_host.fire(fail)
    await alarm_host.set(NOW_MS + 5)
    alarm_host.now_ms, alarm_host.storage.alarm_ms = LATER_MS, None
    assert await alarm.begin_firing(alarm_host.durable, LATER_MS + 2000, 1) == 0
    await alarm.end_firing(alarm_host.durable, failed=True)
    assert await alarm.begin_firing(alarm_host.durable, NOW_MS + 5, 0) == 1


async def test_the_firing_of_an_alarm_that_was_replaced_meanwhile_is_passed_over(
    alarm_host: Platform,
) -> None:
    """As it comes after a transaction that changed the alarm, fell due in it and was rolled back."""
    await alarm_host.set(NOW_MS + 5)
    assert await alarm.begin_firing(alarm_host.durable, NOW_MS - 5, 0) is None
    assert await alarm_host.get() == (True, NOW_MS + 5)
    assert await alarm_host.fire(fail) == 0
    assert await alarm_host.fire(succeed, retries=1) == 1


async def test_an_alarm_that_fires_waits_for_the_transaction_that_may_restore_it(
    alarm_host: Platform,
) -> None:
    await alarm_host.set(LATER_MS)
    await alarm_host.durable.gate.enter()
    firing = asyncio.create_task(alarm.begin_firing(alarm_host.durable, LATER_MS, 0))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not firing.done()
    alarm_host.storage.alarm_ms = LATER_MS + 100  # restored
    alarm_host.durable.gate.leave()
    assert await firing is None


@pytest.mark.parametrize("failed", [False, True])
async def test_an_alarm_that_has_ended_leaves_its_note_outside_of_any_transaction(
    alarm_host: Platform, failed: bool
) -> None:
    await alarm_host.durable.gate.enter()
    ending = asyncio.create_task(alarm.end_firing(alarm_host.durable, failed=failed))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not ending.done()
    alarm_host.durable.gate.leave()
    await ending


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
    assert host.durable.gate.taken
    storage.let.set()
    await host.durable.gate.enter()
    assert (storage.deleted, storage.alarm_ms) == (1, LATER_MS)


async def test_a_firing_waits_for_the_transaction_that_runs_but_for_none_that_waits(
    alarm_host: Platform,
) -> None:
    """One of them could delete the alarm, and be told so, before the handler is entered."""
    order: list[str] = []
    await alarm_host.set(LATER_MS)
    gate = alarm_host.durable.gate
    await gate.enter()

    async def wait() -> None:
        async with gate:
            order.append("transaction")

    async def fire() -> None:
        alarm_host.storage.alarm_ms = None
        await alarm.begin_firing(alarm_host.durable, LATER_MS, 0)
        order.append("firing")

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    firing = asyncio.create_task(fire())
    await asyncio.sleep(0)
    gate.leave()
    await asyncio.gather(waiting, firing)
    assert order == ["firing", "transaction"]


async def test_an_alarm_that_fires_by_a_clock_ahead_of_the_worker_s_is_not_put_off(
    alarm_host: Platform,
) -> None:
    """Arming it again for the time that fires would change nothing, and lose it."""
    await alarm_host.set(NOW_MS + 500)
    alarm_host.now_ms, alarm_host.storage.alarm_ms = NOW_MS + 497, None
    assert await alarm.begin_firing(alarm_host.durable, NOW_MS + 500, 0) == 0


async def test_a_deletion_in_an_alarm_s_handler_that_has_ended_meanwhile_is_refused(host: Object) -> None:
    host.storage = storage = Turned()
    host.durable = type(host.durable)(as_platform(storage))
    host.durable.alarm_fires = True
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
