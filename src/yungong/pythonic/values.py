"""JSON values as Python has them: written as JSON text, and read from it.

A JSON value is None, a bool, an int within ±(2**53 − 1), a finite float, a str, a list of JSON values, or a
dict of them under keys that are str; each of exactly that type. Everything else is refused, with the path of
the first offender.

What JavaScript cannot tell apart comes back as JavaScript has it: 1.0 as 1, -0.0 as 0, and of a dict's
members those with an integer for a name first. An integer beyond ±(2**53 − 1), which only a float can have
been, is read as a float, so that every value that was read can be written.

orjson is used where it can be imported, the standard library's json elsewhere. Nothing else of the package
asks which one it is, and nothing shows it: what is refused is found here, and what the two read differently
is read by one of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, ValuesView
from typing import Any, Protocol, TypeAlias

from .refusals import MAX_INTEGER, refuse_first

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment]


class _Array(Protocol):
    """A list of JSON values, of whatever type its members are; a tuple, a set and binary are none."""

    def __iter__(self) -> Iterator[Json]: ...
    def copy(self) -> list[Any]: ...


class _Object(Protocol):
    """A dict of JSON values under keys that are str."""

    def values(self) -> ValuesView[Json]: ...
    def copy(self) -> dict[str, Any]: ...


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | _Array | _Object | None"
"""What is accepted as a JSON value; type checkers refuse most of what a call would."""

_SCALARS = frozenset({type(None), bool, int, float, str})

# An integer beyond ±(2**53 − 1) has 16 digits or more, behind one of these. In a string it may look the same.
_DIGITS = bytes.maketrans(b"123456789[,-", b"000000000:::")
_MANY_DIGITS = b":" + b"0" * len(str(MAX_INTEGER))


def write(value: Json, levels: int, name: str, path: str = "$") -> str:
    """Return the JSON text of a value.

    Args:
        value: what is written; it is not changed.
        levels: how many lists and dicts may stand inside one another.
        name: what the specification calls the value.
        path: what the path to an offender begins with.

    Raises:
        TypeError: something in it has a type that is no JSON value's.
        ValueError: something in it has such a type, and is none all the same.
        豫言异常: it nests deeper.
    """
    if not _has_json_types(value, levels):
        refuse_first(value, levels, name, path)
    try:
        text = _dumps(value)
        data = text.encode()
    except (TypeError, ValueError):  # a NaN, an infinity, a lone surrogate
        refuse_first(value, levels, name, path)
        raise
    if _may_hold_large(data):
        refuse_first(value, levels, name, path)
    return text


def read(text: str) -> Any:
    """Return the value of JSON text that the engine wrote, or `write`."""
    return _read_exactly(text) if _may_hold_large(text.encode()) else _loads(text)


def _has_json_types(value: Any, levels: int) -> bool:
    """Return whether all of `value` has the exact types of JSON values, and nests no deeper than `levels`."""
    if type(value) is dict:
        if not levels:
            return False
        for key, member in value.items():
            if type(key) is not str:
                return False
            if type(member) not in _SCALARS and not _has_json_types(member, levels - 1):
                return False
        return True
    if type(value) is list:
        if not levels:
            return False
        for member in value:
            if type(member) not in _SCALARS and not _has_json_types(member, levels - 1):
                return False
        return True
    return type(value) in _SCALARS


def _may_hold_large(data: bytes) -> bool:
    """Return whether compact JSON text may hold an integer beyond ±(2**53 − 1)."""
    return _MANY_DIGITS in data.translate(_DIGITS) or data[:1] in b"-0123456789"


def _read_integer(digits: str) -> float:
    number = float(digits)
    return int(digits) if -MAX_INTEGER <= number <= MAX_INTEGER else number


_encode = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
).encode
_raw_decode = json.JSONDecoder().raw_decode
_read_exactly = json.JSONDecoder(parse_int=_read_integer).decode

_dumps: Callable[[Any], str]

if orjson is None:
    _dumps = _encode

    def _loads(text: str) -> Any:
        return _raw_decode(text)[0]
else:

    def _orjson_dumps(value: Any) -> str:
        data = orjson.dumps(value)
        # It writes a NaN and an infinity as null.
        return _encode(value) if b"null" in data else data.decode()

    _dumps = _orjson_dumps

    def _loads(text: str) -> Any:
        try:
            return orjson.loads(text)
        except ValueError:  # it refuses an escaped lone surrogate
            return _read_exactly(text)
