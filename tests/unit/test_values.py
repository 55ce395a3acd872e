"""Python values as JSON text: what is written and read, what is refused, with orjson and without."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import uuid
from collections import Counter, OrderedDict, namedtuple
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.values import BOTH, MAX, VALUES, shown
from yungong import YuyanError


class Number(enum.IntEnum):
    ONE = 1


class Text(str): ...


class Whole(int): ...


class Items(list[Any]): ...


@dataclasses.dataclass
class Point:
    x: int


Pair = namedtuple("Pair", "a b")  # what an application may have

SURROGATE = 'with a lone surrogate is no JSON value; write {}.encode("utf-8", "replace").decode()'
LARGE = "an int beyond ±(2**53 − 1) is no JSON value; write str(value)"

REFUSED: list[tuple[Any, str]] = [
    ((1, 2), "a tuple is no JSON value; write list(value)"),
    (Pair(1, 2), "a Pair is no JSON value; write value._asdict()"),
    ({1}, "a set is no JSON value; write list(value)"),
    (frozenset(), "a frozenset is no JSON value; write list(value)"),
    (b"x", "a bytes is no JSON value; write base64.b64encode(value).decode()"),
    (bytearray(), "a bytearray is no JSON value; write base64.b64encode(value).decode()"),
    (datetime(2026, 1, 2, tzinfo=UTC), "a datetime is no JSON value; write value.isoformat()"),
    (date(2026, 1, 2), "a date is no JSON value; write value.isoformat()"),
    (time(1), "a time is no JSON value; write value.isoformat()"),
    (timedelta(1), "a timedelta is no JSON value; write value.total_seconds()"),
    (Number.ONE, "a Number is no JSON value; write value.value"),
    (Point(1), "a Point is no JSON value; write dataclasses.asdict(value)"),
    (Point, "a type is no JSON value"),
    (Text("x"), "a Text is no JSON value; write str(value)"),
    (Whole(1), "a Whole is no JSON value; write int(value)"),
    (Items(), "an Items is no JSON value; write list(value)"),
    (OrderedDict(), "an OrderedDict is no JSON value; write dict(value)"),
    (Counter(), "a Counter is no JSON value; write dict(value)"),
    (Decimal(1), "a Decimal is no JSON value; write str(value)"),
    (uuid.UUID(int=1), "a UUID is no JSON value"),
    (1j, "a complex is no JSON value"),
    (object(), "an object is no JSON value"),
    (..., "an ellipsis is no JSON value"),
    (MAX + 1, LARGE),
    (-MAX - 1, LARGE),
    (10**5000, LARGE),
    (math.nan, "nan is no JSON value; write None"),
    (-math.inf, "-inf is no JSON value; write None"),
    ("\ud800", "a str " + SURROGATE.format("value")),
    ({1: 2}, "an int is no key of a JSON object; write str(key)"),
    ({None: 2}, "a NoneType is no key of a JSON object; write str(key)"),
    ({Text("x"): 2}, "a Text is no key of a JSON object; write str(key)"),
    ({"a\udc00": 2}, "a key " + SURROGATE.format("key")),
]


def refusal(module: ModuleType, value: Any, levels: int = 32) -> str:
    """Return the type and text of the error that writing `value` raises; empty where it raises none."""
    try:
        module.write(value, levels, "值")
    except (TypeError, ValueError, YuyanError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize(("value", "sentence"), REFUSED, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("module", BOTH)
def test_what_is_no_json_value_is_refused_with_its_path(
    module: ModuleType, value: Any, sentence: str
) -> None:
    for inside, path in [
        (value, "$"),
        ({"user": {"tags": [None, 1.5, "x", value]}}, "$.user.tags[3]"),
        ([{"a b": value}], '$[0]["a b"]'),
        ({"null": None, "键": value}, "$.键"),
    ]:
        assert refusal(module, inside).split(": ", 1)[1] == f"{path}: {sentence}"


@given(st.data())
def test_both_refuse_the_same_wherever_it_stands(data: st.DataObject) -> None:
    """The first offender in order is told, whatever else stands around it."""
    value = data.draw(VALUES)
    offender = data.draw(st.sampled_from([offender for offender, _ in REFUSED]))
    another = data.draw(st.sampled_from([offender for offender, _ in REFUSED]))
    inside = data.draw(st.sampled_from([[value, offender, another], {"a": value, "b": {"c": [offender]}}]))
    first, second = (refusal(module, inside) for module in BOTH)
    assert first
    assert first == second


@given(VALUES)
def test_both_write_a_json_value_and_read_what_either_wrote(value: Any) -> None:
    for module in BOTH:
        text = module.write(value, 32, "值")
        assert "\n" not in text
        for other in BOTH:
            assert shown(other.read(text)) == shown(value)
            assert shown(other.read(json.dumps(value))) == shown(value)


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9007199254740991", MAX),
        ("-9007199254740991", -MAX),
        ("[9007199254740992]", [2.0**53]),
        ('{"a":100000000000000000000}', {"a": 1e20}),
        ("123456789012345670000", 123456789012345670000.0),
        ('"\\ud800"', "\ud800"),
        ('["\\ud800",1]', ["\ud800", 1]),
        ("-0", 0),
        ("null", None),
        ('{"a":1e+21}', {"a": 1e21}),
    ],
)
def test_what_the_engine_writes_is_read_so_that_it_can_be_written(
    module: ModuleType, text: str, value: Any
) -> None:
    assert shown(module.read(text)) == shown(value)


@pytest.mark.parametrize("module", BOTH)
def test_nesting_is_limited_and_a_cycle_is_no_value(module: ModuleType) -> None:
    deep: Any = 1
    for level in range(10_000):
        deep = [deep] if level % 2 else {"a": deep}
        if level == 31:
            assert module.read(module.write(deep, 32, "值")) == deep
    path = "$" + "[0].a" * 16
    assert refusal(module, deep) == f"豫言异常: 值的嵌套超过 32 层：{path}"
    assert refusal(module, deep, 24) == f"豫言异常: 值的嵌套超过 24 层：{path[: 1 + 12 * 5]}"
    cycle: dict[str, Any] = {"a": [1]}
    cycle["a"].append(cycle)
    assert refusal(module, cycle) == "ValueError: $.a[1]: a dict inside itself is no JSON value"
    shared = [1]
    assert module.write([shared, shared], 2, "值") == "[[1],[1]]"


def test_orjson_is_there_and_its_absence_too() -> None:
    """Else the tests above would compare one thing with itself."""
    assert [module.__dict__["orjson"] is not None for module in BOTH] == [True, False]
