"""Answers that an object remembers: one that was lost on its way is fetched, and not worked for again.

A request may carry an id. Its object notes in its own database that the work has begun, and then its answer.
The same id again gets that answer; while the work still goes on, or where it broke off, it is told so.
"""

from collections.abc import Callable, Sequence
from typing import Any

from yungong import platform

Query = Callable[..., Sequence[Sequence[Any]]]

KEPT_MS = 120_000
"""How long an answer is kept: past every repetition of a client that has not given up."""

PIECE = 500_000
"""Characters in a row: fewer than the smallest cell that the platform is said to have."""

_TABLE = "verification_answers"
_BEGUN = -1
_ID, _STATUS, _TEXT = range(3)


class Broken(Exception):
    """The work was begun, and its end is not known."""


class Answers:
    """The answers of one object."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._running: set[str] = set()

    def begin(self, request_id: str) -> tuple[int, str] | None:
        """Return the answer to a request that came before; None for a new one, which is noted.

        Raises:
            Broken: it was begun before: its object was made anew since, or it still runs.
        """
        if request_id in self._running:
            raise Broken("the request still runs")
        self._prepare()
        rows = self._query(f"SELECT id, status, text FROM {_TABLE} WHERE id = ? ORDER BY piece", request_id)
        if rows:
            if rows[0][_STATUS] == _BEGUN:
                raise Broken("the request was begun and its object was made anew before its end")
            return int(rows[0][_STATUS]), "".join(row[_TEXT] for row in rows)
        self._query(f"DELETE FROM {_TABLE} WHERE at_ms < ?", platform.now_ms() - KEPT_MS)
        self._write(request_id, 0, _BEGUN, "")
        self._running.add(request_id)
        return None

    def end(self, request_id: str, status: int, text: str) -> None:
        """Note the answer."""
        self._running.discard(request_id)
        self._prepare()  # the script may have cleared the object
        for place in range(0, max(len(text), 1), PIECE):
            self._write(request_id, place, status, text[place : place + PIECE])

    def _prepare(self) -> None:
        self._query(
            f"CREATE TABLE IF NOT EXISTS {_TABLE}"
            " (id TEXT, piece INTEGER, status INTEGER, text TEXT, at_ms INTEGER, PRIMARY KEY (id, piece))"
        )

    def _write(self, request_id: str, piece: int, status: int, text: str) -> None:
        now_ms = platform.now_ms()
        self._query(
            f"INSERT OR REPLACE INTO {_TABLE} VALUES (?, ?, ?, ?, ?)", request_id, piece, status, text, now_ms
        )
