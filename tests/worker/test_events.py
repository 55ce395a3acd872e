"""Events: what they share, what they do not, and what is left when they are over."""

import json
from concurrent.futures import ThreadPoolExecutor

from repository import LocalHost

from tests.client import call

from .scripts import aborted, eventually, fresh, run


def test_each_event_sees_its_own_kind_and_object(worker: LocalHost) -> None:
    """Sixty events of thirty objects at once, interleaved by sleeps, never see one another."""
    names = [fresh() for _ in range(30)]

    def visit(number: int) -> None:
        name = names[number % len(names)]
        key = f"k{number}"
        steps = [call("store_put", key, str(number)), {"sleep": 20}, call("store_get", key), {"kind": True}]
        assert run(worker, name, *steps) == [None, None, [True, str(number)], "durable-fetch"]
        assert run(worker, name, {"sleep": 5}, {"kind": True}, event="fetch")[1] == "fetch"

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(visit, range(60)))
    for index, name in enumerate(names):
        listed = json.loads(run(worker, name, call("store_list", "{}"))[0])
        assert dict(listed) == {f"k{index}": index, f"k{index + 30}": index + 30}


def test_a_task_that_outlives_its_event_is_refused(worker: LocalHost) -> None:
    name = fresh()
    calls = [
        {"kind": True},
        call("store_get", "a"),
        call("store_put", "late", "1"),
        call("get_alarm"),
        call("set_alarm", 1),
        call("alarm_retry_count"),
        call("run_transaction", "1"),
        call("transaction_argument"),
        call("send_message", "PAGE_QUEUE", "1", 0),
        call("read_batch"),
    ]
    run(worker, name, {"spawn": [{"sleep": 10_000}, *calls], "log": "orphan"})
    found, text = eventually(
        "the orphan's results",
        5,
        lambda: (seen := run(worker, name, call("store_get", "orphan"))[0])[0] and seen,
    )
    assert found
    results = json.loads(text)
    assert [result.get("message", result.get("value")) for result in results[1:]] == [
        "当前没有入站事件",
        "当前事件不属于持久对象",
        "当前事件不属于持久对象",
        "当前事件不属于持久对象",
        "当前事件不属于持久对象",
        0,
        "当前事件不属于持久对象",
        "当前事件不是事务处理入口",
        "当前没有入站事件",
        "当前事件不是队列事件",
    ]
    assert run(worker, name, call("store_get", "late"), call("get_alarm")) == [[False, ""], [False, 0]]


def test_an_orphan_of_a_transaction_is_refused_and_writes_nothing(worker: LocalHost) -> None:
    name = fresh()
    orphan = {"spawn": [{"sleep": 10_000}, call("transaction_put", "late", "1")], "log": "orphan"}
    assert run(worker, name, {"transaction": [orphan, {"complete": True}]})
    _, text = eventually(
        "the orphan's results",
        5,
        lambda: (seen := run(worker, name, call("store_get", "orphan"))[0])[0] and seen,
    )
    assert json.loads(text)[1]["message"] == "当前事件不是事务处理入口"
    assert run(worker, name, call("store_get", "late")) == [[False, ""]]


def test_an_abort_that_the_application_swallows_fails_the_event_all_the_same(worker: LocalHost) -> None:
    name = fresh()
    unpermitted = call("send_message", "OTHER_QUEUE", "1", 0)
    told = aborted(
        worker,
        name,
        call("store_put", "before", "1"),
        {"swallow": [unpermitted]},
        {"swallow": [call("store_put", "after", "1")]},
        {"swallow": [call("set_alarm", 1_900_000_000_000)]},
    )
    assert told == '宿主中止: 队列绑定 "OTHER_QUEUE" 未获许可'
    assert run(worker, name, call("store_list", "{}"), call("get_alarm")) == ['[["before",1]]', [False, 0]]


def test_an_aborted_transaction_leaves_its_caller_alone(worker: LocalHost) -> None:
    name = fresh()
    steps = [
        call("transaction_put", "a", "1"),
        {"swallow": [call("send_message", "OTHER_QUEUE", "1", 0)]},
        {"complete": True},
    ]
    failed, then, read = run(
        worker, name, {"transaction": steps}, call("store_put", "b", "2"), call("store_list", "{}")
    )
    assert failed == '豫言异常: 持久事务失败：队列绑定 "OTHER_QUEUE" 未获许可'
    assert (then, read) == (None, '[["b",2]]')


def test_concurrent_tasks_of_one_event_share_it(worker: LocalHost) -> None:
    name = fresh()
    task = [{"sleep": 5}, {"kind": True}, call("store_put", "k", "1"), call("store_get", "k")]
    assert [
        [result["value"] for result in results] for results in run(worker, name, {"together": [task] * 20})[0]
    ] == [[None, "durable-fetch", None, [True, "1"]]] * 20
