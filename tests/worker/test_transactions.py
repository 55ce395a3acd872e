"""Transactions and everything that goes on round them."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from repository import LocalHost

from tests.client import call

from .scripts import fresh, run

INCREMENTS = 24


def test_nothing_else_touches_the_object_while_a_transaction_runs(worker: LocalHost) -> None:
    """Sibling tasks wait: they see none of the transaction's writes, and theirs survive its rollback."""
    name = fresh()
    transaction: list[Any] = [
        call("transaction_put", "t", "1"),
        {"sleep": 150},
        call("transaction_list", "{}"),
        {"raise": "enough"},
    ]
    siblings = [
        [call("store_put", "s", "1"), call("store_list", "{}")],
        [{"sleep": 60}, call("store_put", "late", "2"), call("store_get", "t")],
        [call("set_alarm", 1_900_000_000_000), call("get_alarm")],
        [call("store_delete", "missing")],
    ]
    failed, *others = run(worker, name, {"together": [[{"transaction": transaction}], *siblings]})[0]
    assert failed[0]["message"] == "持久事务失败：enough"
    assert others[0][1]["value"] in ('[["s",1]]', '[["late",2],["s",1]]')
    assert others[1][2]["value"] == [False, ""]
    assert others[2][1]["value"] == [True, 1_900_000_000_000]
    assert others[3][0]["value"] is False
    assert run(worker, name, call("store_list", "{}"), call("get_alarm")) == [
        '[["late",2],["s",1]]',
        [True, 1_900_000_000_000],
    ]


def test_another_event_waits_for_the_transaction(worker: LocalHost) -> None:
    name = fresh()
    transaction = [call("transaction_put", "t", "1"), {"sleep": 400}, {"raise": "enough"}]
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(run, worker, name, {"transaction": transaction})
        time.sleep(0.15)  # the transaction is under way; the other event must find it so
        started = time.monotonic()
        seen = run(worker, name, call("store_put", "o", "1"), call("store_list", "{}"))
        waited = time.monotonic() - started
        assert first.result() == ["豫言异常: 持久事务失败：enough"]
    assert seen == [None, '[["o",1]]']
    assert waited > 0.1
    assert run(worker, name, call("store_list", "{}")) == ['[["o",1]]']


def test_concurrent_transactions_run_one_after_another(worker: LocalHost) -> None:
    """In one event and in several, each with a wait inside: every one sees the state of the one before."""
    name = fresh()

    def entries(key: str) -> list[Any]:
        return [
            call("transaction_list", '{"prefix":"n"}'),
            call("transaction_put", key, "1"),
            {"sleep": 10},
            call("transaction_list", '{"prefix":"n"}'),
            {"complete": True},
        ]

    def event(number: int) -> list[Any]:
        steps = [[{"transaction": entries(f"n{number}-{task}")}] for task in range(3)]
        return [json.loads(task[0]["value"]) for task in run(worker, name, {"together": steps})[0]]

    with ThreadPoolExecutor(8) as pool:
        transactions = [seen for event_seen in pool.map(event, range(8)) for seen in event_seen]
    counts = sorted(
        (len(json.loads(seen[0]["value"])), len(json.loads(seen[3]["value"]))) for seen in transactions
    )
    assert counts == [(number, number + 1) for number in range(INCREMENTS)]


def test_a_transaction_ends_while_other_events_of_the_object_wait(worker: LocalHost) -> None:
    """Other events wait on timers and for answers of other objects meanwhile; it does not wait for them."""
    name = fresh()
    with ThreadPoolExecutor(6) as pool:
        waiting = [pool.submit(run, worker, name, {"sleep": 6000}) for _ in range(3)]
        sends = [
            pool.submit(run, worker, name, call("send_message", "PAGE_QUEUE", '{"log":0}', 0))
            for _ in range(2)
        ]
        time.sleep(0.1)
        text = run(
            worker,
            name,
            {"transaction": [{"sleep": 100}, call("send_message", "PAGE_QUEUE", "1", 0), {"complete": True}]},
        )[0]
        assert not any(event.done() for event in waiting), "the transaction ended after what began before it"
        for event in (*waiting, *sends):
            event.result()
    assert json.loads(text) == [{"value": None}, {"value": None}]


def test_a_cancelled_caller_rolls_its_transaction_back(worker: LocalHost) -> None:
    """A raise in one task cancels nothing by itself; the event's end closes what is still waiting."""
    name = fresh()
    steps: list[Any] = [
        [{"transaction": [call("transaction_put", "t", "1"), {"sleep": 200}, {"complete": True}]}],
        [{"raise": "sibling"}],
    ]
    answer = run(worker, name, {"swallow": [{"together": steps}]}, call("store_get", "t"))
    assert answer[0][0]["message"] == "sibling"
    # The direct read stood in line behind the transaction, which went on and committed.
    assert answer[1] == [True, "1"]
