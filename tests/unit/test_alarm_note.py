"""The alarm's state in the object's own database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from yungong import platform
from yungong.alarm_note import AlarmNote
from yungong.alarm_state import Armed, Deleted, Retrying, Running

from .doubles import SqlStorage, as_platform

if TYPE_CHECKING:
    from yungong.alarm_state import State

NOW_MS = 1_800_000_000_000
STATES: list[State] = [
    Armed(0, 1, miscounted=False),
    Armed(8_640_000_000_000_000, 9_223_372_036_854, miscounted=True),
    Retrying(3, 1, NOW_MS),
    Deleted(),
]


@pytest.fixture
def storage() -> SqlStorage:
    return SqlStorage()


@pytest.fixture
def note(storage: SqlStorage) -> AlarmNote:
    return AlarmNote(as_platform(storage))


def test_a_new_object_has_no_state_and_gets_no_table_by_reading(storage: SqlStorage, note: AlarmNote) -> None:
    assert note.read() is None
    assert storage.tables() == []


def test_removing_what_is_not_there_writes_nothing(storage: SqlStorage, note: AlarmNote) -> None:
    note.write(None)
    assert storage.tables() == []


@pytest.mark.parametrize("state", STATES)
def test_a_state_is_read_as_it_was_written_here_and_after_the_object_is_constructed_anew(
    storage: SqlStorage, note: AlarmNote, state: State
) -> None:
    note.write(state)
    assert note.read() == state
    assert AlarmNote(as_platform(storage)).read() == state


def test_there_is_one_state_and_a_new_one_replaces_it(storage: SqlStorage, note: AlarmNote) -> None:
    for state in STATES:
        note.write(state)
    assert note.read() == STATES[-1]
    assert storage.query("SELECT count(*) FROM yungong_alarm") == [[1]]


def test_a_removed_state_stays_removed(storage: SqlStorage, note: AlarmNote) -> None:
    note.write(STATES[0])
    note.write(None)
    assert note.read() is None
    assert AlarmNote(as_platform(storage)).read() is None


def test_after_the_first_read_the_database_is_not_asked_again(storage: SqlStorage, note: AlarmNote) -> None:
    note.write(STATES[0])
    asked = len(storage.statements)
    note.read()
    note.write(STATES[0])
    assert len(storage.statements) == asked


def test_after_a_rollback_the_state_is_what_the_database_holds(storage: SqlStorage, note: AlarmNote) -> None:
    note.write(STATES[0])
    storage.query("BEGIN")
    note.write(STATES[1])
    storage.query("ROLLBACK")
    note.reload()
    assert note.read() == STATES[0]


def test_a_table_that_went_back_with_a_transaction_is_made_again(
    storage: SqlStorage, note: AlarmNote
) -> None:
    storage.query("BEGIN")
    note.write(STATES[0])
    storage.query("ROLLBACK")
    note.reload()
    assert note.read() is None
    note.write(STATES[1])
    assert AlarmNote(as_platform(storage)).read() == STATES[1]


def test_objects_keep_note_of_their_own(note: AlarmNote) -> None:
    other = AlarmNote(as_platform(SqlStorage()))
    note.write(STATES[0])
    assert other.read() is None


def test_a_handler_that_ran_in_another_instance_is_found_failed_when_this_one_was_made(
    storage: SqlStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "now_ms", lambda: NOW_MS)
    first = AlarmNote(as_platform(storage))
    first.write(Running(2, 1, first.instance))
    assert first.read() == Running(2, 1, first.instance)
    first.reload()
    assert first.read() == Running(2, 1, first.instance)
    second = AlarmNote(as_platform(storage))
    monkeypatch.setattr(platform, "now_ms", lambda: NOW_MS + 5)
    assert second.read() == Retrying(3, 1, NOW_MS)


def test_until_a_failure_is_written_it_counts_from_now(
    note: AlarmNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    note.write(Running(0, 0, note.instance))
    note.failing = True
    monkeypatch.setattr(platform, "now_ms", lambda: NOW_MS)
    assert note.read() == Retrying(1, 0, NOW_MS)
    note.reload()
    monkeypatch.setattr(platform, "now_ms", lambda: NOW_MS + 5)
    assert note.read() == Retrying(1, 0, NOW_MS + 5)


def test_only_what_was_written_last_is_held(note: AlarmNote) -> None:
    state, equal = Armed(5, 6, miscounted=False), Armed(5, 6, miscounted=False)
    note.write(state)
    assert note.holds(state)
    assert not note.holds(equal)
    note.reload()
    assert not note.holds(state)
    assert note.read() == state
    assert not note.holds(state)
