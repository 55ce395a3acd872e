"""What the platform cannot hold of an alarm, kept beside it in the object's own database.

The platform refuses the time 0 and times after the year 2262, and turns a past time into now: the exact
time stands here, with the time that the platform was given for it, and counts only while the platform
still has that one. And an alarm that is set while a retry of an earlier one is pending may fire with the
retry's count: how many retries are the earlier one's stands here too. The record is a row of SQL, so that
no function of the store shows it and every transaction carries it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .platform import Storage

_TABLE = "yungong_alarm"


class AlarmRecord(NamedTuple):
    """The row: an exact time with the platform's for it, and how many retries an earlier alarm had.

    `prior_retries` is None while no failure is known; otherwise a retry may be pending on the platform,
    whose count includes that many retries of an alarm before it.
    """

    platform_ms: int | None
    exact_ms: int | None
    prior_retries: int | None


class AlarmRecords:
    """The record of one object, read from its database at first use and then kept in memory."""

    __slots__ = ("_loaded", "_record", "_storage", "_table_exists")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.reload()

    def reload(self) -> None:
        """Forget what is in memory: the database may have gone back with a transaction."""
        self._loaded = False
        self._table_exists = False
        self._record: AlarmRecord | None = None

    def read(self) -> AlarmRecord | None:
        """Return the record, or None where the platform's own time says it all."""
        if not self._loaded:
            query = self._storage.query
            self._table_exists = bool(query("SELECT 1 FROM sqlite_master WHERE name = ?", _TABLE))
            if self._table_exists:
                rows = query(f"SELECT platform_ms, exact_ms, prior_retries FROM {_TABLE}")
                self._record = AlarmRecord(*rows[0]) if rows else None
            self._loaded = True
        return self._record

    def write(self, record: AlarmRecord | None) -> None:
        """Replace the record; None removes it."""
        if record == self.read():
            return
        query = self._storage.query
        if not self._table_exists:
            query(
                f"CREATE TABLE {_TABLE} (only_row INTEGER PRIMARY KEY CHECK (only_row = 1),"
                " platform_ms INTEGER, exact_ms INTEGER, prior_retries INTEGER)"
            )
            self._table_exists = True
        if record is None:
            query(f"DELETE FROM {_TABLE}")
        else:
            query(f"INSERT OR REPLACE INTO {_TABLE} VALUES (1, ?, ?, ?)", *record)
        self._record = record
