"""What is known of an object's alarm beyond what the platform tells, and how it changes.

The platform holds one alarm and retries it, but not as the specification has it: it refuses the time 0 and
times after the year 2262, turns a past time into now, tells the time of the firing that failed while a retry
is pending, starts to count anew when its process does, and may count the retries of an alarm for the one
that replaced it. The state of an alarm is one value that makes up for that:

    None        nothing is known: what the platform tells is right
    Armed       set for an exact time, which the platform holds as another one, or may count wrongly
    Running     its handler runs
    Retrying    the handler failed: a retry is pending
    Deleted     no alarm is set, and the next one may be counted wrongly

                set      deleted        cleared        fires      ended well   failed, instance lost
    None        Armed    None           None           Running    None         None
    Armed       Armed    None, Deleted  None, Deleted  Running    Armed, None  Armed
    Running     Armed    Running        Deleted        Running    None         Retrying
    Retrying    Armed    Deleted        Deleted        Running    None         Retrying
    Deleted     Armed    Deleted        Deleted        Running    None         Deleted

Nothing here knows a platform or a clock: every function returns the next state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeGuard

# The latest time that the platform's setAlarm takes: the end of its signed 64-bit nanoseconds, year 2262.
MAX_PLATFORM_MS = 9_223_372_036_854

# The platform turns a past time into its now: what is nearer than this may be past when it gets there.
NEAR_MS = 1000

# The platform's back-off, doubled with each retry, and the retries after which it gives up.
FIRST_WAIT_MS = 2000
PLATFORM_RETRIES = 6

# How late a retry may be: its jitter of a quarter of the wait, and a transaction that it waits for.
_JITTER = 4
_LONGEST_TRANSACTION_MS = 31_000


@dataclass(frozen=True, slots=True)
class Armed:
    """Set for `exact_ms`, given to the platform as `platform_ms`.

    `miscounted` tells whether the platform may fire it with the count of an alarm that it replaced.
    """

    exact_ms: int
    platform_ms: int
    miscounted: bool


@dataclass(frozen=True, slots=True)
class Running:
    """The handler runs in the object's instance `instance`, after `retries` retries.

    The platform's own count decides how long it waits before the next one.
    """

    retries: int
    platform_retries: int
    instance: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """The handler failed at `failed_ms`: the retry that is pending is number `retries`."""

    retries: int
    platform_retries: int
    failed_ms: int

    @property
    def retry_ms(self) -> int:
        """When the retry comes at the earliest, give or take what a turn of the platform's loop lasts."""
        return self.failed_ms + (FIRST_WAIT_MS << self.platform_retries)

    @property
    def latest_ms(self) -> int:
        """When the retry has come at the latest; the failure where the platform gives the alarm up."""
        if self.platform_retries >= PLATFORM_RETRIES:
            return self.failed_ms
        return self.retry_ms + (self.retry_ms - self.failed_ms) // _JITTER + _LONGEST_TRANSACTION_MS


@dataclass(frozen=True, slots=True)
class Deleted:
    """No alarm is set, but the platform may count on for the one that was."""


State = Armed | Running | Retrying | Deleted | None


def set_to(state: State, exact_ms: int, now_ms: int, fired_ms: int | None) -> Armed:
    """Return the state of an alarm that is set to `exact_ms` at `now_ms`.

    Args:
        state: what was known before.
        exact_ms: the time.
        now_ms: the time of the setting.
        fired_ms: the platform's time of the firing that came last, which may still run; None for none.
    """
    # The platform drops or delays an alarm at or before now that is set while another one fires, and takes
    # one that is set to the very time that fires for the one that it has done with.
    platform_ms = min(max(exact_ms + (exact_ms == fired_ms), now_ms + 1), MAX_PLATFORM_MS)
    miscounted = state.miscounted if isinstance(state, Armed) else state is not None
    return Armed(exact_ms, platform_ms, miscounted)


def is_near(state: Armed, now_ms: int) -> bool:
    """Return whether the platform may take its own now for the time that it is given."""
    return state.exact_ms < now_ms + NEAR_MS


def noted(state: Armed, now_ms: int) -> Armed | None:
    """Return what must be noted of an alarm just set: None where the platform's own time says it all."""
    says_all = state.exact_ms == state.platform_ms and not state.miscounted and not is_near(state, now_ms)
    return None if says_all else state


def deleted(state: State) -> State:
    """Return the state after a deletion; in the handler that runs the alarm is cleared already."""
    if isinstance(state, Armed) and not state.miscounted:
        return None
    return Deleted() if isinstance(state, Armed | Retrying) else state


def cleared(state: State) -> State:
    """Return the state after the store was cleared and the alarm with it, the retries of its handler too."""
    return Deleted() if isinstance(state, Running) else deleted(state)


def postponed(state: State, scheduled_ms: int, now_ms: int) -> bool:
    """Return whether a firing comes before its exact time, because the platform cannot hold that."""
    return (
        isinstance(state, Armed)
        and state.platform_ms == scheduled_ms < state.exact_ms
        and state.exact_ms > now_ms
    )


def fires(state: State, platform_retries: int, instance: str) -> Running:
    """Return the state of an alarm that fires; the platform's count stands where nothing else is known."""
    match state:
        case None:
            retries = platform_retries
        case Retrying():
            retries = state.retries
        case Running():  # its handler ended without a word
            retries = state.retries + 1
        case Armed() | Deleted():
            retries = 0
    return Running(retries, platform_retries, instance)


def ended_well(state: State) -> State:
    """Return the state after a handler that ended well: an alarm that was set meanwhile stays."""
    if not isinstance(state, Armed):
        return None
    return None if state.exact_ms == state.platform_ms else replace(state, miscounted=False)


def failed(state: State, failed_ms: int) -> State:
    """Return the state after a handler that failed: retried, unless its alarm was replaced or deleted."""
    if not isinstance(state, Running):
        return state
    return Retrying(state.retries + 1, state.platform_retries, failed_ms)


def instance_lost(state: State, instance: str, now_ms: int) -> State:
    """Return the state as a new instance of the object finds it: a handler that ran in another one failed."""
    return failed(state, now_ms) if isinstance(state, Running) and state.instance != instance else state


def is_held(state: State, platform_ms: int) -> TypeGuard[Armed]:
    """Return whether `platform_ms`, which the platform tells, stands for the exact time of `state`."""
    return isinstance(state, Armed) and 0 <= platform_ms - state.platform_ms < NEAR_MS


def shown(state: State, platform_ms: int | None, now_ms: int, waiting_ms: int | None = None) -> int | None:
    """Return the time that an application reads, or None where no alarm is set.

    Args:
        state: what is known.
        platform_ms: what the platform tells, None for no alarm.
        now_ms: the time of the reading.
        waiting_ms: the time of a firing that waits for its turn; the platform's alarm is cleared already.
    """
    if platform_ms is None:
        match state:
            # The platform has not been told of the failure yet, or the retry waits at the gate; or the alarm
            # was given up, or deleted past this package.
            case Retrying() if waiting_ms is not None or now_ms < state.latest_ms:
                return state.retry_ms
            case Armed() if waiting_ms is not None:
                return state.exact_ms
            case _:
                return waiting_ms
    if isinstance(state, Retrying):
        # The platform tells the time of the firing that failed, which may have come a little early, or that
        # of the retry, which is later than any such.
        return platform_ms if platform_ms >= state.failed_ms + NEAR_MS else state.retry_ms
    return state.exact_ms if is_held(state, platform_ms) else platform_ms
