"""Counters on a real workerd."""

from websockets.sync.client import connect


def live(worker, path):
    return connect(worker.host.url.replace("http", "ws", 1) + path)


def test_counters_are_apart(worker):
    assert [worker.fetch("POST", "/a").text for _ in range(3)] == ["1", "2", "3"]
    assert worker.fetch("POST", "/b").text == "1"
    assert worker.fetch("GET", "/a").text == "3"


def test_every_socket_hears_what_is_counted(worker):
    with live(worker, "/a/live") as one, live(worker, "/a/live") as other:
        assert one.recv(timeout=10) == other.recv(timeout=10) == "0"
        worker.fetch("POST", "/a")
        assert one.recv(timeout=10) == other.recv(timeout=10) == "1"
        one.send("5")
        assert one.recv(timeout=10) == other.recv(timeout=10) == "6"


def test_a_day_is_closed_once(worker):
    for _ in range(2):
        worker.fetch("POST", "/a")
    for _ in range(2):  # a cron event, as wrangler dev lets one be had
        assert worker.fetch("GET", "/cdn-cgi/local/scheduled?time=1900000000000").text == "ok"
    assert worker.fetch("GET", "/a/days").json() == [["2030-03-17", 2]]
    assert worker.fetch("GET", "/a").text == "0"


def test_what_is_counted_after_a_days_end_stays_for_the_next(worker):
    worker.fetch("POST", "/a")
    assert worker.fetch("GET", "/cdn-cgi/local/scheduled?time=1900000000000").text == "ok"
    worker.fetch("POST", "/a")
    assert worker.fetch("GET", "/cdn-cgi/local/scheduled?time=1900000000000").text == "ok"
    assert worker.fetch("GET", "/a/days").json() == [["2030-03-17", 1]]
    assert worker.fetch("GET", "/a").text == "1"
