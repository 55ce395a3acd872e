"""The base classes of a Worker: they turn the platform's events into the application's.

The platform calls their methods by its own names; any other method of a Worker could be called over RPC, so
that `Worker` has none. An object is behind a door (see rpc) and shows only what is decorated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import platform
from .alarm import AlarmEvent, Firing
from .durable import Durable, DurableEvent
from .events import Event
from .execution import Execution, read_execution
from .kinds import RESPONDING
from .queue import QueueEvent
from .rpc import Door
from .running import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from .app import App
    from .kinds import Kind

__all__ = ["DurableObject", "Worker"]


class Worker(platform.WorkerBase):
    """A Worker whose events enter an application: `class Default(Worker, app=app)`.

    Args:
        app: the application; a class derived from one that has it may leave it out.

    Raises:
        TypeError: the class has no application.
        ValueError: when the Worker starts: one of the two [vars], PERMITS and EXECUTION_CONFIG, is invalid.
    """

    _app: App

    def __init_subclass__(cls, app: App | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _give_app(cls, app)

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)
        self._environment = _environment(env)
        self._execution = _execution(self._environment)

    async def fetch(self, request: Any) -> Any:
        """Enter the application for a `fetch` event and return its response."""
        event = Event("fetch", self._app, self._environment, self._execution, keep_alive=self.ctx.waitUntil)
        return await _enter(self, event, request)

    async def queue(self, batch: Any, env: Any = None, ctx: Any = None) -> None:
        """Enter the application for a `queue` event; the runtime passes all three arguments."""
        raw = platform.unwrap(batch, "_binding")
        delivered = raw if isinstance(raw, platform.Batch) else platform.Batch(raw)
        event = QueueEvent(
            self._app, self._environment, self._execution, delivered, keep_alive=self.ctx.waitUntil
        )
        await _enter(self, event)

    async def scheduled(self, controller: Any, env: Any = None, ctx: Any = None) -> None:
        """Enter the application for a `scheduled` event, with its controller: `cron` and `scheduledTime`."""
        event = Event(
            "scheduled", self._app, self._environment, self._execution, keep_alive=self.ctx.waitUntil
        )
        await _enter(self, event, controller)


class DurableObject(platform.DurableObjectBase):  # type: ignore[no-untyped-call]  # the SDK's __init_subclass__
    """A Durable Object whose events enter an application: `class DurableStore(DurableObject, app=app)`.

    Over RPC its methods that `durable_method` decorates can be called, and no other attribute: constructing
    the class returns not the object but the platform's door to it. `current_instance` gives the object.

    Args:
        app: the application; a class derived from one that has it may leave it out.

    Raises:
        TypeError: the class has no application.
        ValueError: when an object is made: one of the two [vars], PERMITS and EXECUTION_CONFIG, is invalid.
        RuntimeError: when an object is made: the class is on the older key-value backend, not on SQLite.
    """

    _app: App

    def __init_subclass__(cls, app: App | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)  # type: ignore[no-untyped-call]
        _give_app(cls, app)

    def __new__(cls, ctx: Any, env: Any) -> Door:  # type: ignore[misc]  # Python calls no __init__ then
        """Make an object, and return the platform's door to it."""
        instance = super().__new__(cls)
        instance.__init__(ctx, env)  # type: ignore[misc]
        return Door(instance)

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)
        self._environment = _environment(env)
        self._execution = _execution(self._environment)
        try:
            storage = platform.Storage(platform.unwrap(ctx, "_ctx"))
        except platform.PlatformError as error:
            raise RuntimeError(
                f"the Durable Object class {type(self).__name__} is on the older key-value backend; yungong"
                " needs SQLite: list the class under new_sqlite_classes in wrangler.toml's migrations. A"
                " class that is deployed already cannot change: make a new one and move the data"
            ) from error
        self._durable = Durable(storage)

    async def fetch(self, request: Any) -> Any:
        """Enter the application for a `durable-fetch` event and return its response."""
        return await _enter(self, self._event("durable-fetch"), request)

    async def alarm(self, info: Any = None) -> None:
        """Enter the application for a `durable-alarm` event; the runtime passes what it knows of it."""
        firing = Firing(self._durable, info)
        async with firing as retries:
            if retries is not None:
                event = AlarmEvent(
                    self._app,
                    self._environment,
                    self._execution,
                    self._durable,
                    retries,
                    firing.scheduled_ms,
                )
                await _enter(self, event)

    async def webSocketMessage(self, socket: Any, message: Any) -> None:
        """Enter the application for a `durable-websocket-message` event: a message of an accepted socket.

        The handler gets the platform's WebSocket, and the message as a str or, a binary one, as an
        ArrayBuffer (`message.to_bytes()`). The object may be another than the one that accepted the socket.
        """
        await _enter(self, self._event("durable-websocket-message"), socket, message)

    async def webSocketClose(self, socket: Any, code: int, reason: str, clean: bool) -> None:
        """Enter the application for a `durable-websocket-close` event, if it has a handler for it.

        The handler gets the WebSocket, the code, the reason, and whether the peer closed in good order.
        """
        if self._app.handles("durable-websocket-close"):
            await _enter(self, self._event("durable-websocket-close"), socket, code, reason, clean)

    async def webSocketError(self, socket: Any, error: Any) -> None:
        """Enter the application for a `durable-websocket-error` event, if it has a handler for it.

        The handler gets the WebSocket and the platform's error.
        """
        if self._app.handles("durable-websocket-error"):
            await _enter(self, self._event("durable-websocket-error"), socket, error)

    async def _enter_method(self, method: Callable[..., Any], *arguments: Any) -> Any:
        event = self._event("durable-rpc")
        event.instance = self
        return await run(event, method, self, *arguments)

    def _event(self, kind: Kind) -> DurableEvent:
        return DurableEvent(kind, self._app, self._environment, self._execution, self._durable)


def _give_app(cls: type[Worker | DurableObject], app: App | None) -> None:
    if app is not None:
        cls._app = app
    elif not hasattr(cls, "_app"):
        raise TypeError(f"{cls.__name__} has no application: write class {cls.__name__}(…, app=app)")


# Not methods of Worker: any of these could be called over RPC, whatever its name.


async def _enter(instance: Worker | DurableObject, event: Event, *arguments: Any) -> Any:
    event.instance = instance
    value = await run(event, instance._app.enter, event.kind, *arguments)
    if event.kind in RESPONDING and not platform.is_response(value):
        name, given = instance._app.handler_name(event.kind), type(value).__name__
        error = TypeError(f"事件种类 {event.kind} 的处理入口 {name} 须返回 Response，而它返回了 {given}")
        error.add_note(f"the handler {name} of a {event.kind} event must return a workers.Response")
        raise error
    return value


def _environment(env: Any) -> platform.Environment:
    raw = platform.unwrap(env, "_env")
    return raw if isinstance(raw, platform.Environment) else platform.Environment(raw)


def _execution(environment: platform.Environment) -> Execution:
    return read_execution(environment.variable("PERMITS"), environment.variable("EXECUTION_CONFIG"))
