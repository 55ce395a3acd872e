"""The current Durable Object's one alarm, with Python's times (持久告警)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple, cast

from .. import alarm as texts
from .. import platform
from ..events import open_event
from . import times


class Firing(NamedTuple):
    """An alarm that fires: what a handler registered with `app.durable_alarm` gets."""

    retry_count: int
    """How often the platform has retried it: 0 at its first firing (读取告警重试次数)."""
    scheduled_time: datetime
    """When the platform meant to fire it, in UTC; at its retries, when it meant to fire it first."""


async def get() -> datetime | None:
    """Return the time of the alarm, in UTC, or None where none is set (读取持久告警).

    Raises:
        OverflowError: it is beyond the year 9999, which no datetime is: `get_ms` tells it.
    """
    time_ms = await get_ms()
    if time_ms is None:
        return None
    try:
        return times.at_ms(time_ms)
    except OverflowError:
        raise OverflowError(
            f"the alarm's time, {time_ms} ms, is beyond the year 9999; alarm.get_ms() returns it"
        ) from None


async def get_ms() -> int | None:
    """Return the time of the alarm in Unix milliseconds, or None where none is set (读取持久告警)."""
    is_set, time_ms = await texts.读取持久告警()
    return time_ms if is_set else None


async def set(when: datetime | timedelta | int) -> None:
    """Set the alarm, replacing the one that is set (设置持久告警).

    Args:
        when: an aware datetime, a timedelta from now, or Unix milliseconds, 0 to 8640000000000000. A part of
            a millisecond counts as one: the alarm is never early.

    Raises:
        TypeError: `when` is none of these.
        ValueError: a datetime without a time zone.
        豫言异常: as 设置持久告警. The alarm is unchanged, in every case.
    """
    if isinstance(when, datetime):
        when = times.unix_ms(when)
    elif isinstance(when, timedelta):
        when = platform.now_ms() + times.whole_ms(when)
    elif type(when) is not int:
        raise TypeError(
            "when must be an aware datetime, a timedelta or an int, in Unix milliseconds, not"
            f" {type(when).__name__}"
        )
    await texts.设置持久告警(when)


async def delete() -> None:
    """Delete the alarm; where none is set nothing happens (删除持久告警)."""
    await texts.删除持久告警()


def firing() -> Firing:
    """Return the alarm that the current event is."""
    event = cast("texts.AlarmEvent", open_event())
    return Firing(event.retries, times.at_ms(event.scheduled_ms))
