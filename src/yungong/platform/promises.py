"""Promises that Python settles."""

from __future__ import annotations

from .engine import engine


class Promise:
    """A JavaScript promise that Python settles, without a trip round the event loop."""

    __slots__ = ("_reject", "_resolve", "js")

    def __init__(self) -> None:
        resolvers = engine().with_resolvers()
        self.js = resolvers.promise
        self._resolve = resolvers.resolve
        self._reject = resolvers.reject

    def resolve(self) -> None:
        """Resolve the promise with undefined."""
        self._resolve()

    def reject(self, error: BaseException) -> None:
        """Reject the promise with the text of `error`: a Python object would need a proxy to be destroyed."""
        self._reject(str(error))
