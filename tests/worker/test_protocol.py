"""The Worker's own check and the protocol's schema accept the same steps; its answers are the schema's."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
from repository import LocalHost
from verifier.schema import problem, schema

from tests.client import HANGING_SECONDS, call

from .scripts import fresh, post

UNKNOWN = {"sentinel": "none of the protocol's"}
VALUES: list[Any] = [None, True, False, 0, -1, 1.5, 1.0, "", "x", "date", "inside:map", [], [1], {}, [[]]]
VALUES += [
    {"json": 1},
    {"json": 1, "x": 2},
    {"bare": None},
    {"bare": 1, "x": 2},
    [{"kind": True}],
    [{"other": 1}],
]

STEPS: list[dict[str, Any]] = [
    call("store_get", "k"),
    {"kind": True},
    {"sleep": 1},
    {"raise": "x"},
    {"swallow": [{"kind": True}]},
    {"together": [[{"kind": True}], []]},
    {"spawn": [{"kind": True}], "log": "k"},
    {"transaction": [{"complete": True}]},
    {"complete": True},
    {"recorded": True},
    {"refuse": "x"},
    {"refuse": {"bare": 1}},
    {"native": "put", "key": "k", "value": "date"},
    {"native": "put", "key": "k", "value": {"json": [1]}},
    {"native": "send", "binding": "PAGE_QUEUE", "log": "o", "value": "inside:map"},
    {"native": "get", "key": "k"},
    {"native": "alarm"},
    {"native": "set-alarm", "at_ms": 1},
    {"native": "plant-alarm", "exact_ms": 1, "delay_ms": 1},
    {"native": "instance"},
    {"native": "now"},
    {"native": "mark", "key": "k", "label": "x"},
    {"native": "mark", "key": "k", "label": "x", "object": "o"},
    {"native": "abort"},
    {"native": "hold", "key": "k", "ms": 1},
    {"native": "store-text", "key": "k", "form": "ascii", "bytes": 9},
    {"native": "cell", "key": "k", "bytes": 9},
    {"native": "enqueue", "binding": "PAGE_QUEUE", "bodies": [1], "delay_seconds": None, "batch": False},
]


def near(step: dict[str, Any]) -> Iterator[Any]:
    """The step, and everything that differs from it in one member."""
    yield step
    yield step | {"more": 1}
    for name in step:
        yield {key: value for key, value in step.items() if key != name}
        for value in VALUES:
            yield step | {name: value}
    for other in ("kind", "recorded"):
        yield step | {other: True}


def accepted(worker: LocalHost, client: httpx.Client, step: Any) -> bool:
    """What the Worker's check says; nothing runs, for a step that nobody knows is checked after this one."""
    steps = [{"swallow": [UNKNOWN]}, {"swallow": [step]}]
    body = json.dumps({"object": "check", "event": "fetch", "steps": steps})
    answer = client.post(f"{worker.url}/v1/run", content=body)
    assert answer.status_code == 400, step
    assert problem(answer.json(), "protocol", "refused") is None
    return bool(answer.json()["error"] == f"unknown step {json.dumps(UNKNOWN)}")


def test_the_worker_and_the_schema_accept_the_same_steps(worker: LocalHost) -> None:
    forms = schema("protocol")["$defs"]
    assert {form for step in STEPS for form in step} >= set(forms["step"]["dependentSchemas"])
    assert {step.get("native") for step in STEPS} >= set(forms["native"]["enum"])
    tried: dict[str, Any] = {json.dumps(one): one for step in STEPS for one in near(step)}
    tried |= {json.dumps(one): one for one in (None, 1, "kind", [1], {"": 1})}
    for name in forms["function"]["enum"]:
        tried[name] = call(name)
    headers = {"Authorization": f"Bearer {worker.token}"}
    verdicts = {True: 0, False: 0}
    with httpx.Client(headers=headers, timeout=HANGING_SECONDS, trust_env=False) as client:
        for step in tried.values():
            told = problem(step, "protocol", "step")
            assert accepted(worker, client, step) == (told is None), (step, told)
            verdicts[told is None] += 1
    assert min(verdicts.values()) > 50, verdicts


def test_what_the_worker_answers_is_the_protocol_s(worker: LocalHost) -> None:
    name = fresh()
    steps = [call("store_put", "k", "1"), call("store_get", "k"), call("store_get", ""), {"recorded": True}]
    answer = post(worker, name, steps)
    assert problem(answer.json(), "protocol", "answer") is None
    assert {"error" in result for result in answer.json()["results"]} == {True, False}
    assert problem(post(worker, name, [{"raise": "x"}]).json(), "protocol", "aborted") is None
    headers = {"Authorization": f"Bearer {worker.token}"}
    version = httpx.get(f"{worker.url}/v1/version", headers=headers, timeout=HANGING_SECONDS, trust_env=False)
    assert problem(version.json(), "protocol", "version") is None
