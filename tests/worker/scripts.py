"""Sending scripts to the Worker: what a test asks for, in a few words."""

import json
import secrets
import time
from collections.abc import Callable
from typing import Any

import httpx
from repository import LocalHost

from tests.client import Client, Step, call

POLL_SECONDS = 0.05


def fresh(title: str = "object") -> str:
    """Return the name of an object that no other test uses."""
    return f"{title}-{secrets.token_hex(6)}"


def post(worker: LocalHost, target: str, steps: list[Step], event: str = "durable-fetch") -> httpx.Response:
    """Run steps in an event of `target` and return the answer."""
    with Client(worker) as client:
        return client.script(target, steps, event)


def run(worker: LocalHost, target: str, *steps: Step, event: str = "durable-fetch") -> list[Any]:
    """Run steps in an event that must end normally, and return the value of each, or its error's message."""
    answer = post(worker, target, list(steps), event)
    assert answer.status_code == 200, answer.text
    return [outcome(result) for result in answer.json()["results"]]


def outcome(result: dict[str, Any]) -> Any:
    """Return a RESULT's value, or its error as `type: message`."""
    return result["value"] if "value" in result else f"{result['error']}: {result['message']}"


def aborted(worker: LocalHost, target: str, *steps: Step, event: str = "durable-fetch") -> str:
    """Run steps in an event that must fail, and return what ended it."""
    answer = post(worker, target, list(steps), event)
    assert answer.status_code == 502, answer.text
    text: str = answer.json()["aborted"]
    return text


def eventually(what: str, seconds: float, look: Callable[[], Any]) -> Any:
    """Return the first true answer of `look`; fail when none came within `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        answer = look()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}; last seen: {answer!r}"
        time.sleep(POLL_SECONDS)


def log_of(worker: LocalHost, target: str, key: str = "log:alarm") -> list[Any]:
    """Return the list that an object's handlers keep under `key`."""
    found, text = run(worker, target, call("store_get", key))[0]
    entries: list[Any] = json.loads(text) if found else []
    return entries
