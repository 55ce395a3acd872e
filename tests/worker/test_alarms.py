"""Alarms that the platform cannot hold as they are, and alarms across restarts."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from repository import LocalHost

from tests.client import call

from .scripts import eventually, fresh, log_of, run

LAST_MS = 8_640_000_000_000_000
PLATFORM_LAST_MS = 9_223_372_036_854


@pytest.fixture(scope="module")
def own() -> Iterator[LocalHost]:
    """A Worker that these tests may kill and restart."""
    with LocalHost() as host:
        yield host


def now_ms() -> int:
    return round(time.time() * 1000)


def test_a_retry_that_waits_for_a_transaction_reads_as_pending(worker: LocalHost) -> None:
    name = fresh()
    run(worker, name, call("store_put", "script:alarm", '[{"raise": "x"}]'), call("set_alarm", 0))
    eventually("the first firing", 30, lambda: log_of(worker, name))
    transaction = {"transaction": [{"sleep": 3500}, {"complete": True}]}
    reading, log = call("get_alarm"), call("store_get", "log:alarm")
    before, _, after, (_, firings) = run(worker, name, reading, transaction, reading, log)
    run(worker, name, call("delete_alarm"))
    assert before[0]
    assert after == before or len(json.loads(firings)) == 2, "unset though the retry has not begun"


def test_exact_times_survive_a_restart_and_a_kill(own: LocalHost) -> None:
    times = {fresh("far"): LAST_MS, fresh("edge"): PLATFORM_LAST_MS + 1, fresh("held"): PLATFORM_LAST_MS}
    for name, at_ms in times.items():
        run(own, name, call("set_alarm", at_ms))
    own.restart()
    assert {name: run(own, name, call("get_alarm"))[0] for name in times} == {
        name: [True, at_ms] for name, at_ms in times.items()
    }
    own.kill()
    own.start()
    assert {name: run(own, name, call("get_alarm"))[0] for name in times} == {
        name: [True, at_ms] for name, at_ms in times.items()
    }


def test_an_alarm_due_while_the_platform_was_down_fires(own: LocalHost) -> None:
    name = fresh()
    run(own, name, call("set_alarm", now_ms() + 300))
    own.kill()
    time.sleep(0.4)  # its time passes
    own.start()
    log = eventually("the alarm", 10, lambda: log_of(own, name))
    assert log[0]["retry"] == 0


def test_an_alarm_that_the_platform_fires_too_early_is_armed_again(worker: LocalHost) -> None:
    """A far alarm's day cannot be waited for: its record is planted beside a near alarm of the platform's."""
    name = fresh()
    planted, exact, native = run(
        worker,
        name,
        {"native": "plant-alarm", "exact_ms": LAST_MS, "delay_ms": 200},
        call("get_alarm"),
        {"native": "alarm"},
    )
    assert planted is None
    assert exact == [True, LAST_MS]
    assert native < now_ms() + 10_000
    eventually(
        "the platform's alarm at its last time",
        10,
        lambda: run(worker, name, {"native": "alarm"})[0] == PLATFORM_LAST_MS,
    )
    assert run(worker, name, call("get_alarm")) == [[True, LAST_MS]]
    assert log_of(worker, name) == [], "the application noticed"


def test_a_rearmed_alarm_fires_at_its_own_time(worker: LocalHost) -> None:
    name = fresh()
    exact_ms = now_ms() + 1500
    run(worker, name, {"native": "plant-alarm", "exact_ms": exact_ms, "delay_ms": 100})
    log = eventually("the alarm", 10, lambda: log_of(worker, name))
    assert now_ms() >= exact_ms
    assert [(entry["retry"], entry["alarm"]) for entry in log] == [(0, [False, 0])]
    assert run(worker, name, call("get_alarm"), {"native": "alarm"}) == [[False, 0], None]


def test_a_planted_record_counts_only_while_the_platform_holds_its_time(worker: LocalHost) -> None:
    """Whoever sets the platform's alarm past the package makes the record void."""
    name = fresh()
    run(worker, name, call("set_alarm", LAST_MS), {"native": "set-alarm", "at_ms": 1_900_000_000_000})
    assert run(worker, name, call("get_alarm")) == [[True, 1_900_000_000_000]]


@pytest.mark.parametrize("ending", ["delete_alarm", "store_clear"])
def test_what_is_deleted_leaves_nothing_behind(worker: LocalHost, ending: str) -> None:
    name = fresh()
    assert run(
        worker,
        name,
        call("set_alarm", LAST_MS),
        call(ending),
        call("get_alarm"),
        call("store_list", "{}"),
        {"native": "set-alarm", "at_ms": PLATFORM_LAST_MS},
        call("get_alarm"),
    )[2:] == [[False, 0], "[]", None, [True, PLATFORM_LAST_MS]]


def test_an_alarm_due_during_a_rolled_back_transaction_that_set_it_fires(worker: LocalHost) -> None:
    """On the bare platform most of these never fire."""
    names = [fresh() for _ in range(32)]

    def visit(number: int) -> None:
        steps: list[Any] = [call("set_alarm", LAST_MS), {"sleep": 90}, {"raise": "enough"}]
        name = names[number]
        run(worker, name, call("set_alarm", now_ms() + 60 + number), {"transaction": steps})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, range(len(names))))
    eventually("every alarm", 10, lambda: all(log_of(worker, name) for name in names))
    time.sleep(0.5)
    logs = [[(entry["retry"], entry["alarm"]) for entry in log_of(worker, name)] for name in names]
    assert logs == [[(0, [False, 0])]] * len(names)


def test_a_retry_after_an_eviction_keeps_its_count(worker: LocalHost) -> None:
    """The platform drops an idle object after ten seconds; the fourth retry comes after sixteen."""
    name = fresh()
    run(worker, name, call("store_put", "script:alarm", '[{"raise": "on purpose"}]'), call("set_alarm", 0))
    before = run(worker, name, {"native": "instance"})
    time.sleep(33)
    log = eventually("the fourth retry", 30, lambda: len(seen := log_of(worker, name)) > 4 and seen)
    assert [entry["retry"] for entry in log] == [0, 1, 2, 3, 4]
    assert run(worker, name, {"native": "instance"}, call("delete_alarm"))[0] != before[0], "not evicted"


# The count of the retries

FAILING = call("store_put", "script:alarm", '[{"raise": "on purpose"}]')
ROLLED_BACK: dict[str, list[Any]] = {
    "set, rolled back": [call("set_alarm", 0), call("rollback_transaction"), {"complete": True}],
    "set, raised": [call("set_alarm", 0), {"sleep": 3}, {"raise": "enough"}],
    "deleted, rolled back": [
        call("delete_alarm"),
        {"sleep": 3},
        call("rollback_transaction"),
        {"complete": True},
    ],
    "deleted, raised": [call("delete_alarm"), {"raise": "enough"}],
}


def retries(host: LocalHost, name: str) -> list[int]:
    """Return the count that each firing saw."""
    return [entry["retry"] for entry in log_of(host, name)]


def await_firings(host: LocalHost, name: str, count: int) -> list[int]:
    """Return the counts of the first firings once there are so many."""
    seen = eventually(f"{count} firings", 30, lambda: len(seen := retries(host, name)) >= count and seen)
    return list(seen[:count])


def test_a_transaction_that_is_undone_does_not_disturb_the_count_of_an_alarm_that_is_due(
    worker: LocalHost,
) -> None:
    names = {fresh(): title for title in ROLLED_BACK for _ in range(3)}
    for name, title in names.items():
        steps = ROLLED_BACK[title]
        run(worker, name, FAILING, call("set_alarm", 0), {"sleep": 0}, {"transaction": steps})
    for name, title in names.items():
        assert await_firings(worker, name, 3) == [0, 1, 2], title
        run(worker, name, call("delete_alarm"))


def test_an_alarm_that_is_set_again_when_it_is_due_counts_on(worker: LocalHost) -> None:
    fired = {}
    for name in (fresh() for _ in range(3)):
        seen = call("store_get", "log:alarm")
        answer = run(worker, name, FAILING, call("set_alarm", 0), {"sleep": 0}, seen, call("set_alarm", 0))
        fired[name] = answer[-2] != [False, ""]  # then the second is an alarm of its own
    for name, has_fired in fired.items():
        assert await_firings(worker, name, 3) == ([0, 0, 1] if has_fired else [0, 1, 2])
        run(worker, name, call("delete_alarm"))


def test_after_the_store_was_cleared_while_a_retry_was_pending_a_new_alarm_counts_from_zero(
    worker: LocalHost,
) -> None:
    """The platform fires it in the retry's slot, with the retry's count."""
    for failures in (1, 3):
        name = fresh()
        run(worker, name, FAILING, call("set_alarm", 0))
        await_firings(worker, name, failures)
        run(worker, name, call("store_clear"), call("set_alarm", now_ms() + 1200))
        assert await_firings(worker, name, 1) == [0], failures


def test_neither_a_restart_nor_a_kill_starts_the_count_again(own: LocalHost) -> None:
    """A retry is pending at the restart, and a handler runs at the kill: it has failed."""
    pending, running = fresh("pending"), fresh("running")
    run(own, pending, FAILING, call("set_alarm", 0))
    await_firings(own, pending, 2)
    own.restart()
    slow = call("store_put", "script:alarm", '[{"sleep": 20000}]')
    run(own, running, slow, call("set_alarm", 0))
    await_firings(own, running, 1)
    own.kill()
    own.start()
    assert await_firings(own, running, 2) == [0, 1]
    assert await_firings(own, pending, 4) == [0, 1, 2, 3]
    run(own, pending, call("delete_alarm"))


@pytest.mark.parametrize("end", ["delete_alarm", "store_clear"])
def test_an_alarm_that_is_deleted_after_a_transaction_in_which_it_fell_due_does_not_fire(
    worker: LocalHost, end: str
) -> None:
    """The platform may have called it already, in the turn that it has after the transaction."""
    names = [fresh() for _ in range(4)]
    for name in names:
        sleeping = {"transaction": [{"sleep": 300}, {"complete": True}]}
        log = call("store_put", "script:alarm", '[{"native": "mark", "key": "marks", "label": "fires"}]')
        found = run(
            worker, name, log, call("set_alarm", now_ms() + 150), sleeping, call(end), call("get_alarm")
        )
        assert found[-1] == [False, 0]
    time.sleep(1)
    for name in names:
        assert log_of(worker, name) == []
        assert run(worker, name, call("store_get", "marks"), call("get_alarm")) == [[False, ""], [False, 0]]


def test_the_time_of_a_pending_retry_is_told(worker: LocalHost) -> None:
    """The platform itself does not tell it, and counts from its own turn, begun before the failure."""
    name = fresh()
    set_ms = now_ms()
    run(worker, name, FAILING, call("set_alarm", 0))
    for count in (1, 2):
        await_firings(worker, name, count)
        log, (is_set, told_ms), platform_ms = run(
            worker, name, call("store_get", "log:alarm"), call("get_alarm"), {"native": "alarm"}
        )
        asked_ms = now_ms()
        failures = len(json.loads(log[1]))  # on a loaded machine the next retry may be over already
        assert is_set
        assert platform_ms is None or platform_ms < asked_ms
        waits_ms = [2000 * 2**retry for retry in range(failures)]
        assert set_ms + sum(waits_ms) - 1000 <= told_ms <= asked_ms + waits_ms[-1]
        await_firings(worker, name, failures + 1)
        assert now_ms() >= told_ms - 1000
    run(worker, name, call("delete_alarm"))
