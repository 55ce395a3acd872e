"""Where the state of an object's alarm is kept: in the object's own database, beside the platform's alarm.

It is a row of SQL, so that no function of the store shows it and every transaction carries it.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from . import alarm_state, platform
from .alarm_state import Armed, Deleted, Retrying, Running

if TYPE_CHECKING:
    from .alarm import Firing
    from .alarm_state import State

_TABLE = "yungong_alarm"
_STATES = {kind.__name__: kind for kind in (Armed, Running, Retrying, Deleted)}


class AlarmNote:
    """The state of one object's alarm, read from its database at first use and then kept in memory.

    Beside it stands what only this instance of the object knows of its firings.
    """

    __slots__ = (
        "_loaded",
        "_made_ms",
        "_state",
        "_storage",
        "_table_exists",
        "deleted_ms",
        "failing",
        "fired_ms",
        "instance",
        "waiting",
    )

    def __init__(self, storage: platform.Storage) -> None:
        self._storage = storage
        self._made_ms = platform.now_ms()
        self.instance = os.urandom(8).hex()
        """What tells this instance of the object from those before it."""
        self.failing = False
        """Whether the handler has failed and that is not written yet: nor has the platform been told."""
        self.waiting: set[Firing] = set()
        """The firings that wait until the object is free: their alarm reads as set, unless it was deleted."""
        self.fired_ms: int | None = None
        """The platform's time of the firing that came last."""
        self.deleted_ms: int | None = None
        """When the alarm was deleted; None once another was set."""
        self.reload()

    def reload(self) -> None:
        """Forget what is in memory: the database may have gone back with a transaction."""
        self._loaded = False
        self._table_exists = False
        self._state: State = None

    def read(self) -> State:
        """Return the state."""
        if not self._loaded:
            self._load()
        if self.failing:
            return alarm_state.failed(self._state, platform.now_ms())
        return self._state

    def write(self, state: State) -> None:
        """Replace the state; None leaves nothing behind."""
        if not self._loaded:
            self._load()
        if state == self._state:
            self._state = state  # `holds` asks for this very one
            return
        query = self._storage.query
        if not self._table_exists:
            query(f"CREATE TABLE {_TABLE} (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), state TEXT)")
            self._table_exists = True
        if state is None:
            query(f"DELETE FROM {_TABLE}")
        else:
            members = (getattr(state, name) for name in state.__slots__)
            query(
                f"INSERT OR REPLACE INTO {_TABLE} VALUES (1, ?)", json.dumps([type(state).__name__, *members])
            )
        self._state = state

    def has_deleted(self, scheduled_ms: int) -> bool:
        """Return whether a firing is that of an alarm that was deleted: it was on its way already."""
        return self.deleted_ms is not None and scheduled_ms < self.deleted_ms + alarm_state.NEAR_MS

    def holds(self, state: State) -> bool:
        """Return whether `state` is what was written last: nothing was written or rolled back since."""
        return self._loaded and self._state is state

    def _load(self) -> None:
        query = self._storage.query
        self._table_exists = bool(query("SELECT 1 FROM sqlite_master WHERE name = ?", _TABLE))
        rows = query(f"SELECT state FROM {_TABLE}") if self._table_exists else ()
        if rows:
            kind, *members = json.loads(rows[0][0])
            state: State = _STATES[kind](*members)
            self._state = alarm_state.instance_lost(state, self.instance, self._made_ms)
        self._loaded = True
