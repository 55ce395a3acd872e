"""Queues: what is sent to them, and the batches that come from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .engine import engine
from .failures import awaitable
from .judge import is_surely_json, without_times
from .runtime import PlatformError
from .values import matcher

if TYPE_CHECKING:
    from collections.abc import Iterable

    from js import JsArray, JsValue, MessageBatch, Queue


async def send(queue: Queue, value: JsValue, options: str) -> None:
    """Send one message with `options`, given as JSON text."""
    await awaitable(queue.send(value, engine().parse(options)))


async def send_boxed(queue: Queue, boxed: JsArray[JsValue], options: str) -> None:
    """Send the one element of an array, which becomes no value of Python's."""
    js = engine()
    boxed.push(js.parse(options))
    await awaitable(js.apply(queue.send, queue, boxed))


async def send_batch(queue: Queue, requests: JsValue) -> None:
    """Send an array of requests."""
    await awaitable(queue.sendBatch(requests))


class Batch:
    """One batch of messages that the platform delivered."""

    __slots__ = ("_columns", "messages", "queue")

    def __init__(self, raw: MessageBatch) -> None:
        self.queue = raw.queue
        self.messages = raw.messages
        self._columns: Any = None

    def _column(self, name: str) -> JsArray[Any]:
        """Return one member of every message, in one go: each entry [name, value] gives up its name."""
        js = engine()
        if self._columns is None:
            self._columns = js.group(js.flat_map(self.messages, js.entries), js.shift)
        column: JsArray[Any] = js.flat(getattr(self._columns, name))
        return column

    def heads(self) -> Iterable[tuple[str, str, str]]:
        """Return id, attempts and Unix milliseconds of arrival of every message, each as JSON text."""
        js = engine()
        columns = (
            js.map(self._column("id"), js.stringify),
            self._column("attempts"),
            js.map(self._column("timestamp"), js.time_of),
        )
        ids, attempts, times = (column.join("\n").split("\n") for column in columns)
        return zip(ids, attempts, times, strict=True)

    def bodies_utf8(self, doubt: str, element_null: str, levels: int) -> tuple[bytes, bool] | None:
        """Return JSON.stringify of every body, a line each, in UTF-8, and whether all are surely JSON values.

        They are where the pattern `doubt` matches in none, or `element_null` in none and the bodies hold
        nothing foreign and nest no deeper than `levels`. One without a text leaves its line empty. None where
        one is a BigInt or cyclic.
        """
        js = engine()
        bodies = self._column("body")
        try:
            texts, is_without_times = without_times(js.map, bodies, js.stringify)
        except PlatformError:
            return None
        texts.toString = texts.join.bind(texts, "\n")  # TextEncoder takes an object as its string
        is_plain = is_without_times and (
            not js.some(texts, matcher(doubt))
            or (not js.some(texts, matcher(element_null)) and is_surely_json(bodies, levels + 1))
        )
        return js.encode(texts).to_bytes(), is_plain

    def boxed_body(self, index: int) -> JsArray[Any]:
        """Return the body of one message as the one element of an array."""
        body: JsArray[Any] = self._column("body").slice(index, index + 1)
        return body

    def ack(self, index: int) -> None:
        """Acknowledge one message."""
        self.messages[index].ack()

    def retry(self, index: int, options: str | None) -> None:
        """Ask for one message again, with `options` as JSON text or none."""
        if options is None:
            self.messages[index].retry()
        else:
            self.messages[index].retry(engine().parse(options))
