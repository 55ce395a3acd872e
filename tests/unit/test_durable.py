"""The gate: one transaction has the object to itself, and nobody who waits is lost."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yungong.durable import Durable, pass_gate
from yungong.errors import 宿主中止, 豫言异常
from yungong.gate import Gate

from .doubles import SqlStorage, as_platform, make_event

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from yungong.durable import DurableEvent


async def turns(count: int = 5) -> None:
    """Let everything that can go on do so."""
    for _ in range(count):
        await asyncio.sleep(0)


def goes_on_at_once(step: Coroutine[Any, Any, None]) -> bool:
    """Return whether a coroutine ends without waiting; one that does not is given up."""
    try:
        step.send(None)
    except StopIteration:
        return True
    return False


async def assert_free(gate: Gate) -> None:
    """Nobody has the gate and nobody waits: an access and a transaction get through without waiting."""
    await turns()
    assert gate.open
    assert goes_on_at_once(gate.passage())
    assert goes_on_at_once(gate.enter())
    gate.leave()


async def test_a_new_gate_lets_an_access_and_a_transaction_in_at_once() -> None:
    await assert_free(Gate())


async def test_nothing_passes_while_a_transaction_has_the_object() -> None:
    gate = Gate()
    await gate.enter()
    waiting = [asyncio.create_task(step) for step in (gate.passage(), gate.enter(), gate.passage())]
    await turns()
    assert not gate.open
    assert not any(task.done() for task in waiting)
    gate.leave()
    await asyncio.gather(*waiting)
    gate.leave()
    await assert_free(gate)


async def test_accesses_that_wait_together_go_on_together() -> None:
    gate = Gate()
    await gate.enter()
    waiting = [asyncio.create_task(gate.passage()) for _ in range(3)]
    await turns()
    gate.leave()
    await turns()
    assert all(task.done() for task in waiting)


async def test_after_a_transaction_all_operations_that_wait_go_in_order_then_the_next_one() -> None:
    gate = Gate()
    order: list[str] = []

    async def access() -> None:
        await gate.passage()
        order.append("access")

    async def operate() -> None:
        async with gate:
            order.append("operation begins")
            await turns()
            order.append("operation ends")

    async def transact() -> None:
        await gate.enter()
        order.append("transaction begins")
        await turns()
        order.append("transaction ends")
        gate.leave()

    await gate.enter()
    steps = (access, transact, operate, access, transact)
    tasks = [asyncio.create_task(step()) for step in steps]
    await turns()
    gate.leave()
    await asyncio.gather(*tasks)
    operation = ["operation begins", "operation ends"]
    transaction = ["transaction begins", "transaction ends"]
    assert order == ["access", *operation, "access", *transaction, *transaction]
    await assert_free(gate)


async def test_a_newcomer_does_not_pass_one_who_waits() -> None:
    gate = Gate()
    await gate.enter()
    waiting = asyncio.create_task(gate.enter())
    await turns()
    gate.leave()  # the waiting transaction has the object now, though its task has not run yet
    assert not gate.open
    newcomer = asyncio.create_task(gate.enter())
    await turns()
    assert (waiting.done(), newcomer.done()) == (True, False)
    gate.leave()
    await newcomer
    gate.leave()
    await assert_free(gate)


async def test_the_context_manager_gives_the_object_back_when_its_body_fails() -> None:
    gate = Gate()
    with pytest.raises(豫言异常, match=r"^坏$"):
        async with gate:
            raise 豫言异常("坏")
    await assert_free(gate)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("others", [False, True])
async def test_a_waiter_that_is_cancelled_while_it_waits_holds_nobody_up(
    exclusive: bool, others: bool
) -> None:
    gate = Gate()
    await gate.enter()
    cancelled = asyncio.create_task(gate.enter() if exclusive else gate.passage())
    behind = [asyncio.create_task(gate.passage())] if others else []
    await turns()
    cancelled.cancel()
    await turns()
    assert cancelled.cancelled()
    gate.leave()
    await asyncio.gather(*behind)
    await assert_free(gate)


@pytest.mark.parametrize("exclusive", [False, True])
async def test_a_waiter_that_is_cancelled_just_before_its_turn_holds_nobody_up(exclusive: bool) -> None:
    """The cancellation is on its way, and has not reached the waiter, when the gate lets the next one in."""
    gate = Gate()
    await gate.enter()
    cancelled = asyncio.create_task(gate.enter() if exclusive else gate.passage())
    behind = asyncio.create_task(gate.enter())
    await turns()
    cancelled.cancel()
    gate.leave()
    await behind
    assert cancelled.cancelled()
    gate.leave()
    await assert_free(gate)


@pytest.mark.parametrize("exclusive", [False, True])
async def test_a_waiter_that_is_cancelled_just_after_its_turn_gives_it_on(exclusive: bool) -> None:
    """It has been let in, and is cancelled before its task has run again."""
    gate = Gate()
    await gate.enter()
    cancelled = asyncio.create_task(gate.enter() if exclusive else gate.passage())
    behind = asyncio.create_task(gate.enter())
    await turns()
    gate.leave()
    cancelled.cancel()
    await behind
    assert cancelled.cancelled()
    gate.leave()
    await assert_free(gate)


@dataclass
class Visit:
    """One task: when it comes, what it wants, how long it stays, and when it is cancelled, in turns."""

    start: int
    exclusive: bool
    stay: int
    cancel: int | None


visits = st.builds(
    Visit,
    start=st.integers(0, 6),
    exclusive=st.booleans(),
    stay=st.integers(0, 3),
    cancel=st.none() | st.integers(0, 12),
)


@given(st.lists(visits, min_size=1, max_size=8))
def test_whatever_the_schedule_transactions_are_alone_in_order_and_nobody_is_lost(plan: list[Visit]) -> None:
    asyncio.run(_check_schedule(plan))


async def _check_schedule(plan: list[Visit]) -> None:
    gate = Gate()
    inside: list[int] = []
    arrived: list[int] = []
    admitted: list[int] = []

    async def visit(number: int) -> None:
        wish = plan[number]
        await turns(wish.start)
        arrived.append(number)
        if not wish.exclusive:
            await gate.passage()
            assert not inside, "an access came into a transaction"
            admitted.append(number)
            return
        async with gate:
            assert not inside, "two transactions at once"
            inside.append(number)
            admitted.append(number)
            try:
                await turns(wish.stay)
            finally:
                inside.remove(number)

    tasks = [asyncio.create_task(visit(number)) for number in range(len(plan))]
    for turn in range(200):
        for task, wish in zip(tasks, plan, strict=True):
            if wish.cancel == turn:
                task.cancel()
        await asyncio.sleep(0)
    assert all(task.done() for task in tasks), "somebody waits for ever"
    for task in tasks:
        with suppress(asyncio.CancelledError):
            task.result()
    in_order = [number for number in arrived if number in admitted]
    for place, number in enumerate(in_order):
        for later in in_order[place + 1 :]:
            if plan[number].exclusive or plan[later].exclusive:
                assert admitted.index(number) < admitted.index(later), "out of order"
    await assert_free(gate)


# pass_gate


def durable_event() -> DurableEvent:
    event: DurableEvent = make_event("durable-fetch", durable=Durable(as_platform(SqlStorage())))
    return event


async def test_an_event_passes_a_gate_that_is_open_at_once() -> None:
    event = durable_event()
    await pass_gate(event)
    await assert_free(event.durable.gate)


async def test_an_event_that_was_closed_while_it_waited_is_refused() -> None:
    event = durable_event()
    await event.durable.gate.enter()
    waiting = asyncio.create_task(pass_gate(event))
    await turns()
    event.close()
    event.durable.gate.leave()
    with pytest.raises(豫言异常, match=r"^当前事件不属于持久对象$"):
        await waiting
    await assert_free(event.durable.gate)


async def test_an_event_that_was_aborted_while_it_waited_raises_what_aborted_it() -> None:
    event = durable_event()
    await event.durable.gate.enter()
    waiting = asyncio.create_task(pass_gate(event))
    await turns()
    aborted = event.abort("坏了")
    event.durable.gate.leave()
    with pytest.raises(宿主中止) as raised:
        await waiting
    assert raised.value is aborted
    await assert_free(event.durable.gate)
