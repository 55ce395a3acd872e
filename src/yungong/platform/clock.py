"""The wall clock, and timers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .engine import engine
from .runtime import create_proxy

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyodide.ffi import JsDoubleProxy


def now_ms() -> int:
    """Return the wall clock in Unix milliseconds."""
    return round(time.time() * 1000)


class Timer:
    """A JavaScript timer that is cleared when cancelled: asyncio's leaves it pending, and billed."""

    __slots__ = ("_handle", "_proxy")

    def __init__(self, delay_ms: float, fire: Callable[[], None]) -> None:
        self._proxy: JsDoubleProxy | None = create_proxy(fire)
        self._handle = engine().set_timeout(self._proxy, delay_ms)

    def cancel(self) -> None:
        """Clear the timer; after it has fired, only release what it holds."""
        if self._proxy is not None:
            engine().clear_timeout(self._handle)
            self._proxy.destroy()
            self._proxy = None
