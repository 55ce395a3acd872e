"""Who may touch an object now.

While a transaction runs, nothing else may read or write its object, not even another task of the same
event: on the platform such a write would be rolled back with the transaction. Whoever comes meanwhile
waits here. A gate belongs to one object, because a task woken by another object's event would run in the
wrong context.

Transactions go in the order in which they were asked for. After each, every operation that waits by then
goes, in order of arrival, then the next transaction: an operation waits for one transaction at the most,
and a stream of operations cannot hold a transaction up. While transactions follow each other without a
pause, the platform sends no answer and wakes no timer of the object, and nobody can know who waits there:
so when the object has been held for a while, the platform gets a turn first.
"""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import count
from time import monotonic

from . import platform

# Held for so long since the platform's last turn, the object is given one, which lasts at least so long:
# enough for the caller of the transaction that has ended to wait for a millisecond, and then to go first.
HELD_S = 0.05
TURN_MS = 2


class _Waiting(asyncio.Future[None]):
    """One who waits: its place in the order of arrival, and whether the object must be all its own."""

    exclusive: bool
    place: int


class Gate:
    """Lets one transaction at a time have the object to itself.

    As a context manager it gives the object to one operation that must not be interleaved.
    """

    __slots__ = (
        "_began_s",
        "_held_s",
        "_operations",
        "_passing",
        "_places",
        "_resting",
        "_round",
        "_taken",
        "_transactions",
        "_turn",
    )

    def __init__(self) -> None:
        self._taken = False  # a transaction, or an operation that must not be interleaved, has the object
        self._resting = False  # the platform has its turn
        self._turn: platform.Timer | None = None
        self._passing = 0  # operations that have been let through and have not run yet
        self._round: deque[_Waiting] = deque()  # operations that go before the next transaction
        self._operations: deque[_Waiting] = deque()
        self._transactions: deque[_Waiting] = deque()
        self._places = count()
        self._began_s = 0.0
        self._held_s = 0.0

    @property
    def open(self) -> bool:
        """Whether an operation may go on at once."""
        return not (self._taken or self._passing or self._resting or self._round)

    async def passage(self) -> None:
        """Wait until no transaction runs. What follows without an await happens before the next one."""
        if not self.open:
            await self._wait(self._operations, exclusive=False)
            self._passing -= 1
            self._advance()

    async def enter(self) -> None:
        """Take the object for one transaction, once all that were asked for before have gone."""
        if self.open:
            self._taken = True
        else:
            await self._wait(self._transactions, exclusive=True)
        self._began_s = monotonic()

    def leave(self) -> None:
        """Give the object back after a transaction. It must not be called inside the platform's own."""
        self._taken = False
        now_s = monotonic()
        self._held_s += now_s - self._began_s
        if self._held_s >= HELD_S:
            self._held_s = 0.0
            self._resting = True
            asyncio.get_running_loop().call_soon(self._begin_turn)
        else:
            self._begin_round()

    async def __aenter__(self) -> None:
        if self.open:
            self._taken = True
        else:
            await self._wait(self._operations, exclusive=True)

    async def __aexit__(self, *_: object) -> None:
        self._taken = False
        self._advance()

    # However slow the machine is, whoever has been woken goes first: the caller of the transaction that has
    # ended before the turn begins, those whose timers were due sooner before it ends.

    def _begin_turn(self) -> None:
        self._turn = platform.Timer(TURN_MS, self._wake)

    def _wake(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        asyncio.get_running_loop().call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._resting = False
        self._begin_round()

    def _begin_round(self) -> None:
        self._round.extend(self._operations)
        self._operations.clear()
        self._advance()

    async def _wait(self, queue: deque[_Waiting], *, exclusive: bool) -> None:
        waiting = _Waiting()
        waiting.exclusive = exclusive
        waiting.place = next(self._places)
        queue.append(waiting)
        self._advance()
        try:
            await waiting
        except asyncio.CancelledError:
            if not waiting.cancelled():  # it was let in, and does not come
                if exclusive:
                    self._taken = False
                else:
                    self._passing -= 1
                self._advance()
            raise

    def _advance(self) -> None:
        """Let in who comes next, as long as anybody may go on."""
        while not (self._taken or self._resting):
            if self._round:
                if self._round[0].exclusive and self._passing:
                    return
                self._let_in(self._round)
            elif self._passing:
                return
            elif self._operations and (
                not self._transactions or self._operations[0].place < self._transactions[0].place
            ):
                self._round, self._operations = self._operations, self._round
            elif self._transactions:
                self._let_in(self._transactions)
            else:
                return

    def _let_in(self, queue: deque[_Waiting]) -> None:
        waiting = queue.popleft()
        if waiting.cancelled():
            return
        if waiting.exclusive:
            self._taken = True
        else:
            self._passing += 1
        waiting.set_result(None)
