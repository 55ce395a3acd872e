"""The probes' judges: pure functions of a measurement, seen to say each verdict."""

from typing import Any

import pytest
from verifier.probes import PROBES
from verifier.probes.alarm import FAR_MS, OTHER_MS
from verifier.probes.shape import Result
from verifier.probes.store import KEYS, MIB_2
from verifier.standins import STAND_INS

PROBE_BY_ID = {probe.id: probe for probe in PROBES}
START = 1_000_000


def firings(*times: tuple[float, int], instance: str = "i") -> dict[str, Any]:
    marks = [
        {"at_ms": START + round(seconds * 1000), "retry": retry, "label": "fire", "instance": instance}
        for seconds, retry in times
    ]
    return {"set_at_ms": START, "firings": marks}


GONE = {"package": [False, 0], "platform": None}
SEVEN = firings((0, 0), (2, 1), (6, 2), (14, 3), (30, 4), (62, 5), (126, 6))


def retries(count: int, after: Any = GONE) -> dict[str, Any]:
    firings = SEVEN["firings"][:count]
    more = {"alarm_after": after, "ended_at_ms": START + 300_000, "read_within": [[False, 0]] * count}
    return SEVEN | {"firings": firings} | more


def pending(*readings: tuple[int, list[Any]]) -> dict[str, Any]:
    seen = [{"at_ms": START + at, "package": package, "platform": START} for at, package in readings]
    return retries(3) | {"readings": seen}


def within(outside_ms: int | None, *times: tuple[float, int]) -> dict[str, Any]:
    return firings(*times) | {"outside_ms": outside_ms}


def changed(ended: str, set_to: Any, deleted_to: Any) -> dict[str, Any]:
    return {"set": {"ended": ended} | set_to, "deleted": {"ended": ended} | deleted_to}


def deliveries(*marks: tuple[str, int], **more: Any) -> dict[str, Any]:
    found = [
        {"at_ms": START + 1000 * place, "label": label, "attempts": attempts}
        for place, (label, attempts) in enumerate(marks)
    ]
    return {"sent_at_ms": START, "deliveries": found} | more


def evicted(retry: int, instance: str = "j") -> dict[str, Any]:
    first, second = firings((0, 0)), firings((2, retry), instance=instance)
    return first | {"firings": first["firings"] + second["firings"]}


BEFORE = {"package": [True, FAR_MS], "platform": FAR_MS}
AFTER = {"package": [True, OTHER_MS], "platform": OTHER_MS}
FAILED = "持久事务失败：x"
KEY = {"stored": None, "read": [True, "1"], "listed_whole": True, "deleted": True}
BY_BYTES = sorted(KEYS, key=str.encode)
BY_UTF16 = sorted(KEYS, key=lambda key: key.encode("utf-16-be"))
ACKED = deliveries(("acked", 1), ("failing", 1), ("failing", 2))

SAID: list[tuple[str, str, dict[str, Any]]] = [
    ("alarm-retry-limit", "holds", retries(7)),
    ("alarm-retry-limit", "differs", retries(6)),
    ("alarm-retry-limit", "differs", retries(7) | {"read_within": [[True, 1]] * 7}),
    ("alarm-retry-limit", "differs", retries(7, {"package": [True, 1], "platform": 1})),
    ("alarm-retry-limit", "unsettled", retries(0)),
    ("alarm-backoff", "holds", firings((0, 0), (2.4, 1), (6.5, 2), (15, 3))),
    ("alarm-backoff", "differs", firings((0, 0), (2, 1), (4, 2), (6, 3))),
    ("alarm-backoff", "differs", firings((0, 0), (20, 1))),
    ("alarm-backoff", "unsettled", firings((0, 0), (2, 1))),
    ("alarm-at-least-once", "holds", {"firings_each": [[1], [1, 2]]}),
    ("alarm-at-least-once", "differs", {"firings_each": [[1], []]}),
    ("alarm-transaction-commit", "holds", changed("committed", AFTER, GONE)),
    ("alarm-transaction-commit", "differs", changed("committed", BEFORE, GONE)),
    ("alarm-transaction-commit", "differs", changed("committed", AFTER, BEFORE)),
    ("alarm-transaction-commit", "unsettled", changed(FAILED, BEFORE, BEFORE)),
    ("alarm-transaction-rollback", "holds", changed("committed", BEFORE, BEFORE)),
    ("alarm-transaction-rollback", "differs", changed("committed", BEFORE, GONE)),
    ("alarm-transaction-exception", "holds", changed(FAILED, BEFORE, BEFORE)),
    ("alarm-transaction-exception", "differs", changed(FAILED, AFTER, BEFORE)),
    ("alarm-transaction-timeout", "holds", changed(FAILED, BEFORE, BEFORE)),
    ("alarm-transaction-timeout", "differs", changed(FAILED, BEFORE, AFTER)),
    ("alarm-transaction-timeout", "unsettled", changed("committed", BEFORE, BEFORE)),
    ("alarm-pending-retry", "holds", pending((3000, [True, START + 5500]))),
    ("alarm-pending-retry", "differs", pending((3000, [True, START + 7000]))),
    ("alarm-pending-retry", "differs", pending((3000, [True, START]))),
    ("alarm-pending-retry", "differs", pending((3000, [False, 0]))),
    ("alarm-pending-retry", "unsettled", pending((1000, [True, START]))),
    ("alarm-pending-retry", "unsettled", retries(2) | {"readings": []}),
    ("alarm-set-and-failed", "holds", firings((0, 0), (8, 0)) | {"new_ms": START + 8000}),
    ("alarm-set-and-failed", "differs", firings((0, 0), (2, 1)) | {"new_ms": START + 8000}),
    ("alarm-set-and-failed", "differs", firings((0, 0)) | {"new_ms": START + 8000}),
    ("alarm-set-and-failed", "unsettled", firings() | {"new_ms": START + 8000}),
    ("alarm-now-within-handler", "holds", within(50, (0, 0), (0.1, 0))),
    ("alarm-now-within-handler", "differs", within(50, (0, 0), (30, 0))),
    ("alarm-now-within-handler", "differs", within(50, (0, 0))),
    ("alarm-now-within-handler", "unsettled", within(None)),
    ("alarm-count-over-eviction", "holds", evicted(1)),
    ("alarm-count-over-eviction", "differs", evicted(0)),
    ("alarm-count-over-eviction", "differs", firings((0, 0))),
    ("alarm-count-over-eviction", "unsettled", evicted(1, "i")),
    *(
        (f"store-value-{form}", verdict, {"form": form, "largest": largest, "refusals": refusals})
        for form in ("ascii", "two-byte", "doubles", "minus-zero")
        for verdict, largest, refusals in (
            ("holds", MIB_2, []),
            ("differs", MIB_2 - 512, [{"message": "TOOBIG"}]),
            ("differs", None, [{"message": "TOOBIG"}]),
        )
    ),
    ("store-cell", "holds", {"largest": 8_000_000, "refusal": "TOOBIG"}),
    ("store-cell", "differs", {"largest": 2_000_000, "refusal": "TOOBIG"}),
    ("store-key-2048", "holds", {"keys": [KEY, KEY]}),
    ("store-key-2048", "differs", {"keys": [KEY, KEY | {"read": [False, ""]}]}),
    ("store-utf8-order", "holds", {"listed": BY_BYTES, "reversed": BY_BYTES[::-1]}),
    ("store-utf8-order", "differs", {"listed": BY_UTF16, "reversed": BY_UTF16[::-1]}),
    ("store-utf8-order", "differs", {"listed": BY_BYTES, "reversed": BY_BYTES}),
    ("store-utf8-order", "unsettled", {"listed": ["a"], "reversed": ["a"]}),
    ("store-clear-alarm", "holds", GONE | {"date_says": True}),
    ("store-clear-alarm", "holds", BEFORE | {"date_says": False}),
    ("store-clear-alarm", "differs", BEFORE | {"date_says": True}),
    ("store-clear-alarm", "differs", GONE | {"package": [True, FAR_MS], "date_says": True}),
    ("store-clear-alarm", "unsettled", GONE | {"date_says": None}),
    *(
        ("transaction-reset", verdict, {"begun_at_ms": START, "answer": "502"} | found)
        for verdict, found in (
            ("holds", {"seconds": 30.1, "made_anew": True, "committed": False}),
            ("differs", {"seconds": 36.0, "made_anew": False, "committed": True}),
            ("differs", {"seconds": 30.0, "made_anew": True, "committed": True}),
            ("unsettled", {"seconds": 3.0, "made_anew": True, "committed": False}),
        )
    ),
    ("queue-acked-and-failed", "holds", ACKED),
    ("queue-acked-and-failed", "holds", deliveries(("acked", 2), ("failing", 2), ("failing", 3))),
    (
        "queue-acked-and-failed",
        "differs",
        deliveries(("acked", 1), ("failing", 1), ("acked", 2), ("failing", 2)),
    ),
    ("queue-acked-and-failed", "unsettled", deliveries(("failing", 1), ("acked", 1), ("failing", 2))),
    ("queue-acked-and-failed", "unsettled", deliveries(("acked", 1), ("failing", 1))),
    ("queue-message-limit", "holds", {"largest": 128_000, "refusal": "x"}),
    ("queue-message-limit", "differs", {"largest": 127_900, "refusal": "x"}),
    ("queue-message-limit", "differs", {"largest": None, "refusal": "x"}),
    ("queue-batch-limit", "holds", {"of_3": 256_000, "of_100": 288_000}),
    ("queue-batch-limit", "differs", {"of_3": 256_000, "of_100": 246_000}),
    ("queue-partial-enqueue", "holds", deliveries(("control", 1), refusal="x")),
    ("queue-partial-enqueue", "differs", deliveries(("first", 1), ("control", 1), refusal="x")),
    ("queue-partial-enqueue", "unsettled", deliveries(("control", 1), refusal=None)),
    ("queue-partial-enqueue", "unsettled", deliveries(refusal="x")),
    ("queue-delay-limit", "holds", {"taken": {"43200": True, "43201": "no"}}),
    ("queue-delay-limit", "differs", {"taken": {"43200": "no"}}),
    ("queue-attempts-dead-letter", "holds", deliveries(*(("failing", n) for n in (1, 2, 3, 4)), dead=[{}])),
    ("queue-attempts-dead-letter", "differs", deliveries(("failing", 1), ("failing", 1), dead=[{}])),
    ("queue-attempts-dead-letter", "differs", deliveries(*(("failing", n) for n in (1, 2, 3, 4)), dead=[])),
    ("queue-attempts-dead-letter", "unsettled", deliveries(dead=[])),
    ("queue-delayed-over-deployment", "holds", deliveries(("d", 1), ("d", 1), deployed=True, delay_s=0)),
    ("queue-delayed-over-deployment", "differs", deliveries(("d", 1), deployed=True, delay_s=20)),
    ("queue-delayed-over-deployment", "differs", deliveries(deployed=True, delay_s=20)),
    ("queue-delayed-over-deployment", "unsettled", {"deployed": False}),
]


@pytest.mark.parametrize(("probe_id", "verdict", "measurement"), SAID)
def test_a_judge_says_what_the_measurement_shows(
    probe_id: str, verdict: str, measurement: dict[str, Any]
) -> None:
    probe = PROBE_BY_ID[probe_id]
    judged = probe.judge(measurement)
    assert judged.verdict == verdict, judged.detail
    told = Result(probe, measurement, judged, 1.0).told()
    assert set(told["detail"]) == {"en", "zh"}
    assert all(moment["at_ms"] >= 0 for moment in told["timeline"])


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.id)
def test_every_probe_is_seen_to_hold_and_to_differ(probe: Any) -> None:
    judged = {verdict for probe_id, verdict, _ in SAID if probe_id == probe.id}
    rehearsed = {stand_in.verdict for stand_in in STAND_INS if stand_in.probe == probe.id}
    assert {"holds", "differs"} <= judged
    assert rehearsed == {"holds", "differs"}
    for told in (probe.title, probe.expectation):
        assert set(told) == {"en", "zh"}
        assert all(told.values())


def test_ids_are_used_once() -> None:
    assert len(PROBE_BY_ID) == len(PROBES)
