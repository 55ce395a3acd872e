"""Permits: which bindings an application may send to, and what becomes of an event that tries another."""

from collections.abc import Iterator

import pytest
from repository import LocalHost

from tests.client import call

from .scripts import aborted, fresh, run

PERMITTED = [
    "PAGE_QUEUE",
    "MISSING_QUEUE",
    "DURABLE_STORE",
    "PERMITS",
    "TOKEN",
    "constructor",
    "to_py",
    "__class__",
]


@pytest.fixture(scope="module")
def lenient() -> Iterator[LocalHost]:
    """A Worker that permits more than it has."""
    with LocalHost(variables={"PERMITS": {"QUEUE": PERMITTED}}) as host:
        yield host


@pytest.mark.parametrize("send", [("send_message", '{"log":1}', 0), ("send_messages", '[{"body":1}]')])
@pytest.mark.parametrize("binding", PERMITTED[1:])
def test_a_permitted_name_that_is_no_queue_aborts_the_event(
    lenient: LocalHost, binding: str, send: tuple[str, ...]
) -> None:
    name = fresh()
    function, *rest = send
    told = aborted(
        lenient,
        name,
        call("store_put", "before", "1"),
        {"swallow": [call(function, binding, *rest)]},
        {"swallow": [call("store_put", "after", "1")]},
    )
    assert told == f'宿主中止: 队列绑定 "{binding}" 没有配置，或不是队列'
    assert run(lenient, name, call("store_list", "{}")) == ['[["before",1]]']


@pytest.mark.parametrize("binding", ["OTHER_QUEUE", "page_queue", "PAGE_QUEUE ", "\ud800"])
def test_a_name_that_is_not_permitted_aborts_the_event(worker: LocalHost, binding: str) -> None:
    told = aborted(worker, fresh(), {"swallow": [call("send_message", binding, "1", 0)]})
    assert told.startswith("宿主中止: 队列绑定 ")
    assert told.endswith(" 未获许可")


def test_an_empty_name_is_a_violation_and_values_are_checked_before_permits(worker: LocalHost) -> None:
    assert run(
        worker,
        fresh(),
        call("send_message", "", "1", 0),
        call("send_messages", "", '[{"body":1}]'),
        call("send_message", "OTHER_QUEUE", "{", 0),
        call("send_message", "OTHER_QUEUE", "1", -1),
        call("send_messages", "OTHER_QUEUE", "[]"),
        {"recorded": True},
    ) == [
        "豫言异常: 队列绑定名不能为空",
        "豫言异常: 队列绑定名不能为空",
        "豫言异常: 消息体不是有效的 JSON 文字",
        "豫言异常: 延迟秒数须在 0 至 43200 之间",
        "豫言异常: 批量消息不得为空",
        [],
    ]
