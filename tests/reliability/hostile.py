"""Workload: hostile text through the package, with the engine's JSON.parse as the oracle.

The same inputs go, thousands in a request, to an object that puts them through the package's functions
(worker/judge.py) and to one in JavaScript that knows JSON.parse alone (worker/javascript.mjs).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import httpx
from repository import LocalHost

from tests.client import Client, Failed

from .linearity import measure
from .texts import KEYS, Hostile, large
from .workload import Effort, Report

NAME = "hostile"
INPUTS_OF_ONE_REQUEST = 2000
MAX_VALUE_BYTES, MAX_BODY_BYTES = 2 * 1024 * 1024, 128_000
MAX_VALUE_LEVELS, MAX_BODY_LEVELS = 32, 24

Verdict = dict[str, Any]

EXACT = {
    "message": "消息体不是有效的 JSON 文字",
}


def expected(kind: str, text: str, oracle: Verdict) -> str | Literal[True] | None:
    """Return what the package must make of an input: a text, None for a refusal, True for either."""
    if kind == "key":
        try:
            return text if 1 <= len(text.encode()) <= 2048 else None
        except UnicodeEncodeError:
            return None
    if not oracle["valid"]:
        return None
    if kind == "options":
        # The specification does not say what a text option without a form in UTF-8 is.
        listing: str | None = oracle["listing"]
        return listing if oracle["wellFormed"] or listing is None else True
    # The text of a member that is written twice is not the value's: the specification leaves it open.
    if kind == "batch":
        requests: str | None = oracle["requests"]
        return True if oracle["hidden"] else requests
    levels = MAX_VALUE_LEVELS if kind == "value" else MAX_BODY_LEVELS
    reserved = oracle["record"] if kind == "value" else oracle["member"]
    if oracle["depth"] > levels or reserved or oracle["infinite"]:
        return None
    if kind == "value":
        fits = oracle["bytes"] <= MAX_VALUE_BYTES
    else:
        fits = max(oracle["bytes"], oracle["canonicalBytes"]) <= MAX_BODY_BYTES
    if not fits:
        return None
    return True if oracle["hidden"] else str(oracle["canonical"])


def disagreement(kind: str, text: str, oracle: Verdict, given: Verdict) -> str | None:
    """Compare what the package did with what it must do; the checker of this workload."""
    wanted = expected(kind, text, oracle)
    shown = f"{kind} {text[:300]!r}"
    if "error" in given:
        if given["error"] != "豫言异常" or given.get("called"):
            return f"{shown}: {given}"
        if isinstance(wanted, str):
            return f"{shown}: refused with {given['message']}"
        if kind == "message" and not oracle["valid"] and given["message"] != EXACT["message"]:
            return f"{shown}: the message is {given['message']}"
        return None
    if wanted is None:
        return f"{shown}: not refused, but {given['ok'][:300]!r}"
    if wanted is True:
        return None
    if kind == "message":
        wanted = json.dumps([wanted, '{"contentType":"json"}'])
    return None if given["ok"] == wanted else f"{shown}: {given['ok'][:300]!r} is not {wanted[:300]!r}"


def run(host: LocalHost, effort: Effort) -> Report:
    """Judge inputs until the effort is spent, then measure that refusing is linear; a run is an input."""
    report = Report(NAME, effort.seed)
    hostile = Hostile(effort.random(NAME))
    counts: Counter[str] = Counter()
    with Client(host) as package, Client(host) as engine, ThreadPoolExecutor(1) as other:
        _judge(package, engine, other, large(effort.random("large")), report, counts)
        while effort.goes_on(report.runs):
            size = min(INPUTS_OF_ONE_REQUEST, effort.runs - report.runs)
            inputs = [hostile.input() for _ in range(size)]
            _judge(package, engine, other, inputs, report, counts)
    report.figures |= dict(counts)
    return report


def run_linearity(host: LocalHost, effort: Effort) -> Report:
    """Measure what refusing costs as the text grows; a run is a measurement."""
    report = Report("linearity", effort.seed)
    with Client(host) as client:
        measure(client, effort, report)
    return report


def _judge(
    package: Client,
    engine: Client,
    other: ThreadPoolExecutor,
    inputs: list[tuple[str, str]],
    report: Report,
    counts: Counter[str],
) -> None:
    report.runs += len(inputs)
    body = {"keys": KEYS, "inputs": inputs}
    verdicts = other.submit(engine.ask, "/oracle", body)
    try:
        given = package.ask("/judge", body)
    except (Failed, httpx.HTTPError) as error:
        report.violations.append(f"the judge failed: {str(error)[:500]}: {_culprit(package, inputs)}")
        return
    for (kind, text), oracle, one in zip(inputs, verdicts.result(), given, strict=True):
        counts[f"{kind} {'taken' if 'ok' in one else 'refused'}"] += 1
        found = disagreement(kind, text, oracle, one)
        if found is not None:
            report.violations.append(found)


def _culprit(package: Client, inputs: list[tuple[str, str]]) -> str:
    """Find the input that the judge does not survive, by halves."""
    while len(inputs) > 1:
        half = inputs[: len(inputs) // 2]
        try:
            package.ask("/judge", {"keys": [], "inputs": half})
            inputs = inputs[len(half) :]
        except (Failed, httpx.HTTPError):
            inputs = half
            time.sleep(1)  # workerd may have to come back
    return repr(inputs[0])[:1000]
