"""Events: what an application was entered for, and what its functions may reach meanwhile.

Every interface function finds its event through one ContextVar. An event is open from the moment its
handler is entered until the handler and everything given to `wait_until` have ended; a task that
outlives it is refused as in an event of the wrong kind and never sees another event's state.
"""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, NoReturn

from . import platform
from .errors import reason, 宿主中止, 豫言异常
from .execution import MAX_LIMIT_MS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .app import App
    from .execution import Execution
    from .kinds import Kind

__all__ = ["current_instance", "event_kind", "sleep", "wait_until", "读取入站事件种类"]

# 16 MiB of UTF-8: no text that enters or leaves the host may be longer.
MAX_EXCHANGED_BYTES = 16 * 1024 * 1024
EXCHANGED_TOO_LONG = "交换文字超过宿主上限 16 MiB"

_log = logging.getLogger("yungong")

_current: ContextVar[Event | None] = ContextVar("yungong_event", default=None)


class Event:
    """One event: its kind, what it reaches, and whether it is still open."""

    __slots__ = (
        "_at_close",
        "_keep_alive",
        "_pending",
        "_sleepers",
        "_tasks",
        "aborted",
        "answered",
        "app",
        "closed",
        "deadline_s",
        "environment",
        "execution",
        "instance",
        "kind",
    )

    def __init__(
        self,
        kind: Kind,
        app: App,
        environment: platform.Environment,
        execution: Execution,
        *,
        keep_alive: Callable[[Any], None] | None = None,
    ) -> None:
        self.kind = kind
        self.app = app
        self.environment = environment
        self.execution = execution
        self.instance: Any = None  # whoever enters the application sets it
        self.deadline_s = 0.0  # on the monotonic clock; whoever runs the handler sets it
        self.closed = False
        self.aborted: 宿主中止 | None = None
        self.answered = False  # the handler has ended: how, the platform has been told
        self._keep_alive = keep_alive
        self._pending = 1  # the handler itself
        # Most events need none of these: they are made at first use.
        self._at_close: list[Callable[[], None]] | None = None
        self._tasks: set[asyncio.Future[Any]] | None = None
        self._sleepers: dict[asyncio.Future[None], platform.Timer] | None = None

    def abort(self, why: str, cause: BaseException | None = None) -> 宿主中止:
        """End the event, unless it has ended so before, and return the error that every later call raises."""
        if self.aborted is None:
            # A timer aborts from outside: the error's note tells this event all the same.
            token = _current.set(self)
            self.aborted = 宿主中止(why)
            _current.reset(token)
            if cause is not None:  # None would hide what the error is raised beside
                self.aborted.__cause__ = cause
            if self.answered:
                _log.error(
                    "a %s event was aborted after its handler's end: %s", self.kind, why, exc_info=cause
                )
        return self.aborted

    def fail(self, why: str, cause: BaseException) -> NoReturn:
        """Abort the event, and raise the error: what it was aborted for first, its own cause kept."""
        raise self.abort(why, cause)

    def fault(self, what: str, error: BaseException) -> NoReturn:
        """Abort the event for a failure of the platform, told as `what` and the platform's own words."""
        self.fail(f"{what}：{platform.error_text(error)}", error)

    def check_exchanged(self, text: str, another: str = "") -> None:
        """Abort the event if a text is longer than the host exchanges."""
        # No character takes more than four bytes: only a long text needs counting.
        if (len(text) + len(another)) * 4 > MAX_EXCHANGED_BYTES:
            for size in (len(each.encode("utf-8", "surrogatepass")) for each in (text, another)):
                if size > MAX_EXCHANGED_BYTES:
                    raise self.abort(f"{EXCHANGED_TOO_LONG}：{size} 字节")

    def hold(self, task: asyncio.Future[Any]) -> None:
        """Keep the event open, and the platform's event alive, until `task` has ended."""
        if self._tasks is None:
            self._tasks = set()
            if self._keep_alive is not None:
                promise = platform.Promise()
                self._keep_alive(promise.js)
                self.at_close(promise.resolve)
        self._pending += 1
        self._tasks.add(task)
        task.add_done_callback(self._release)

    def _release(self, task: asyncio.Future[Any]) -> None:
        if self._tasks is not None:
            self._tasks.discard(task)
        if _is_unheard(task):
            self.at_close(lambda: self._tell(task))
        self.leave()

    def _tell(self, task: asyncio.Future[Any]) -> None:
        if _is_unheard(task) and (error := task.exception()) is not None:
            self.log_failure(error)

    def log_failure(self, error: BaseException) -> None:
        """Log what something that the event waits for has raised, and nobody handles."""
        _log.error("what wait_until was given in a %s event failed", self.kind, exc_info=error)

    def leave(self) -> None:
        """Count one end: the handler's, or that of something it waits for. The last one closes the event."""
        self._pending -= 1
        if self._pending == 0:
            self.close()

    def at_close(self, call: Callable[[], None]) -> None:
        """Have `call` called when the event closes."""
        if self._at_close is None:
            self._at_close = []
        self._at_close.append(call)

    def close(self) -> None:
        """Close the event: functions are refused from now on, and none of its timers stays pending."""
        if self.closed:
            return
        self.closed = True
        if self._sleepers is not None:
            for sleeper, timer in self._sleepers.items():
                timer.cancel()
                if not sleeper.done():
                    sleeper.set_result(None)
            self._sleepers = None
        for call in self._at_close or ():
            call()

    def cancel_tasks(self) -> None:
        """Cancel everything that the event still waits for."""
        for task in tuple(self._tasks or ()):
            task.cancel()

    async def sleep(self, delay_ms: float) -> None:
        """Wait; the timer is gone when the wait ends, is cancelled, or the event closes."""
        sleeper: asyncio.Future[None] = asyncio.Future()

        def wake() -> None:
            if not sleeper.done():
                sleeper.set_result(None)

        if self._sleepers is None:
            self._sleepers = {}
        self._sleepers[sleeper] = platform.Timer(delay_ms, wake)
        try:
            await sleeper
        finally:
            if self._sleepers is not None and (timer := self._sleepers.pop(sleeper, None)) is not None:
                timer.cancel()


def _is_unheard(task: asyncio.Future[Any]) -> bool:
    # asyncio's own mark of an error that nobody has asked for: it is told when Python collects, maybe never.
    return getattr(task, "_log_traceback", not task.cancelled())


def enter(event: Event) -> None:
    """Make `event` the current one of the calling context."""
    _current.set(event)


def peek() -> Event | None:
    """Return the open event that the caller runs in, aborted or not, or None."""
    event = _current.get()
    return None if event is None or event.closed else event


def current() -> Event | None:
    """Return the open event that the caller runs in, or None.

    Raises:
        宿主中止: the event was aborted before.
    """
    event = _current.get()
    if event is None:
        return None
    if event.aborted is not None:
        raise event.aborted
    return None if event.closed else event


def kind_told() -> str:
    """Tell, in English, in which event the caller runs."""
    event = _current.get()
    if event is None:
        return "outside of any event"
    return f"after its {event.kind} event ended" if event.closed else f"in a {event.kind} event"


def open_event() -> Event:
    """Return the open event that the caller runs in.

    Raises:
        豫言异常: there is none.
        宿主中止: the event was aborted before.
    """
    event = current()
    if event is None:
        raise 豫言异常("当前没有入站事件")
    return event


def 读取入站事件种类() -> Kind:
    """Return the kind of the current event (读取入站事件种类, 网页入站).

    Raises:
        豫言异常: no event is open in the calling task.
        宿主中止: the event was aborted before.
    """
    return open_event().kind


event_kind = 读取入站事件种类


def current_instance() -> Any:
    """Return the instance of the Worker or DurableObject class that the current event entered.

    It has the platform's `ctx` and `env`, and whatever its own class gives it. In a transaction's handler it
    is the object that the transaction belongs to.

    Raises:
        豫言异常: no event is open in the calling task.
        宿主中止: the event was aborted before.
    """
    return open_event().instance


def wait_until(awaitable: Awaitable[Any]) -> None:
    """Keep the current event open until `awaitable` has ended, past the end of its handler.

    The event's time limit counts on: when it passes, what is still waited for is cancelled. An error that
    the awaitable raises does not fail the event; it is logged, that of a task or a future only if nobody
    else awaits it: the handler may still do so.

    Args:
        awaitable: a coroutine, a task, a future or any other object that can be awaited; what is neither a
            task nor a future is started as a task of the event.

    Raises:
        TypeError: `awaitable` cannot be awaited.
        豫言异常: no event is open in the calling task.
        宿主中止: the event was aborted before.
    """
    if not isawaitable(awaitable):
        raise TypeError(f"awaitable must be awaitable, not {type(awaitable).__name__}")
    event = open_event()
    if not asyncio.isfuture(awaitable):
        awaitable = _watched(event, awaitable)
    event.hold(asyncio.ensure_future(awaitable))


async def _watched(event: Event, awaitable: Awaitable[Any]) -> None:
    try:
        await awaitable
    except (SystemExit, KeyboardInterrupt) as error:
        # Either would end the whole runtime if it escaped.
        event.abort(f"事件等待的任务要求退出：{reason(error)}", error)
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        event.log_failure(error)


async def sleep(delay_ms: float) -> None:
    """Wait, at the longest until the current event closes.

    Unlike asyncio.sleep it leaves no timer behind when it is cancelled: a pending timer keeps a Durable
    Object in memory, and billed.

    Args:
        delay_ms: milliseconds; what is longer than an event can be open, 900000, is taken as that.

    Raises:
        豫言异常: no event is open in the calling task.
        宿主中止: the event was aborted before, or while waiting.
    """
    event = open_event()
    await event.sleep(min(delay_ms, MAX_LIMIT_MS))  # no event is open for longer
    if event.aborted is not None:
        raise event.aborted
