"""What all events of one object share: passing its gate."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from yungong.durable import Durable, pass_gate
from yungong.errors import 宿主中止, 豫言异常

from .doubles import SqlStorage, as_platform, make_event
from .test_gate import assert_free, turns

if TYPE_CHECKING:
    from yungong.durable import DurableEvent


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
