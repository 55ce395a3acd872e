"""Workload: the platform refuses, in every place and for every kind of reason, behind a wrapper.

What an application then sees is in the table: the message with the platform's own words, and whether its
event goes on or is aborted. Each case is a script, run on an object of its own.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from repository import LocalHost

from tests.client import Client, Step, call

from .workload import Effort, Report

NAME = "refusals"
FIRING_SECONDS = 60.0
POLL_SECONDS = 0.05

WORDS = "磁盘 is full: “no”\n"
TOO_BIG = "string or blob too big: SQLITE_TOOBIG"
REASONS: list[tuple[Any, str]] = [
    ("Queue is full", "Queue is full"),
    (WORDS, WORDS),
    ({"bare": "a string"}, "a string"),
    ({"bare": None}, "null"),
    ({"bare": "undefined"}, "undefined"),
    ({"bare": {"message": "in an object"}}, "[object Object]"),
    ({"bare": 5}, "5"),
    ({"bare": False}, "false"),
    ({"bare": ""}, "[object String]"),
    ({"bare": {"toString": 1, "valueOf": 1}}, "[object Object]"),
]
THROWN = ("put", "get", "delete", "list", "rollback")
"""What is synchronous. Of what it throws and is no Error, Pyodide makes an Error with a text of its own."""

STORE, ALARM, FAILED = "持久仓存储故障：", "持久告警存储故障：", "持久事务失败："
AT_MS = 8_000_000_000_000_123
DONE = {"complete": True}


@dataclass
class Case:
    """One script on storage that refuses once, and what must be seen."""

    title: str
    plan: dict[str, Any]
    steps: list[Step]
    aborted: str | None = None
    """What ends the event; None where it goes on."""

    last: Any = None
    """The last result where it goes on."""

    holds: list[Any] = field(default_factory=list)
    alarm: tuple[bool, int] = (False, 0)


def plan(name: str, reason: Any, after: int = 0) -> dict[str, Any]:
    """Return a plan: the call after so many fails."""
    return {name: {"after": after, "reason": reason}}


def cases() -> list[Case]:
    """Return every case of the store, the transaction and the alarm."""
    put, other = call("store_put", "a", "1"), call("store_put", "b", "2")
    inner, second = call("transaction_put", "a", "1"), call("transaction_put", "b", "2")
    alarm = call("set_alarm", AT_MS)
    found = []
    for reason, words in REASONS:
        for name, step in (
            ("put", other),
            ("get", call("store_get", "a")),
            ("delete", call("store_delete", "a")),
            ("list", call("store_list", "{}")),
            ("deleteAll", call("store_clear")),
        ):
            after = 1 if name == "put" else 0
            abort = STORE + words
            steps: list[Step] = [put, {"swallow": [step]}, {"swallow": [call("store_put", "late", "1")]}]
            found.append(Case(f"{name} {words}", plan(name, reason, after), steps, abort, holds=[["a", 1]]))
        for name, step in (
            ("getAlarm", call("get_alarm")),
            ("setAlarm", alarm),
            ("deleteAlarm", call("delete_alarm")),
        ):
            steps = [put, {"swallow": [step]}, {"swallow": [other]}]
            found.append(Case(f"{name} {words}", plan(name, reason), steps, ALARM + words, holds=[["a", 1]]))
            told = {"error": "豫言异常", "message": FAILED + ALARM + words}
            transaction = {"transaction": [inner, {"swallow": [step]}, DONE]}
            again = {"transaction": [second, DONE]}
            found.append(
                Case(f"{name} in a transaction {words}", plan(name, reason), [transaction], None, told)
            )
            goes_on = Case(f"{name}, then another {words}", plan(name, reason), [transaction, again], None)
            goes_on.last, goes_on.holds = {"value": json.dumps([{"value": None}])}, [["b", 2]]
            found.append(goes_on)
        for name, verb in (
            ("put", second),
            ("get", call("transaction_get", "a")),
            ("list", call("transaction_list", "{}")),
        ):
            after = 1 if name == "put" else 0
            transaction = {"transaction": [inner, alarm, {"swallow": [verb]}, DONE]}
            told = {"error": "豫言异常", "message": FAILED + STORE + words}
            found.append(
                Case(f"{name} in a transaction {words}", plan(name, reason, after), [transaction], None, told)
            )
        commit = Case(
            f"commit {words}", plan("commit", reason), [put, {"transaction": [second, alarm, DONE]}]
        )
        commit.last, commit.holds = {"error": "豫言异常", "message": FAILED + words}, [["a", 1]]
        found.append(commit)
        after_commit = Case(
            f"commit, then another {words}",
            plan("commit", reason),
            [alarm, {"transaction": [inner, call("delete_alarm"), DONE]}, {"transaction": [second, DONE]}],
        )
        after_commit.last, after_commit.holds = {"value": json.dumps([{"value": None}])}, [["b", 2]]
        after_commit.alarm = (True, AT_MS)
        found.append(after_commit)
        rollback = Case(
            f"rollback {words}",
            plan("rollback", reason),
            [{"transaction": [inner, {"swallow": [call("rollback_transaction")]}, DONE]}],
        )
        rollback.last = {"error": "豫言异常", "message": FAILED + STORE + words}
        found.append(rollback)
    found += _beyond_the_cell()
    return [case for case in found if not _is_rewritten(case)]


def _beyond_the_cell() -> list[Case]:
    """A value that the platform's cell does not hold is refused, and all else goes on."""
    results = [
        {"value": None},
        {"error": "豫言异常", "message": f"值超过平台存储单元的上限：{TOO_BIG}"},
        {"value": None},
    ]
    found = []
    for function in ("store_put", "transaction_put"):
        puts = [call(function, key, value) for key, value in (("a", "1"), ("b", "2"), ("c", "3"))]
        case = Case(f"{function} beyond the cell", plan("put", TOO_BIG, 1), [{"swallow": puts}])
        case.last, case.holds = {"value": results}, [["a", 1], ["c", 3]]
        if function == "transaction_put":
            case.steps, case.last = [{"transaction": [*puts, DONE]}], {"value": json.dumps(results)}
        found.append(case)
    return found


def _is_rewritten(case: Case) -> bool:
    (name, refusal), *_ = case.plan.items()
    return name in THROWN and not isinstance(refusal["reason"], str)


def check_case(case: Case, status: int, body: Any, held: list[Any], alarm: list[Any]) -> list[str]:
    """The refusal surfaces as specified, with the platform's own words, and leaves what it must."""
    found = []
    if case.aborted is not None:
        wanted = f"宿主中止: {case.aborted}"
        if status != 502 or body.get("aborted") != wanted:
            found.append(f"{case.title}: the event must end with {wanted!r}, but {status} {body}")
    elif status != 200 or body["results"][-1] != case.last:
        found.append(f"{case.title}: the last result must be {case.last}, but {status} {body}")
    if held != case.holds:
        found.append(f"{case.title}: the object holds {held}, not {case.holds}")
    if (alarm[0], alarm[1]) != case.alarm:
        found.append(f"{case.title}: the alarm is {alarm}, not {case.alarm}")
    return found


def check_queue(prefix: str, words: str, results: list[Any]) -> list[str]:
    """A refusal of the queue is an exception with the platform's own words, and the event goes on."""
    wanted = [{"value": None}, {"error": "豫言异常", "message": prefix + words}, {"value": None}]
    return [] if results[:3] == wanted else [f"{prefix}{words}: {results}"]


def run(host: LocalHost, effort: Effort) -> Report:
    """Run every case, again and again until the effort is spent; a run is a case."""
    report = Report(NAME, effort.seed)
    with Client(host) as client:
        while effort.goes_on(report.runs):
            for case in cases():
                _run_case(client, f"refusing-{time.time_ns()}", case, report)
            _run_queues(client, report)
            _run_alarm(client, f"refusing-alarm-{time.time_ns()}", report)
    report.faults = report.runs
    return report


def _run_case(client: Client, name: str, case: Case, report: Report) -> None:
    script = {"object": name, "event": "durable-fetch", "steps": case.steps}
    answer = client.post(f"/refusing/{name}", {"plan": case.plan, "script": script})
    looks = {**script, "steps": [call("store_list", "{}"), call("get_alarm")]}
    after = client.post(f"/refusing/{name}", {"script": looks})
    report.runs += 1
    if answer.status_code not in (200, 502) or after.status_code != 200:
        report.check([f"{case.title}: {answer.status_code} {answer.text[:500]}, then {after.text[:500]}"])
        return
    held, alarm = (result["value"] for result in after.json()["results"])
    report.check(check_case(case, answer.status_code, answer.json(), json.loads(held), alarm))


def _run_queues(client: Client, report: Report) -> None:
    sends = [
        ("队列发送失败：", call("send_message", "PAGE_QUEUE", "1", 0)),
        ("队列批量发送失败：", call("send_messages", "PAGE_QUEUE", '[{"body":1}]')),
    ]
    for reason, words in REASONS:
        for prefix, send in sends:
            for event in ("fetch", "durable-fetch"):
                steps = [{"refuse": reason}, send, send]
                report.check(check_queue(prefix, words, client.run("refused", *steps, event=event)))
                report.runs += 1


def _run_alarm(client: Client, name: str, report: Report) -> None:
    """A storage fault in an alarm's handler fails it: the platform fires the alarm again."""
    report.runs += 1
    steps = [
        call("store_put", "script:alarm", json.dumps([call("store_put", "done", "1")])),
        # The handler's log is the first put, its script's the second.
        {"native": "put", "key": "plan:alarm", "value": {"json": json.dumps(plan("put", WORDS, 1))}},
        call("set_alarm", 0),
    ]
    script = {"object": name, "event": "durable-fetch", "steps": steps}
    client.ask(f"/refusing/{name}", {"script": script})
    deadline = time.monotonic() + FIRING_SECONDS
    looks = {**script, "steps": [call("store_get", "done"), call("store_get", "log:alarm")]}
    while True:
        results = client.ask(f"/refusing/{name}", {"script": looks})["results"]
        (done, _), (_, log) = (result["value"] for result in results)
        if done or time.monotonic() > deadline:
            break
        time.sleep(POLL_SECONDS)
    retries = [entry["retry"] for entry in json.loads(log or "[]")]
    if not done or retries != [0, 1]:
        report.check([f"an alarm whose handler met a fault: done {done}, retry counts {retries}"])
