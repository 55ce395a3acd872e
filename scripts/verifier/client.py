"""The protocol's client: POST /v1/run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import httpx

from .forms import Json

REQUEST_SECONDS = 75.0
"""Past every time limit that a Worker sets itself: a request that takes longer is stuck, not slow."""


class Stuck(Exception):
    """The Worker cannot be reached, or does not answer: nothing can be said about the cases."""


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


class Client:
    """Sends scripts to one Worker. Many may be in flight at once."""

    def __init__(self, url: str, token: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
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

    async def run(self, target: str, event: str, steps: list[Json]) -> Answer:
        """One event with these steps; raises Stuck when no answer comes."""
        content = encode({"object": target, "event": event, "steps": steps})
        try:
            response = await self._http.post("/v1/run", content=content)
        except httpx.TimeoutException as error:
            raise Stuck(f"no answer within {REQUEST_SECONDS:.0f} s ({type(error).__name__})") from error
        except httpx.TransportError as error:
            raise Stuck(f"the Worker cannot be reached: {error or type(error).__name__}") from error
        if response.status_code in (401, 403):
            raise Stuck(f"the Worker refuses the token (status {response.status_code})")
        try:
            body = json.loads(response.content)
        except ValueError:
            body = response.text
        return Answer(response.status_code, body)
