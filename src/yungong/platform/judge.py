"""Telling a JSON value from what only looks like one in its text: a Date, a number that is not finite."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

from .engine import engine
from .values import matcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from js import JsArray, JsValue

T = TypeVar("T")

_CONTAINERS = frozenset({"[object Array]", "[object Object]"})

# A value of a shorter text is held until the next comes.
_SOON_FREED = 4096


def without_times(function: Callable[..., T], *args: Any) -> tuple[T, bool]:
    """Call what writes JSON text with Date.prototype.toJSON out of the way: a Date leaves {} and no time.

    `function` must be one of the engine's: nothing else may run meanwhile.

    Returns:
        Its result, and whether the toJSON was out of the way: an application may have frozen it.
    """
    return _with_date_json(engine().no_json, function, *args)


def _with_date_json(descriptor: Any, function: Callable[..., T], *args: Any) -> tuple[T, bool]:
    js = engine()
    found = js.date_json()
    if found is None:  # an application has deleted it
        return function(*args), False
    is_away = js.set_date_json(descriptor)
    try:
        return function(*args), is_away
    finally:
        js.set_date_json(found)


def text_utf8(value: JsValue) -> tuple[bytes, bool]:
    """Return JSON.stringify([value]) without times in UTF-8: a long text comes over much faster so."""
    js = engine()
    js.hold(value)
    text, is_without_times = without_times(js.encode, js.held)
    data: bytes = text.to_bytes()
    if len(data) > _SOON_FREED:
        js.hold(None)
    return data, is_without_times


def boxed_text(value: JsValue) -> tuple[str | None, bool]:
    """Return JSON.stringify(value) with a Date as an array, and with each member passed through Object.

    So null becomes an object, {}, and what is written as null is a number that is not finite.

    Returns:
        The text, and whether no Date was written in its own way.
    """
    js = engine()
    return _with_date_json(js.array_json, js.stringify, value, js.boxing)


def has_null_number(value: JsValue) -> bool:
    """Return whether `value` may hold a number that is not finite.

    The text is that of `boxed_text`: where it says null there is one, or a string that says so.
    """
    js = engine()
    js.hold(value)
    found: bool = matcher("null")(js.held_boxed)
    return found


def is_surely_json(value: JsValue, levels: int) -> bool:
    """Return whether `value` holds only objects and arrays of JSON's, `levels` deep, and finite numbers.

    Of undefined and holes it knows nothing. The value must have a JSON text. A False is no verdict: a boxed
    primitive is a JSON value.
    """
    js = engine()
    level: JsArray[Any] = js.array_of(value)
    for _ in range(levels + 1):  # by whole levels, for the engine to do the work
        if any(js.includes(level, number) for number in (math.nan, math.inf, -math.inf)):
            return False
        level = js.filter(level, js.is_extensible)  # no primitive is
        if not level.length:
            return True
        tags = js.array_from(js.set(js.map(level, js.tag))).join("\n")
        if not _CONTAINERS.issuperset(tags.split("\n")):
            return False
        level = js.flat_map(level, js.values)
    return False
