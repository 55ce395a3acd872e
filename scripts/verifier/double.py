"""Broken doubles: each passes requests to the real Worker and spoils one promise on the way.

Each names the cases that must notice; one that goes unnoticed shows a verifier that cannot fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx

from .client import encode
from .forms import CATCHABLE, Json, json_text

Steps = list[Json]
Results = list[Json]


def _as_is(value: Json) -> Json:
    return value


@dataclass(frozen=True)
class Double:
    """What it breaks, how, and who must notice.

    `request` spoils each list of steps, `result` each result, `answer` the status and the whole body.
    """

    name: str
    noticed_by: tuple[str, ...]
    request: Callable[[Steps], Steps] = _as_is
    result: Callable[[Json], Json] = _as_is
    answer: Callable[[int, Json, Steps], tuple[int, Json]] = lambda status, body, _: (status, body)


class Spoilt(httpx.AsyncBaseTransport):
    """The transport to the real Worker, spoilt by a double."""

    def __init__(self, double: Double) -> None:
        self._double = double
        self._real = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        script = json.loads(request.content)
        asked: Steps = script["steps"]
        script["steps"] = self._double.request(asked)
        headers = {key: value for key, value in request.headers.items() if key.lower() != "content-length"}
        content = encode(script)
        real = httpx.Request(request.method, request.url, headers=headers, content=content)
        real.extensions = request.extensions
        response = await self._real.handle_async_request(real)
        body = json.loads(await response.aread())
        if isinstance(body, dict) and "results" in body:
            body = {"results": [self._double.result(one) for one in body["results"]]}
        status, body = self._double.answer(response.status_code, body, asked)
        return httpx.Response(status, content=encode(body), request=request)

    async def aclose(self) -> None:
        await self._real.aclose()


def _error(change: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """Spoils results that are errors the application can catch."""
    return lambda result: (
        change(result) if isinstance(result, dict) and result.get("error") == CATCHABLE else result
    )


def _everywhere(change: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """Spoils every value within a result, those within JSON texts included."""

    def walk(value: Json) -> Json:
        if isinstance(value, dict):
            return change({key: walk(item) for key, item in value.items()})
        if isinstance(value, list):
            return change([walk(item) for item in value])
        if isinstance(value, str) and value[:1] in ("[", "{"):
            try:
                return json_text(walk(json.loads(value)))
            except ValueError:
                return change(value)
        return change(value)

    return walk


def _member(name: str, change: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """Spoils the member of that name wherever it stands."""
    return _everywhere(
        lambda value: (
            value | {name: change(value[name])} if isinstance(value, dict) and name in value else value
        )
    )


def _value(change: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """Spoils results that are values."""
    return lambda result: {"value": change(result["value"])} if "value" in result else result


def _reverse_text(value: Json) -> Json:
    return json_text(json.loads(value)[::-1]) if isinstance(value, str) and value.startswith("[[") else value


def _extra_key(value: Json) -> Json:
    if isinstance(value, str) and value.startswith("[["):
        return json_text([*json.loads(value), ["不该有", 1]])
    return value


def _shorter(value: Json) -> Json:
    return value[:-1] if isinstance(value, str) and len(value) > 100_000 else value


def _pair(change: Callable[[bool, Json], Json]) -> Callable[[Json], Json]:
    """Spoils values that are a pair of a flag and something."""

    def spoil(value: Json) -> Json:
        if isinstance(value, list) and len(value) == 2 and isinstance(value[0], bool):
            return change(value[0], value[1])
        return value

    return _value(spoil)


def _steps(change: Callable[[Steps], Iterator[Json]]) -> Callable[[Steps], Steps]:
    """Spoils lists of steps, those of transactions too, keeping their number."""

    def spoil(steps: Steps) -> Steps:
        inner = [
            step | {"transaction": spoil(step["transaction"])} if "transaction" in step else step
            for step in steps
        ]
        return list(change(inner))

    return spoil


def _without_writes(steps: Steps) -> Iterator[Json]:
    for step in steps:
        yield {"sleep": 0} if step.get("call") in ("写入持久仓键值", "设置持久告警") else step


def _without_rollback(steps: Steps) -> Iterator[Json]:
    for step in steps:
        yield {"sleep": 0} if step.get("call") == "回滚持久事务" else step


def _without_raise(steps: Steps) -> Iterator[Json]:
    for step in steps:
        yield {"complete": True} if "raise" in step else step


def _swallowed(status: int, body: Json, steps: Steps) -> tuple[int, Json]:
    return (200, {"results": [{"value": None} for _ in steps]}) if status == 502 else (status, body)


def _one_short(status: int, body: Json, _: Steps) -> tuple[int, Json]:
    return status, ({"results": body["results"][:-1]} if "results" in body else body)


DOUBLES = (
    Double(
        "a listing comes in the wrong order",
        ("list-all", "tx-sample-list-limit-reverse"),
        result=_value(_reverse_text),
    ),
    Double(
        "a listing shows a key that a refused call wrote",
        ("tx-sample-refused-key",),
        result=_value(_extra_key),
    ),
    Double(
        "a refusal is dropped",
        ("alarm-sample-negative", "tx-sample-refused-key", "queue-sample-128001"),
        result=_error(lambda _: {"value": None}),
    ),
    Double(
        "a refusal has another message",
        (
            "alarm-sample-negative",
            "queue-sample-128001",
            "queue-sample-consumer-in-fetch",
            "tx-sample-uncaught",
        ),
        result=_error(lambda one: one | {"message": "不行"}),
    ),
    Double(
        "a refusal is of another type",
        ("tx-key-empty", "alarm-sample-too-late"),
        result=_everywhere(lambda value: "ValueError" if value == CATCHABLE else value),
    ),
    Double(
        "a TypeError is called a violation",
        ("alarm-type-true", "queue-type-delay"),
        result=_member("error", lambda _: CATCHABLE),
    ),
    Double(
        "a long text loses a character",
        ("queue-sample-128000", "store-value-2MiB-ascii"),
        result=_everywhere(_shorter),
    ),
    Double(
        "an abort is swallowed", ("queue-binding-unknown", "event-uncaught-keeps-writes"), answer=_swallowed
    ),
    Double("a result is missing", ("tx-kind", "alarm-sample-set"), answer=_one_short),
    Double("a write is lost", ("tx-sample-get", "alarm-sample-set"), request=_steps(_without_writes)),
    Double(
        "a rollback does nothing",
        ("tx-sample-rollback", "alarm-sample-rollback"),
        request=_steps(_without_rollback),
    ),
    Double(
        "an uncaught error does not fail a transaction",
        ("tx-sample-uncaught",),
        request=_steps(_without_raise),
    ),
    Double(
        "null reads as absent",
        ("tx-sample-null", "store-null-and-missing"),
        result=_pair(lambda there, text: [False, ""] if text == "null" else [there, text]),
    ),
    Double(
        "absent reads as null",
        ("tx-sample-missing",),
        result=_pair(lambda there, text: [True, "null"] if text == "" else [there, text]),
    ),
    Double(
        "an alarm reads a millisecond late",
        ("alarm-sample-set", "alarm-edge-last"),
        result=_pair(lambda there, at: [there, at + 1] if isinstance(at, int) else [there, at]),
    ),
    Double(
        "a flag comes as a number",
        ("store-delete", "alarm-sample-new-object"),
        result=_everywhere(lambda value: int(value) if isinstance(value, bool) else value),
    ),
    Double(
        "an alarm reads as set in its own event",
        ("alarm-sample-first-firing",),
        result=_member("alarm", lambda _: [True, 1]),
    ),
    Double(
        "every retry counts as the first firing",
        ("alarm-sample-retry-one",),
        result=_member("retry", lambda _: 0),
    ),
    Double(
        "every delivery counts as the first",
        ("queue-sample-uncaught",),
        result=_member("attempts", lambda _: 1),
    ),
    Double(
        "timestamps are in seconds",
        ("queue-sample-read-batch",),
        result=_member("timestamp", lambda at: at // 1000),
    ),
    Double(
        "a send is given one option too many",
        ("queue-sample-send",),
        result=_member("options", lambda options: {"delaySeconds": 0} | (options or {})),
    ),
    Double(
        "a refused message is sent all the same",
        ("queue-sample-body-overflow", "queue-sample-batch-101"),
        result=_value(lambda value: [{"binding": "PAGE_QUEUE"}] if value == [] else value),
    ),
    Double(
        "a transaction's kind is its event's",
        ("tx-kind",),
        result=_everywhere(lambda value: "durable-fetch" if value == "durable-transaction" else value),
    ),
)
