"""Shows that the verifier can fail: broken doubles, and mutants of every answer that a case accepted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from .cases import Case
from .client import Answer, Client
from .double import DOUBLES, Double, Spoilt
from .forms import Json, Scope, form_of, json_text
from .match import parse_json
from .run import Outcome, Runner, Seen, judge

PATIENCE = 0.4
LEAVES = 40
LONGEST_TEXT = 200_000
OTHER = "§"


@dataclass(frozen=True)
class Finding:
    """What one attempt to fool the verifier came to."""

    what: str
    noticed: bool
    detail: str


async def fool_with_doubles(url: str, token: str, cases: list[Case]) -> list[Finding]:
    """Runs each double's cases through it: every one of them must differ, and hold without it."""
    named = {case_id for double in DOUBLES for case_id in double.noticed_by}
    async with Client(url, token) as client:
        honest = await Runner(client).run_all(case for case in cases if case.id in named)
    held = [outcome.case for outcome in honest if outcome.held]
    return [await _fool(double, url, token, held) for double in DOUBLES]


async def _fool(double: Double, url: str, token: str, held: list[Case]) -> Finding:
    named = [case for case in held if case.id in double.noticed_by]
    missing = set(double.noticed_by) - {case.id for case in named}
    if missing:
        detail = f"without it too these do not hold: {', '.join(sorted(missing))}"
        return Finding(double.name, noticed=False, detail=detail)
    async with Client(url, token, Spoilt(double)) as client:
        outcomes = await Runner(client, patience=PATIENCE).run_all(named)
    blind = [outcome.case.id for outcome in outcomes if outcome.held]
    return Finding(
        double.name, noticed=not blind, detail=f"not noticed by {', '.join(blind)}" if blind else ""
    )


def fool_with_mutants(outcomes: list[Outcome]) -> list[Finding]:
    """One finding for each case that held: mutants of what it saw must all be rejected."""
    return [_mutate(outcome) for outcome in outcomes if outcome.held and outcome.seen]


def _mutate(outcome: Outcome) -> Finding:
    accepted: list[str] = []
    rejected = 0
    for seen in outcome.seen:
        scope = Scope(seen.prefix, dict(seen.variables))
        if not judge(seen.exchange, seen.answer, scope).holds:
            continue
        for told, answer in mutants(seen):
            if judge(seen.exchange, answer, scope).holds:
                accepted.append(told)
            else:
                rejected += 1
    if not rejected:
        accepted.append("everything")
    told = f"accepts {'; '.join(accepted[:4])}" if accepted else ""
    return Finding(outcome.case.id, noticed=not accepted, detail=told)


def mutants(seen: Seen) -> Iterator[tuple[str, Answer]]:
    """Answers like the one that held, each wrong in one way, with what is wrong."""
    answer, expected = seen.answer, seen.exchange.expected
    yield "another status", Answer(500, answer.body)
    if expected is None:
        yield (
            "results instead of an abort",
            Answer(200, {"results": [{"value": None} for _ in seen.exchange.steps]}),
        )
        return
    results: list[Json] = answer.body["results"]
    yield "an abort", Answer(502, {"aborted": "RuntimeError: §"})
    if results:
        yield "a result too few", Answer(200, {"results": results[:-1]})
    yield "a result too many", Answer(200, {"results": [*results, {"value": None}]})
    for index, (wanted, result) in enumerate(zip(expected, results, strict=True)):
        if form_of(wanted) == "$recorded":
            continue
        for told, wrong in _wrong_results(wanted, result):
            changed = [*results[:index], wrong, *results[index + 1 :]]
            yield f"step {index + 1}: {told}", Answer(200, {"results": changed})


def _wrong_results(wanted: Json, result: Json) -> Iterator[tuple[str, Json]]:
    if _alternatives(wanted):
        yield "neither value nor error", {}
        yield "an error of another type", {"error": "KeyError", "message": OTHER}
        return
    if "error" in result:
        yield "a value instead of an error", {"value": None}
        yield "an error of another type", result | {"error": "KeyError"}
        yield "an error without a message", result | {"message": ""}
        return
    yield "an error instead of a value", {"error": "豫言异常", "message": OTHER}
    yield "a TypeError instead of a value", {"error": "TypeError", "message": OTHER}
    if not _lenient(wanted):
        for value in _changed(result["value"], LEAVES):
            yield f"value {json_text(value)[:80]}", {"value": value}


def _alternatives(wanted: Json) -> bool:
    return form_of(wanted) == "$oneOf"


def _lenient(wanted: Json) -> bool:
    """Whether an expectation leaves something open, so that a changed leaf may still be right."""
    text = json.dumps(wanted)
    open_forms = ("$recorded", "$string", "$int", "$oneOf", "$object", "$includes", "$error", "$bind")
    return any(f'"{form}"' in text for form in open_forms)


def _changed(value: Json, most: int) -> Iterator[Json]:
    """The value with one leaf, or one length, changed; within JSON texts too."""
    for count, changed in enumerate(_changes(value)):
        if count >= most:
            return
        yield changed


def _changes(value: Json) -> Iterator[Json]:
    match value:
        case bool():
            yield not value
            yield int(value)
        case None:
            yield False
            yield 0
        case int() | float():
            yield value + 1 if value + 1 != value else 0
            yield str(value)
        case str():
            yield from _changed_text(value)
        case list():
            yield [*value, OTHER]
            if value:
                yield value[:-1]
            if value != value[::-1]:
                yield value[::-1]
            for index, item in enumerate(value):
                for changed in _changes(item):
                    yield [*value[:index], changed, *value[index + 1 :]]
        case dict():
            yield value | {OTHER: 1}
            for name, item in value.items():
                yield {key: kept for key, kept in value.items() if key != name}
                for changed in _changes(item):
                    yield value | {name: changed}


def _changed_text(text: str) -> Iterator[str]:
    yield text + OTHER
    if len(text) > LONGEST_TEXT:
        return
    try:
        inner = parse_json(text)
    except ValueError:
        return
    for changed in _changes(inner):
        if not isinstance(inner, int | float) or isinstance(inner, bool):
            yield json_text(changed)
