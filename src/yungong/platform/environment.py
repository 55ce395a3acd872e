"""The bindings and variables of one deployment, and what the SDK wraps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .engine import engine
from .runtime import FetchResponse, JsProxy

if TYPE_CHECKING:
    from js import Queue


def unwrap(wrapped: Any, attribute: str) -> Any:
    """Return the raw object inside one of the SDK's wrappers, or `wrapped` where it is none."""
    return getattr(wrapped, attribute, wrapped)


def is_response(value: object) -> bool:
    """Return whether `value` answers a request: a response of the SDK's or of JavaScript's."""
    if isinstance(value, FetchResponse):
        return True
    return isinstance(value, JsProxy) and engine().tag(value) == "[object Response]"


class Environment:
    """The raw bindings and variables of one deployment."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def variable(self, name: str) -> str | None:
        """Return a variable as JSON text; a text variable is taken to hold it. None where it is missing."""
        value = getattr(self.raw, name, None)
        return value if value is None or isinstance(value, str) else engine().stringify(value)

    def queue(self, name: str) -> Queue | None:
        """Return the queue producer bound to `name`, or None where there is none or it is something else."""
        binding = getattr(self.raw, name, None)
        if isinstance(binding, JsProxy) and engine().tag(binding) == "[object WorkerQueue]":
            return binding
        return None
