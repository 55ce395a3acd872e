"""JSON text: what may enter the store or a queue, and what may come out.

The authority on JSON is the engine's JSON.parse and JSON.stringify: the values are the ones that a
JavaScript Worker sharing the data would see. What the specifications ask beyond that is checked here, on
the text: its size in UTF-8, its depth, the records reserved for the host, numbers that overflow. Cheap
tests at the speed of C come first and decide nearly always; an exact one follows where they leave doubt.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from . import platform

if TYPE_CHECKING:
    from js import JsonValue, JsValue

RESERVED_NAMES = frozenset({"$句柄", "$未定义", "$大整数", "$数字"})

_SPACE = "[ \\t\\n\\r]*+"
# A reserved name has a few characters, each spelt in at most six. A quote after a backslash opens no string.
_MEMBER = f'(?<!\\\\)"((?:\\$|\\\\u0024)[^"]{{0,24}})"{_SPACE}:'
_DOLLAR_MEMBER = re.compile(_MEMBER)
_DOLLAR_MEMBER_FIRST = re.compile(f"\\{{{_SPACE}{_MEMBER}")

_NUMBER = re.compile(rb"[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
# Digits become 0 and exponents e without a plus: a number that overflows holds one of the two runs.
_DIGITS = bytes.maketrans(b"123456789E", b"000000000e")
_LARGE_EXPONENT = b"0e000"
_MANY_DIGITS = b"0" * 200
_BEFORE_NUMBER = (b"[", b",", b"-", b" ", b"\t", b"\n", b"\r", b'":', b" :", b"\t:", b"\n:", b"\r:")
_ANY_EXPONENT = b"0e"
_ROUNDED_DIGITS = b"0" * 16

# A shorter text goes over to JavaScript faster as a string, a longer one faster in UTF-8.
_SOON_COPIED = 512
# A shorter text is scanned as fast whole.
_LONG_BYTES = 2048
# A text from here on comes from JavaScript faster in UTF-8.
_LONG_TEXT = 1536
_expects_long = False

_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b'"[]{}')
# The signs of all that is refused: brackets, what begins or may spell a reserved name, digits, exponents.
_MARKS = bytes.maketrans(b"{\\123456789E+", b"[$000000000e0")

# How a Date ends in JSON text, as long as no application replaces its toJSON; a string may look the same.
_HAS_TIME_END = re.compile(r'\.[0-9]{3}Z"')

# Everything that can be stored and is no JSON value leaves a trace in its text: null (undefined, a hole, NaN,
# an infinity), an empty object (Map, Set, RegExp, binary and the like), "0" as a first member (typed arrays),
# a stack (Error, DOMException) or a time (Date).
_TRACES = ("{}", '{"0":', '"stack":')
DOUBT = r'null|\{\}|\{"0":|"stack":'
"""A regular expression for texts, written without times, that might come from no JSON value."""
ELEMENT_NULL = r"[\[,]null"
"""One for texts that have a null in an array, where it may be undefined or a hole."""


class NotJsonText(ValueError):
    """A text is not JSON."""


class Unreadable(ValueError):
    """What the platform holds cannot come out as JSON text.

    It nests too deep, its text would be longer than the engine's strings can be, or it is no JSON value.
    """

    def __init__(self, *, too_deep: bool = False, too_long: bool = False) -> None:
        super().__init__()
        self.too_deep = too_deep
        self.too_long = too_long


def parse(text: str, data: bytes) -> JsonValue:
    """Return the engine's value of `text`, whose UTF-8 is `data`.

    Raises:
        NotJsonText: it is not JSON text.
    """
    try:
        value = platform.parse(text) if len(data) < _SOON_COPIED else platform.parse_utf8(data)
    except platform.PlatformError as error:
        raise NotJsonText from error
    if type(value) is int:
        # As an int, -0 would go back to JavaScript as 0, and 2^53 - 1 as a BigInt.
        return float(text)
    return value


def encode(text: str) -> bytes:
    """Return `text` in UTF-8.

    Raises:
        NotJsonText: it holds a lone surrogate, so that no UTF-8 says it.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise NotJsonText from error


def is_plain(data: bytes, levels: int) -> bool:
    """Return whether valid JSON text surely nests no deeper, without reserved names and overflowing numbers.

    A False is no verdict. Only a short text is looked at.
    """
    if len(data) >= _LONG_BYTES:
        return False
    marks = data.translate(_MARKS)
    return (
        marks.count(b"[") <= levels
        and marks.find(b"$") < 0
        and marks.find(_LARGE_EXPONENT) < 0
        and marks.find(_MANY_DIGITS) < 0
    )


def nests_deeper(data: bytes, levels: int) -> bool:
    """Return whether valid JSON text has more than `levels` arrays and objects inside one another."""
    if len(data) < _LONG_BYTES and data.count(b"[") + data.count(b"{") <= levels:
        return False
    return _shape_nests_deeper(_shape(data), levels)


def _shape(data: bytes) -> bytes:
    """Return the brackets of valid JSON text and its quotes, escaped ones excepted."""
    return _without_escaped_quotes(data).translate(None, _NO_BRACKETS)


def _without_escaped_quotes(data: bytes) -> bytes:
    return data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data


def _outside_strings(data: bytes) -> bytes:
    """Return what of valid JSON text stands outside of strings, with a quote in the place of each."""
    return b'"'.join(_without_escaped_quotes(data).split(b'"')[::2])


def _shape_nests_deeper(shape: bytes, levels: int) -> bool:
    if shape.count(b"[") + shape.count(b"{") <= levels:
        return False
    if shape.count(b'""') * 2 == shape.count(b'"'):  # no string holds a bracket
        shape = shape.translate(_BRACKETS, b'"')
    else:  # of what stands between quotes every other piece is outside of strings
        shape = b"".join(shape.translate(_BRACKETS).split(b'"')[::2])
    for _ in range(levels):
        if not shape:
            return False
        shape = shape.replace(b"[]", b"")
    return bool(shape)


def has_reserved_record(text: str) -> bool:
    """Return whether valid JSON text holds an object whose only member has a reserved name."""
    if not _may_hold_reserved(text):
        return False
    if not any(_is_reserved(match[1]) for match in _DOLLAR_MEMBER_FIRST.finditer(text)):
        return False
    found = False

    def look(members: list[tuple[str, Any]]) -> None:
        nonlocal found
        names = {name for name, _ in members}
        found = found or (len(names) == 1 and not names.isdisjoint(RESERVED_NAMES))

    json.loads(text, object_pairs_hook=look, parse_int=float)
    return found


def has_reserved_member(text: str) -> bool:
    """Return whether valid JSON text holds an object with a member of a reserved name."""
    return _may_hold_reserved(text) and any(_is_reserved(match[1]) for match in _DOLLAR_MEMBER.finditer(text))


def _may_hold_reserved(text: str) -> bool:
    # One character is found faster than two: most texts have neither.
    return ("$" in text and '"$' in text) or ("\\" in text and '"\\u0024' in text)


def _is_reserved(spelling: str) -> bool:
    try:
        return json.loads(f'"{spelling}"') in RESERVED_NAMES
    except ValueError:  # cut off inside an escaped quote
        return False


def overflows(data: bytes) -> bool:
    """Return whether valid JSON text holds a number that is an infinity in double precision."""
    if not _may_overflow(data):
        return False
    outside = _outside_strings(data)  # where a digest in hexadecimal has many digits and exponents
    return _may_overflow(outside) and any(
        math.isinf(float(number[0])) for number in _NUMBER.finditer(outside)
    )


def _may_overflow(data: bytes) -> bool:
    shape = data.translate(_DIGITS, b"+")
    return _MANY_DIGITS in shape or _has_large_exponent(shape)


def _has_large_exponent(shape: bytes) -> bool:
    at = shape.find(_LARGE_EXPONENT)
    while at >= 0:
        # In a digest in hexadecimal mostly a quote or a letter stands there.
        before = shape[max(at - 400, 0) : at].rstrip(b"0.")
        if len(before) < 2 or before.endswith(_BEFORE_NUMBER):
            return True
        at = shape.find(_LARGE_EXPONENT, at + 1)
    return False


def may_grow(data: bytes) -> bool:
    """Return whether the canonical form of valid JSON text may be longer than the text itself.

    Only a number grows: 1e20 becomes 100000000000000000000, and 99999999999999999 one digit longer.
    """
    shape = data.translate(_DIGITS, b"+-")
    return _ANY_EXPONENT in shape or _ROUNDED_DIGITS in shape


def outgoing(value: JsValue, levels: int) -> str:
    """Return the engine's JSON text of a value that the platform holds.

    Raises:
        Unreadable: the value is no JSON value, nests deeper than `levels`, or its text is too long for
            the engine.
    """
    # A text comes over as a string or in UTF-8; which is faster is known by its length, too late: it is
    # taken to be like the one before.
    global _expects_long  # noqa: PLW0603
    if _expects_long and platform.is_object(value):
        data = outgoing_utf8(value, levels)
        _expects_long = len(data) >= _LONG_TEXT
        return data.decode()
    try:
        text = platform.stringify(value)
    except platform.PlatformError as error:
        raise _without_text(error) from error
    if text is None:
        raise Unreadable
    _expects_long = len(text) >= _LONG_TEXT
    if text.count("[") + text.count("{") > levels and nests_deeper(text.encode(), levels):
        raise Unreadable(too_deep=True)
    if (
        _is_doubtful(text)
        and not _reads_the_same(value, text)
        and not _has_only_its_nulls(value, text.encode())
    ):
        raise Unreadable
    return text


def outgoing_utf8(value: JsValue, levels: int, *, doubtful: bool = False) -> bytes:
    """Return the same in UTF-8: faster for a long text, slower for a short one.

    Args:
        value: any object or array.
        levels: how deep it may nest.
        doubtful: whether the value is walked even where its text gives no doubt.
    """
    try:
        data, is_without_times = platform.text_utf8(value)
    except platform.PlatformError as error:
        raise _without_text(error) from error
    is_settled = is_without_times and not doubtful
    is_plain = is_settled and b"null" not in data and not _has_trace(data)
    if is_settled and not is_plain and _is_surely_json(value, data, levels):
        return data[1:-1]
    if nests_deeper(data, levels + 1):
        raise Unreadable(too_deep=True)
    if not is_plain and not _has_only_its_nulls(value, data):
        raise Unreadable
    return data[1:-1]


def _without_text(error: BaseException) -> Unreadable:
    """Return how JSON.stringify's failure is told; a BigInt and a cycle are no JSON values."""
    return Unreadable(too_deep=platform.is_too_deep(error), too_long=platform.is_too_long(error))


def _is_doubtful(text: str) -> bool:
    return (
        "null" in text
        or any(trace in text for trace in _TRACES)
        or ("Z" in text and 'Z"' in text and _HAS_TIME_END.search(text) is not None)
    )


def _has_trace(data: bytes) -> bool:
    return b"{}" in data or b'{"0":' in data or b'"stack":' in data


def _reads_the_same(value: JsValue, text: str) -> bool:
    """Return whether `value`, of a short text, is surely a JSON value: no Date, no number written as null."""
    if "[null" in text or ",null" in text or any(trace in text for trace in _TRACES):
        return False
    boxed, is_without_times = platform.boxed_text(value)
    return is_without_times and boxed == text.replace("null", "{}")


def _is_surely_json(value: JsValue, data: bytes, levels: int) -> bool:
    """Return whether `value`, written without times as `data`, is surely a JSON value and no deeper."""
    if b"[null" in data or b",null" in data:
        return False
    if len(data) < _LONG_BYTES and not _has_trace(data) and not platform.has_null_number(value):
        return not nests_deeper(data, levels + 1)
    return platform.is_surely_json(value, levels)


def _has_only_its_nulls(value: JsValue, data: bytes) -> bool:
    """Return whether `value` is a JSON value, by a full walk: nothing foreign, and nulls that are nulls."""
    nulls = platform.count_nulls(value)
    return nulls is not None and (
        nulls == data.count(b"null") or nulls == _outside_strings(data).count(b"null")
    )
