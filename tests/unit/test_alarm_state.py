"""The alarm's states and transitions, as tables: no platform, no clock."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from yungong import alarm_state
from yungong.alarm_state import MAX_PLATFORM_MS, Armed, Deleted, Retrying, Running

if TYPE_CHECKING:
    from yungong.alarm_state import State

NOW_MS = 1_800_000_000_000
LATER_MS = 1_900_000_000_000
HERE, THERE = "this instance", "another instance"

ARMED = Armed(0, NOW_MS + 1, miscounted=False)
MISCOUNTED = replace(ARMED, miscounted=True)
EXACT = Armed(LATER_MS, LATER_MS, miscounted=True)
RUNNING = Running(2, 1, HERE)
RETRYING = Retrying(3, 1, NOW_MS)
DELETED = Deleted()
STATES: list[State] = [None, ARMED, MISCOUNTED, EXACT, RUNNING, RETRYING, DELETED]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("exact_ms", "platform_ms"),
    [
        (0, NOW_MS + 1),
        (NOW_MS, NOW_MS + 1),
        (NOW_MS + 1, NOW_MS + 1),
        (LATER_MS, LATER_MS),
        (MAX_PLATFORM_MS + 1, MAX_PLATFORM_MS),
    ],
)
def test_setting_replaces_whatever_there_was_by_an_exact_time(
    state: State, exact_ms: int, platform_ms: int
) -> None:
    """What was retried, or may have been, may be counted for it."""
    miscounted = state not in (None, ARMED)
    for fired_ms in (None, NOW_MS):
        armed = alarm_state.set_to(state, exact_ms, NOW_MS, fired_ms)
        assert armed == Armed(exact_ms, platform_ms, miscounted)


def test_the_very_time_that_fires_is_set_as_another_one() -> None:
    """It fired a little early; the platform would take it for the alarm that it has done with."""
    armed = alarm_state.set_to(RUNNING, NOW_MS + 3, NOW_MS, NOW_MS + 3)
    assert armed == Armed(NOW_MS + 3, NOW_MS + 4, miscounted=True)
    assert alarm_state.shown(armed, NOW_MS + 4, NOW_MS) == NOW_MS + 3
    last = alarm_state.set_to(None, MAX_PLATFORM_MS, MAX_PLATFORM_MS - 1, MAX_PLATFORM_MS)
    assert last.platform_ms == MAX_PLATFORM_MS


@pytest.mark.parametrize(
    ("state", "says_all"),
    [
        (Armed(LATER_MS, LATER_MS, miscounted=False), True),
        (Armed(LATER_MS, LATER_MS, miscounted=True), False),
        (Armed(LATER_MS, LATER_MS + 1, miscounted=False), False),
        (Armed(NOW_MS + 999, NOW_MS + 999, miscounted=False), False),
        (Armed(NOW_MS + 1000, NOW_MS + 1000, miscounted=False), True),
    ],
)
def test_a_note_is_left_out_where_the_platform_s_time_says_it_all(state: Armed, says_all: bool) -> None:
    assert alarm_state.noted(state, NOW_MS) == (None if says_all else state)


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (None, None),
        (ARMED, None),
        (MISCOUNTED, DELETED),
        (RUNNING, RUNNING),
        (RETRYING, DELETED),
        (DELETED, DELETED),
    ],
)
def test_deleting_ends_an_alarm_and_a_pending_retry_but_not_the_handler_that_runs(
    state: State, after: State
) -> None:
    assert alarm_state.deleted(state) == after


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (None, None),
        (ARMED, None),
        (MISCOUNTED, DELETED),
        (RUNNING, DELETED),
        (RETRYING, DELETED),
        (DELETED, DELETED),
    ],
)
def test_clearing_ends_an_alarm_and_its_retries(state: State, after: State) -> None:
    assert alarm_state.cleared(state) == after


@pytest.mark.parametrize(
    ("state", "retries"),
    [(None, 4), (ARMED, 0), (MISCOUNTED, 0), (RUNNING, 3), (RETRYING, 3), (DELETED, 0)],
)
def test_a_firing_counts_what_is_known_and_the_platform_s_count_where_nothing_is(
    state: State, retries: int
) -> None:
    assert alarm_state.fires(state, 4, THERE) == Running(retries, 4, THERE)


@pytest.mark.parametrize(
    ("state", "scheduled_ms", "now_ms", "postponed"),
    [
        (Armed(MAX_PLATFORM_MS + 5, MAX_PLATFORM_MS, miscounted=False), MAX_PLATFORM_MS, LATER_MS, True),
        (
            Armed(MAX_PLATFORM_MS + 5, MAX_PLATFORM_MS, miscounted=False),
            MAX_PLATFORM_MS,
            MAX_PLATFORM_MS + 5,
            False,
        ),
        (Armed(MAX_PLATFORM_MS + 5, MAX_PLATFORM_MS, miscounted=False), LATER_MS, LATER_MS, False),
        (Armed(LATER_MS, LATER_MS, miscounted=False), LATER_MS, LATER_MS - 3, False),
        (ARMED, NOW_MS + 1, NOW_MS - 5, False),
        (None, LATER_MS, NOW_MS, False),
        (RETRYING, LATER_MS, NOW_MS, False),
    ],
)
def test_a_firing_is_put_off_only_for_a_time_that_the_platform_cannot_hold(
    state: State, scheduled_ms: int, now_ms: int, postponed: bool
) -> None:
    assert alarm_state.postponed(state, scheduled_ms, now_ms) is postponed


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (None, None),
        (ARMED, ARMED),
        (MISCOUNTED, ARMED),
        (EXACT, None),
        (RUNNING, None),
        (RETRYING, None),
        (DELETED, None),
    ],
)
def test_a_handler_that_ends_well_leaves_only_what_was_set_meanwhile(state: State, after: State) -> None:
    assert alarm_state.ended_well(state) == after


@pytest.mark.parametrize("state", STATES)
def test_a_handler_that_fails_is_retried_unless_its_alarm_was_replaced_or_deleted(state: State) -> None:
    assert alarm_state.failed(state, LATER_MS) == (
        Retrying(3, 1, LATER_MS) if isinstance(state, Running) else state
    )


@pytest.mark.parametrize("state", STATES)
def test_a_handler_whose_instance_is_lost_has_failed(state: State) -> None:
    lost = Retrying(3, 1, LATER_MS) if isinstance(state, Running) else state
    assert alarm_state.instance_lost(state, THERE, LATER_MS) == lost
    assert alarm_state.instance_lost(state, HERE, LATER_MS) == state


@pytest.mark.parametrize(
    ("state", "platform_ms", "now_ms", "time_ms"),
    [
        (None, None, NOW_MS, None),
        (None, LATER_MS, NOW_MS, LATER_MS),
        (ARMED, NOW_MS + 1, NOW_MS, 0),
        (ARMED, NOW_MS + 1000, NOW_MS, 0),  # the platform took its own now
        (ARMED, NOW_MS + 1001, NOW_MS, NOW_MS + 1001),  # set past the package
        (ARMED, NOW_MS, NOW_MS, NOW_MS),
        (ARMED, None, NOW_MS, None),
        (RUNNING, None, NOW_MS, None),
        (RUNNING, LATER_MS, NOW_MS, LATER_MS),
        (DELETED, None, NOW_MS, None),
        (DELETED, LATER_MS, NOW_MS, LATER_MS),
        # A retry that is pending: the platform tells the firing that failed, or the retry's own time.
        (RETRYING, NOW_MS - 1, NOW_MS, NOW_MS + 4000),
        (RETRYING, NOW_MS + 999, NOW_MS, NOW_MS + 4000),  # it fired a little before its time
        (RETRYING, NOW_MS + 3999, NOW_MS, NOW_MS + 3999),
        (RETRYING, NOW_MS + 4321, NOW_MS + 4322, NOW_MS + 4321),
        # The platform has not taken note of the failure yet, or has given the alarm up.
        (RETRYING, None, NOW_MS, NOW_MS + 4000),
        (replace(RETRYING, retries=7), None, NOW_MS, NOW_MS + 4000),
        (replace(RETRYING, platform_retries=5), None, NOW_MS, NOW_MS + 64_000),
        (replace(RETRYING, platform_retries=6), None, NOW_MS, None),
        # The retry was begun by the platform, and waits for a transaction; or the alarm is long gone.
        (RETRYING, None, NOW_MS + 5000 + 30_999, NOW_MS + 4000),
        (RETRYING, None, NOW_MS + 5000 + 31_000, None),
    ],
)
def test_what_an_application_reads(
    state: State, platform_ms: int | None, now_ms: int, time_ms: int | None
) -> None:
    assert alarm_state.shown(state, platform_ms, now_ms) == time_ms


@pytest.mark.parametrize(
    ("state", "platform_ms", "time_ms"),
    [
        (None, None, NOW_MS - 1),
        (ARMED, None, 0),
        (None, LATER_MS, LATER_MS),  # set since
        (RETRYING, None, NOW_MS + 4000),
        (replace(RETRYING, failed_ms=NOW_MS - 99_000), None, NOW_MS - 95_000),  # much too late
        (replace(RETRYING, platform_retries=6), None, NOW_MS + 128_000),
        (RUNNING, None, NOW_MS - 1),
        (DELETED, None, NOW_MS - 1),  # set past the package since
    ],
)
def test_an_alarm_whose_firing_waits_is_still_set(
    state: State, platform_ms: int | None, time_ms: int | None
) -> None:
    assert alarm_state.shown(state, platform_ms, NOW_MS, NOW_MS - 1) == time_ms


def test_the_platform_waits_twice_as_long_with_each_retry() -> None:
    waits = [Retrying(7, count, NOW_MS).retry_ms - NOW_MS for count in range(6)]
    assert waits == [2000, 4000, 8000, 16_000, 32_000, 64_000]
