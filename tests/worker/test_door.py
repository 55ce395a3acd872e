"""The Worker's door: who and what gets in."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import yungong_local
from repository import CONFIG, LocalHost
from verifier.platform import source_digest

from tests.client import HANGING_SECONDS, call

from .scripts import fresh, post, run

SCRIPT = json.dumps({"object": "door", "event": "durable-fetch", "steps": [{"kind": True}]})


def send(
    worker: LocalHost, body: str | bytes, headers: dict[str, str], path: str = "/v1/run"
) -> httpx.Response:
    return httpx.post(
        worker.url + path, content=body, headers=headers, timeout=HANGING_SECONDS, trust_env=False
    )


def get(worker: LocalHost, path: str, headers: dict[str, str]) -> httpx.Response:
    return httpx.get(worker.url + path, headers=headers, timeout=HANGING_SECONDS, trust_env=False)


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer x", "Basic {token}", "{token}", "Bearer {token}x", "Bearer  {token}"],
)
def test_without_the_token_nobody_enters(worker: LocalHost, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header.format(token=worker.token)}
    answer = send(worker, SCRIPT, headers)
    assert answer.status_code == 401
    assert worker.token not in answer.text


@pytest.mark.parametrize("secret", [None, ""])
def test_a_worker_without_a_token_refuses_everything(secret: str | None) -> None:
    variables = {} if secret is None else {"TOKEN": secret}
    with yungong_local.LocalHost(CONFIG, variables=variables) as host:
        for header in (None, "Bearer", "Bearer None", "Bearer undefined", "Bearer null", "Bearer x"):
            headers = {} if header is None else {"Authorization": header}
            for method, path in (("POST", "/v1/run"), ("GET", "/v1/version")):
                answer = httpx.request(
                    method,
                    host.url + path,
                    content=SCRIPT,
                    headers=headers,
                    timeout=HANGING_SECONDS,
                    trust_env=False,
                )
                assert answer.status_code == 401, (header, path, answer.text)


def test_a_wrong_token_of_the_right_length_is_refused(worker: LocalHost) -> None:
    wrong = worker.token[:-1] + ("a" if worker.token[-1] != "a" else "b")
    assert send(worker, SCRIPT, {"Authorization": f"Bearer {wrong}"}).status_code == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_may_be_in_any_case(worker: LocalHost, scheme: str) -> None:
    assert send(worker, SCRIPT, {"Authorization": f"{scheme} {worker.token}"}).status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "OPTIONS", "PROPFIND", "MKCOL", "LOCK", "SEARCH"])
def test_any_other_method_ends_with_405(worker: LocalHost, method: str) -> None:
    headers = {"Authorization": f"Bearer {worker.token}"}
    answer = httpx.request(
        method, f"{worker.url}/v1/run", headers=headers, timeout=HANGING_SECONDS, trust_env=False
    )
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert "Traceback" not in answer.text


def test_the_version_is_told_to_whom_has_the_token(worker: LocalHost) -> None:
    assert get(worker, "/v1/version", {}).status_code == 401
    headers = {"Authorization": f"Bearer {worker.token}"}
    told = get(worker, "/v1/version", headers).json()
    assert told["source"] == source_digest()
    assert told["python"].startswith("3.")


def test_an_answer_is_given_again_to_a_request_that_comes_again(worker: LocalHost) -> None:
    mark = {"native": "mark", "key": "marks", "label": "once"}
    script = json.dumps(
        {"object": fresh(), "event": "durable-fetch", "steps": [mark, call("store_get", "marks")]}
    )
    headers = {"Authorization": f"Bearer {worker.token}", "Idempotency-Key": "a"}
    first, again = send(worker, script, headers), send(worker, script, headers)
    assert first.status_code == again.status_code == 200
    assert first.content == again.content
    other = send(worker, script, headers | {"Idempotency-Key": "b"})
    assert other.text.count("at_ms") == first.text.count("at_ms") + 1


def test_a_request_that_still_runs_is_not_begun_again(worker: LocalHost) -> None:
    steps = [{"native": "mark", "key": "marks", "label": "once"}, {"sleep": 1500}, call("store_get", "marks")]
    script = json.dumps({"object": fresh(), "event": "durable-fetch", "steps": steps})
    headers = {"Authorization": f"Bearer {worker.token}", "Idempotency-Key": "a"}
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda _: send(worker, script, headers), range(3)))
    done = [answer for answer in answers if answer.status_code == 200]
    assert done
    assert all("still runs" in answer.text for answer in answers if answer not in done)
    assert send(worker, script, headers).content == done[0].content
    assert done[0].text.count("at_ms") == 1


def test_only_the_paths_and_methods_of_the_protocol_exist(worker: LocalHost) -> None:
    headers = {"Authorization": f"Bearer {worker.token}"}
    assert send(worker, SCRIPT, headers, "/").status_code == 404
    assert send(worker, SCRIPT, headers, "/v1/run/more").status_code == 404
    assert get(worker, "/v1/run", headers).status_code == 405


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
