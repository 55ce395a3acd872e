"""持久告警 (durable alarm) 0.1.0: the one alarm of the current Durable Object.

An object has at most one alarm, an absolute time in Unix milliseconds. It fires at that time or later, at
least once, as a `durable-alarm` event; a handler that fails is retried by the platform. While a handler
runs, its alarm is already cleared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from . import alarm_state, platform
from .arguments import require_int
from .durable import DurableEvent, check_open, durable_event, pass_gate
from .errors import 豫言异常
from .events import peek

if TYPE_CHECKING:
    from types import TracebackType

    from js import AlarmInfo, AlarmTarget

    from .alarm_note import AlarmNote
    from .app import App
    from .durable import Durable
    from .execution import Execution

__all__ = [
    "alarm_retry_count",
    "delete_alarm",
    "get_alarm",
    "set_alarm",
    "删除持久告警",
    "设置持久告警",
    "读取告警重试次数",
    "读取持久告警",
]

MAX_TIME_MS = 8_640_000_000_000_000
ALARM_STORAGE = "持久告警存储故障"


class AlarmEvent(DurableEvent):
    """The event of an alarm that fires: how often it was retried, and when the platform meant to fire it."""

    __slots__ = ("retries", "scheduled_ms")

    def __init__(
        self,
        app: App,
        environment: platform.Environment,
        execution: Execution,
        durable: Durable,
        retries: int,
        scheduled_ms: int,
    ) -> None:
        super().__init__("durable-alarm", app, environment, execution, durable)
        self.retries = retries
        self.scheduled_ms = scheduled_ms


async def 读取持久告警() -> tuple[bool, int]:
    """Read the object's alarm (持久告警, 函数).

    Returns:
        Whether an alarm is set, and its time in Unix milliseconds, exactly as it was set; (False, 0)
        where none is. While a retry is pending the alarm is set, and its time is the retry's: the
        platform's where it tells one that is still to come, else the earliest that its back-off allows, 2
        seconds after the failure and twice as long with each retry. The retry may come a quarter of that
        later.

    Raises:
        豫言异常: 当前事件不属于持久对象; or the transaction that the caller runs in was rolled back.
        宿主中止: the storage failed.
    """
    event = durable_event()
    if not event.in_transaction and not event.durable.gate.open:
        await pass_gate(event)
    target = event.alarm_target()
    note = event.durable.alarm_note
    try:
        state = note.read()  # another task may change it while the platform is asked
        platform_ms = await platform.get_alarm(target)
    except platform.ERRORS as error:
        _fail(event, error)
    times_ms = (firing.scheduled_ms for firing in note.waiting)
    waiting_ms = next((time_ms for time_ms in times_ms if not note.has_deleted(time_ms)), None)
    time_ms = alarm_state.shown(state, platform_ms, platform.now_ms(), waiting_ms)
    return (False, 0) if time_ms is None else (True, time_ms)


async def 设置持久告警(time_ms: int) -> None:
    """Set the object's alarm, replacing the one it has and a retry that is pending (持久告警, 函数).

    In a transaction's handler the change commits or rolls back with the transaction.

    Args:
        time_ms: Unix milliseconds, 0 to 8640000000000000; a past time fires as soon as the platform can.

    Raises:
        TypeError: `time_ms` is not an int.
        豫言异常: 当前事件不属于持久对象; 持久告警时刻须在 0 至 8640000000000000 之间; or the transaction
            that the caller runs in was rolled back. The alarm is unchanged.
        宿主中止: the storage failed.
    """
    require_int("time_ms (持久告警时刻)", time_ms)
    event = durable_event()
    if not 0 <= time_ms <= MAX_TIME_MS:
        raise 豫言异常(f"持久告警时刻须在 0 至 {MAX_TIME_MS} 之间")
    note = event.durable.alarm_note
    try:
        if event.in_transaction:
            target = event.alarm_target()
            event.note_alarm_change()
            await _arm(note, target, time_ms)
        else:
            async with event.durable.gate:
                check_open(event)
                await _arm(note, event.alarm_target(), time_ms)
    except platform.ERRORS as error:
        _fail(event, error)


async def 删除持久告警() -> None:
    """Delete the object's alarm; where none is set nothing happens (持久告警, 函数).

    In the handler of an alarm that alarm is cleared already: deleting it changes nothing, and its retries
    stay, should the handler fail. One that was set in the handler has replaced it together with its retries,
    and is deleted for good: the platform gives up an alarm's retries when another is set, and to bring them
    back the package would have to imitate their times and their number.
    In a transaction's handler the change commits or rolls back with the transaction.

    Raises:
        豫言异常: 当前事件不属于持久对象; or the transaction that the caller runs in was rolled back.
        宿主中止: the storage failed.
    """
    event = durable_event()
    try:
        if event.in_transaction:
            await _delete(event)
        else:
            async with event.durable.gate:
                await _delete(event)
    except platform.ERRORS as error:
        _fail(event, error)


def 读取告警重试次数() -> int:
    """Return how often the platform has retried the current alarm (持久告警, 函数). It never fails.

    Returns:
        0 at an alarm's first firing, 1 at its first retry, and so on, also where the object or its server
        was lost meanwhile; 0 in any other event, in a transaction, in a closed event and outside of one.
    """
    event = peek()
    return event.retries if isinstance(event, AlarmEvent) else 0


get_alarm = 读取持久告警
set_alarm = 设置持久告警
delete_alarm = 删除持久告警
alarm_retry_count = 读取告警重试次数


class Firing:
    """A firing of the object's alarm, from its start to its end.

    As a context manager it gives the retry count for the application, or None when the application must not
    notice: the alarm was deleted while this was on its way, one that was set since has replaced it, or the
    exact time is still to come and the alarm is armed again. Leaving it with an error says that the handler
    failed.
    """

    __slots__ = ("_durable", "_platform_retries", "_retries", "scheduled_ms")

    def __init__(self, durable: Durable, info: AlarmInfo) -> None:
        self._durable = durable
        self.scheduled_ms, self._platform_retries = platform.alarm_info(info)

    async def __aenter__(self) -> int | None:
        self._retries = None
        note = self._durable.alarm_note
        note.fired_ms = self.scheduled_ms
        note.waiting.add(self)
        try:
            async with self._durable.gate:  # a transaction that ends may be about to restore the alarm
                self._retries = await self._begin()
        finally:
            note.waiting.discard(self)
        return self._retries

    async def _begin(self) -> int | None:
        note, target = self._durable.alarm_note, self._durable.storage.alarms
        armed_ms = await platform.get_alarm(target)
        state = note.read()
        is_deleted = armed_ms is None and note.has_deleted(self.scheduled_ms)
        if is_deleted or armed_ms not in (None, self.scheduled_ms):
            return None
        if isinstance(state, alarm_state.Armed) and alarm_state.postponed(
            state, self.scheduled_ms, platform.now_ms()
        ):
            await _arm(note, target, state.exact_ms)
            return None
        running = alarm_state.fires(state, self._platform_retries, note.instance)
        note.failing = False
        note.write(running)
        return running.retries

    async def __aexit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._retries is None:
            return
        note = self._durable.alarm_note
        note.failing = error is not None
        async with self._durable.gate:  # the note is no part of a transaction that still runs
            state = note.read()
            note.failing = False
            note.write(state if error is not None else alarm_state.ended_well(state))


def _fail(event: DurableEvent, error: BaseException) -> NoReturn:
    check_open(event)  # that a transaction is over already is no failure of the storage
    event.fault(ALARM_STORAGE, error)


async def restore(durable: Durable) -> None:
    """Set the alarm again after a transaction that changed it and was rolled back; the caller has the gate.

    The platform's alarm is what it was before, but one that fell due meanwhile may never fire by itself. If
    it does, that firing is passed over for the alarm set here.
    A pending retry is left alone: it fires, and setting it would count as a new alarm.
    """
    target, note = durable.storage.alarms, durable.alarm_note
    platform_ms = await platform.get_alarm(target)
    state = note.read()
    if platform_ms is None or isinstance(state, alarm_state.Retrying | alarm_state.Running):
        return
    exact_ms = state.exact_ms if alarm_state.is_held(state, platform_ms) else platform_ms
    deletion = target.deleteAlarm()  # setting the very time that it holds changes nothing
    await _arm(note, target, exact_ms)
    await platform.awaitable(deletion)


async def _arm(note: AlarmNote, target: AlarmTarget, exact_ms: int) -> None:
    """Set the platform's alarm and the note in one step: nothing may be awaited between them."""
    now_ms = platform.now_ms()
    armed = alarm_state.set_to(note.read(), exact_ms, now_ms, note.fired_ms)
    note.deleted_ms = None
    setting = platform.awaitable(target.setAlarm(armed.platform_ms))
    note.write(alarm_state.noted(armed, now_ms))
    await setting
    # Where the platform's clock had passed that time already, it took its own now: the note follows, unless
    # the alarm was changed meanwhile, or the note went back with the caller's transaction.
    if alarm_state.is_near(armed, now_ms) and note.holds(armed):
        taken_ms = await platform.get_alarm(target)
        if taken_ms is not None and taken_ms > armed.platform_ms and note.holds(armed):
            note.write(replace(armed, platform_ms=taken_ms))


async def _delete(event: DurableEvent) -> None:
    note = event.durable.alarm_note
    check_open(event)
    if isinstance(note.read(), alarm_state.Running):
        if await platform.get_alarm(event.alarm_target()) is None:
            return  # it is cleared already, and deleting it would give up its retries too
        check_open(event)
    target = event.alarm_target()
    event.note_alarm_change()
    deletion = target.deleteAlarm()
    note.deleted_ms = platform.now_ms()
    note.write(alarm_state.deleted(note.read()))
    await platform.awaitable(deletion)
