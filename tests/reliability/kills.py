"""Workload: workerd dies at random moments and comes back on the same state; nothing acknowledged is lost.

Every object has one client that works on it until the kill. What was acknowledged is known then, and what was
attempted last may have happened or not. Two faults: the whole server is killed, or workerd alone, which
wrangler starts again by itself.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx
from repository import LocalHost

from tests.client import Client, Failed

from .workload import Effort, Report

NAME = "kills"
START_SECONDS = 60.0
ALARM_SECONDS = 60.0
BATCH_SECONDS = 60.0
POLL_SECONDS = 0.02

PLATFORM_END_MS = 9_223_372_036_854
"""The last time that the platform's own alarm can hold."""

TRANSACTION_KEYS = ("a", "b", "c")
LISTED_COUNT = 400
LISTED_TEXT = json.dumps("x" * 1500)
ROUNDS_OF_ONE_SET = 8
"""After so many kills the objects are replaced: their logs grow."""


@dataclass
class History:
    """What one client knows: the last number acknowledged, and the last one attempted."""

    acknowledged: int = 0
    attempted: int = 0
    at_ms: dict[int, int | None] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)


# Checkers: one a promise. They see plain data, so that corrupted observations can be given to them.


def check_written(history: History, seen: int) -> list[str]:
    """An acknowledged write is there; nothing is there that was never attempted."""
    if history.acknowledged <= seen <= history.attempted:
        return []
    return [f"write {history.acknowledged} acknowledged, {history.attempted} attempted, {seen} found"]


def check_whole(history: History, seen: list[int], alarm: tuple[bool, int]) -> list[str]:
    """A transaction is all there or not at all, its alarm included; an acknowledged one is there."""
    if len(set(seen)) != 1:
        return [f"torn transaction: {dict(zip(TRANSACTION_KEYS, seen, strict=True))}"]
    expected = history.at_ms.get(seen[0])
    if alarm != ((False, 0) if expected is None else (True, expected)):
        return [f"transaction {seen[0]} is there and its alarm, {expected}, is not: {alarm}"]
    return check_written(history, seen[0])


def check_exact(alarm: tuple[bool, int], native: int | None) -> list[str]:
    """The exact alarm time never disagrees with the platform's."""
    is_set, at_ms = alarm
    if not is_set:
        agrees = native is None and at_ms == 0
    else:
        agrees = native is not None and native == min(at_ms, PLATFORM_END_MS)
    return [] if agrees else [f"the alarm is {alarm}, the platform's {native}"]


def check_fired(want: int, fired: int, history: History, pending: bool) -> list[str]:
    """An alarm that was set before the kill fires afterwards."""
    found = check_written(history, want)
    if fired != want or pending:
        found.append(
            f"alarm {want} has not fired within {ALARM_SECONDS:g} s: last {fired}, pending {pending}"
        )
    return found


def check_listing(text: str) -> list[str]:
    """A listing is whole whenever it is answered."""
    expected = [[f"l:{number:04}", json.loads(LISTED_TEXT)] for number in range(LISTED_COUNT)]
    return (
        []
        if json.loads(text) == expected
        else [f"a listing of {len(text)} characters is not what was stored"]
    )


def check_batches(sent: dict[str, Any], entries: list[Any]) -> list[str]:
    """A consumer's entry is whole: the batch as sent, and a result for each message or for none yet."""
    found = []
    for entry in entries:
        messages = entry["batch"]["messages"]
        for message in messages:
            if message["body"] != sent.get(message["body"].get("mark")):
                found.append(f"a body that was not sent: {json.dumps(message['body'])[:200]}")
        if "results" in entry and len(entry["results"]) != len(messages):
            found.append(f"{len(messages)} messages and {len(entry['results'])} results")
    return found


# Clients: each works on its object until a request fails, which the kill brings about.

Clientele = Callable[[Client, str, History, Random], None]


def _write(client: Client, name: str, history: History, random: Random) -> None:
    history.attempted += 1
    client.values(name, {"call": "store_put", "args": ["n", str(history.attempted)]})
    history.acknowledged = history.attempted


def _transact(client: Client, name: str, history: History, random: Random) -> None:
    number = history.attempted = history.attempted + 1
    at_ms = history.at_ms[number] = random.choice(
        [None, 4_000_000_000_000 + number, 8_000_000_000_000_000 + number]
    )
    alarm = {"call": "set_alarm", "args": [at_ms]} if at_ms else {"call": "delete_alarm", "args": []}
    steps: list[Any] = [
        {"call": "transaction_put", "args": [key, str(number)]} for key in TRANSACTION_KEYS
    ] + [alarm]
    random.shuffle(steps)
    for place in range(len(steps) - 1, 0, -1):
        steps.insert(place, {"sleep": random.choice([1, 5, 20, 60])})
    client.values(name, {"transaction": [*steps, {"complete": True}]})
    history.acknowledged = number


def _arm(client: Client, name: str, history: History, random: Random) -> None:
    """Change the alarm outside of a transaction; the checker is `check_exact` alone."""
    if not random.randrange(4):
        client.values(name, {"call": "delete_alarm", "args": []})
    else:
        at_ms = random.choice([1, 1000]) * random.randrange(4_000_000_000_000, 8_000_000_000_000)
        client.values(name, {"call": "set_alarm", "args": [at_ms]})


def _be_woken(client: Client, name: str, history: History, random: Random) -> None:
    """Set an alarm, wait until it has fired, set the next."""
    number = history.attempted = history.attempted + 1
    wake = [
        {"sleep": random.choice([0, 10, 200])},
        {"transaction": [{"call": "transaction_put", "args": ["fired", str(number)]}, {"complete": True}]},
    ]
    at_ms = random.choice([0, _now_ms() + random.randrange(2000)])
    steps = [
        {"call": "transaction_put", "args": ["script:alarm", json.dumps(wake)]},
        {"call": "transaction_put", "args": ["want", str(number)]},
        {"call": "set_alarm", "args": [at_ms]},
        {"complete": True},
    ]
    client.values(name, {"transaction": steps})
    history.acknowledged = number
    deadline = time.monotonic() + ALARM_SECONDS
    while _number(client, name, "fired") != number:
        if time.monotonic() > deadline:
            history.violations.append(f"alarm {number} has not fired within {ALARM_SECONDS:g} s")
            return
        time.sleep(POLL_SECONDS)
    client.values(name, {"call": "store_delete", "args": ["log:alarm"]})


def _list(client: Client, name: str, history: History, random: Random) -> None:
    history.violations += check_listing(client.values(name, {"call": "store_list", "args": ["{}"]})[0])


def _send(client: Client, name: str, history: History, random: Random) -> None:
    number = history.attempted = history.attempted + 1
    client.values(name, {"call": "send_message", "args": ["PAGE_QUEUE", json.dumps(_body(name, number)), 0]})
    history.acknowledged = number
    time.sleep(POLL_SECONDS)  # a pace, so that the batch's log stays short


def _body(name: str, number: int) -> dict[str, Any]:
    steps = [{"sleep": 40}, {"call": "ack_message", "args": ["$index"]}, {"sleep": 40}]
    return {"log": name, "steps": steps, "mark": f"{number}"}


CLIENTS: dict[str, Clientele] = {
    "write": _write,
    "transact": _transact,
    "arm": _arm,
    "wake-1": _be_woken,
    "wake-2": _be_woken,
    "list": _list,
    "send": _send,
}


def run(host: LocalHost, effort: Effort) -> Report:
    """Kill and restart until the effort is spent."""
    report = Report(NAME, effort.seed)
    report.figures = {"whole server": 0, "workerd alone": 0, "acknowledged": 0, "seconds to come back": 0.0}
    random = effort.random(NAME)
    histories: dict[str, History] = {}
    names: dict[str, str] = {}
    while effort.goes_on(report.runs):
        if report.runs % ROUNDS_OF_ONE_SET == 0:
            histories = {kind: History(at_ms={0: None}) for kind in CLIENTS}
            names = {kind: f"kills-{effort.seed}-{report.runs}-{kind}" for kind in CLIENTS}
            _prepare(host, names)
        before = sum(history.acknowledged for history in histories.values())
        clients = [
            threading.Thread(target=_work, args=(host, names[kind], histories[kind], CLIENTS[kind], seed))
            for kind, seed in ((kind, random.random()) for kind in CLIENTS)
        ]
        for client in clients:
            client.start()
        time.sleep(random.uniform(0.05, 1.0))  # the random moment
        alone = random.random() < 0.3
        report.figures["workerd alone" if alone else "whole server"] += 1
        if alone:
            os.kill(host.workerd_pid(), signal.SIGKILL)
        else:
            host.kill()
        report.faults += 1
        for client in clients:
            client.join()
        report.figures["acknowledged"] += sum(h.acknowledged for h in histories.values()) - before
        started = time.monotonic()
        if alone:
            _wait(host)
        else:
            time.sleep(random.choice([0.0, 0.0, 0.5]))  # an alarm may become due meanwhile
            host.restart()
        report.figures["seconds to come back"] += round(time.monotonic() - started, 3)
        with Client(host) as client_after:
            for kind, history in histories.items():
                where = f"kill {report.runs + 1}, {kind}"
                report.check(history.violations, where)
                history.violations = []
                report.check(_check(client_after, kind, names[kind], history), where)
        report.runs += 1
    return report


def _prepare(host: LocalHost, names: dict[str, str]) -> None:
    with Client(host) as client:
        puts = [
            {"call": "store_put", "args": [f"l:{number:04}", LISTED_TEXT]} for number in range(LISTED_COUNT)
        ]
        client.values(names["list"], *puts)


def _work(host: LocalHost, name: str, history: History, clientele: Clientele, seed: float) -> None:
    random = Random(seed)
    with Client(host) as client:
        try:
            while True:
                clientele(client, name, history, random)
        except (httpx.HTTPError, Failed, ValueError) as error:
            if not _is_death(error):
                history.violations.append(f"{type(error).__name__}: {error}"[:500])


def _is_death(error: Exception) -> bool:
    """Whether a request failed because there was nobody to answer it, which is what a kill does."""
    text = str(error)
    return isinstance(error, httpx.HTTPError) or "Network connection lost" in text or "status 503" in text


def _wait(host: LocalHost) -> None:
    """Wait until wrangler has started workerd again."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with Client(host, 10) as client:
                client.values("anybody", {"kind": True})
                return
        except (httpx.HTTPError, Failed, ValueError):
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)


def _check(client: Client, kind: str, name: str, history: History) -> list[str]:
    """Look at one object after the restart, and take what is there for known from now on."""
    found: list[str] = []
    if kind == "write":
        seen = _number(client, name, "n")
        found = check_written(history, seen)
        history.acknowledged = history.attempted = seen
    elif kind == "transact":
        gets = [{"call": "store_get", "args": [key]} for key in TRANSACTION_KEYS]
        *values, alarm, native = client.values(
            name, *gets, {"call": "get_alarm", "args": []}, {"native": "alarm"}
        )
        numbers = [int(text or "0") for _, text in values]
        found = check_whole(history, numbers, (alarm[0], alarm[1])) + check_exact(
            (alarm[0], alarm[1]), native
        )
        history.acknowledged = history.attempted = numbers[0]
    elif kind == "arm":
        alarm, native = client.values(name, {"call": "get_alarm", "args": []}, {"native": "alarm"})
        found = check_exact((alarm[0], alarm[1]), native)
    elif kind.startswith("wake"):
        found = _check_woken(client, name, history)
    elif kind == "list":
        found = check_listing(client.values(name, {"call": "store_list", "args": ["{}"]})[0])
    else:
        found = _check_sent(client, name, history)
    return found


def _check_woken(client: Client, name: str, history: History) -> list[str]:
    want = _number(client, name, "want")
    deadline = time.monotonic() + ALARM_SECONDS
    while True:
        fired = _number(client, name, "fired")
        pending = client.values(name, {"call": "get_alarm", "args": []})[0][0]
        if (fired == want and not pending) or time.monotonic() > deadline:
            break
        time.sleep(POLL_SECONDS)
    found = check_fired(want, fired, history, pending)
    history.acknowledged = history.attempted = want
    return found


def _check_sent(client: Client, name: str, history: History) -> list[str]:
    """The simulation keeps messages in memory: a kill loses them, and none is waited for but a new one."""
    history.attempted += 1
    mark = str(history.attempted)
    client.values(
        name, {"call": "send_message", "args": ["PAGE_QUEUE", json.dumps(_body(name, history.attempted)), 0]}
    )
    deadline = time.monotonic() + BATCH_SECONDS
    while True:
        text = client.values(name, {"call": "store_get", "args": ["log:queue"]})[0][1]
        entries = json.loads(text or "[]")
        done = [entry for entry in entries if "results" in entry and _holds(entry, mark)]
        if done or time.monotonic() > deadline:
            break
        time.sleep(POLL_SECONDS)
    sent = {str(number): _body(name, number) for number in range(1, history.attempted + 1)}
    found = check_batches(sent, entries)
    if not done:
        found.append(f"a message sent after the restart did not arrive within {BATCH_SECONDS:g} s")
    client.values(name, {"call": "store_delete", "args": ["log:queue"]})
    return found


def _holds(entry: Any, mark: str) -> bool:
    return any(message["body"].get("mark") == mark for message in entry["batch"]["messages"])


def _number(client: Client, name: str, key: str) -> int:
    return int(client.values(name, {"call": "store_get", "args": [key]})[0][1] or "0")


def _now_ms() -> int:
    return round(time.time() * 1000)
