"""The storage of one SQLite-backed object, its alarm included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .engine import engine
from .failures import awaitable
from .runtime import JsProxy, create_once_callable, jsnull

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from js import (
        AlarmInfo,
        AlarmTarget,
        DurableObjectState,
        DurableObjectStorage,
        DurableObjectTransaction,
        JsArray,
        JsPromise,
        JsValue,
    )

MAX_LIST_LIMIT = 2**31 - 1


class Storage:
    """The storage of one SQLite-backed object: synchronous keys and values, alarms, transactions."""

    __slots__ = ("_array_from", "_kv", "_list", "_raw", "_sql", "_transaction", "delete", "get", "put")

    get: Callable[[str], JsValue]
    """Return the value under a key; None where there is none."""
    put: Callable[[str, JsValue], None]
    """Store under a key a value that JSON.parse made."""
    delete: Callable[[str], bool]
    """Delete a key and return whether it existed."""

    def __init__(self, state: DurableObjectState) -> None:
        """Look up what an object of this state stores with.

        Raises:
            PlatformError: the object is on the older key-value backend, without SQL and synchronous keys.
        """
        self._raw: DurableObjectStorage = state.storage
        self._sql = self._raw.sql
        self.size()  # on the older backend everything is there, and throws at first use
        self._transaction = self._raw.transaction
        kv = self._kv = self._raw.kv
        self.get, self.put, self.delete, self._list = kv.get, kv.put, kv.delete, kv.list
        self._array_from = engine().array_from

    def boxed(self, key: str) -> JsArray[Any]:
        """Return the value under `key` as the one element of an array."""
        return self._array_from(engine().array_of(key), self._kv.get.bind(self._kv))

    def list(self, options: str) -> JsArray[Any]:
        """Return the array of [key, value] that `options`, a JSON object text, asks for."""
        return self._array_from(self._list(engine().parse(options)))

    def size(self) -> int:
        """Return the size of the object's database in bytes."""
        return self._sql.databaseSize

    def delete_all(self) -> JsPromise[None]:
        """Delete every key and table, and the alarm where the compatibility date says so."""
        return self._raw.deleteAll()

    def clears_alarm(self) -> bool:
        """Return whether `delete_all` deletes the alarm too, under the Worker's compatibility date."""
        return engine().compatibility_flags.delete_all_deletes_alarm

    def transaction(self, closure: Callable[[DurableObjectTransaction], Any]) -> JsPromise[None]:
        """Run `closure` in a transaction that ends when the promise it returns, or it itself, has."""
        return self._transaction(create_once_callable(closure))

    @property
    def alarms(self) -> DurableObjectStorage:
        """What getAlarm, setAlarm and deleteAlarm are called on outside a transaction."""
        return self._raw

    def query(self, statement: str, *bindings: int | str | None) -> Sequence[Sequence[Any]]:
        """Run one SQL statement and return its rows."""
        rows = self._sql.exec(statement, *bindings).raw().toArray().to_py()
        return [[None if value is jsnull else value for value in row] for row in rows]


def alarm_info(info: AlarmInfo) -> tuple[int, int]:
    """Return the scheduled time in Unix milliseconds and the retry count of a firing alarm."""
    scheduled = info.scheduledTime
    return int(scheduled.getTime() if isinstance(scheduled, JsProxy) else scheduled), int(info.retryCount)


async def get_alarm(alarms: AlarmTarget) -> int | None:
    """Return the platform's alarm time in Unix milliseconds, or None where no alarm is set."""
    at_ms = await awaitable(alarms.getAlarm())
    return None if at_ms is jsnull else at_ms
