"""The Worker's door: who and what gets in."""

import json

import httpx
import pytest
from repository import LocalHost

from .scripts import call, fresh, post, run

SCRIPT = json.dumps({"object": "door", "event": "durable-fetch", "steps": [{"kind": True}]})


def send(
    worker: LocalHost, body: str | bytes, headers: dict[str, str], path: str = "/v1/run"
) -> httpx.Response:
    return httpx.post(worker.url + path, content=body, headers=headers, timeout=60, trust_env=False)


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer x", "Basic {token}", "{token}", "Bearer {token}x", "bearer {token}"],
)
def test_without_the_token_nobody_enters(worker: LocalHost, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header.format(token=worker.token)}
    answer = send(worker, SCRIPT, headers)
    assert answer.status_code == 401
    assert worker.token not in answer.text


def test_a_wrong_token_of_the_right_length_is_refused(worker: LocalHost) -> None:
    wrong = worker.token[:-1] + ("a" if worker.token[-1] != "a" else "b")
    assert send(worker, SCRIPT, {"Authorization": f"Bearer {wrong}"}).status_code == 401


def test_only_the_one_path_and_method_exist(worker: LocalHost) -> None:
    headers = {"Authorization": f"Bearer {worker.token}"}
    assert send(worker, SCRIPT, headers, "/").status_code == 404
    assert send(worker, SCRIPT, headers, "/v1/run/more").status_code == 404
    assert httpx.get(f"{worker.url}/v1/run", headers=headers, trust_env=False).status_code == 405


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "null",
        '{"object":"a","event":"fetch"}',
        '{"object":"","event":"fetch","steps":[]}',
        '{"object":1,"event":"fetch","steps":[]}',
        '{"object":"a","event":"queue","steps":[]}',
        '{"object":"a","event":"fetch","steps":{}}',
        '{"object":"a","event":"fetch","steps":[],"note":1}',
        b"\xff",
        "\ufeff" + SCRIPT,
        "[" * 1_000_000,
        "[" * 1_000_000 + "]" * 1_000_000,
    ],
)
def test_a_malformed_script_is_refused_with_a_sentence(worker: LocalHost, body: str | bytes) -> None:
    answer = send(worker, body, {"Authorization": f"Bearer {worker.token}"})
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "step",
    [
        call("__class__"),
        call("__import__", "os"),
        call("sleep", 1),
        call("App"),
        call("eval", "1"),
        {"call": "store_get"},
        {"call": "store_get", "args": "a"},
        {"call": ["store_get"], "args": []},
        {"sleep": True},
        {"kind": False},
        {"unknown": 1},
        {"transaction": [{"unknown": 1}]},
        {"together": [[{"unknown": 1}]]},
        {"native": "eval"},
        {"native": "put", "key": "k"},
        {"native": "put", "key": "k", "value": "nope"},
        [],
        None,
        "store_get",
    ],
    ids=str,
)
def test_an_unknown_step_is_refused_before_anything_runs(worker: LocalHost, step: object) -> None:
    name = fresh()
    answer = post(worker, name, [call("store_put", "k", "1"), step])  # type: ignore[list-item]
    assert answer.status_code == 400
    assert run(worker, name, call("store_get", "k")) == [[False, ""]]


def test_a_deep_transaction_parameter_harms_nobody(worker: LocalHost) -> None:
    deep = "[" * 1_000_000 + "]" * 1_000_000
    told = run(worker, fresh(), call("run_transaction", deep))[0]
    assert told == "豫言异常: 持久事务失败：the script nests deeper than 100 levels"


def test_a_body_over_the_limit_is_refused(worker: LocalHost) -> None:
    headers = {"Authorization": f"Bearer {worker.token}"}
    assert send(worker, b" " * (32 * 1024 * 1024 + 1), headers).status_code == 413
    assert send(worker, SCRIPT.encode().ljust(32 * 1024 * 1024), headers).status_code == 200


def test_a_failed_event_tells_no_traceback(worker: LocalHost) -> None:
    answer = post(worker, fresh(), [{"raise": "reason"}])
    assert answer.status_code == 502
    assert answer.json() == {"aborted": "RuntimeError: reason"}
