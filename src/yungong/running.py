"""Running a handler under its event's time limit.

The handler runs in a task of its own, started at once: one that never waits has ended before any timer is
set or any turn of the event loop is taken. When the limit passes, the event is aborted and has failed; the
handler is cancelled, and one that swallows its cancellation gets no further, because every later call is
refused.
"""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from inspect import isawaitable
from time import monotonic
from typing import TYPE_CHECKING, Any

from . import events, platform
from .errors import reason

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context


# Where no frame of an application's comes from: this package, and the standard library.
_NO_APPLICATION = tuple(
    file.rpartition("/")[0] + "/" for file in (__file__, asyncio.__file__.rpartition("/")[0])
)


class Run:
    """One handler's run: ended when `finished` is true, and then with `error` or `value`."""

    __slots__ = ("_body", "_event", "_limit_ms", "_notify", "_task", "error", "finished", "value")

    def __init__(
        self,
        event: events.Event,
        handler: Callable[..., Any],
        arguments: tuple[Any, ...],
        limit_ms: float,
        notify: Callable[[Run], None],
        context: Context,
        began_s: float | None = None,
    ) -> None:
        """Start `handler(*arguments)` in `event` and `context`; `notify` is called once, at its end.

        The limit counts from `began_s` on the monotonic clock, or from now.
        """
        self.finished = False
        self.value: Any = None
        self.error: BaseException | None = None
        self._event = event
        self._limit_ms = limit_ms
        self._notify = notify
        event.deadline_s = (monotonic() if began_s is None else began_s) + limit_ms / 1000
        context.run(events.enter, event)
        self._body = self._run(handler, arguments)
        self._task = start_task(self._body, context)
        if not event.closed:
            remaining_ms = max((event.deadline_s - monotonic()) * 1000, 0)  # the first step took some
            event.at_close(platform.Timer(remaining_ms, self._expire).cancel)

    def result(self) -> Any:
        """Return what the handler returned, or raise what it raised; the run must have ended."""
        if self.error is not None:
            raise self.error
        return self.value

    async def _run(self, handler: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = handler(*arguments)
            if isawaitable(value):
                value = await value
        except (SystemExit, KeyboardInterrupt) as ending:
            # Either would end the whole runtime if it escaped.
            error = self._event.abort(f"处理入口要求退出：{reason(ending)}", ending)
        except BaseException as failure:
            error = failure
        if self.finished:  # its limit has passed, and the event has failed without it
            return
        if self._event.aborted is None and monotonic() > self._event.deadline_s:
            self._time_out(None)
        self.value, self.error = value, error
        self._finish()

    def _expire(self) -> None:
        self._time_out(_place(self._body))
        self._task.cancel()
        self._event.cancel_tasks()
        if not self.finished:
            self._finish()
        self._event.close()

    def _time_out(self, place: str | None) -> None:
        where = f"，停在 {place}" if place is not None else ""
        self._event.abort(f"{self._event.kind} 事件超过时限 {self._limit_ms:.0f} 毫秒{where}")

    def _finish(self) -> None:
        self.finished = self._event.answered = True
        if self._event.aborted is not None:
            self.error = self._event.aborted
        self._notify(self)
        self._event.leave()


def _place(body: Any) -> str | None:
    """Return where a coroutine waits: file, line and function of its innermost application frame."""
    place = None
    while body is not None:
        frame = getattr(body, "cr_frame", None)
        if frame is not None and not frame.f_code.co_filename.startswith(_NO_APPLICATION):
            code = frame.f_code
            place = f"{code.co_filename.rpartition('/')[2]}:{frame.f_lineno} {code.co_qualname}"
        body = getattr(body, "cr_await", None)
    return place


def start_task(body: Coroutine[Any, Any, None], context: Context) -> asyncio.Task[None]:
    """Start a task whose first step is taken at once, in `context`."""
    return asyncio.Task(body, loop=asyncio.get_running_loop(), context=context, eager_start=True)


async def run(event: events.Event, handler: Callable[..., Any], *arguments: Any) -> Any:
    """Run a handler to its end under the limit of its event's kind, and return what it returns.

    Raises:
        宿主中止: the event was aborted, by a call in it or by its time limit.
        BaseException: whatever the handler let escape, unchanged.
    """
    ended: asyncio.Future[None] | None = None  # most handlers never wait, and need none

    def notify(_: Run) -> None:
        if ended is not None and not ended.done():
            ended.set_result(None)

    limit_ms = event.execution.limit_ms(event.kind)
    handler_run = Run(event, handler, arguments, limit_ms, notify, copy_context())
    if not handler_run.finished:
        ended = asyncio.Future()
        await ended
    return handler_run.result()
