"""Times and delays: datetimes and timedeltas on Python's side, milliseconds and seconds on the other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_SECOND = timedelta(seconds=1)


def at_ms(time_ms: int) -> datetime:
    """Return Unix milliseconds as an aware datetime, in UTC.

    Raises:
        OverflowError: the time is beyond the year 9999.
    """
    return _EPOCH + timedelta(milliseconds=time_ms)


def unix_ms(when: datetime) -> int:
    """Return the Unix milliseconds of an aware datetime: the first that is not earlier.

    Raises:
        ValueError: `when` has no time zone.
    """
    if when.utcoffset() is None:
        raise ValueError(f"{when!r} has no time zone; write when.astimezone() or when.replace(tzinfo=UTC)")
    return -((_EPOCH - when) // _MILLISECOND)


def whole_ms(duration: timedelta) -> int:
    """Return the milliseconds of a duration, a part of one counting as one."""
    return -(-duration // _MILLISECOND)


def delay_seconds(delay: int | timedelta) -> int:
    """Return a delay in seconds, a part of one counting as one, in a negative one too.

    Raises:
        TypeError: `delay` is neither an int nor a timedelta.
    """
    if type(delay) is int:
        return delay
    if isinstance(delay, timedelta):
        return delay // _SECOND if delay < timedelta() else -(-delay // _SECOND)
    raise TypeError(f"delay must be an int, in seconds, or a timedelta, not {type(delay).__name__}")
