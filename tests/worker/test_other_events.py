"""Events beyond the specifications' five: RPC, cron and hibernating sockets, on a real workerd."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from repository import LocalHost, worker_source
from websockets.sync.client import ClientConnection, connect

from tests.client import HANGING_SECONDS
from tests.conftest import logged

from .scripts import eventually, fresh

APPLICATION = Path(__file__).with_name("other_events.py")


@pytest.fixture(scope="module")
def host(pytestconfig: pytest.Config) -> Iterator[LocalHost]:
    limits = {"事件时限毫秒": {"durable-rpc": 300, "durable-websocket-message": 2_000}}
    with (
        worker_source(APPLICATION.read_text("utf-8")) as source,
        LocalHost(
            source=source,
            variables={"EXECUTION_CONFIG": limits},
            javascript=APPLICATION.with_name("rpc_caller.mjs"),
            config={
                "durable_objects": {"bindings": [{"name": "CALLER", "class_name": "Caller"}]},
                "migrations": [{"tag": "v2", "new_sqlite_classes": ["Caller"]}],
            },
        ) as host,
        logged(pytestconfig, host),
    ):
        yield host


def rpc(host: LocalHost, name: str, method: str, *arguments: Any) -> Any:
    """Call a method of an object over RPC, through JavaScript's own stub: its result, or its error's text."""
    answer = httpx.post(
        f"{host.url}/{name}", json=[method, *arguments], timeout=HANGING_SECONDS, trust_env=False
    ).json()
    return answer["error"] if isinstance(answer, dict) else answer[0]


# RPC


def test_a_decorated_method_is_an_event_of_its_own_kind(host: LocalHost) -> None:
    assert rpc(host, fresh(), "describe", {"a": [1, None]}) == {
        "kind": "durable-rpc",
        "arguments": [{"a": [1, None]}],
        "instance": True,
        "inner": "durable-rpc",
    }


def test_store_alarm_and_transaction_work_in_an_rpc_method(host: LocalHost) -> None:
    name = fresh()
    assert rpc(host, name, "use_everything") == EVERYTHING
    assert rpc(host, name, "read", "k") == [True, "2"]


EVERYTHING = {
    "stored": [True, "1"],
    "alarm": [True, 1_900_000_000_000],
    "transaction": ["durable-transaction", True],
    "listed": [["k", 2]],
    "retries": 0,
    "refused": ["当前事件不是事务处理入口", "当前事件不是队列事件"],
}


def test_an_rpc_method_ends_by_its_own_time_limit(host: LocalHost) -> None:
    name = fresh()
    told = rpc(host, name, "linger")
    assert "宿主中止: durable-rpc 事件超过时限 300 毫秒" in told
    assert "in a durable-rpc event: do less in one event, or raise its kind's limit" in told
    assert rpc(host, name, "read", "after") == [False, ""]


def test_an_abort_that_an_rpc_method_swallows_fails_it_all_the_same(host: LocalHost) -> None:
    name = fresh()
    assert "宿主中止: 交换文字超过宿主上限 16 MiB" in rpc(host, name, "swallow")


def test_what_an_rpc_method_raises_reaches_its_caller(host: LocalHost) -> None:
    assert "ValueError: told" in rpc(host, fresh(), "fail")


def test_two_rpc_calls_never_see_each_other(host: LocalHost) -> None:
    async def both() -> list[Any]:
        return await asyncio.gather(
            *(asyncio.to_thread(rpc, host, fresh(), "echo_slowly", number) for number in range(8))
        )

    assert asyncio.run(both()) == [["durable-rpc", number] for number in range(8)]


def test_nothing_undecorated_can_be_called_over_rpc(host: LocalHost) -> None:
    """Every attribute that the object and its class have, private and special ones too."""
    name = fresh()
    names = rpc(host, name, "attributes")
    assert {"helper", "_private", "__mangled", "static", "of_class", "__init__", "_app"} - {*names} == {
        "__mangled"
    }
    answered = {}
    for attribute in {*names} - {"fetch"}:  # which a stub has itself, for requests
        answer = rpc(host, name, attribute)
        if not refused(answer):
            answered[attribute] = answer
    assert set(answered) == DECORATED
    assert rpc(host, name, "touched") == []


DECORATED = {
    "attributes",
    "describe",
    "echo_slowly",
    "fail",
    "linger",
    "read",
    "swallow",
    "touched",
    "use_everything",
}


def refused(answer: Any) -> bool:
    return isinstance(answer, str) and (
        "cannot be called over RPC" in answer
        or "does not exist" in answer
        or "does not implement the method" in answer
        or "is a reserved method" in answer
        or "reserved" in answer
    )


def test_what_is_not_decorated_is_refused_with_what_to_write(host: LocalHost) -> None:
    answer = rpc(host, fresh(), "helper")
    assert (
        "TypeError: DurableStore.helper cannot be called over RPC: decorate it with yungong.durable_method"
        in answer
    )


# Cron


@pytest.mark.parametrize("cron", ["*/5 * * * *", "0 0 1 1 *"])
def test_cron_enters_the_application(host: LocalHost, cron: str) -> None:
    answer = httpx.get(
        f"{host.url}/cdn-cgi/handler/scheduled",
        params={"cron": cron, "time": "1900000000000"},
        timeout=HANGING_SECONDS,
        trust_env=False,
    )
    assert (answer.status_code, answer.text) == (200, "ok")
    noted = json.loads(rpc(host, "cron", "read", "cron")[1])
    assert noted == ["scheduled", True, cron, 1_900_000_000_000, "当前事件不属于持久对象"]


# Sockets


def socket(host: LocalHost, name: str) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{host.port}/{name}", proxy=None)


def ask(client: ClientConnection, message: str | bytes) -> Any:
    client.send(message)
    return json.loads(client.recv(timeout=20))


def test_a_message_is_an_event_that_reaches_the_object_and_its_store(host: LocalHost) -> None:
    name = fresh()
    with socket(host, name) as client:
        answer = ask(client, "everything")
        assert (answer["kind"], answer["instance"]) == ("durable-websocket-message", True)
        assert answer["everything"] == EVERYTHING
        assert ask(client, b"\x00\xff") == [0, 255]
    assert rpc(host, name, "read", "k") == [True, "2"]


def test_an_evicted_object_is_entered_for_a_message_again(host: LocalHost) -> None:
    """Idle, it is dropped from memory: the socket stays, and the object is constructed anew."""
    with socket(host, fresh()) as client:
        first = ask(client, "identity")
        assert ask(client, "identity") == {**first, "count": first["count"] + 1}

        def another() -> Any:
            # Each look keeps the object in memory for another ten seconds.
            with pytest.raises(TimeoutError):
                client.recv(timeout=12)
            now = ask(client, "identity")
            return now["constructed"] != first["constructed"] and now

        later = eventually("another construction", 60, another)
        assert later["kind"] == "durable-websocket-message"
        assert later["count"] >= first["count"] + 2


def test_a_close_is_an_event(host: LocalHost) -> None:
    name = fresh()
    with socket(host, name) as client:
        ask(client, "identity")
        client.close(4001, "enough")
    noted = eventually(
        "the close", 10, lambda: (seen := rpc(host, name, "read", "closed"))[0] and json.loads(seen[1])
    )
    assert noted == ["durable-websocket-close", True, 4001, "enough", True]


def test_a_lost_connection_is_an_event(host: LocalHost) -> None:
    name = fresh()
    client = socket(host, name)
    ask(client, "identity")
    client.socket.close()
    noted = eventually(
        "the loss",
        10,
        lambda: next(
            (seen for key in ("closed", "failed") if (seen := rpc(host, name, "read", key))[0]), None
        ),
    )
    assert "durable-websocket-" in noted[1]


def test_a_message_s_handler_ends_by_its_own_time_limit(host: LocalHost) -> None:
    name = fresh()
    with socket(host, name) as client:
        client.send("linger")
        noted = eventually(
            "the end of the time", 10, lambda: (seen := rpc(host, name, "read", "ended"))[0] and seen[1]
        )
        assert "durable-websocket-message 事件超过时限 2000 毫秒" in json.loads(noted)
