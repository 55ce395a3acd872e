"""No text over 16 MiB enters or leaves the host, whichever function it passes."""

from __future__ import annotations

import asyncio
import inspect
from contextvars import copy_context
from typing import Any

import pytest

import yungong
from yungong import events, jsontext
from yungong.errors import 宿主中止

from .test_interfaces import ARGUMENTS, TABLE, _event, _parameters, allowed_kinds
from .test_transaction import Object, host

__all__ = ["host"]

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
    event = _event(allowed_kinds(name)[0])
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
