"""What all events of one Durable Object share, and the event that reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .alarm_note import AlarmNote
from .errors import 豫言异常
from .events import Event, current
from .gate import Gate

if TYPE_CHECKING:
    from js import AlarmTarget

    from . import platform
    from .app import App
    from .execution import Execution
    from .kinds import Kind

NOT_DURABLE = "当前事件不属于持久对象"


class Durable:
    """One Durable Object: its storage, who may touch it now, and what is known of its alarm."""

    __slots__ = ("__weakref__", "alarm_note", "gate", "storage")

    def __init__(self, storage: platform.Storage) -> None:
        self.storage = storage
        self.gate = Gate()
        self.alarm_note = AlarmNote(storage)


class DurableEvent(Event):
    """An event of a Durable Object."""

    __slots__ = ("durable",)

    in_transaction: ClassVar[bool] = False
    """Whether all that the event reads and writes belongs to a transaction, which has the object already."""

    def __init__(
        self,
        kind: Kind,
        app: App,
        environment: platform.Environment,
        execution: Execution,
        durable: Durable,
    ) -> None:
        super().__init__(kind, app, environment, execution)
        self.durable = durable

    def alarm_target(self) -> AlarmTarget:
        """Return what the platform's alarm functions are called on."""
        return self.durable.storage.alarms

    def note_alarm_change(self) -> None:
        """Take note that the alarm is about to be set or deleted."""


def durable_event() -> DurableEvent:
    """Return the current event of a Durable Object.

    Raises:
        豫言异常: 当前事件不属于持久对象.
        宿主中止: the event was aborted before.
    """
    event = current()
    if not isinstance(event, DurableEvent):
        raise 豫言异常(NOT_DURABLE)
    return event


async def pass_gate(event: DurableEvent) -> None:
    """Wait until no transaction runs in the object of `event`.

    What the caller does before its next await is done before any other transaction begins.

    Raises:
        豫言异常: the event was closed while the caller waited.
        宿主中止: the event was aborted while the caller waited.
    """
    await event.durable.gate.passage()
    check_open(event)


def check_open(event: Event) -> None:
    """Refuse a caller whose event has ended while it waited for the object.

    Raises:
        豫言异常: the event was closed.
        宿主中止: the event was aborted.
    """
    if event.aborted is not None:
        raise event.aborted
    if event.closed:
        raise 豫言异常(NOT_DURABLE)
