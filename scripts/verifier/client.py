"""The protocol's client: scripts go out, answers come back; what fails for reasons of its own is repeated.

Nothing is done twice: a request to an object carries an id with which its answer can be fetched again, and
one that cannot carry it is repeated only where it reads.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx

from .cases import only_reads
from .forms import Json

REQUEST_SECONDS = 75.0
"""Past every time limit that a Worker sets itself: a request that takes longer is stuck, not slow."""

PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0)
"""Between the tries of one request: together longer than a cold start, or a gateway's bad minute."""

ENOUGH_S = 150.0
"""When no further try is made, however slow they were."""

OWN_REASONS = frozenset({429, 500, 502, 503, 504, *range(520, 531)})
"""Statuses that say nothing of the Worker's work, where their body is no answer of the protocol."""

OWN_MEMBERS = frozenset({"results", "aborted", "begun", "now_ms"})
"""What the Worker's own answers hold."""

CLOCK_TRIES = 5


class Stuck(Exception):
    """The Worker cannot be reached, or does not answer: nothing can be said about the cases."""


class Lost(Exception):
    """Work was perhaps done, and its answer cannot be had: whoever asked must begin anew, on new objects."""


@dataclass(frozen=True)
class Answer:
    """What came back: 200 holds results, 502 why the event failed, anything else an error."""

    status: int
    body: Json


def encode(value: Json) -> bytes:
    """JSON in UTF-8, escapes only where a lone surrogate forces them."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode("ascii")


def is_confidential(url: str) -> bool:
    """Whether what is sent there stays secret: over https, or on this machine."""
    return urlsplit(url).scheme == "https" or is_this_machine(url)


def is_this_machine(url: str) -> bool:
    """Whether an address is one of this machine's own."""
    return urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost")


class Client:
    """Sends scripts to one Worker. Many may be in flight at once.

    It counts what it sent and what it repeated, and tells the Worker's time, which may be minutes from here.
    `pace` scales the pauses between tries; `clock` is this machine's, in Unix milliseconds.
    """

    def __init__(
        self,
        url: str,
        token: str,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        pace: float = 1.0,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        if not is_confidential(url):
            raise ValueError("the token must not go over http to another machine: use https")
        self._token = token.encode()
        self._pace = pace
        self._clock = clock
        self._ahead_ms = 0
        self.requests = 0
        self.retried: Counter[str] = Counter()
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            timeout=httpx.Timeout(REQUEST_SECONDS, connect=15.0),
            limits=httpx.Limits(max_connections=64, max_keepalive_connections=64, keepalive_expiry=2.0),
            transport=transport,
            trust_env=transport is None and not url.startswith("http://127."),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    def now_ms(self) -> int:
        """The Worker's time in Unix milliseconds, as well as `meet` found it."""
        return self._clock() + self._ahead_ms

    async def meet(self) -> dict[str, Json]:
        """Ask the Worker what it is, and set the clock by it; raises Stuck when it is not the one meant."""
        best: tuple[int, int] | None = None
        for _ in range(CLOCK_TRIES):
            sent = self._clock()
            answer = await self._exchange("GET", "/v1/version", None, {}, repeatable=True)
            came = self._clock()
            if answer.status != 200 or not isinstance(answer.body, dict) or "now_ms" not in answer.body:
                raise Stuck(f"no verification application of this kind answers: status {answer.status}")
            found = came - sent, answer.body["now_ms"] - (sent + came) // 2
            best = found if best is None else min(best, found)
        assert best is not None
        self._ahead_ms = best[1]
        facts: dict[str, Json] = answer.body
        return facts | {"ahead_ms": best[1], "round_trip_ms": best[0]}

    async def run(self, target: str, event: str, steps: list[Json], *, once: bool = True) -> Answer:
        """One event with these steps.

        Args:
            once: whether its object remembers the answer, so that nothing is done twice. Without, it leaves
                nothing in its object, and is repeated as it is.

        Raises:
            Stuck: no answer comes, however often it is asked for.
            Lost: the answer is lost, and asking again could do the work again.
        """
        content = encode({"object": target, "event": event, "steps": steps})
        remembered = once and event != "fetch"
        headers = {"Idempotency-Key": secrets.token_hex(12)} if remembered else {}
        repeatable = remembered or not once or all(only_reads(step) for step in steps)
        return await self._exchange("POST", "/v1/run", content, headers, repeatable=repeatable)

    async def _exchange(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str], *, repeatable: bool
    ) -> Answer:
        reason = ""
        ends = time.monotonic() + ENOUGH_S
        for pause in (*PAUSES_S, None):
            self.requests += 1
            try:
                response = await self._http.request(method, path, content=content, headers=headers)
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
                reason = f"the Worker cannot be reached: {error or type(error).__name__}"
                kind = type(error).__name__
            except httpx.ReadTimeout as error:
                reason, kind = f"no answer within {REQUEST_SECONDS:.0f} s", type(error).__name__
                if not repeatable:
                    raise Stuck(reason) from error
            except httpx.TransportError as error:
                reason = f"the connection broke: {error or type(error).__name__}"
                kind = type(error).__name__
                if not repeatable:
                    raise Lost(reason) from error
            else:
                answer = self._answer(response)
                if response.status_code in (401, 403):
                    raise Stuck(f"the Worker refuses the token (status {response.status_code})")
                begun = answer.status == 409 and _has(answer, "begun")
                if begun and "still runs" not in answer.body["begun"]:
                    raise Lost(answer.body["begun"])
                if not begun and (answer.status not in OWN_REASONS or _has(answer, "aborted")):
                    return answer
                kind = f"status {answer.status}"
                reason = f"the Worker answers {answer.status} {str(answer.body)[:200]}"
                if not repeatable:
                    raise Lost(reason)
            if pause is None or time.monotonic() > ends:
                break
            self.retried[kind] += 1
            await asyncio.sleep(pause * self._pace)
        raise Stuck(reason)

    def _answer(self, response: httpx.Response) -> Answer:
        """What came back; what is no answer of a script, as an error page, without the token."""
        with suppress(ValueError):
            body = json.loads(response.content)
            if isinstance(body, dict) and not OWN_MEMBERS.isdisjoint(body):
                return Answer(response.status_code, body)
        content = response.content.replace(self._token, b"[token]")
        return Answer(response.status_code, content.decode("utf-8", "replace"))


def _has(answer: Answer, member: str) -> bool:
    return isinstance(answer.body, dict) and answer.body.keys() == {member}
