"""持久告警 (durable alarm) 0.1.0: the one alarm of the current Durable Object.

An object has at most one alarm, an absolute time in Unix milliseconds. It fires at that time or later, at
least once, as a `durable-alarm` event; a handler that fails is retried by the platform. While a handler
runs, its alarm is already cleared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from . import platform
from .alarm_record import AlarmRecord
from .arguments import require_int
from .durable import NOT_DURABLE, check_open, pass_gate
from .errors import 豫言异常
from .events import current, peek

if TYPE_CHECKING:
    from collections.abc import Callable

    from js import AlarmTarget

    from .durable import Durable
    from .events import DurableEvent

MAX_TIME_MS = 8_640_000_000_000_000
ALARM_STORAGE = "持久告警存储故障"

# The platform turns a past time into now: what is nearer than this may be past when it gets there.
_NEAR_MS = 1000


async def 读取持久告警() -> tuple[bool, int]:
    """Read the object's alarm (持久告警, 函数).

    Returns:
        Whether an alarm is set, and its time in Unix milliseconds, exactly as it was set; (False, 0)
        where none is. While a retry is pending the alarm is set, and its time is what the platform tells:
        that of the firing which failed, for the retry's is known to nobody else.

    Raises:
        豫言异常: 当前事件不属于持久对象; or the transaction that the caller runs in was rolled back.
        宿主中止: the storage failed.
    """
    event = _durable_event()
    if _must_wait(event):
        await pass_gate(event)
    target = _target(event)
    record = event.durable.alarm_records.read()
    try:
        platform_ms = await platform.get_alarm(target)
    except platform.ERRORS as error:
        event.fault(ALARM_STORAGE, error)
    if platform_ms is None:
        return False, 0
    if record is not None and record.exact_ms is not None and record.platform_ms == platform_ms:
        return True, record.exact_ms
    return True, platform_ms


async def 设置持久告警(time_ms: int) -> None:
    """Set the object's alarm, replacing the one it has (持久告警, 函数).

    In a transaction's handler the change commits or rolls back with the transaction.

    Args:
        time_ms: Unix milliseconds, 0 to 8640000000000000; a past time fires as soon as the platform can.

    Raises:
        TypeError: `time_ms` is not an int.
        豫言异常: 当前事件不属于持久对象; 持久告警时刻须在 0 至 8640000000000000 之间; or the transaction
            that the caller runs in was rolled back. The alarm is unchanged.
        宿主中止: the storage failed.
    """
    require_int("持久告警时刻", time_ms)
    event = _durable_event()
    if not 0 <= time_ms <= MAX_TIME_MS:
        raise 豫言异常(f"持久告警时刻须在 0 至 {MAX_TIME_MS} 之间")
    if _must_wait(event):
        await pass_gate(event)
    durable, transaction, target = event.durable, event.transaction, _target(event)
    try:
        if transaction is None:
            await _arm(durable, target, time_ms, lambda: not durable.gate.taken)
        else:
            transaction.changed_alarm = True
            await _arm(durable, target, time_ms, lambda: not (event.closed or transaction.rolled_back))
    except platform.ERRORS as error:
        event.fault(ALARM_STORAGE, error)


async def 删除持久告警() -> None:
    """Delete the object's alarm; where none is set nothing happens (持久告警, 函数).

    In the handler of an alarm its retries stay, should it fail; but one that was set there has replaced it,
    and is deleted for good.
    In a transaction's handler the change commits or rolls back with the transaction.

    Raises:
        豫言异常: 当前事件不属于持久对象; or the transaction that the caller runs in was rolled back.
        宿主中止: the storage failed.
    """
    event = _durable_event()
    durable = event.durable
    if _must_wait(event):
        await pass_gate(event)
    target = _target(event)
    try:
        if durable.alarm_fires:
            # The alarm that fires is cleared already, but deleting it would give up its retries too.
            if await platform.get_alarm(target) is None:
                return
            if _must_wait(event):
                await pass_gate(event)
            else:
                check_open(event)
            target = _target(event)
        if event.transaction is not None:
            event.transaction.changed_alarm = True
        deletion = target.deleteAlarm()
        _keep_only_retries(durable)
        await platform.settled(deletion)
    except platform.ERRORS as error:
        event.fault(ALARM_STORAGE, error)


def 读取告警重试次数() -> int:
    """Return how often the platform has retried the current alarm (持久告警, 函数). It never fails.

    Returns:
        0 at an alarm's first firing, 1 at its first retry, and so on; 0 in any other event, in a
        transaction, in a closed event and outside of one.
    """
    event = peek()
    return 0 if event is None else event.alarm_retries


get_alarm = 读取持久告警
set_alarm = 设置持久告警
delete_alarm = 删除持久告警
alarm_retry_count = 读取告警重试次数


async def begin_firing(durable: Durable, scheduled_ms: int, platform_retries: int) -> int | None:
    """Take note that the platform fires the alarm; called before the application's handler.

    Returns:
        The retry count for the application, or None when the application must not notice: the exact time is
        still to come and the alarm is armed again, or an alarm that was set since has replaced this one.
    """
    # A transaction that ends may be about to restore the alarm. Those that wait come after the firing.
    await durable.gate.enter(next_in_line=True)
    try:
        return await _begin_firing(durable, scheduled_ms, platform_retries)
    finally:
        durable.gate.leave()


async def _begin_firing(durable: Durable, scheduled_ms: int, platform_retries: int) -> int | None:
    armed_ms = await platform.get_alarm(durable.storage.alarms)
    if armed_ms is not None and armed_ms != scheduled_ms:
        return None
    record = durable.alarm_records.read()
    if record is None:
        return platform_retries
    if record.exact_ms is None:
        prior_retries = record.prior_retries or 0
        if prior_retries > platform_retries:  # the platform has started to count anew
            prior_retries = 0
        retries = platform_retries - prior_retries
    elif record.platform_ms == scheduled_ms < record.exact_ms and record.exact_ms > platform.now_ms():
        await _arm(durable, durable.storage.alarms, record.exact_ms, lambda: True)
        return None
    elif record.platform_ms == scheduled_ms or platform_retries == 0:
        # What the platform has counted until now was not this alarm's.
        prior_retries, retries = platform_retries, 0
    else:
        # The slot of a retry that this alarm replaced. If this firing fails, the platform fires the alarm
        # itself next, and starts to count at 0 what is its first retry.
        prior_retries, retries = -1, 0
    durable.alarm_records.write(AlarmRecord(None, None, prior_retries) if prior_retries else None)
    return retries


async def end_firing(durable: Durable, *, failed: bool) -> None:
    """Take note how the alarm's handler ended: after a failure a retry is pending, unless replaced."""
    records = durable.alarm_records
    async with durable.gate:  # nobody sets an alarm between the question and the note
        if not failed:
            record = records.read()
            if record is not None and record.exact_ms is None:
                records.write(None)
        elif await platform.get_alarm(durable.storage.alarms) is None:
            record = records.read()
            prior_retries = record.prior_retries if record is not None else None
            records.write(AlarmRecord(None, None, prior_retries or 0))


async def restore(durable: Durable) -> None:
    """Set the alarm again after a transaction that changed it and was rolled back; the caller has the gate.

    The platform's alarm is what it was before, but one that fell due meanwhile may never fire by itself. If
    it does, that firing is passed over for the alarm set here.
    A pending retry is left alone: it fires, and setting it would count as a new alarm.
    """
    target = durable.storage.alarms
    platform_ms = await platform.get_alarm(target)
    if platform_ms is None:
        return
    record = durable.alarm_records.read()
    exact_ms = platform_ms
    if record is not None:
        if record.exact_ms is None:
            return
        if record.platform_ms == platform_ms:
            exact_ms = record.exact_ms
    deletion = target.deleteAlarm()  # setting the very time that it holds changes nothing
    await _arm(durable, target, exact_ms, lambda: True)
    await platform.settled(deletion)


async def _arm(durable: Durable, target: AlarmTarget, exact_ms: int, may_write: Callable[[], bool]) -> None:
    """Set the platform's alarm and the record in one step: nothing may be awaited between them.

    `may_write` tells whether the record may still be written after an await: it must not slip into another
    transaction, nor past the end of its own.
    """
    now_ms = platform.now_ms()
    # The platform drops or delays an alarm at or before now that is set while another one fires.
    platform_ms = min(max(exact_ms, now_ms + 1), platform.MAX_ALARM_MS)
    setting = platform.settled(target.setAlarm(platform_ms))
    records = durable.alarm_records
    record = records.read()
    prior_retries = None if record is None else record.prior_retries
    is_near = exact_ms < now_ms + _NEAR_MS
    if is_near or platform_ms != exact_ms or prior_retries is not None:
        records.write(AlarmRecord(platform_ms, exact_ms, prior_retries))
    else:
        records.write(None)
    await setting
    if is_near and may_write():
        # Where the platform's clock had passed that time already, it took its own now: the record follows.
        taken_ms = await platform.get_alarm(target)
        record = records.read() if may_write() else None
        if taken_ms is not None and record is not None and record.platform_ms == platform_ms < taken_ms:
            records.write(record._replace(platform_ms=taken_ms))


def _keep_only_retries(durable: Durable) -> None:
    record = durable.alarm_records.read()
    if record is not None and record.exact_ms is not None:
        prior_retries = record.prior_retries
        durable.alarm_records.write(None if prior_retries is None else AlarmRecord(None, None, prior_retries))


def _durable_event() -> DurableEvent:
    event = current()
    if event is None or event.durable is None:
        raise 豫言异常(NOT_DURABLE)
    return cast("DurableEvent", event)


def _must_wait(event: DurableEvent) -> bool:
    return event.transaction is None and not event.durable.gate.open


def _target(event: DurableEvent) -> AlarmTarget:
    if event.transaction is None:
        return event.durable.storage.alarms
    event.transaction.check_usable()
    return event.transaction.raw
