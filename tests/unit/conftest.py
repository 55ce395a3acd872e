"""Tests of the package on plain CPython: a coroutine function is a test and runs on a loop of its own."""

from __future__ import annotations

import asyncio
import inspect
import sys
from typing import TYPE_CHECKING

import pytest

from yungong import errors, events, gate, platform, running

from .doubles import HeldPromise, LoopTimer, start_task

if TYPE_CHECKING:
    from collections.abc import Iterator

# No test takes nearly as long; one that hangs says so.
_LIMIT_S = 20


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}

    async def limited() -> None:
        async with asyncio.timeout(_LIMIT_S):
            await test(**arguments)
            if LoopTimer.pending:  # the platform's turn after a transaction, on a slow machine
                await asyncio.sleep(gate.TURN_MS / 1000)

    asyncio.run(limited())
    return True


@pytest.fixture(autouse=True)
def no_event_left_current() -> Iterator[None]:
    """An event that stays current after a test would be seen by the next one."""
    assert events.peek() is None
    yield
    assert events.peek() is None


@pytest.fixture(autouse=True)
def platform_doubles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Timers, promises and eager tasks that CPython has; no timer may stay pending after a test."""
    monkeypatch.setattr(platform, "Timer", LoopTimer)
    monkeypatch.setattr(platform, "Promise", HeldPromise)
    if sys.version_info < (3, 12):
        monkeypatch.setattr(running, "start_task", start_task)
    LoopTimer.pending.clear()
    yield
    assert not LoopTimer.pending


@pytest.fixture(autouse=True)
def _sentences_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave notes to test_codes: pytest's `match` takes them for a part of the sentence."""
    if request.module.__name__.rpartition(".")[2] != "test_codes":
        monkeypatch.setattr(errors, "annotate", lambda *_: None)
