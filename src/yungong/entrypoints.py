"""The base classes of a Worker: they turn the platform's events into the application's.

Every method of a Durable Object class can be called over RPC: these classes have the platform's own handlers
and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import platform
from .alarm import AlarmEvent, Firing
from .durable import Durable, DurableEvent
from .events import Event
from .execution import Execution, read_execution
from .queue import QueueEvent
from .running import run

if TYPE_CHECKING:
    from .app import App
    from .kinds import Kind

__all__ = ["DurableObject", "Worker"]


class Worker(platform.WorkerBase):
    """A Worker whose `fetch` and `queue` events enter an application: `class Default(Worker, app=app)`.

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
        return _response(self._app, "fetch", await run(event, self._app.enter, "fetch", request))

    async def queue(self, batch: Any, env: Any = None, ctx: Any = None) -> None:
        """Enter the application for a `queue` event; the runtime passes all three arguments."""
        raw = platform.unwrap(batch, "_binding")
        delivered = raw if isinstance(raw, platform.Batch) else platform.Batch(raw)
        event = QueueEvent(
            self._app, self._environment, self._execution, delivered, keep_alive=self.ctx.waitUntil
        )
        await run(event, self._app.enter, "queue")


class DurableObject(platform.DurableObjectBase):  # type: ignore[no-untyped-call]  # the SDK's __init_subclass__
    """A Durable Object whose events enter an application: `class DurableStore(DurableObject, app=app)`.

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
        event = DurableEvent("durable-fetch", self._app, self._environment, self._execution, self._durable)
        response = await run(event, self._app.enter, "durable-fetch", request)
        return _response(self._app, "durable-fetch", response)

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
                await run(event, self._app.enter, "durable-alarm")


def _give_app(cls: type[Worker | DurableObject], app: App | None) -> None:
    if app is not None:
        cls._app = app
    elif not hasattr(cls, "_app"):
        raise TypeError(f"{cls.__name__} has no application: write class {cls.__name__}(…, app=app)")


# Not methods: any method of a Durable Object can be called over RPC, whatever its name.


def _response(app: App, kind: Kind, value: Any) -> Any:
    if not platform.is_response(value):
        name, given = app.handler_name(kind), type(value).__name__
        raise TypeError(f"事件种类 {kind} 的处理入口 {name} 须返回 Response，而它返回了 {given}")
    return value


def _environment(env: Any) -> platform.Environment:
    raw = platform.unwrap(env, "_env")
    return raw if isinstance(raw, platform.Environment) else platform.Environment(raw)


def _execution(environment: platform.Environment) -> Execution:
    return read_execution(environment.variable("PERMITS"), environment.variable("EXECUTION_CONFIG"))
