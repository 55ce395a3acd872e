"""The batch, as far as no engine is needed."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import pytest

import yungong
from yungong import events, jsontext, platform
from yungong.errors import 宿主中止, 豫言异常

from .doubles import as_platform, make_event


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
