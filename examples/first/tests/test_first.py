"""The README's example: a visit is counted, told to a queue, and forgotten by an alarm."""

import time


def test_visits_are_counted_by_two(worker):
    assert worker.fetch("GET", "/").json() == {"total": 2}
    assert worker.fetch("GET", "/").json() == {"total": 4}
    assert worker.sent("first-pages") == [{"total": 2}, {"total": 4}]


def test_an_alarm_is_set_for_an_hour_later_and_starts_anew(worker):
    store = worker.object("DURABLE_STORE", "a")
    before_ms = time.time() * 1000
    store.fetch("GET", "/")
    assert before_ms + 3_600_000 - 1 <= store.alarm() <= time.time() * 1000 + 3_600_000
    store.fire_alarm()
    assert store.entries() == {"visits": 0}


def test_a_large_total_is_asked_for_again(worker):
    delivery = worker.deliver("first-pages", [{"total": 1000}, {"total": 1001}])
    assert delivery.outcome == "ok"
    assert delivery.retried == {1: 30}
