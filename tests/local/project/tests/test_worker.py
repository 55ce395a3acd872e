"""Tests of a Worker as a stranger writes them; run by tests/local/test_plugin.py. The order counts."""

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from yungong_local import LocalHostError, Worker


def eventually(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def send(worker: Worker, binding: str, *bodies: Any, delay: int = 0) -> None:
    wanted = {"binding": binding, "bodies": bodies, "delay": delay}
    assert worker.fetch("POST", "/send", json=wanted).text == "done"


def test_readiness_never_enters_the_application(worker: Worker) -> None:
    assert worker.fetch("GET", "/entered").text == "1"


def test_bindings_secrets_and_vendored_packages_are_there(worker: Worker) -> None:
    answer = json.loads(worker.fetch("GET", "/bindings").text)
    assert answer == ["kv", "r2", "d1", "hello", "from .dev.vars", "from python_modules"]


def test_nothing_of_the_host_is_in_the_environment(worker: Worker) -> None:
    assert not [name for name in json.loads(worker.fetch("GET", "/names").text) if "LOCAL" in name]


@pytest.mark.parametrize("turn", [1, 2])
def test_an_object_is_fresh_to_each_test(worker: Worker, turn: int) -> None:
    counter = worker.object("COUNTER", "one")
    assert counter.entries() == {}
    assert counter.fetch("GET", "/count").text == "1"
    assert worker.object("COUNTER", "one").entries() == {"count": 1}


@pytest.mark.parametrize("turn", [1, 2])
def test_an_object_that_the_application_names_is_empty_too(worker: Worker, turn: int) -> None:
    worker.fetch("GET", "/by-name")
    named = worker.object("COUNTER", "named-by-the-application", shared=turn == 2)
    assert named.fetch("GET", "/count").text == "1"


@pytest.mark.parametrize("count", ["1", "2"])
def test_a_shared_object_keeps_what_it_stores(worker: Worker, count: str) -> None:
    shared = worker.object("COUNTER", "shared", shared=True)
    assert shared.alarm() is None
    assert shared.fetch("GET", "/count").text == count
    shared.fetch("POST", "/alarm", content="100000")


def test_a_request_reaches_the_object_as_it_is(worker: Worker) -> None:
    answer = worker.object("COUNTER", "a").fetch("PUT", "/echo", headers={"x-own": "own"}, content="body")
    assert answer.text == "PUT own body"


def test_an_alarm_is_read_and_fired(worker: Worker) -> None:
    counter = worker.object("COUNTER", "a")
    assert counter.alarm() is None
    with pytest.raises(LocalHostError, match="has no alarm to fire"):
        counter.fire_alarm()
    before_ms = time.time() * 1000
    counter.fetch("POST", "/alarm", content="100000")
    assert (counter.alarm() or 0) >= before_ms + 100_000
    counter.fire_alarm()
    assert counter.alarm() is None
    assert counter.entries() == {"fired": 0}


def test_a_firing_that_fails_tells_why(worker: Worker) -> None:
    counter = worker.object("COUNTER", "a")
    counter.fetch("POST", "/failing")
    eventually(lambda: "alarm False" in worker.log())
    counter.fetch("POST", "/alarm", content="100000")
    with pytest.raises(LocalHostError, match="this alarm fails"):
        counter.fire_alarm()


def test_names_that_the_configuration_does_not_have_are_refused(worker: Worker) -> None:
    with pytest.raises(
        LocalHostError, match=r"^no \[\[durable_objects\.bindings\]\] is named 'COUNTERS': there"
    ):
        worker.object("COUNTERS", "a")
    with pytest.raises(LocalHostError, match=r"there are .*jobs.*; JOBS is a binding, its queue is jobs$"):
        worker.sent("JOBS")
    with pytest.raises(
        LocalHostError, match=r"^no queue of \[\[queues\.consumers\]\] is named 'none': there are"
    ):
        worker.deliver("none", [])
    with pytest.raises(TypeError, match=r"^bodies must be a list of JSON values, not one dict$"):
        worker.deliver("jobs", {"a": 1})


def test_an_object_is_constructed_anew(worker: Worker) -> None:
    counter = worker.object("COUNTER", "a")
    counter.fetch("GET", "/count")
    first = counter.fetch("GET", "/instance").text
    assert counter.fetch("GET", "/instance").text == first
    counter.restart()
    assert counter.fetch("GET", "/instance").text != first
    assert counter.entries() == {"count": 1}


def test_what_was_sent_is_told_and_delivered(worker: Worker) -> None:
    send(worker, "MAIL", {"ack": 1}, [1, None, "二"])
    send(worker, "JOBS", {"ack": 2})
    assert worker.sent("mail") == [{"ack": 1}, [1, None, "二"]]
    assert worker.sent("jobs") == [{"ack": 2}]
    eventually(lambda: 'jobs {"ack": 2} 1' in worker.log() and 'mail {"ack": 1} 1' in worker.log())


def test_a_dead_letter_arrives_after_its_retries(worker: Worker) -> None:
    send(worker, "JOBS", {"fail": 1})
    eventually(lambda: 'jobs-dead {"fail": 1} 1' in worker.log())
    assert worker.log().count('jobs {"fail": 1}') == 2


def test_a_batch_is_delivered_and_its_end_told(worker: Worker) -> None:
    delivery = worker.deliver("jobs", [{"ack": 1}, {"retry": 30}, {"other": 1}])
    assert delivery.outcome == "ok"
    assert delivery.acknowledged == (0,)
    assert delivery.retried == {1: 30}
    assert not delivery.acknowledged_all
    assert not delivery.retried_all


def test_a_batch_that_fails_is_retried_whole(worker: Worker) -> None:
    delivery = worker.deliver("jobs", [{"fail": 1}])
    assert delivery.outcome == "exception"
    assert delivery.retried_all
    eventually(lambda: "this batch fails" in worker.log())


def test_that_leaves_alarms_and_messages_behind(worker: Worker) -> None:
    send(worker, "MAIL", {"late": 1}, delay=1)
    send(worker, "JOBS", {"retry": 1})
    for name, content in (("due", "1000"), ("soon", "0")):
        worker.object("COUNTER", name).fetch("POST", "/alarm", content=content)
    worker.object("COUNTER", "failing").fetch("POST", "/failing")
    eventually(lambda: "this alarm fails" in worker.log())
    assert worker.sent("mail") == [{"late": 1}]


def test_that_sees_nothing_of_them(worker: Worker) -> None:
    assert worker.sent("mail") == []
    time.sleep(4)  # the retry of the alarm that failed would come after 2 to 2.5 s
    assert [line for line in worker.log().splitlines() if line.startswith(("alarm", "mail", "jobs"))] == []


def test_that_leaves_an_event_that_never_ends(worker: Worker) -> None:
    stuck = worker.object("COUNTER", "stuck")
    stuck.fetch("GET", "/count")
    with pytest.raises(httpx.ReadTimeout):
        stuck.fetch("GET", "/forever", timeout=1)


def test_that_finds_the_worker_started_anew_and_empty(worker: Worker) -> None:
    assert worker.object("COUNTER", "stuck").fetch("GET", "/count").text == "1"


def test_only_the_handlers_that_a_class_has_are_declared(worker: Worker) -> None:
    assert worker.host.handlers == {
        "Default": ["fetch", "queue"],
        "Counter": ["fetch", "alarm"],
        "Plain": ["fetch"],
        "Heir": ["fetch", "alarm"],  # from its base class
        "Assigned": ["fetch", "alarm"],  # which no reading of the source tells, but the class itself
    }


def test_deliberately_failing(worker: Worker) -> None:
    worker.deliver("jobs", [{"shown": "with the failure"}])
    raise AssertionError  # at once: wrangler has not printed anything yet
