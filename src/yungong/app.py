"""The application: its handlers, by the kind of event that enters them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from .kinds import KINDS, Kind

__all__ = ["App"]

if TYPE_CHECKING:
    from .pythonic import Batch, Firing, Json, Transaction
    from .pythonic.batch import Consumers
    from .pythonic.transaction import Transactions

    Parameters = ParamSpec("Parameters")
    Result = TypeVar("Result", bound=Json)
    FiringHandler = TypeVar("FiringHandler", bound=Callable[[Firing], Any])
    BatchHandler = TypeVar("BatchHandler", bound=Callable[[Batch], Any])

    class _Transacting(Protocol):
        """A decorator that makes a function one that is executed in a transaction."""

        def __call__(
            self, function: Callable[Concatenate[Transaction, Parameters], Awaitable[Result]], /
        ) -> Callable[Parameters, Coroutine[Any, Any, Result]]: ...


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
        self._consumers: Consumers | None = None
        self._transactions: Transactions | None = None

    def on(self, kind: Kind) -> Callable[[Handler], Handler]:
        """Register the decorated function for events of `kind`.

        It is called with what the platform passes: the request in a `fetch` or `durable-fetch` event, the
        controller in a `scheduled` one, in those of sockets the WebSocket with the message, with code, reason
        and cleanness, or with the error; without arguments in any other. It may be a coroutine function or a
        plain one.

        Raises:
            ValueError: `kind` is unknown or has a handler, or the application has one function for all, or
                `kind` is durable-rpc, whose events enter the methods that `durable_method` decorates.
        """
        if kind == "durable-rpc":
            raise ValueError("a 'durable-rpc' event enters a method: decorate that with durable_method")
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no event kind; the kinds are {', '.join(KINDS)}")
        if self._start is not None:
            raise ValueError(f"this App has one function for every event, {kind!r} included")
        self._refuse_second(kind)

        def register(handler: Handler) -> Handler:
            self._refuse_second(kind)
            self._handlers[kind] = handler
            return handler

        return register

    def _refuse_second(self, kind: Kind) -> None:
        if kind in self._handlers:
            raise ValueError(f"{kind!r} has a handler already")

    def handles(self, kind: Kind) -> bool:
        """Return whether the application can be entered for events of `kind`."""
        return self._start is not None or kind in self._handlers

    def fetch(self, handler: Handler) -> Handler:
        """Register the decorated function for requests of the Worker; it gets the request."""
        return self.on("fetch")(handler)

    def durable_fetch(self, handler: Handler) -> Handler:
        """Register the decorated function for requests of a Durable Object; it gets the request."""
        return self.on("durable-fetch")(handler)

    def durable_alarm(self, handler: FiringHandler) -> FiringHandler:
        """Register the decorated function for alarms; it gets a `Firing`."""
        from .pythonic.alarm import firing

        self.on("durable-alarm")(lambda: handler(firing()))
        return handler

    @overload
    def queue(self, handler: BatchHandler, /) -> BatchHandler: ...
    @overload
    def queue(self, name: str, /) -> Callable[[BatchHandler], BatchHandler]: ...
    def queue(self, handler: Any, /) -> Any:
        """Register the decorated function for the batches of queues; it gets a `Batch`.

        `@app.queue` takes those of every queue that has no consumer of its own, `@app.queue("name")` those of
        one queue, by the queue's name and not its binding's.

        Raises:
            ValueError: the queue has a consumer, or `queue` events a handler.
        """
        if isinstance(handler, str):
            return lambda consumer: self._add_consumer(handler, consumer)
        return self._add_consumer(None, handler)

    @overload
    def transaction(
        self, function: Callable[Concatenate[Transaction, Parameters], Awaitable[Result]], /
    ) -> Callable[Parameters, Coroutine[Any, Any, Result]]: ...
    @overload
    def transaction(self, *, name: str) -> _Transacting: ...
    def transaction(self, function: Any = None, *, name: str | None = None) -> Any:
        """Make the decorated function one that is executed in a transaction (持久事务, 事务).

        It gets a `Transaction` first. It is called without it, from any event of a Durable Object; arguments
        and result are JSON values, and what it gets are copies. What it wrote, alarms included, is committed
        when it returns. An exception that it raises rolls everything back and reaches the caller as itself;
        what the platform or a limit ends is the 豫言异常 of 执行持久事务.

        Args:
            function: the decorated function.
            name: what tells it apart from other transactions of the application; its own name if left out.

        Raises:
            ValueError: the name is taken, or `durable-transaction` events have a handler.
        """
        if function is None:
            return lambda decorated: self._add_transaction(name or decorated.__name__, decorated)
        return self._add_transaction(function.__name__, function)

    def scheduled(self, handler: Handler) -> Handler:
        """Register the decorated function for cron events; it gets what the platform passes."""
        return self.on("scheduled")(handler)

    def durable_websocket_message(self, handler: Handler) -> Handler:
        """Register the decorated function for messages of hibernating sockets; it gets socket and message."""
        return self.on("durable-websocket-message")(handler)

    def durable_websocket_close(self, handler: Handler) -> Handler:
        """Register the decorated function for closed sockets; it gets what the platform passes."""
        return self.on("durable-websocket-close")(handler)

    def durable_websocket_error(self, handler: Handler) -> Handler:
        """Register the decorated function for sockets that failed; it gets what the platform passes."""
        return self.on("durable-websocket-error")(handler)

    def _add_consumer(self, queue: str | None, handler: Any) -> Any:
        if self._consumers is None:
            from .pythonic.batch import Consumers

            consumers = Consumers()
            self.on("queue")(consumers.consume)
            self._consumers = consumers
        self._consumers.add(queue, handler)
        return handler

    def _add_transaction(self, name: str, function: Any) -> Any:
        if self._transactions is None:
            from .pythonic.transaction import Transactions

            transactions = Transactions()
            self.on("durable-transaction")(transactions.handle)
            self._transactions = transactions
        return self._transactions.add(name, function)

    def handler_name(self, kind: Kind) -> str:
        """Return the name of the function that is entered for an event of `kind`."""
        handler = self._handlers.get(kind) if self._start is None else self._start
        return getattr(handler, "__qualname__", repr(handler))

    def enter(self, kind: Kind, *request: Any) -> Any:
        """Call the handler for an event of `kind`, with its request or whatever else the platform passes.

        Raises:
            LookupError: the application has no handler for this kind.
        """
        if self._start is not None:
            return self._start(*request or (None,))
        handler = self._handlers.get(kind)
        if handler is None:
            error = LookupError(f"应用没有登记事件种类 {kind} 的处理入口")
            error.add_note(f"no handler is registered for {kind} events: decorate one with @app.on({kind!r})")
            raise error
        return handler(*request)
