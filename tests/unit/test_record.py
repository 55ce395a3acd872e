"""The record of a run: what it keeps over an interruption, and what makes it forget."""

from pathlib import Path

import pytest
from verifier.record import Record

HEADING = {"url": "https://worker.example", "worker": "1", "verifier": "2"}


def interrupted(path: Path) -> None:
    record = Record(path, HEADING)
    record.opened("a", "b", "c")
    record.settle("case", {"verdict": "holds"})
    record.cleared("b")
    record.asked(7)


def test_what_was_settled_and_what_is_open_outlive_an_interruption(tmp_path: Path) -> None:
    path = tmp_path / "below" / "state.jsonl"
    interrupted(path)
    record = Record(path, HEADING)
    assert record.settled == {"case": {"verdict": "holds"}}
    assert record.open == {"a", "c"}
    assert record.requests == 7


def test_a_line_whose_writing_was_interrupted_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    interrupted(path)
    path.write_text(path.read_text("ascii") + '{"settled": "oth', "ascii")
    record = Record(path, HEADING)
    record.settle("third", {"verdict": "differs"})
    assert set(Record(path, HEADING).settled) == {"case", "third"}


@pytest.mark.parametrize("changed", ["url", "worker", "verifier"])
def test_another_worker_or_verifier_settles_anew_and_clears_what_is_open(
    tmp_path: Path, changed: str
) -> None:
    path = tmp_path / "state.jsonl"
    interrupted(path)
    for _ in range(2):  # and so does the run after that
        record = Record(path, HEADING | {changed: "other"})
        assert record.settled == {}
        assert record.open == {"a", "c"}


def test_a_run_may_be_asked_to_forget(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    interrupted(path)
    assert Record(path, HEADING, anew=True).settled == {}


def test_a_run_that_is_over_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    interrupted(path)
    Record(path, HEADING).finish()
    assert not path.exists()
    assert Record(path, HEADING).settled == {}


def test_without_a_path_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = Record(None, HEADING)
    record.opened("a")
    record.settle("case", {})
    record.finish()
    assert list(tmp_path.iterdir()) == []
