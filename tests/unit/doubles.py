"""Stand-ins for what the platform gives the package; CPython has none of it."""

from __future__ import annotations

import asyncio
import sqlite3
import types
from typing import TYPE_CHECKING, Any, ClassVar, cast

from yungong import App
from yungong.alarm import AlarmEvent
from yungong.durable import DurableEvent
from yungong.events import Event
from yungong.execution import Execution
from yungong.platform import Environment
from yungong.queue import QueueEvent
from yungong.transaction import TransactionEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from contextvars import Context

    from yungong.kinds import Kind


def make_event(
    kind: Kind = "fetch",
    *,
    limit_ms: int | None = None,
    durable: Any = None,
    batch: Any = None,
    alarm_retries: int = 0,
    keep_alive: Callable[[Any], None] | None = None,
) -> Any:
    """Return an open event; `limit_ms` is the time limit of its kind, the default one if left out."""
    limits_ms: dict[str, int] = {} if limit_ms is None else {kind: limit_ms}
    common = App(), Environment(None), Execution(frozenset(), limits_ms)
    match kind:
        case "queue":
            return QueueEvent(*common, batch, keep_alive=keep_alive)
        case "durable-alarm":
            return AlarmEvent(*common, durable, alarm_retries, 0)
        case "durable-transaction":
            event = TransactionEvent(DurableEvent("durable-fetch", *common, durable), "null")
            event.raw = durable
            return event
        case "fetch" | "scheduled":
            return Event(kind, *common, keep_alive=keep_alive)
    return DurableEvent(kind, *common, durable)


class LoopTimer:
    """platform.Timer on the event loop's own clock: CPython has no setTimeout.

    `pending` holds those that have neither fired nor been cancelled.
    """

    pending: ClassVar[set[LoopTimer]] = set()

    def __init__(self, delay_ms: float, fire: Callable[[], None]) -> None:
        self._fire = fire
        self._handle = asyncio.get_running_loop().call_later(delay_ms / 1000, self._fired)
        self.pending.add(self)

    def _fired(self) -> None:
        self.pending.discard(self)
        self._fire()

    def cancel(self) -> None:
        self.pending.discard(self)
        self._handle.cancel()


class HeldPromise:
    """platform.Promise, whose `js` is a future."""

    def __init__(self) -> None:
        self.js: asyncio.Future[None] = asyncio.Future()

    def resolve(self) -> None:
        if not self.js.done():
            self.js.set_result(None)

    def reject(self, reason: BaseException) -> None:
        self.js.set_exception(reason)


def start_task(body: Coroutine[Any, Any, None], context: Context) -> asyncio.Future[None]:
    """running.start_task before Python 3.12, which has no eager tasks: the rest of the body gets a task."""
    loop = asyncio.get_running_loop()
    try:
        awaited = context.run(body.send, None)
    except StopIteration:
        done = loop.create_future()
        done.set_result(None)
        return done
    return loop.create_task(_rest(body, awaited), context=context)


@types.coroutine
def _rest(body: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    while True:
        step: Callable[[Any], Any] = body.send
        try:
            told = yield awaited
        except BaseException as error:
            step, told = body.throw, error
        try:
            awaited = step(told)
        except StopIteration:
            return


class Reached(Exception):
    """A call went past its checks, down to the platform."""


class Unreachable:
    """A part of the platform that says when it is touched."""

    def __getattr__(self, name: str) -> Any:
        raise Reached(name)


class SqlStorage:
    """The SQL part of platform.Storage, on a database in memory; it counts its statements."""

    def __init__(self) -> None:
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        self.statements: list[str] = []

    def query(self, statement: str, *bindings: int | str | None) -> list[list[Any]]:
        self.statements.append(statement)
        return [list(row) for row in self.database.execute(statement, bindings)]

    def tables(self) -> list[str]:
        return [name for (name,) in self.database.execute("SELECT name FROM sqlite_master")]


class AlarmStorage(SqlStorage):
    """The storage of one object with its alarm, as the platform keeps it: the latest time set, or none.

    It counts the deletions.
    """

    def __init__(self) -> None:
        super().__init__()
        self.alarm_ms: int | None = None
        self.deleted = 0
        self.alarm_is_cleared = True  # as the compatibility date says

    @property
    def alarms(self) -> AlarmStorage:
        return self

    def getAlarm(self) -> asyncio.Future[Any]:
        return _settled(self.alarm_ms)

    def setAlarm(self, at_ms: int) -> asyncio.Future[Any]:
        self.alarm_ms = at_ms
        return _settled(None)

    def deleteAlarm(self) -> asyncio.Future[Any]:
        self.alarm_ms = None
        self.deleted += 1
        return _settled(None)

    def delete_all(self) -> asyncio.Future[Any]:
        for table in self.tables():
            self.query(f"DROP TABLE {table}")
        if self.alarm_is_cleared:
            self.alarm_ms = None
        return _settled(None)

    def clears_alarm(self) -> bool:
        return self.alarm_is_cleared


class TransactionStorage(AlarmStorage):
    """A store with its alarm and transactions: what is committed is in `committed`.

    As on the platform, a write made after the transaction has ended is committed like any other.
    """

    def __init__(self) -> None:
        super().__init__()
        self.committed: dict[str, Any] = {}
        self._open: RawTransaction | None = None
        self.refusal: Exception | None = None

    def put(self, key: str, value: Any) -> None:
        (self.committed if self._open is None else self._open.written)[key] = value

    def get(self, key: str) -> Any:
        return {**self.committed, **(self._open.written if self._open else {})}.get(key)

    def delete_all(self) -> asyncio.Future[Any]:
        self.committed.clear()
        return super().delete_all()

    def transaction(self, closure: Callable[[Any], Any]) -> asyncio.Future[Any]:
        outcome: asyncio.Future[None] = asyncio.Future()

        async def run() -> None:
            assert self._open is None, "two transactions at once"
            self._open = transaction = RawTransaction(self.refusal)
            try:
                over = closure(transaction)
                if over is not None:
                    await over
            except Exception as error:
                self._open = None
                outcome.set_exception(error)
                return
            if not transaction.rolled_back:
                self.committed.update(transaction.written)
            self._open = None
            outcome.set_result(None)

        self._running = asyncio.create_task(run())
        return outcome


class RawTransaction:
    """The platform's transaction object; one with a refusal does not roll back.

    What is done to the alarm is taken and changes nothing, as in a transaction that does not commit.
    """

    def __init__(self, refusal: Exception | None) -> None:
        self._refusal = refusal
        self.written: dict[str, Any] = {}
        self.rolled_back = False

    def rollback(self) -> None:
        if self._refusal is not None:
            raise self._refusal
        self.rolled_back = True

    def setAlarm(self, _at_ms: int) -> asyncio.Future[Any]:
        return _settled(None)

    def deleteAlarm(self) -> asyncio.Future[Any]:
        return _settled(None)


def _settled(value: Any) -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = asyncio.Future()
    future.set_result(value)
    return future


def as_platform(double: object) -> Any:
    """Pass a double where the package declares the platform's type."""
    return cast("Any", double)
