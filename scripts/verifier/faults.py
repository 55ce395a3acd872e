"""A bad network between the verifier and its Worker: failing gateways, lost answers, cold starts, clocks."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx

SEED = 20
"""Of the dice that the faults throw: a run meets the same faults each time."""

COLD_START_S = 10.0
CLOCK_AHEAD_MS = 5 * 60_000

Send = Callable[[httpx.Request], Awaitable[httpx.Response]]
Strike = Callable[[Send, httpx.Request], Awaitable[httpx.Response]]
"""What happens to a request instead of being sent and answered; it is given the way to send it."""


class Network(httpx.AsyncBaseTransport):
    """The way to the real Worker, on which a share of the requests is struck."""

    def __init__(self, strike: Strike, share: float, most: float) -> None:
        self._strike = strike
        self._share = share
        self._most = most
        self._dice = random.Random(SEED)
        self._real = httpx.AsyncHTTPTransport()
        self.struck = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.struck >= self._most or self._dice.random() >= self._share:
            return await self._real.handle_async_request(request)
        self.struck += 1
        return await self._strike(self._real.handle_async_request, request)

    async def aclose(self) -> None:
        await self._real.aclose()


def _gateway(status: int) -> Strike:
    async def strike(_send: Send, request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, content=f"<html>{status}</html>".encode(), request=request)

    return strike


def _gateway_after(status: int) -> Strike:
    async def strike(send: Send, request: httpx.Request) -> httpx.Response:
        await (await send(request)).aread()
        return httpx.Response(status, content=f"<html>{status}</html>".encode(), request=request)

    return strike


async def _lost(send: Send, request: httpx.Request) -> httpx.Response:
    await (await send(request)).aread()
    raise httpx.ReadError("the connection was lost after the work was done")


async def _refused(_send: Send, request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused")


async def _cold(send: Send, request: httpx.Request) -> httpx.Response:
    await asyncio.sleep(COLD_START_S)
    return await send(request)


@dataclass(frozen=True)
class Fault:
    """One way in which requests fail for reasons of their own."""

    name: str
    strike: Strike
    share: float = 0.1
    most: float = float("inf")
    repeats: bool = True
    """Whether what it strikes must be asked for again."""
    ahead_ms: int = 0
    """How far the verifier's clock is ahead of the Worker's."""

    def transport(self) -> Network:
        """A network with it."""
        return Network(self.strike, self.share, self.most)

    def clock(self) -> int:
        """The verifier's clock, Unix milliseconds."""
        return time.time_ns() // 1_000_000 + self.ahead_ms


FAULTS = (
    Fault("a gateway that answers 502", _gateway(502)),
    Fault("a gateway that answers 503", _gateway(503)),
    Fault("a gateway that answers 502 when the work is done", _gateway_after(502)),
    Fault("connections that are refused", _refused),
    Fault("answers that are lost after the work was done", _lost),
    Fault("cold starts of 10 s", _cold, share=0.2, most=2, repeats=False),
    Fault("a clock that is five minutes ahead", _refused, share=0.0, ahead_ms=CLOCK_AHEAD_MS),
    Fault("a clock that is five minutes behind", _refused, share=0.0, ahead_ms=-CLOCK_AHEAD_MS),
)
