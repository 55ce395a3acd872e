"""The application: its handlers, by the kind of event that enters them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .kinds import KINDS, Kind

__all__ = ["App"]

Handler = TypeVar("Handler", bound=Callable[..., Any])


class App:
    """An application: handlers registered by event kind, or one function entered for every event.

    Module globals survive from event to event: an application must not keep the state of one in them.
    """

    def __init__(self, start: Callable[..., Any] | None = None) -> None:
        """Make an application.

        Args:
            start: entered for every event, as the specifications' `_start` is; it asks 读取入站事件种类 which
                event it is in. It gets what a handler of that kind would (the request of a `fetch` or
                `durable-fetch` event), and None where that is nothing. Left out, handlers are registered
                with `on`.
        """
        self._start = start
        self._handlers: dict[Kind, Callable[..., Any]] = {}

    def on(self, kind: Kind) -> Callable[[Handler], Handler]:
        """Register the decorated function for events of `kind`.

        It is called with what the platform passes: the request in a `fetch` or `durable-fetch` event, the
        controller in a `scheduled` one, in those of sockets the WebSocket with the message, with code, reason
        and cleanness, or with the error; without arguments in any other. It may be a coroutine function or a
        plain one.

        Raises:
            ValueError: `kind` is unknown or has a handler, or the application has one function for all.
        """
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no event kind; the kinds are {', '.join(KINDS)}")
        if self._start is not None:
            raise ValueError(f"this App has one function for every event, {kind!r} included")
        if kind in self._handlers:
            raise ValueError(f"{kind!r} has a handler already")

        def register(handler: Handler) -> Handler:
            self._handlers[kind] = handler
            return handler

        return register

    def handles(self, kind: Kind) -> bool:
        """Return whether the application can be entered for events of `kind`."""
        return self._start is not None or kind in self._handlers

    def enter(self, kind: Kind, *request: Any) -> Any:
        """Call the handler for an event of `kind`, with its request or whatever else the platform passes.

        Raises:
            LookupError: the application has no handler for this kind.
        """
        if self._start is not None:
            return self._start(*request or (None,))
        handler = self._handlers.get(kind)
        if handler is None:
            raise LookupError(f"应用没有登记事件种类 {kind} 的处理入口")
        return handler(*request)
