"""The checks on JSON text that need no engine, against slow ones that are plainly right.

The texts are valid JSON in every spelling that JSON allows: escapes of all kinds, brackets, quotes and
backslashes inside strings, white space, members given twice, numbers of any form.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from yungong.jsontext import (
    RESERVED_NAMES,
    NotJsonText,
    encode,
    has_reserved_member,
    has_reserved_record,
    is_plain,
    may_grow,
    nests_deeper,
    overflows,
)

# JSON texts

SPACE = st.sampled_from(["", "", "", " ", "\n", "\t\r ", " " * 30])
SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\n": "\\n", "\t": "\\t", "\b": "\\b"}


def spellings(character: str) -> st.SearchStrategy[str]:
    """Return the ways in which a string of JSON may spell one character."""
    units = character.encode("utf-16-be", "surrogatepass")
    escaped = "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
    ways = [escaped, re.sub("[a-f]", lambda digit: digit[0].upper(), escaped)]
    if character in SHORT_ESCAPES:
        ways.append(SHORT_ESCAPES[character])
    if character not in '"\\' and character >= " " and not "\ud800" <= character <= "\udfff":
        ways += [character] * 3
    return st.sampled_from(ways)


@st.composite
def spelt(draw: st.DrawFn, text: str) -> str:
    return '"' + "".join(draw(spellings(character)) for character in text) + '"'


TELLING = st.sampled_from('"\\[]{}:,$/e0189 句柄未定义字😀\n\u2028\ud800')
PIECES = st.sampled_from(
    [*RESERVED_NAMES, *(name[1:] for name in RESERVED_NAMES), '":', '{"$句柄":1}', "\\u0024", "1e999", "],["]
)
CONTENTS = st.lists(TELLING | PIECES | st.characters(codec="utf-8"), max_size=6).map("".join)
STRINGS = CONTENTS.flatmap(spelt)
KEYS = (st.sampled_from(sorted(RESERVED_NAMES)) | CONTENTS).flatmap(spelt)
DIGITS = st.from_regex("[0-9]{1,25}", fullmatch=True) | st.integers(190, 420).map(lambda count: "1" * count)
WHOLE = st.just("0") | st.tuples(st.sampled_from("123456789"), st.just("") | DIGITS).map("".join)
EXPONENTS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from("eE"),
    st.sampled_from(["", "+", "-"]),
    st.sampled_from(["", "0", "000"]),
    st.integers(0, 420),
)
NUMBERS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    WHOLE,
    st.just("") | DIGITS.map(".".__add__),
    st.just("") | EXPONENTS,
)
SCALARS = STRINGS | NUMBERS | st.sampled_from(["null", "true", "false"])


@st.composite
def joined(draw: st.DrawFn, opening: str, items: list[str], closing: str) -> str:
    text = opening + draw(SPACE)
    for number, item in enumerate(items):
        text += ("," if number else "") + draw(SPACE) + item + draw(SPACE)
    return text + closing


@st.composite
def member(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    return draw(KEYS) + draw(SPACE) + ":" + draw(SPACE) + draw(values)


def containers(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arrays = st.lists(values, max_size=3).flatmap(lambda items: joined("[", items, "]"))
    objects = st.lists(member(values), max_size=3).flatmap(lambda items: joined("{", items, "}"))
    return arrays | objects


@st.composite
def buried(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """Put a text under a few plain levels, so that every limit on depth is met from both sides."""
    text = draw(texts)
    for opening, closing in draw(st.lists(st.sampled_from([("[", "]"), ('{"[":', "}")]), max_size=6)):
        text = opening + text + closing
    return text


TEXTS = buried(st.recursive(SCALARS, containers, max_leaves=8))
thorough = settings(
    max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@thorough
@given(TEXTS)
def test_the_texts_of_these_tests_are_json(text: str) -> None:
    json.loads(text, parse_int=float)


# Depth


class Members(list[tuple[str, Any]]):
    """An object's members as they stand in the text, those given twice included."""


def as_written(text: str) -> Any:
    return json.loads(text, object_pairs_hook=Members, parse_int=float)


def levels_of(value: Any) -> int:
    """Return how many arrays and objects stand inside one another."""
    if isinstance(value, Members):
        return 1 + max((levels_of(inner) for _, inner in value), default=0)
    return 1 + max(map(levels_of, value), default=0) if isinstance(value, list) else 0


@thorough
@given(TEXTS)
@example('["[[[["]')
@example('["\\"[[[[", "\\\\", "[[[["]')
@example('{"a\\\\":[], "[\\\\\\"]":{}}')
def test_depth_is_that_of_the_arrays_and_objects_and_strings_do_not_count(text: str) -> None:
    levels = levels_of(as_written(text))
    assert not nests_deeper(text.encode(), levels)
    if levels:
        assert nests_deeper(text.encode(), levels - 1)


@pytest.mark.parametrize("limit", [24, 32])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"[":', "}]")])
def test_a_limit_is_met_exactly(limit: int, opening: str, closing: str) -> None:
    count = limit // levels_of(as_written(opening + "1" + closing))
    at_limit = opening * count + '"]["' + closing * count
    assert not nests_deeper(at_limit.encode(), limit)
    assert nests_deeper(f"[{at_limit}]".encode(), limit)


def test_brackets_beside_one_another_are_no_depth() -> None:
    assert not nests_deeper(b"[" + b",".join([b"[{}]"] * 1000) + b"]", 3)


# Reserved records


def objects_in(value: Any) -> list[Members]:
    """Return every object inside a value."""
    if isinstance(value, Members):
        return [value, *(found for _, inner in value for found in objects_in(inner))]
    return [found for inner in value for found in objects_in(inner)] if isinstance(value, list) else []


@thorough
@given(TEXTS)
@example('{"$句柄": "1"}')
@example('{"\\u0024\\u53e5\\u67c4":1}')
@example('[{"a":{"$数字":1}}]')
@example('{"$数字":1,"$数字":2}')
@example('{"$句柄":1,"b":2}')
@example('{"b":2,"$句柄":1}')
@example('{"$句柄":{"$":1}}')
@example('["$句柄"]')
@example('{"a":"$句柄"}')
@example('"{\\"$句柄\\":1}"')
def test_a_reserved_record_is_an_object_whose_only_member_has_a_reserved_name(text: str) -> None:
    names = [{name for name, _ in members} for members in objects_in(as_written(text))]
    assert has_reserved_record(text) == any(len(found) == 1 and found <= RESERVED_NAMES for found in names)


@thorough
@given(TEXTS)
@example('{"b":2,"$句柄":1}')
@example('{"b":2, "\\u0024\\u672A定义" :1}')
@example('["$句柄"]')
@example('{"a":"$句柄"}')
@example('{"$句柄\\"":1}')
@example('{"\\"$句柄":1}')
@example('{"\\\\\\"$句柄":1}')
@example('{"a":"\\\\","$句柄":1}')
@example('{"$句柄 ":1}')
def test_a_reserved_member_is_one_of_a_reserved_name_in_any_object(text: str) -> None:
    names = {name for members in objects_in(as_written(text)) for name, _ in members}
    assert has_reserved_member(text) == (not names.isdisjoint(RESERVED_NAMES))


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_every_reserved_name_is_found_in_its_longest_spelling(name: str) -> None:
    escaped = "".join(f"\\u{ord(character):04X}" for character in name)
    text = f'{{ \n"{escaped}"\t: null}}'
    assert has_reserved_member(text)
    assert has_reserved_record(text)


# Numbers


def numbers_in(text: str) -> list[str]:
    found: list[str] = []

    def note(number: str) -> None:
        found.append(number)

    json.loads(text, parse_float=note, parse_int=note)
    return found


@thorough
@given(TEXTS)
@example("1e308")
@example("1.7976931348623157e308")
@example("1.7976931348623159e308")
@example("-1E+309")
@example("1e00000308")
@example('"1e999"')
@example('["1e999\\"", 1e-999]')
@example("1" + "0" * 308)
@example("2" + "0" * 308)
@example("9" * 210 + "e99")
@example("0." + "0" * 400 + "1e700")
@example("0." + "1" * 400)
@example("1" + "0" * 400 + "e-300")
@example("1." + "1" * 400 + "e5")
@example('["a1e999b", "SHA256:1e999", "-1e999", " 1e999"]')
@example('{"a" :1e309}')
@example('{"a"\t:1e309}')
@example('{"a"\n:1e309}')
@example('{"a"\r:1e309}')
@example('{"a1e999":\t1e309}')
@example('{"a":\n1e309}')
@example("[0,\r1e309]")
@example("[[1e309]]")
@example("[-1e309]")
@example("[0,1e309]")
@example('{"a":1e309}')
@example('{"a":' + "9" * 398 + "e309}")
@example('{"a":' + "9" * 399 + "e309}")
@example('{"a":' + "9" * 400 + "e309}")
def test_a_number_overflows_where_double_precision_makes_an_infinity_of_it(text: str) -> None:
    assert overflows(text.encode()) == any(math.isinf(float(number)) for number in numbers_in(text))


@thorough
@given(TEXTS)
@example("1e309")
@example("-1E+309")
@example("9" * 310)
@example('{"$句柄":1}')
@example('{"\\u0024句柄":1}')
@example('{"a":1,"$数字":1}')
@example("[[[]]]")
@example('["[[[",{"a":"]]"}]')
def test_a_plain_text_has_nothing_that_is_refused(text: str) -> None:
    data = text.encode()
    faulty = overflows(data) or has_reserved_member(text) or nests_deeper(data, 2)
    assert not (is_plain(data, 2) and faulty)


def test_ordinary_records_are_plain() -> None:
    """Neighbouring numbers are none together, and letters no exponents."""
    record = '{"id":12,"age":123,"e":"000","list":[1.5,-20],"at":"1e5","name":"e"}'
    assert is_plain(f"[{','.join([record] * 12)}]".encode(), 32)
    assert is_plain(f"[{','.join(['123'] * 400)}]".encode(), 32)


# Growth


def canonical(text: str) -> str:
    """Return what JSON.stringify(JSON.parse(text)) gives, but for the order of members."""
    return _canonical(json.loads(text, parse_int=float))


def _canonical(value: Any) -> str:
    if isinstance(value, float):
        return _canonical_number(value)
    if isinstance(value, list):
        return f"[{','.join(map(_canonical, value))}]"
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{_canonical(name)}:{_canonical(inner)}" for name, inner in value.items()) + "}"
        )
    if isinstance(value, str):  # a lone surrogate stays escaped
        text = json.dumps(value, ensure_ascii=False)
        return re.sub("[\ud800-\udfff]", lambda unit: f"\\u{ord(unit[0]):04x}", text)
    return json.dumps(value)


def _canonical_number(value: float) -> str:
    """Write a number as ECMAScript's Number::toString does."""
    if not math.isfinite(value):
        return "null"
    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        plain = format(Decimal(repr(value)), "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    mantissa, exponent = format(Decimal(repr(value)), "e").split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent):+d}"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("-0", "0"),
        ("1e-6", "0.000001"),
        ("1E-7", "1e-7"),
        ("12.50", "12.5"),
        ("1.5e300", "1.5e+300"),
        ("9007199254740993", "9007199254740992"),
        ('"\\u00e9\\/"', '"é/"'),
    ],
)
def test_the_canonical_form_of_these_tests_is_javascript_s(text: str, written: str) -> None:
    assert canonical(text) == written


@thorough
@given(TEXTS)
@example("[1e20,1e20]")
@example("1E+20")
@example("1e-6")
@example("100000000000000000000")
def test_a_text_that_may_not_grow_does_not(text: str) -> None:
    size = len(text.encode())
    grown = len(canonical(text).encode())
    assert may_grow(text.encode()) or grown <= size
    assert grown <= size * 5.25, "no text grows more than this"


def test_a_text_without_an_exponent_is_known_not_to_grow() -> None:
    assert not may_grow(b'{"name":"e","list":[1.5,-20,"E=mc"]}')


# UTF-8


def test_text_is_encoded_in_utf_8() -> None:
    assert encode('"字😀"') == '"字😀"'.encode()


def test_a_raw_lone_surrogate_is_no_json_text() -> None:
    for text in ('"\ud800"', '"\udfff"', "\ud83d"):
        with pytest.raises(NotJsonText):
            encode(text)


def test_an_escaped_lone_surrogate_is() -> None:
    assert encode('"\\ud800"') == b'"\\ud800"'
