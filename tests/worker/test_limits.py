"""Time limits: what happens when one passes, on a Worker whose limits are short."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from repository import LocalHost

from tests.client import call

from .scripts import aborted, eventually, fresh, log_of, post, run

LIMITS = {"默认": 600, "durable-transaction": 300, "durable-alarm": 900}

PLACE = r"，停在 script\.py:[0-9]+ _run_step"
"""Where the application waits: the innermost of its frames, not the package's."""


@pytest.fixture(scope="module")
def hasty() -> Iterator[LocalHost]:
    with LocalHost(variables={"EXECUTION_CONFIG": {"事件时限毫秒": LIMITS}}) as host:
        yield host


@pytest.mark.parametrize("event", ["durable-fetch", "fetch"])
def test_an_event_past_its_limit_fails(hasty: LocalHost, event: str) -> None:
    told = aborted(hasty, fresh(), {"sleep": 60_000}, event=event)
    assert re.fullmatch(rf"宿主中止: {event} 事件超过时限 600 毫秒" + PLACE, told)


def test_a_handler_that_swallows_its_cancellation_gets_no_further(hasty: LocalHost) -> None:
    name = fresh()
    late = {"swallow": [call("store_put", "late", "1")]}
    told = aborted(hasty, name, call("store_put", "early", "1"), {"swallow": [{"sleep": 5000}]}, late, late)
    assert re.fullmatch("宿主中止: durable-fetch 事件超过时限 600 毫秒" + PLACE, told)
    assert run(hasty, name, call("store_list", "{}")) == ['[["early",1]]']


def test_a_transaction_past_its_limit_is_rolled_back_and_can_be_caught(hasty: LocalHost) -> None:
    name = fresh()
    before = run(hasty, name, {"native": "instance"})
    steps: list[Any] = [
        call("transaction_put", "t", "1"),
        call("set_alarm", 1_900_000_000_000),
        {"swallow": [{"sleep": 5000}]},
        {"swallow": [call("transaction_put", "t", "2")]},
        {"complete": True},
    ]
    told, *state = run(hasty, name, {"transaction": steps}, call("store_list", "{}"), call("get_alarm"))
    assert re.fullmatch("豫言异常: 持久事务失败：durable-transaction 事件超过时限 300 毫秒" + PLACE, told)
    assert state == ["[]", [False, 0]]
    assert run(hasty, name, {"native": "instance"}) == before, "the object was reset"


def test_a_transaction_ends_by_what_its_event_has_left(hasty: LocalHost) -> None:
    """The event's limit counts while its transactions queue, and no late one commits."""
    name = fresh()
    slow = {"transaction": [{"sleep": 250}, call("transaction_put", "k", "1"), {"complete": True}]}
    late = {"transaction": [{"sleep": 250}, call("transaction_put", "late", "1"), {"complete": True}]}
    told = aborted(hasty, name, {"together": [[slow], [slow], [late]]})
    assert told.startswith("宿主中止: durable-fetch 事件超过时限 600 毫秒")
    assert run(hasty, name, call("store_list", "{}")) == ['[["k",1]]']


def test_an_alarm_past_its_limit_is_retried(hasty: LocalHost) -> None:
    name = fresh()
    run(hasty, name, call("store_put", "script:alarm", '[{"sleep": 5000}]'), call("set_alarm", 0))
    eventually("the alarm's first run", 5, lambda: log_of(hasty, name))
    run(hasty, name, call("store_put", "script:alarm", "[]"))
    log = eventually("its retry", 10, lambda: len(log_of(hasty, name)) > 1 and log_of(hasty, name))
    assert [entry["retry"] for entry in log] == [0, 1]


def test_no_timer_outlives_its_event(hasty: LocalHost) -> None:
    """A sleep of an hour ends with its event: its task is woken and refused."""
    name = fresh()
    run(hasty, name, {"spawn": [{"sleep": 3_600_000}], "log": "sleeper"})
    eventually("the sleeper's end", 3, lambda: run(hasty, name, call("store_get", "sleeper"))[0][0])


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        (
            {"EXECUTION_CONFIG": {"事件时限毫秒": {"durable-alram": 1000}}},
            "EXECUTION_CONFIG.事件时限毫秒 names the unknown event kind 'durable-alram'",
        ),
        (
            {"EXECUTION_CONFIG": {"事件时限毫秒": {"durable-transaction": 30001}}},
            "EXECUTION_CONFIG.事件时限毫秒.durable-transaction must be an integer from 1 to 30000, not 30001",
        ),
        ({"PERMITS": {"QUEUES": []}}, "PERMITS has the member 'QUEUES'; only 'QUEUE' is known"),
    ],
)
def test_a_wrong_configuration_is_refused_at_start(variables: dict[str, Any], sentence: str) -> None:
    with LocalHost(variables=variables) as host:
        answer = post(host, fresh(), [{"kind": True}])
        assert answer.status_code == 500
        assert sentence in answer.text


def test_a_transaction_of_the_longest_limit_ends_before_the_platform_resets_its_object() -> None:
    limits = {"默认": 60_000, "durable-transaction": 30_000}
    with LocalHost(variables={"EXECUTION_CONFIG": {"事件时限毫秒": limits}}) as host:
        name = fresh()
        before = run(host, name, {"native": "instance"})
        steps = [call("transaction_put", "t", "1"), {"sleep": 60_000}]
        told, read = run(host, name, {"transaction": steps}, call("store_get", "t"))
        assert re.fullmatch(
            "豫言异常: 持久事务失败：durable-transaction 事件超过时限 29500 毫秒" + PLACE, told
        )
        assert read == [False, ""]
        assert run(host, name, {"native": "instance"}) == before, "the object was reset"
