"""Sending Python values to a queue (消息队列, 生产者)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from .. import queue as texts
from . import packing, values
from .times import delay_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Delay: TypeAlias = int | timedelta
"""Seconds, or a timedelta, of which a part of a second counts as one; 0 to 12 hours, 0 being no delay."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message with a delay of its own, among those that are sent together."""

    body: values.Json
    delay: Delay = 0


class Queue:
    """A queue that the deployment permits; it can be made at the top level, before any event."""

    __slots__ = ("binding",)

    def __init__(self, binding: str) -> None:
        """Take the name of the binding: it is looked up when something is sent."""
        self.binding = binding

    def __repr__(self) -> str:
        return f"Queue({self.binding!r})"

    async def send(self, body: values.Json, delay: Delay = 0) -> None:
        """Send one message (发送队列消息).

        Args:
            body: a JSON value of at most 128000 bytes as text and 24 levels.
            delay: seconds or a timedelta, up to 12 hours; 0 means none.

        Raises:
            TypeError, ValueError: something in the body is no JSON value; the sentence tells its path.
            豫言异常, 宿主中止: as 发送队列消息. Nothing was sent, but where the platform refused.
        """
        await texts.发送队列消息(self.binding, _body_text(body), delay_seconds(delay))

    async def send_batch(self, bodies: Iterable[values.Json | Outgoing]) -> None:
        """Send up to 100 messages together, in one call (批量发送队列消息).

        Args:
            bodies: JSON values, or `Outgoing` for one with a delay; 256000 bytes together.

        Raises:
            TypeError, ValueError: something in a body is no JSON value; the sentence tells its path, which
                begins with the message's index.
            豫言异常, 宿主中止: as 批量发送队列消息. Nothing was sent, but where the platform refused.
        """
        await texts.批量发送队列消息(self.binding, packing.array_text(_items(bodies, 0)))

    async def send_all(self, bodies: Iterable[values.Json | Outgoing], delay: Delay = 0) -> int:
        """Send any number of messages, in as few calls of 批量发送队列消息 as its limits ask for.

        Args:
            bodies: JSON values, or `Outgoing` for one with a delay of its own; asked for as they are sent.
            delay: the delay of those that have none of their own.

        Returns:
            How many were sent.

        Raises:
            TypeError, ValueError, 豫言异常, 宿主中止: as `send_batch`. The error's attribute `sent` tells how
                many were sent before: these and none after, but where the platform refused a call.
        """
        sent = 0
        try:
            for together in packing.packs(_items(bodies, delay)):
                await texts.批量发送队列消息(self.binding, packing.array_text(together))
                sent += len(together)
        except BaseException as error:
            error.sent = sent  # type: ignore[attr-defined]
            raise
        return sent


def _body_text(body: values.Json, path: str = "$") -> str:
    return values.write(body, texts.MAX_SENT_LEVELS, "消息体", path)


def _items(bodies: Iterable[values.Json | Outgoing], delay: Delay) -> Iterator[packing.Item]:
    for index, body in enumerate(bodies):
        if isinstance(body, Outgoing):
            yield packing.Item(_body_text(body.body, f"$[{index}].body"), delay_seconds(body.delay))
        else:
            yield packing.Item(_body_text(body, f"$[{index}]"), delay_seconds(delay))
