"""A transaction's life: who may use it, when it ends, and that a failure commits nothing.

The platform here commits when the closure's promise is fulfilled, unless the closure rolled back; values are
Python's own, since CPython has no engine.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

import yungong
from yungong import App, events, platform
from yungong.alarm import Firing
from yungong.durable import Durable, DurableEvent
from yungong.errors import 豫言异常
from yungong.events import Event
from yungong.execution import Execution
from yungong.gate import TURN_MS

from .doubles import TransactionStorage, Unreachable, as_platform

Handler = Callable[[], Any]
FAILED = "^持久事务失败："


def parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise platform.PlatformError(str(error)) from error


class Object:
    """One object whose transactions enter `handler`."""

    def __init__(self, limit_ms: int) -> None:
        self.storage = TransactionStorage()
        self.durable = Durable(as_platform(self.storage))
        self.app = App()
        self.handler: Handler = lambda: yungong.complete_transaction("null")
        self.app.on("durable-transaction")(self._enter)
        self._execution = Execution(frozenset(), {"durable-transaction": limit_ms})

    def _enter(self) -> Any:
        return self.handler()

    def event(self) -> Event:
        event = DurableEvent("durable-fetch", self.app, as_platform(None), self._execution, self.durable)
        event.deadline_s = monotonic() + 10
        return event

    def start(self, call: Callable[[], Awaitable[Any]], event: Event | None = None) -> asyncio.Task[Any]:
        """Start a call in an event of the object."""
        context = copy_context()
        context.run(events.enter, event or self.event())

        async def body() -> Any:
            return await call()

        return asyncio.get_running_loop().create_task(body(), context=context)

    async def transact(self, handler: Handler, argument: str = "null") -> Any:
        self.handler = handler
        return await self.start(lambda: yungong.run_transaction(argument))


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Object:
    monkeypatch.setattr(platform, "parse", parse)
    return Object(limit_ms=5_000)


async def write_and_complete() -> None:
    await yungong.transaction_put("k", "1")
    yungong.complete_transaction("null")


async def test_argument_and_result_travel_verbatim(host: Object) -> None:
    seen: list[str] = []

    async def handler() -> None:
        seen.append(yungong.transaction_argument())
        yungong.complete_transaction(' [2,\n"\\u0041"] ')

    assert await host.transact(handler, ' {"a" : 1.0} ') == ' [2,\n"\\u0041"] '
    assert seen == [' {"a" : 1.0} ']


async def test_a_completed_transaction_commits_what_it_wrote(host: Object) -> None:
    await host.transact(write_and_complete)
    assert host.storage.committed == {"k": 1}


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(
    "failure", [ValueError("坏"), 豫言异常("坏"), SystemExit("坏"), asyncio.CancelledError("坏")]
)
async def test_whatever_escapes_the_handler_rolls_back_and_can_be_caught(
    host: Object, failure: BaseException, waits: bool
) -> None:
    async def handler() -> None:
        await write_and_complete()
        if waits:
            await asyncio.sleep(0)
        raise failure

    with pytest.raises(豫言异常, match=rf"{FAILED}.*坏$"):
        await host.transact(handler)
    assert host.storage.committed == {}


@pytest.mark.parametrize("completes", [False, True])
async def test_a_failure_that_counts_as_false_is_one(host: Object, completes: bool) -> None:
    class Problems(Exception):
        def __len__(self) -> int:
            return 0

    async def handler() -> None:
        await yungong.transaction_put("k", "1")
        if completes:
            yungong.complete_transaction("1")
        raise Problems("none")

    with pytest.raises(豫言异常, match=FAILED + "none"):
        await host.transact(handler)
    assert host.storage.committed == {}


async def test_a_transaction_that_is_cancelled_at_the_gate_tells_its_caller(host: Object) -> None:
    await host.durable.gate.enter()
    others = asyncio.all_tasks()
    call = host.start(lambda: yungong.run_transaction("null"))
    for _ in range(5):
        await asyncio.sleep(0)
    for task in asyncio.all_tasks() - others - {call}:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    host.durable.gate.leave()
    assert host.durable.gate.open


@pytest.mark.parametrize("rolls_back", [False, True])
async def test_a_firing_that_waits_is_passed_over_if_the_transaction_deleted_its_alarm_and_commits(
    host: Object, rolls_back: bool
) -> None:
    began, go = asyncio.Event(), asyncio.Event()

    async def handler() -> None:
        began.set()
        await go.wait()
        await yungong.delete_alarm()
        yungong.complete_transaction("null")
        if rolls_back:
            yungong.rollback_transaction()

    transacting = asyncio.create_task(host.transact(handler))
    await began.wait()
    info = SimpleNamespace(scheduledTime=SimpleNamespace(getTime=lambda: 5), retryCount=0)
    firing = asyncio.create_task(Firing(host.durable, as_platform(info)).__aenter__())
    await asyncio.sleep(0)
    go.set()
    await transacting
    assert await firing == (0 if rolls_back else None)


async def test_a_handler_that_never_completes_rolls_back(host: Object) -> None:
    with pytest.raises(豫言异常, match=rf"{FAILED}处理入口没有调用 完成持久事务$"):
        await host.transact(lambda: yungong.transaction_put("k", "1"))
    assert host.storage.committed == {}


async def test_a_result_that_is_no_json_does_not_count_and_a_valid_one_may_follow(host: Object) -> None:
    async def handler() -> None:
        with pytest.raises(豫言异常, match=r"^事务结果不是有效的 JSON 文字$"):
            yungong.complete_transaction("{")
        yungong.complete_transaction("1")
        with pytest.raises(豫言异常, match=r"^完成持久事务 每次事务只能成功调用一次$"):
            yungong.complete_transaction("2")

    assert await host.transact(handler) == "1"


async def test_what_was_rolled_back_is_not_committed_and_its_keys_and_alarm_are_refused(host: Object) -> None:
    async def handler() -> None:
        await yungong.transaction_put("k", "1")
        yungong.rollback_transaction()
        yungong.rollback_transaction()
        for call in (
            lambda: yungong.transaction_get("k"),
            lambda: yungong.transaction_put("k", "1"),
            lambda: yungong.transaction_delete("k"),
            yungong.get_alarm,
            lambda: yungong.set_alarm(5),
            yungong.delete_alarm,
        ):
            with pytest.raises(豫言异常, match=r"^事务已回滚"):
                await call()
        yungong.complete_transaction('"done"')

    assert await host.transact(handler) == '"done"'
    assert host.storage.committed == {}


async def test_a_handler_past_its_limit_rolls_back_and_can_be_caught(host: Object) -> None:
    async def handler() -> None:
        await write_and_complete()
        await asyncio.Event().wait()

    host._execution.limits_ms["durable-transaction"] = 20
    with pytest.raises(豫言异常, match=rf"{FAILED}durable-transaction 事件超过时限 20 毫秒，停在 "):
        await host.transact(handler)
    assert host.storage.committed == {}


async def test_a_transaction_ends_with_what_its_caller_s_event_has_left(host: Object) -> None:
    async def handler() -> None:
        await write_and_complete()
        await asyncio.Event().wait()

    host.handler = handler
    event = host.event()
    event.deadline_s = monotonic() + 0.02
    with pytest.raises(
        豫言异常,
        match=rf"{FAILED}durable-transaction 事件超过时限 [0-9]{{1,2}} 毫秒，停在 ",
    ):
        await host.start(lambda: yungong.run_transaction("1"), event)
    assert host.storage.committed == {}


async def test_transactions_of_one_object_run_one_after_another(host: Object) -> None:
    async def add() -> None:
        count = host.storage.get("n") or 0
        await asyncio.sleep(0)
        await yungong.transaction_put("n", str(int(count) + 1))
        yungong.complete_transaction("null")

    host.handler = add
    await asyncio.gather(*(host.start(lambda: yungong.run_transaction("1")) for _ in range(5)))
    assert host.storage.committed == {"n": 5}


async def test_the_caller_goes_on_before_the_platform_has_its_turn(
    host: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a timer that it sets is due before the turn's."""
    order: list[str] = []
    wait_for = platform.Timer

    def timer(delay_ms: float, fire: Callable[[], None]) -> platform.Timer:
        order.append("a turn" if delay_ms == TURN_MS else "a limit")
        return wait_for(delay_ms, fire)

    monkeypatch.setattr(platform, "Timer", timer)
    monkeypatch.setattr("yungong.gate.HELD_S", 0.0)

    async def call() -> None:
        await yungong.run_transaction("null")
        order.append("the caller")

    host.handler = write_and_complete
    await host.start(call)
    await asyncio.sleep(0.01)
    assert order[-2:] == ["the caller", "a turn"]


async def test_a_caller_that_is_cancelled_before_its_turn_runs_no_handler(host: Object) -> None:
    entered: list[str] = []

    async def handler() -> None:
        entered.append(yungong.transaction_argument())
        await asyncio.sleep(0.001)
        yungong.complete_transaction("1")

    host.handler = handler
    first = host.start(lambda: yungong.run_transaction('"first"'))
    second = host.start(lambda: yungong.run_transaction('"second"'))
    third = host.start(lambda: yungong.run_transaction('"third"'))
    await asyncio.sleep(0)
    second.cancel()
    assert await first == await third == "1"
    assert entered == ['"first"', '"third"']


async def test_a_caller_that_is_cancelled_commits_nothing_and_leaves_the_object_free(host: Object) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def handler() -> None:
        await write_and_complete()
        entered.set()
        await go_on.wait()

    host.handler = handler
    caller = host.start(lambda: yungong.run_transaction("1"))
    await entered.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    direct = host.start(lambda: yungong.store_put("direct", "2"))
    await asyncio.sleep(0.001)
    assert not direct.done()
    go_on.set()
    await direct
    assert host.storage.committed == {"direct": 2}


@pytest.mark.parametrize(
    "call",
    [
        lambda: yungong.run_transaction("1"),
        lambda: yungong.store_put("k", "1"),
        yungong.store_clear,
        lambda: yungong.set_alarm(5),
    ],
)
async def test_a_call_does_nothing_in_an_event_that_ended_while_it_waited(
    host: Object, call: Callable[[], Awaitable[Any]]
) -> None:
    """The task outlived its event: it is refused as in an event of the wrong kind."""
    event = host.event()
    host.storage.committed = {"a": 1}
    host.handler = write_and_complete
    await host.durable.gate.enter()
    waiting = host.start(call, event)
    await asyncio.sleep(0)
    event.close()
    host.durable.gate.leave()
    with pytest.raises(豫言异常, match=r"^当前事件不属于持久对象$"):
        await waiting
    assert (host.storage.committed, host.storage.alarm_ms) == ({"a": 1}, None)
    await host.transact(write_and_complete)


async def test_what_a_transaction_waits_for_does_not_write_after_it(host: Object) -> None:
    """All that is written in a transaction is part of it, wait_until or not."""
    go_on = asyncio.Event()
    late: list[asyncio.Task[None]] = []

    async def write_late() -> None:
        await go_on.wait()
        await yungong.transaction_put("late", "1")

    async def handler() -> None:
        late.append(asyncio.create_task(write_late()))
        yungong.wait_until(late[0])
        yungong.complete_transaction("null")

    transaction = asyncio.create_task(host.transact(handler))
    await asyncio.sleep(0.001)
    done_before = transaction.done()
    go_on.set()
    await asyncio.wait([*late, transaction])
    # Either it ended the transaction only after the late write, or the late write was refused.
    assert host.storage.committed == ({} if done_before else {"late": 1})


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("asked_for", [False, True])
async def test_a_transaction_whose_rollback_the_platform_refuses_commits_nothing(
    host: Object, asked_for: bool, waits: bool
) -> None:
    host.storage.refusal = platform.PlatformError("broken")

    async def handler() -> None:
        await write_and_complete()
        if waits:
            await asyncio.sleep(0)
        if asked_for:
            yungong.rollback_transaction()
        raise ValueError("坏")

    with pytest.raises(豫言异常, match=FAILED):
        await host.transact(handler)
    assert host.storage.committed == {}
    await host.start(lambda: yungong.store_put("free", "1"))


# Beside other events


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
        lambda: yungong.set_alarm(1_900_000_000_000),
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
    host.durable.storage = as_platform(Unreachable())
    waiting = host.start(call, event)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    event.close()
    host.durable.gate.leave()
    with pytest.raises(豫言异常, match=r"^当前事件不属于持久对象$"):
        await waiting
