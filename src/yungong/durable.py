"""What all events of one Durable Object share: its storage, and who may touch it now.

While a transaction runs, nothing else may read or write its object, not even another task of the same
event: on the platform such a write would be rolled back with the transaction. Whoever comes meanwhile
waits here, in order of arrival. The gate belongs to one object, because a task woken by another object's
event would run in the wrong context.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from .alarm_record import AlarmRecords
from .errors import 豫言异常

if TYPE_CHECKING:
    from . import platform
    from .events import DurableEvent, Event

NOT_DURABLE = "当前事件不属于持久对象"


class Gate:
    """Lets one transaction at a time have the object to itself, first come, first served.

    As a context manager it gives the object to one operation that must not be interleaved.
    """

    __slots__ = ("_passing", "_taken", "_waiting")

    def __init__(self) -> None:
        self._taken = False  # a transaction has the object
        self._passing = 0  # direct accesses that have been let through and have not run yet
        self._waiting: deque[tuple[asyncio.Future[None], bool]] = deque()

    @property
    def taken(self) -> bool:
        """Whether a transaction, or another operation of its kind, has the object."""
        return self._taken

    @property
    def open(self) -> bool:
        """Whether a direct access may go on at once."""
        return not self._taken and not self._waiting

    async def passage(self) -> None:
        """Wait until no transaction runs. What follows without an await happens before the next one."""
        if not self.open:
            await self._wait(exclusive=False)
            self._passing -= 1
            self._let_in()

    async def enter(self, *, next_in_line: bool = False) -> None:
        """Take the object for one transaction, once all that came before have gone.

        Args:
            next_in_line: whether it comes before all that wait already.
        """
        if self._taken or self._passing or self._waiting:
            await self._wait(exclusive=True, next_in_line=next_in_line)
        else:
            self._taken = True

    def leave(self) -> None:
        """Give the object back. It must not be called from inside the platform's transaction."""
        self._taken = False
        self._let_in()

    async def __aenter__(self) -> None:
        await self.enter()

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    async def _wait(self, *, exclusive: bool, next_in_line: bool = False) -> None:
        turn = asyncio.get_running_loop().create_future()
        if next_in_line:
            self._waiting.appendleft((turn, exclusive))
        else:
            self._waiting.append((turn, exclusive))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):
                    self._waiting.remove((turn, exclusive))
            elif exclusive:
                self._taken = False
            else:
                self._passing -= 1
            self._let_in()
            raise

    def _let_in(self) -> None:
        while self._waiting and not self._taken:
            turn, exclusive = self._waiting[0]
            if exclusive and self._passing:
                return
            self._waiting.popleft()
            if turn.cancelled():
                continue
            if exclusive:
                self._taken = True
            else:
                self._passing += 1
            turn.set_result(None)


class Durable:
    """One Durable Object: its storage, its gate and the exact times of its alarm."""

    __slots__ = ("__weakref__", "alarm_fires", "alarm_records", "gate", "storage")

    def __init__(self, storage: platform.Storage) -> None:
        self.storage = storage
        self.gate = Gate()
        self.alarm_records = AlarmRecords(storage)
        self.alarm_fires = False  # whether the handler of its alarm runs


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
