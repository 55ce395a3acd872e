"""Workload: many clients, few objects, one isolate; alarms fire and batches arrive meanwhile.

Every request carries a mark that its answer must bear. Counters are read and written in transactions that
wait between the two, on timers and on other objects; what was acknowledged must be what they hold at the end.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import httpx
from repository import LocalHost

from . import memory
from .workload import Effort, Report

NAME = "concurrency"
CLIENTS = 60
OBJECTS = 10
REQUEST_SECONDS = 90.0
SETTLED_SECONDS = 120.0
POLL_SECONDS = 0.1
GROWTH_BOUND_MB = 64
REQUEST_GROWTH_MB = 0.04
"""How much the process may grow between the second and the last tenth of the run, and more for each request.

What the Worker keeps is judged exactly, in memory.py: this is for workerd's own memory, which only the size
of the process shows. A Worker of the platform's SDK that only answers 404 grew by 390 MB over 30 000 requests
here, one that is a line of JavaScript by 310, both hardly after that: garbage waits for the collector.
"""

WARM_REQUESTS = 5_000
"""A shorter run says nothing of the process's growth: it is still warming up."""

FORBIDDEN = ("Cannot perform I/O on behalf of a different", "Python worker fatal error", "deadlock", "hung")
MIX = ["hold", "increment", "increment", "increment", "fail", "send", "alarm", "script", "fetch", "task"]


@dataclass
class Tally:
    """What the clients know."""

    increments: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    alarms: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    done: int = 0
    memory_mb: list[float] = field(default_factory=list)


# Checkers


def check_answer(asked: dict[str, Any], answer: Any) -> list[str]:
    """An answer bears the request's mark and its object's name, and its event is what it should be."""
    expected = {
        "object": asked["object"],
        "mark": asked["mark"],
        "kind": "durable-fetch",
        "seen": asked["mark"],
    }
    return [] if answer == expected else [f"asked {asked}, answered {answer}"]


def check_script(expected: list[Any], answer: Any) -> list[str]:
    """A script's values are its own event's."""
    given = [result.get("value", result.get("error")) for result in answer["results"]]
    return [] if given == expected else [f"a script was to give {expected}, not {given}"]


def check_counts(name: str, tally: Tally, peek: dict[str, Any]) -> list[str]:
    """No update is lost, none happens twice; messages arrive once or more and count once; alarms fire."""
    found = []
    seen = peek["seen"]
    if seen["counter"] != tally.increments[name]:
        found.append(f"{name}: {tally.increments[name]} increments acknowledged, {seen['counter']} counted")
    if not seen["received"] == seen["marks"] == tally.sent[name]:
        found.append(
            f"{name}: {tally.sent[name]} messages sent, {seen['received']} counted, {seen['marks']} kept"
        )
    if seen["alarm"] != [False, 0] or not min(1, tally.alarms[name]) <= seen["alarms"] <= tally.alarms[name]:
        found.append(f"{name}: {tally.alarms[name]} alarms set, {seen['alarms']} fired, then {seen['alarm']}")
    return found


def check_log(log: str) -> list[str]:
    """The runtime has no complaint."""
    return [f"the Worker's log holds {phrase!r}" for phrase in FORBIDDEN if phrase in log]


def check_memory(samples_mb: list[float], requests: int) -> list[str]:
    """The process grows no more from the second tenth of the run to the last than a bare Worker does."""
    growth_mb = memory_growth(samples_mb)
    bound_mb = GROWTH_BOUND_MB + REQUEST_GROWTH_MB * requests
    return [f"the process grew by {growth_mb:.0f} MB, over {bound_mb:.0f}"] if growth_mb > bound_mb else []


def memory_growth(samples_mb: list[float]) -> float:
    """Return the growth between the second tenth and the last, 0 where there are too few samples."""
    tenth = len(samples_mb) // 10
    return mean(samples_mb[-tenth:]) - mean(samples_mb[tenth : 2 * tenth]) if tenth else 0.0


def run(host: LocalHost, effort: Effort) -> Report:
    """Send requests until the effort is spent, then settle and count; a run is a request."""
    report = Report(NAME, effort.seed)
    tally = Tally()
    log_start = len(host.log())
    asyncio.run(_run(host, effort, tally, effort.runs // 10))
    early = memory.in_use(host)
    asyncio.run(_run(host, effort, tally, effort.runs))
    late = memory.in_use(host)
    report.runs = tally.done
    report.faults = tally.alarms.total() + tally.sent.total()
    report.check(tally.violations)
    report.check(check_log(host.log()[log_start:]))
    report.check(memory.check_growth(early, late))
    if tally.done >= WARM_REQUESTS:
        report.check(check_memory(tally.memory_mb, tally.done))
    report.figures = {
        "increments": tally.increments.total(),
        "messages": tally.sent.total(),
        "alarms set": tally.alarms.total(),
        **{f"growth of {name}": more for name, more in memory.growth(early, late).items()},
        "growth MB": round(memory_growth(tally.memory_mb), 1),
        "memory MB": round(max(tally.memory_mb, default=0), 1),
    }
    return report


async def _run(host: LocalHost, effort: Effort, tally: Tally, until: int) -> None:
    names = [f"crowd-{effort.seed}-{effort.random('names').random()}-{number}" for number in range(OBJECTS)]
    limits = httpx.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    headers = {"Authorization": f"Bearer {host.token}"}
    async with httpx.AsyncClient(
        base_url=host.url, headers=headers, timeout=REQUEST_SECONDS, limits=limits, trust_env=False
    ) as http:
        pid = host.workerd_pid()
        clients = [_client(http, names, effort, tally, number, until, pid) for number in range(CLIENTS)]
        await asyncio.gather(*clients)
        for name in names:
            await _settle(http, name, tally)


async def _client(
    http: httpx.AsyncClient,
    names: list[str],
    effort: Effort,
    tally: Tally,
    number: int,
    until: int,
    pid: int,
) -> None:
    random = effort.random(f"client {number} until {until}")
    while tally.done < until and effort.goes_on(tally.done):
        tally.done += 1
        if tally.done % max(1, min(effort.runs, 20_000) // 200) == 0:
            tally.memory_mb.append(_memory_mb(pid))
        mark = f"{number}:{tally.done}"
        try:
            await _request(http, random.choice(names), mark, random, names, tally)
        except (httpx.HTTPError, ValueError, KeyError) as error:
            tally.violations.append(f"request {mark}: {type(error).__name__}: {error}")


async def _request(
    http: httpx.AsyncClient, name: str, mark: str, random: Random, names: list[str], tally: Tally
) -> None:
    do = random.choice(MIX)
    asked: dict[str, Any] = {"object": name, "mark": mark, "wait_ms": random.choice([0, 0, 1, 5, 20])}
    if do in ("hold", "increment") and random.random() < 0.3:
        asked["ask"] = random.choice([other for other in names if other > name] or [f"{names[-1]}-last"])
    if do in ("script", "fetch", "task"):
        await _script(http, f"{name}-script", mark, do, tally)
        return
    asked["do"] = "increment" if do == "fail" else do
    if asked["do"] == "increment":
        asked["counter"] = "counter"
    if do == "fail":
        answer = await http.post(f"/counters/{name}", content=json.dumps({**asked, "fail": True}))
        if answer.status_code == 200 or f"asked to fail: {mark}" not in answer.text:
            tally.violations.append(
                f"a transaction that fails answered {answer.status_code} {answer.text[:300]}"
            )
        return
    answer = await http.post(f"/counters/{name}", content=json.dumps(asked))
    if answer.status_code != 200:
        tally.violations.append(f"{asked} answered {answer.status_code} {answer.text[:300]}")
        return
    tally.violations += check_answer(asked, answer.json())
    tally.increments[name] += do == "increment"
    tally.sent[name] += do == "send"
    tally.alarms[name] += do == "alarm"


async def _script(http: httpx.AsyncClient, name: str, mark: str, do: str, tally: Tally) -> None:
    key = f"mark:{mark}"
    put, get = ({"call": "store_put", "args": [key, json.dumps(mark)]}, {"call": "store_get", "args": [key]})
    kept = [True, json.dumps(mark)]
    event = "durable-fetch"
    if do == "fetch":
        event = "fetch"
        steps: list[Any] = [{"kind": True}, {"sleep": 3}, {"call": "get_alarm", "args": []}]
        expected: list[Any] = ["fetch", None, "豫言异常"]
    elif do == "task":
        inner = [{"call": "transaction_get", "args": [key]}, {"kind": True}, {"complete": True}]
        told = json.dumps([{"value": kept}, {"value": "durable-transaction"}])
        steps = [put, {"together": [[{"sleep": 2}, get], [{"transaction": inner}]]}, {"kind": True}]
        expected = [None, [[{"value": None}, {"value": kept}], [{"value": told}]], "durable-fetch"]
    else:
        steps, expected = [put, {"sleep": 4}, get, {"kind": True}], [None, None, kept, "durable-fetch"]
    if event == "durable-fetch":
        steps.append({"call": "store_delete", "args": [key]})
        expected.append(True)
    body = {"object": name, "event": event, "steps": steps}
    answer = await http.post("/v1/run", content=json.dumps(body).encode("ascii"))
    if answer.status_code != 200:
        tally.violations.append(f"a script answered {answer.status_code} {answer.text[:300]}")
    else:
        tally.violations += check_script(expected, answer.json())


async def _settle(http: httpx.AsyncClient, name: str, tally: Tally) -> None:
    """Wait for the messages and the alarm under way, then count."""
    deadline = asyncio.get_running_loop().time() + SETTLED_SECONDS
    while True:
        body = {"object": name, "mark": "peek", "do": "peek"}
        answer = await http.post(f"/counters/{name}", content=json.dumps(body))
        found = check_counts(name, tally, answer.json())
        if not found or asyncio.get_running_loop().time() > deadline:
            tally.violations += found
            return
        await asyncio.sleep(POLL_SECONDS)


def _memory_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024
