"""What a run tells beforehand, what it comes to, and when a case has another try."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from verifier import run
from verifier.__main__ import status_of
from verifier.cases import Case, Exchange, Pause, load
from verifier.cleaning import clear
from verifier.client import Client
from verifier.estimate import estimate
from verifier.platform import Platform
from verifier.probes import PROBES
from verifier.probes.shape import Result, differs, holds
from verifier.probing import Prober
from verifier.record import Record
from verifier.run import Outcome, Runner, Verdict
from verifier.session import Findings

CASE = load()[0]
SLOW = [probe for probe in PROBES if probe.slow]


def test_an_estimate_counts_what_is_left_and_how_far_the_worker_is() -> None:
    cases = load()
    near = estimate(cases, PROBES, 0.01, cleans=False)
    quick = estimate(cases, [probe for probe in PROBES if not probe.slow], 0.01, cleans=False)
    far = estimate(cases, PROBES, 3.0, cleans=True)
    part = estimate(cases[:10], [], 0.01, cleans=False)
    assert part.requests < quick.requests < near.requests < far.requests
    assert near.requests - quick.requests == sum(probe.requests for probe in SLOW)
    assert part.minutes < quick.minutes < near.minutes < far.minutes
    assert near.minutes * 60 > max(probe.seconds for probe in SLOW)


@pytest.mark.parametrize(
    ("where", "case", "probe", "status"),
    [
        ("local", "holds", differs, 0),
        ("cloud", "holds", differs, 1),
        ("cloud", "holds", holds, 0),
        ("cloud", "unsettled", holds, 0),
        ("local", "differs", holds, 1),
    ],
)
def test_the_status_tells_a_difference_of_the_platform_that_is_meant(
    where: str, case: Verdict, probe: Any, status: int
) -> None:
    now = datetime.now(UTC)
    platform = Platform({"en": "x", "zh": "x"}, where, {}, "2026-09-08", {})
    result = Result(PROBES[0], {}, probe("a", "b"), 1.0)
    findings = Findings(platform, [Outcome(CASE, case, "")], [result], now, now, 1, {})
    assert status_of(findings) == status


def test_a_case_that_a_slow_request_made_miss_its_moment_is_run_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "SLOW_S", 0.05)
    answers = iter([(0.2, "late"), (0.0, "held")])

    async def worker(_request: httpx.Request) -> httpx.Response:
        delay_s, value = next(answers)
        await asyncio.sleep(delay_s)
        return httpx.Response(200, json={"results": [{"value": value}]})

    exchange = Exchange("a", "durable-fetch", [{"kind": True}], [{"value": "held"}], None, None, 0)
    case = Case("c", "持久告警", "core", "s", {"en": "t", "zh": "题"}, [exchange])

    async def found() -> Outcome:
        async with Client("https://worker.example", "t", httpx.MockTransport(worker)) as client:
            return await Runner(client).run_case(case)

    outcome = asyncio.run(found())
    assert outcome.verdict == "holds", outcome
    assert "run again, for a request took more than" in outcome.detail
    assert "late" in outcome.detail


def test_a_case_is_run_again_for_a_slow_request_when_the_others_are_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "SLOW_S", 0.05)
    asked: list[str] = []

    async def worker(request: httpx.Request) -> httpx.Response:
        case = json.loads(request.content)["object"].partition(".")[0]
        asked.append(case)
        if case == "hurried" and "long" not in asked[:-1]:
            await asyncio.sleep(0.1)
            return httpx.Response(200, json={"results": [{"value": "late"}]})
        return httpx.Response(200, json={"results": [{"value": "held"}]})

    def case(name: str, *before: Pause) -> Case:
        exchange = Exchange("a", "durable-fetch", [{"kind": True}], [{"value": "held"}], None, None, 0)
        return Case(name, "持久告警", "core", "s", {"en": "t", "zh": "题"}, [*before, exchange])

    async def found() -> list[Outcome]:
        async with Client("https://worker.example", "t", httpx.MockTransport(worker)) as client:
            return await Runner(client).run_all([case("hurried"), case("long", Pause(300))])

    assert [(outcome.case.id, outcome.verdict) for outcome in asyncio.run(found())] == [
        ("hurried", "holds"),
        ("long", "holds"),
    ]
    assert asked == ["hurried", "long", "hurried"]


def test_a_settled_probe_is_not_measured_again() -> None:
    async def measure(_: Any) -> Any:
        raise AssertionError

    probe = replace(PROBES[0], measure=measure, judge=lambda measurement: holds(str(measurement), ""))
    record = Record(None, {})
    record.settled[probe.id] = {"measurement": {"known": 1}, "seconds": 2.5}
    unasked: Any = None
    (result,) = asyncio.run(Prober(unasked, {}, record).run_all([probe]))
    assert (result.judged.detail["en"], result.seconds) == ("{'known': 1}", 2.5)


def test_an_object_that_does_not_stay_empty_is_named() -> None:
    async def worker(request: httpx.Request) -> httpx.Response:
        written = "[]" if json.loads(request.content)["object"] == "quiet" else '[["k",1]]'
        results = [{"value": None}, {"value": None}, {"value": written}, {"value": [False, 0]}]
        return httpx.Response(200, json={"results": results})

    async def left() -> list[str]:
        async with Client("https://worker.example", "t", httpx.MockTransport(worker)) as client:
            return await clear(client, Record(None, {}), ["busy", "quiet"])

    assert asyncio.run(left()) == ["busy"]
