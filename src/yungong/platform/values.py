"""JSON values of the engine's: parsed, written, walked."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, overload

from .engine import engine
from .runtime import JsProxy, jsnull, to_js

if TYPE_CHECKING:
    from typing import TypeGuard

    from js import JsArray, JsonValue, JsValue

# What Object.prototype.toString says of all that a JSON value holds but arrays, and of undefined.
_JSON_TAGS = frozenset(
    f"[object {kind}]" for kind in ("Boolean", "Null", "Number", "Object", "String", "Undefined")
)

_PRIMITIVES = frozenset({bool, float, int, str, type(None), type(jsnull)})

# Texts up to here go over to JavaScript through buffers that are kept, one for each step of length.
_BUFFERED_BYTES = 4096
_BUFFER_STEP = 512


def parse(text: str) -> JsonValue:
    """Return JSON.parse(text), raising PlatformError where the engine refuses it."""
    return engine().parse(text)


def parse_utf8(data: bytes) -> JsonValue:
    """Return JSON.parse of a text given in UTF-8, which goes over to JavaScript much faster than a string."""
    js = engine()
    size = len(data)
    if size <= _BUFFERED_BYTES:
        size += -size % _BUFFER_STEP
        view = _buffer(size)
        view.assign(data.ljust(size))  # spaces after a JSON text change nothing
    else:
        view = _decoded(to_js(data))
    return js.parse(view)


@cache
def _buffer(size: int) -> Any:
    return _decoded(engine().uint8_array(size))


def _decoded(view: Any) -> Any:
    """Return `view`, of bytes, with the text they spell as its string: JSON.parse takes an object so."""
    view.toString = engine().decoding_of(view)
    return view


@overload
def stringify(value: JsonValue) -> str: ...
@overload
def stringify(value: JsValue) -> str | None: ...
def stringify(value: JsValue) -> str | None:
    """Return JSON.stringify(value); None for undefined."""
    return engine().stringify(value)


def is_array(value: JsValue) -> TypeGuard[JsArray[Any]]:
    """Return whether `value` is an array."""
    return isinstance(value, JsProxy) and engine().is_array(value)


def is_object(value: JsValue) -> TypeGuard[JsProxy]:
    """Return whether `value`, no symbol, is an object or an array."""
    return type(value) not in _PRIMITIVES  # isinstance of a JsProxy is a function in Python: 2 µs


def member_names(value: JsValue) -> list[str] | None:
    """Return the names of an object's members, or None where `value` is no object or an array."""
    if not isinstance(value, JsProxy) or engine().is_array(value):
        return None
    return list(engine().keys(value))


@cache
def matcher(pattern: str) -> Any:
    """Return what tells whether `pattern`, a regular expression of JavaScript's, matches in a text."""
    regexp = engine().regexp(pattern)
    return regexp.test.bind(regexp)


def count_nulls(value: JsValue) -> int | None:
    """Return how many nulls `value` holds at any depth, or None where it holds an object foreign to JSON.

    The value must have a JSON text: BigInts and cycles are found by JSON.stringify. What JSON writes as null
    and is none does not count: undefined, a hole, NaN, an infinity.
    """
    js = engine()
    nulls = 0
    level = js.flat(js.array_of(value), math.inf)
    while level.length:  # by whole levels, for the engine to do the work; an array's members are its elements
        tags = js.array_from(js.set(js.map(level, js.tag)))
        if not _JSON_TAGS.issuperset(tags.join("\n").split("\n")):
            return None
        nulls += js.filter(level, js.is_null).length
        objects = js.filter(level, js.is_extensible)  # no primitive is
        level = js.flat(js.flat_map(objects, js.values), math.inf)
    return nulls
