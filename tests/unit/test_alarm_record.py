"""The alarm's record in the object's own database."""

from __future__ import annotations

import pytest

from yungong.alarm_record import AlarmRecord, AlarmRecords

from .doubles import SqlStorage, as_platform

RECORDS = [
    AlarmRecord(1, 0, None),
    AlarmRecord(9_223_372_036_854, 8_640_000_000_000_000, None),
    AlarmRecord(None, None, 0),
    AlarmRecord(5, 4, 6),
]


@pytest.fixture
def storage() -> SqlStorage:
    return SqlStorage()


@pytest.fixture
def records(storage: SqlStorage) -> AlarmRecords:
    return AlarmRecords(as_platform(storage))


def test_a_new_object_has_no_record_and_gets_no_table_by_reading(
    storage: SqlStorage, records: AlarmRecords
) -> None:
    assert records.read() is None
    assert storage.tables() == []


def test_removing_what_is_not_there_writes_nothing(storage: SqlStorage, records: AlarmRecords) -> None:
    records.write(None)
    assert storage.tables() == []


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_is_read_as_it_was_written_here_and_after_the_object_is_constructed_anew(
    storage: SqlStorage, records: AlarmRecords, record: AlarmRecord
) -> None:
    records.write(record)
    assert records.read() == record
    assert AlarmRecords(as_platform(storage)).read() == record


def test_there_is_one_record_and_a_new_one_replaces_it(storage: SqlStorage, records: AlarmRecords) -> None:
    for record in RECORDS:
        records.write(record)
    assert records.read() == RECORDS[-1]
    assert storage.query("SELECT count(*) FROM yungong_alarm") == [[1]]


def test_a_removed_record_stays_removed(storage: SqlStorage, records: AlarmRecords) -> None:
    records.write(RECORDS[0])
    records.write(None)
    assert records.read() is None
    assert AlarmRecords(as_platform(storage)).read() is None


def test_after_the_first_read_the_database_is_not_asked_again(
    storage: SqlStorage, records: AlarmRecords
) -> None:
    records.write(RECORDS[0])
    asked = len(storage.statements)
    records.read()
    records.write(RECORDS[0])
    assert len(storage.statements) == asked


def test_after_a_rollback_the_record_is_what_the_database_holds(
    storage: SqlStorage, records: AlarmRecords
) -> None:
    records.write(RECORDS[0])
    storage.query("BEGIN")
    records.write(RECORDS[1])
    storage.query("ROLLBACK")
    records.reload()
    assert records.read() == RECORDS[0]


def test_a_table_that_went_back_with_a_transaction_is_made_again(
    storage: SqlStorage, records: AlarmRecords
) -> None:
    storage.query("BEGIN")
    records.write(RECORDS[0])
    storage.query("ROLLBACK")
    records.reload()
    assert records.read() is None
    records.write(RECORDS[1])
    assert AlarmRecords(as_platform(storage)).read() == RECORDS[1]


def test_objects_keep_records_of_their_own(records: AlarmRecords) -> None:
    other = AlarmRecords(as_platform(SqlStorage()))
    records.write(RECORDS[0])
    assert other.read() is None
