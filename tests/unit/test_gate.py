"""The gate: one transaction has the object to itself, and nobody who waits is lost."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yungong import platform
from yungong.errors import 豫言异常
from yungong.gate import TURN_MS, Gate

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


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
    kind: str
    stay: int
    cancel: int | None


visits = st.builds(
    Visit,
    start=st.integers(0, 6),
    kind=st.sampled_from(["access", "operation", "transaction"]),
    stay=st.integers(0, 3),
    cancel=st.none() | st.integers(0, 12),
)


class SoonTimer:
    """A turn of the platform's that lasts one of the event loop's: no clock decides."""

    def __init__(self, _delay_ms: float, end: Callable[[], None]) -> None:
        self._handle = asyncio.get_running_loop().call_soon(end)

    def cancel(self) -> None:
        self._handle.cancel()


@given(st.lists(visits, min_size=1, max_size=8), st.sampled_from([0.0, 1000.0]))
def test_whatever_the_schedule_transactions_are_alone_in_order_and_nobody_is_lost(
    plan: list[Visit], held_s: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(platform, "Timer", SoonTimer)
        patch.setattr("yungong.gate.HELD_S", held_s)
        asyncio.run(_check_schedule(plan))


async def _check_schedule(plan: list[Visit]) -> None:
    gate = Gate()
    inside: list[int] = []
    asked: list[int] = []
    went: list[int] = []

    async def stay(number: int) -> None:
        assert not inside, "two at once"
        inside.append(number)
        went.append(number)
        try:
            await turns(plan[number].stay)
        finally:
            inside.remove(number)

    async def visit(number: int) -> None:
        wish = plan[number]
        await turns(wish.start)
        asked.append(number)
        if wish.kind == "access":
            await gate.passage()
            assert not inside, "an access came into a transaction"
            went.append(number)
        elif wish.kind == "operation":
            async with gate:
                await stay(number)
        else:
            await gate.enter()
            try:
                await stay(number)
            finally:
                gate.leave()

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
    for kinds in (("transaction",), ("access", "operation")):
        of_these = [number for number in asked if number in went and plan[number].kind in kinds]
        assert [number for number in went if number in of_these] == of_these, f"{kinds} out of order"
    _check_waits(plan, asked, went)
    await assert_free(gate)


def _check_waits(plan: list[Visit], asked: list[int], went: list[int]) -> None:
    """No transaction that was asked for after an operation goes before it."""
    for place, number in enumerate(asked):
        if number not in went or plan[number].kind == "transaction":
            continue
        later = [other for other in asked[place + 1 :] if plan[other].kind == "transaction" and other in went]
        assert all(went.index(number) < went.index(other) for other in later), (
            "a later transaction went first"
        )


async def test_an_operation_waits_for_one_transaction_at_the_most_however_many_came_before() -> None:
    gate = Gate()
    order: list[str] = []

    async def transact() -> None:
        await gate.enter()
        order.append("transaction")
        await turns()
        gate.leave()

    async def access() -> None:
        await gate.passage()
        order.append("access")

    tasks = [asyncio.create_task(transact()) for _ in range(4)]
    await turns(1)
    tasks.append(asyncio.create_task(access()))
    await asyncio.gather(*tasks)
    assert order == ["transaction", "access", *["transaction"] * 3]


async def test_a_stream_of_accesses_does_not_hold_a_transaction_up() -> None:
    gate = Gate()
    order: list[str] = []
    await gate.enter()

    async def again() -> None:
        for _ in range(5):
            await gate.passage()
            order.append("access")
            await asyncio.sleep(0)

    async def transact() -> None:
        await gate.enter()
        order.append("transaction")
        gate.leave()

    tasks = [asyncio.create_task(again()), asyncio.create_task(transact())]
    await turns()
    gate.leave()
    await asyncio.gather(*tasks)
    assert order.index("transaction") <= 1


class TurnByHand:
    """The platform's turn, which ends when the test says so."""

    def __init__(self, delay_ms: float, end: Callable[[], None]) -> None:
        assert delay_ms == TURN_MS
        self.end = end
        turns_by_hand.append(self)

    def cancel(self) -> None:
        turns_by_hand.remove(self)


turns_by_hand: list[TurnByHand] = []


async def test_after_the_object_was_held_for_a_while_the_platform_has_a_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "Timer", TurnByHand)
    monkeypatch.setattr("yungong.gate.HELD_S", 0.0)
    gate = Gate()
    order: list[str] = []

    async def transact() -> None:
        await gate.enter()
        order.append("transaction")

    async def access() -> None:
        await gate.passage()
        order.append("access")

    await gate.enter()
    waiting = [asyncio.create_task(transact())]
    await turns()
    gate.leave()
    await turns()
    waiting.append(asyncio.create_task(access()))
    await turns()
    assert not order, "somebody went during the platform's turn"
    turns_by_hand[0].end()
    await asyncio.gather(*waiting)
    assert order == ["access", "transaction"], "who comes during the turn goes before the next transaction"
    assert not turns_by_hand
    monkeypatch.setattr("yungong.gate.HELD_S", 1000.0)
    gate.leave()
    assert gate.open, "a short transaction is followed by no turn"


async def test_whoever_has_been_woken_goes_before_the_platform_s_turn_begins_and_before_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a slow machine timers of one and two milliseconds may be due together."""
    monkeypatch.setattr(platform, "Timer", TurnByHand)
    monkeypatch.setattr("yungong.gate.HELD_S", 0.0)
    gate = Gate()
    order: list[str] = []
    answer, timer = asyncio.Future[None](), asyncio.Future[None]()

    async def transact() -> None:
        await gate.enter()
        order.append("transaction")

    async def caller() -> None:
        await answer
        order.append("turn begun" if turns_by_hand else "caller")
        await timer
        await gate.passage()
        order.append("caller's read")

    await gate.enter()
    waiting = [asyncio.create_task(transact()), asyncio.create_task(caller())]
    await turns()
    answer.set_result(None)
    gate.leave()
    await turns()
    timer.set_result(None)
    turns_by_hand[0].end()
    await asyncio.gather(*waiting)
    assert order == ["caller", "caller's read", "transaction"]
