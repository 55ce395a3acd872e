"""Consuming a batch of messages as Python values (消息队列, 消费者)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..events import open_event
from ..queue import 确认队列消息, 读取队列批次, 重试队列消息
from . import times, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from ..queue import QueueEvent
    from .queue import Delay


class Message:
    """One message of the current batch."""

    __slots__ = ("_entry", "_index")

    def __init__(self, entry: dict[str, Any], index: int) -> None:
        self._entry = entry
        self._index = index

    @property
    def id(self) -> str:
        """What the platform calls it."""
        id: str = self._entry["id"]
        return id

    @property
    def attempts(self) -> int:
        """How often it has been delivered, from 1."""
        attempts: int = self._entry["attempts"]
        return attempts

    @property
    def timestamp(self) -> datetime:
        """When it came into the queue, in UTC."""
        return times.at_ms(self._entry["timestamp"])

    @property
    def body(self) -> Any:
        """The JSON value that was sent."""
        return self._entry["body"]

    def ack(self) -> None:
        """Acknowledge it: it will not be retried (确认队列消息)."""
        确认队列消息(self._index)

    def retry(self, delay: Delay = 0) -> None:
        """Ask for it again (重试队列消息).

        Args:
            delay: seconds or a timedelta, up to 12 hours; 0 means the platform's own delay.
        """
        重试队列消息(self._index, times.delay_seconds(delay))


class Batch:
    """The current batch: what a handler registered with `app.queue` gets.

    What ends without an error and without a message's `retry` has succeeded; an error that escapes has the
    whole batch delivered again.
    """

    __slots__ = ("_messages", "queue")

    queue: str
    """The name of the queue."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self._messages: list[Message] | None = None

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[Message]:
        return iter(self._read())

    def _read(self) -> list[Message]:
        """Return the messages, read at first use: an application can catch that one has no JSON value.

        Raises:
            豫言异常, 宿主中止: as 读取队列批次.
        """
        if self._messages is None:
            entries = values.read(读取队列批次())["messages"]
            self._messages = [Message(entry, index) for index, entry in enumerate(entries)]
        return self._messages


class Consumers:
    """An application's consumers, by the name of their queue; None stands for all that have none."""

    __slots__ = ("_handlers",)

    def __init__(self) -> None:
        self._handlers: dict[str | None, Callable[[Batch], Any]] = {}

    def add(self, queue: str | None, handler: Callable[[Batch], Any]) -> None:
        """Register a consumer.

        Raises:
            ValueError: the queue has one.
        """
        if queue in self._handlers:
            which = "every queue" if queue is None else f"the queue {queue!r}"
            raise ValueError(f"{which} has a consumer already")
        self._handlers[queue] = handler

    def consume(self) -> Any:
        """Call the consumer of the current batch's queue.

        Raises:
            LookupError: it has none.
        """
        name = cast("QueueEvent", open_event()).batch.queue
        handler = self._handlers.get(name) or self._handlers.get(None)
        if handler is None:
            error = LookupError(f"应用没有登记队列 {name} 的消费入口")
            queues = ", ".join(map(repr, self._handlers))
            error.add_note(f"no handler is registered for the queue {name!r}, but for {queues}")
            raise error
        return handler(Batch(name))
