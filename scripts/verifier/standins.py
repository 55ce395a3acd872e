"""Stand-ins for the cloud's ways, between the probes and a local Worker.

For every probe there is one under which it holds and one under which it differs; where the local platform
itself shows one of the two, the stand-in changes nothing. Those that play time let it pass quickly.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from .client import encode
from .forms import Json
from .probes.alarm import FAR_MS, OTHER_MS
from .probes.bench import Time

Change = Callable[[Json, Json], Json]
"""From a step and its result to the result that the verifier gets."""

SMALL_CELL = 2_000_000
SERIALISED = {"ascii": 1.0, "two-byte": 2.0, "doubles": 9 / 4, "minus-zero": 3.0}
"""Bytes of the engine's serialised form for each byte of text."""

TOO_BIG = "string or blob too big: SQLITE_TOOBIG"
TOO_LARGE = "message length exceeds the limit, metadata included"


def _as_it_is(_step: Json, result: Json) -> Json:
    return result


class QuickTime(Time):
    """Time that passes only where somebody waits, and at once."""

    def __init__(self) -> None:
        self._passed_s = 0.0

    def now(self) -> float:
        return self._passed_s

    async def sleep(self, seconds: float) -> None:
        self._passed_s += seconds


@dataclass(frozen=True)
class StandIn:
    """One way of a platform, and what the probe must say of it."""

    name: str
    probe: str
    verdict: str
    make: Callable[[Time], Change] = lambda _: _as_it_is
    """A change of its own for each run, for it may remember; it is given how time passes."""
    request: Callable[[Json], Json] = lambda step: step
    quick: bool = False
    """Whether nothing is really waited for: time passes as soon as somebody waits."""
    deploys: bool = False
    """Whether the Worker is a new deployment each time that it is asked."""


class Between(httpx.AsyncBaseTransport):
    """The transport to the real Worker, with a stand-in on the way."""

    def __init__(self, stand_in: StandIn) -> None:
        self.time = QuickTime() if stand_in.quick else Time()
        self._stand_in = stand_in
        self._change = stand_in.make(self.time)
        self._real = httpx.AsyncHTTPTransport()
        self._asked = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        asked = None
        if request.content:
            script = json.loads(request.content)
            asked = script["steps"]
            script["steps"] = [self._stand_in.request(step) for step in asked]
            headers = {
                key: value for key, value in request.headers.items() if key.lower() != "content-length"
            }
            extensions = request.extensions
            request = httpx.Request(request.method, request.url, headers=headers, content=encode(script))
            request.extensions = extensions
        response = await self._real.handle_async_request(request)
        body = json.loads(await response.aread())
        if asked is None and self._stand_in.deploys:
            self._asked += 1
            body["deployment"] = f"stand-in {self._asked}"
        if asked is not None and "results" in body:
            body = {"results": [self._change(*pair) for pair in zip(asked, body["results"], strict=True)]}
        return httpx.Response(response.status_code, content=encode(body), request=request)

    async def aclose(self) -> None:
        await self._real.aclose()


# What is read of alarms


def _reads_marks(step: Json) -> bool:
    return bool(step.get("native") == "get" and step["key"] == "marks")


def _reads_package(step: Json) -> bool:
    return bool(step.get("call") == "读取持久告警")


def _reads_platform(step: Json) -> bool:
    return bool(step.get("native") == "alarm")


@dataclass
class Played:
    """A platform that fires an alarm at these seconds after it was set, with these counts, and quickly.

    `reading` gives what the package reads of the alarm, from the times that were and those to come.
    """

    firings: list[tuple[float, int]]
    time: Time
    reading: Callable[[list[int], list[int]], Json] = lambda _, to_come: [
        bool(to_come),
        to_come[0] if to_come else 0,
    ]
    _set_ms: int = 0
    _begun: float = 0.0

    def __call__(self, step: Json, result: Json) -> Json:
        if step.get("call") == "设置持久告警":
            self._set_ms, self._begun = step["args"][0], self.time.now()
        passed_s = self.time.now() - self._begun
        been = [at for at in self.firings if at[0] <= passed_s]
        if _reads_marks(step):
            marks = [
                {"at_ms": self._at(seconds), "label": "fire", "retry": retry, "instance": "played"}
                for seconds, retry in been
            ]
            return {"value": json.dumps(marks) if marks else None}
        if step.get("native") == "get" and step["key"] == "log:alarm":
            return {"value": json.dumps([{"alarm": [False, 0]} for _ in been])}
        times = [self._at(seconds) for seconds, _ in self.firings]
        if step.get("native") == "now":
            return {"value": self._set_ms + round(passed_s * 1000)}
        if _reads_package(step):
            return {"value": self.reading(times[: len(been)], times[len(been) :])}
        if _reads_platform(step):
            return {"value": times[0] if len(been) < len(times) else None}
        return result

    def _at(self, seconds: float) -> int:
        return self._set_ms + round(seconds * 1000)


def _retries(count: int, factor: float = 2.0, first_s: float = 2.1) -> list[tuple[float, int]]:
    """The firings of an alarm that fails every time and is retried so often."""
    at_s, wait_s = 0.1, first_s
    firings = [(at_s, 0)]
    for retry in range(1, count + 1):
        at_s += wait_s
        wait_s *= factor
        firings.append((at_s, retry))
    return firings


def _played(name: str, probe: str, verdict: str, firings: list[tuple[float, int]], **more: Any) -> StandIn:
    return StandIn(name, probe, verdict, lambda time: Played(firings, time, **more), quick=True)


def _marks(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Callable[[Time], Change]:
    """Changes what is read of the marks."""

    def changed(step: Json, result: Json) -> Json:
        if not _reads_marks(step) or result["value"] is None:
            return result
        return {"value": json.dumps(change(json.loads(result["value"])))}

    return lambda _: changed


def _reading(package: Json, platform: Json) -> Callable[[Time], Change]:
    """Other readings of the alarm, the package's and the platform's."""

    def changed(step: Json, result: Json) -> Json:
        if _reads_package(step):
            return {"value": package}
        return {"value": platform} if _reads_platform(step) else result

    return lambda _: changed


def _fails_at_once(step: Json) -> Json:
    """A transaction that would wait for its time limit raises instead, and so ends in the same way."""
    if "transaction" not in step:
        return step
    return {"transaction": [{"raise": "x"} if "sleep" in one else one for one in step["transaction"]]}


# What is stored


def _small_cell(step: Json, result: Json) -> Json:
    if step.get("native") == "store-text" and step["bytes"] * SERIALISED[step["form"]] > SMALL_CELL:
        return {"error": "豫言异常", "message": f"值过大：{TOO_BIG}"}
    if step.get("native") == "cell" and step["bytes"] > SMALL_CELL:
        return {"value": {"refused": TOO_BIG}}
    return result


def _loses_long_keys(step: Json, result: Json) -> Json:
    long = step.get("call") == "读取持久仓键值" and len(step["args"][0].encode()) > 2000
    return {"value": [False, ""]} if long else result


def _utf16_order(step: Json, result: Json) -> Json:
    if step.get("call") != "列举持久仓键值":
        return result
    pairs = json.loads(result["value"])
    backwards = "reverse" in step["args"][0]
    ordered = sorted(pairs, key=lambda pair: pair[0].encode("utf-16-be"), reverse=backwards)
    return {"value": json.dumps(ordered, ensure_ascii=False)}


# What is sent


def _metadata(of_message: int, of_batch: int) -> Callable[[Time], Change]:
    """Limits that count so many bytes of metadata with each message."""

    def changed(step: Json, result: Json) -> Json:
        if step.get("native") != "enqueue" or not all(isinstance(body, int) for body in step["bodies"]):
            return result
        sizes = step["bodies"]
        over = max(sizes) + of_message > 128_000 or sum(sizes) + of_batch * len(sizes) > 256_000
        return {"value": {"refused": TOO_LARGE}} if over else result

    return lambda _: changed


def _shorter_delays(step: Json, result: Json) -> Json:
    long = step.get("native") == "enqueue" and (step["delay_seconds"] or 0) > 36_000
    return {"value": {"refused": "delay too long"}} if long else result


def _partly(step: Json, result: Json) -> Json:
    return _marks(lambda marks: [marks[0] | {"label": "first"}, *marks])(Time())(step, result)


def _without_acked_again(marks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first = next((mark["attempts"] for mark in marks if mark["label"] == "acked"), 0)
    return [mark for mark in marks if mark["label"] != "acked" or mark["attempts"] == first]


def _nothing_arrives(step: Json, result: Json) -> Json:
    return {"value": None} if _reads_marks(step) else result


BEFORE, AFTER = [True, FAR_MS], [True, OTHER_MS]

STAND_INS = (
    _played("six retries, then given up", "alarm-retry-limit", "holds", _retries(6)),
    _played("retries that stop at five", "alarm-retry-limit", "differs", _retries(5)),
    _played("retries that do not stop", "alarm-retry-limit", "differs", _retries(30, factor=1.2)),
    _played("waits of 2, 4, 8 s", "alarm-backoff", "holds", _retries(6)),
    _played("waits that do not grow", "alarm-backoff", "differs", _retries(6, factor=1.0)),
    _played("a first wait of 20 s", "alarm-backoff", "differs", _retries(3, first_s=20.0)),
    StandIn("the local platform", "alarm-at-least-once", "holds"),
    StandIn(
        "alarms that never fire", "alarm-at-least-once", "differs", lambda _: _nothing_arrives, quick=True
    ),
    *(
        stand_in
        for ending in ("commit", "rollback", "exception", "timeout")
        for stand_in in (
            StandIn("the local platform", f"alarm-transaction-{ending}", "holds", request=_fails_at_once),
            StandIn(
                "alarms that do not follow their transaction",
                f"alarm-transaction-{ending}",
                "differs",
                _reading(BEFORE, FAR_MS) if ending == "commit" else _reading(AFTER, OTHER_MS),
                request=_fails_at_once,
            ),
        )
    ),
    _played("the retry's time is read", "alarm-pending-retry", "holds", _retries(6)),
    _played(
        "the failed firing's time is read",
        "alarm-pending-retry",
        "differs",
        _retries(6),
        reading=lambda been, _: [True, been[-1]],
    ),
    _played(
        "a pending retry reads as unset",
        "alarm-pending-retry",
        "differs",
        _retries(6),
        reading=lambda _been, _to_come: [False, 0],
    ),
    _played("the alarm that was set fires", "alarm-set-and-failed", "holds", [(0.1, 0), (8.05, 0)]),
    _played("the retry comes instead", "alarm-set-and-failed", "differs", [(0.1, 0), (2.2, 1)]),
    _played("both come", "alarm-set-and-failed", "differs", [(0.1, 0), (2.2, 1), (8.05, 0)]),
    StandIn("the local platform", "alarm-now-within-handler", "holds"),
    _played("it fires 40 s later", "alarm-now-within-handler", "differs", [(0.1, 0), (40.0, 0)]),
    _played("it never fires", "alarm-now-within-handler", "differs", [(0.1, 0)]),
    StandIn("the local platform", "alarm-count-over-eviction", "holds"),
    StandIn(
        "the count begins again",
        "alarm-count-over-eviction",
        "differs",
        _marks(lambda marks: [mark | {"retry": 0} for mark in marks]),
    ),
    *(
        stand_in
        for probe in (*(f"store-value-{form}" for form in SERIALISED), "store-cell")
        for stand_in in (
            StandIn("the local platform's cell of 8 MiB", probe, "holds"),
            StandIn("a cell of 2 MB", probe, "differs", lambda _: _small_cell),
        )
    ),
    StandIn("the local platform", "store-key-2048", "holds"),
    StandIn("long keys that are lost", "store-key-2048", "differs", lambda _: _loses_long_keys),
    StandIn("the local platform", "store-utf8-order", "holds"),
    StandIn("the order of UTF-16", "store-utf8-order", "differs", lambda _: _utf16_order),
    StandIn("the local platform", "store-clear-alarm", "holds"),
    StandIn("clearing keeps the alarm", "store-clear-alarm", "differs", _reading(BEFORE, FAR_MS)),
    StandIn("the local platform, in 30 s", "transaction-reset", "holds"),
    StandIn(
        "no reset",
        "transaction-reset",
        "differs",
        request=lambda step: step | {"ms": 360} if step.get("native") == "hold" else step,
        quick=True,
    ),
    StandIn(
        "acknowledged messages that do not come back",
        "queue-acked-and-failed",
        "holds",
        _marks(_without_acked_again),
    ),
    StandIn("the local platform", "queue-acked-and-failed", "differs"),
    StandIn("the local platform", "queue-message-limit", "holds"),
    StandIn("a limit that counts metadata", "queue-message-limit", "differs", _metadata(100, 0)),
    StandIn("the local platform's limit of 288 000", "queue-batch-limit", "holds"),
    StandIn("256 000 with metadata", "queue-batch-limit", "differs", _metadata(0, 100)),
    StandIn("the local platform", "queue-partial-enqueue", "holds"),
    StandIn("a part arrives", "queue-partial-enqueue", "differs", lambda _: _partly),
    StandIn("the local platform", "queue-delay-limit", "holds"),
    StandIn("ten hours at most", "queue-delay-limit", "differs", lambda _: _shorter_delays),
    StandIn("the local platform", "queue-attempts-dead-letter", "holds"),
    StandIn(
        "attempts that do not count",
        "queue-attempts-dead-letter",
        "differs",
        _marks(lambda marks: [mark | {"attempts": 1} for mark in marks]),
    ),
    StandIn("messages that outlive a deployment", "queue-delayed-over-deployment", "holds", deploys=True),
    StandIn(
        "messages that are lost with a deployment",
        "queue-delayed-over-deployment",
        "differs",
        lambda _: _nothing_arrives,
        deploys=True,
        quick=True,
    ),
)
