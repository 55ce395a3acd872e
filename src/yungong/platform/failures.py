"""How a call of the platform fails: with an exception, or with a promise rejected for any reason."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import reason
from .engine import engine
from .runtime import PlatformError, PyodideFuture

if TYPE_CHECKING:
    from collections.abc import Awaitable

T = TypeVar("T")


class Rejected(Exception):
    """A promise of the platform was rejected with something that is no Error; the text says what."""


class _PlatformFuture(PyodideFuture[Any]):
    """What a call that returns a promise gives, whatever the promise's reason.

    Pyodide calls set_exception with any reason. asyncio refuses one that is no exception, and the future
    would never end: here it becomes one.
    """

    def set_exception(self, reason: Any) -> None:
        if not isinstance(reason, BaseException):
            reason = Rejected(_words(reason))
        super().set_exception(reason)


def _words(reason: object) -> str:
    """Return what a reason says of itself, else its kind: an object's conversion to text may throw."""
    for told in (engine().text, engine().tag):
        with suppress(PlatformError):
            if words := told(reason):
                return words
    return "an object without a text"


def awaitable(promise: Awaitable[T]) -> Awaitable[T]:
    """Return a promise of the platform as one that can be awaited whatever becomes of it.

    Awaiting it raises PlatformError where the reason is an Error, and Rejected where it is anything else.
    """
    if isinstance(promise, PyodideFuture):
        # It adds no state: the layout is the same, and a future round this one would cost another turn of
        # the event loop.
        promise.__class__ = _PlatformFuture
    return promise


# What a call of the platform can raise.
ERRORS = (PlatformError, Rejected)


def error_text(error: BaseException) -> str:
    """Return the platform's own words: an Error's message, or the string of any other reason."""
    if isinstance(error, PlatformError):
        message = getattr(error, "message", None)
        if message and isinstance(message, str):
            return message
    return reason(error)


def is_too_big(error: BaseException) -> bool:
    """Return whether a key and its value do not fit into one cell of the storage."""
    return "SQLITE_TOOBIG" in error_text(error)


def is_too_deep(error: BaseException) -> bool:
    """Return whether the engine's stack ended."""
    return getattr(error, "name", None) == "RangeError" and not is_too_long(error)


def is_too_long(error: BaseException) -> bool:
    """Return whether a text would be longer than the engine's strings can be."""
    return error_text(error) == "Invalid string length"
