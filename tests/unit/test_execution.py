"""The two variables of a deployment: what they grant, and every refusal with its sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from yungong.execution import Execution, read_execution
from yungong.kinds import KINDS

OTHER_KINDS = ("fetch", "durable-fetch", "durable-alarm", "queue", "scheduled")
EXCLUSIVE_KINDS = ("durable-transaction", "durable-block")


def limits(**limits_ms: Any) -> Execution:
    """Read time limits; `_` stands for the hyphen of a kind's name."""
    named = {kind.replace("_", "-"): limit for kind, limit in limits_ms.items()}
    return read_execution(None, json.dumps({"事件时限毫秒": named}))


def test_a_deployment_without_variables_permits_no_queue() -> None:
    assert read_execution(None, None).queues == frozenset()


def test_permits_name_queue_bindings() -> None:
    assert read_execution('{"QUEUE": ["A", "B"]}', None).queues == {"A", "B"}


@pytest.mark.parametrize("permits", ["{}", '{"QUEUE": []}'])
def test_empty_permits_grant_nothing(permits: str) -> None:
    assert read_execution(permits, None).queues == frozenset()


@pytest.mark.parametrize("config", [None, "{}", '{"事件时限毫秒": {}}'])
def test_unnamed_limits_are_30_seconds_and_25_for_an_exclusive_kind(config: str | None) -> None:
    execution = read_execution(None, config)
    assert {execution.limit_ms(kind) for kind in OTHER_KINDS} == {30_000}
    assert {execution.limit_ms(kind) for kind in EXCLUSIVE_KINDS} == {25_000}


def test_the_default_serves_the_kinds_that_are_not_named_exclusive_ones_excepted() -> None:
    execution = limits(默认=7, durable_alarm=900_000)
    assert execution.limit_ms("durable-alarm") == 900_000
    assert {execution.limit_ms(kind) for kind in OTHER_KINDS if kind != "durable-alarm"} == {7}
    assert {execution.limit_ms(kind) for kind in EXCLUSIVE_KINDS} == {25_000}


@pytest.mark.parametrize("kind", EXCLUSIVE_KINDS)
@pytest.mark.parametrize(
    ("configured", "in_fact"),
    [(1, 1), (29_499, 29_499), (29_500, 29_500), (29_501, 29_500), (30_000, 29_500)],
)
def test_an_exclusive_kind_ends_before_the_platform_resets_its_object(
    kind: str, configured: int, in_fact: int
) -> None:
    assert limits(**{kind: configured}).limit_ms(kind) == in_fact


@pytest.mark.parametrize("kind", [*OTHER_KINDS, "默认"])
@pytest.mark.parametrize("limit", [1, 900_000])
def test_any_other_kind_has_from_1_ms_to_15_minutes(kind: str, limit: int) -> None:
    assert limits(**{kind: limit}).limit_ms("fetch" if kind == "默认" else kind) == limit


@pytest.mark.parametrize(
    ("permits", "sentence"),
    [
        (
            "{",
            "PERMITS is not JSON: Expecting property name enclosed in double quotes:"
            " line 1 column 2 (char 1)",
        ),
        ("[]", "PERMITS must be a JSON object, not []"),
        ('"QUEUE"', "PERMITS must be a JSON object, not 'QUEUE'"),
        ("null", "PERMITS must be a JSON object, not None"),
        ('{"queue": []}', "PERMITS has the member 'queue'; only 'QUEUE' is known"),
        ('{"QUEUE": "A"}', "PERMITS.QUEUE must be a list of binding names, not 'A'"),
        ('{"QUEUE": ["A", 1]}', "PERMITS.QUEUE must be a list of binding names, not ['A', 1]"),
        ('{"QUEUE": [""]}', "PERMITS.QUEUE must be a list of binding names, not ['']"),
        ('{"QUEUE": null}', "PERMITS.QUEUE must be a list of binding names, not None"),
    ],
)
def test_wrong_permits_are_refused_with_what_is_wrong(permits: str, sentence: str) -> None:
    with pytest.raises(ValueError, match="PERMITS") as refusal:
        read_execution(permits, None)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("", "EXECUTION_CONFIG is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("1", "EXECUTION_CONFIG must be a JSON object, not 1"),
        ('{"事件时限": {}}', "EXECUTION_CONFIG has the member '事件时限'; only '事件时限毫秒' is known"),
        ('{"事件时限毫秒": 30000}', "EXECUTION_CONFIG.事件时限毫秒 must be an object, not 30000"),
        (
            '{"事件时限毫秒": {"durable_alarm": 1}}',
            "EXECUTION_CONFIG.事件时限毫秒 names the unknown event kind 'durable_alarm'; there are 默认, "
            + ", ".join(KINDS),
        ),
    ],
)
def test_a_wrong_configuration_is_refused_with_what_is_wrong(config: str, sentence: str) -> None:
    with pytest.raises(ValueError, match="EXECUTION_CONFIG") as refusal:
        read_execution(None, config)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("limit", [0, -1, 1.5, 30_000.0, True, "30000", None, [], 10**400])
@pytest.mark.parametrize(
    ("kind", "highest"),
    [*((kind, 900_000) for kind in [*OTHER_KINDS, "默认"]), *((kind, 30_000) for kind in EXCLUSIVE_KINDS)],
)
def test_a_limit_that_is_no_integer_in_range_is_refused(kind: str, highest: int, limit: Any) -> None:
    with pytest.raises(ValueError, match="must be an integer") as refusal:
        limits(**{kind: limit})
    place = f"EXECUTION_CONFIG.事件时限毫秒.{kind}"
    assert str(refusal.value) == f"{place} must be an integer from 1 to {highest}, not {limit!r}"


@pytest.mark.parametrize(
    ("kind", "over"),
    [*((kind, 900_001) for kind in [*OTHER_KINDS, "默认"]), *((kind, 30_001) for kind in EXCLUSIVE_KINDS)],
)
def test_a_limit_over_its_highest_is_refused(kind: str, over: int) -> None:
    with pytest.raises(ValueError, match=f"from 1 to {over - 1}, not {over}$"):
        limits(**{kind: over})


def test_one_wrong_member_refuses_the_whole_variable() -> None:
    with pytest.raises(ValueError, match=r"^PERMITS has the member 'KV'"):
        read_execution('{"QUEUE": ["A"], "KV": ["B"]}', None)
