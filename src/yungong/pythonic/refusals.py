"""What is no JSON value: found in a value, and told with its path and with what to write instead."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from datetime import date, time, timedelta
from enum import Enum
from math import isfinite
from typing import Any

from ..errors import 豫言异常

MAX_INTEGER = 2**53 - 1

_ABOUT_LARGE = "an int beyond ±(2**53 − 1) is no JSON value; write str(value)"
_LONE_SURROGATE = 'with a lone surrogate is no JSON value; write value.encode("utf-8", "replace").decode()'


def refuse_first(value: Any, levels: int, name: str, path: str) -> None:
    """Raise the error for the first offender in `value`; return where all of it is a JSON value.

    Raises:
        TypeError: its type is no JSON value's.
        ValueError: its type is one, and it is none: an int that is too large, a NaN, an infinity, a lone
            surrogate, a list or dict inside itself.
        豫言异常: `name`, as the specification calls the whole, nests deeper than `levels`.
    """
    _refuse(value, path, (), levels, name)


def _refuse(value: Any, path: str, around: tuple[int, ...], levels: int, name: str) -> None:
    kind = type(value)
    if value is None or kind is bool:
        return
    if kind is str:
        if not _is_unicode(value):
            raise ValueError(f"{path}: a str {_LONE_SURROGATE}")
    elif kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise ValueError(f"{path}: {_ABOUT_LARGE}")
    elif kind is float:
        if not isfinite(value):
            raise ValueError(f"{path}: {value} is no JSON value; write None")
    elif kind is not list and kind is not dict:
        raise TypeError(f"{path}: {_described(value)} is no JSON value{_instead(value)}")
    elif id(value) in around:
        raise ValueError(f"{path}: {_described(value)} inside itself is no JSON value")
    elif len(around) == levels:
        raise 豫言异常(f"{name}的嵌套超过 {levels} 层：{path}")
    else:
        around = (*around, id(value))
        if kind is list:
            for index, member in enumerate(value):
                _refuse(member, f"{path}[{index}]", around, levels, name)
            return
        for key, member in value.items():
            if type(key) is not str:
                raise TypeError(f"{path}: {_described(key)} is no key of a JSON object; write str(key)")
            if not _is_unicode(key):
                raise ValueError(f"{path}: a key {_LONE_SURROGATE.replace('value.', 'key.')}")
            _refuse(member, path + _step(key), around, levels, name)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _step(key: str) -> str:
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key, ensure_ascii=False)}]"


def _described(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOaeiou' else 'a'} {name}"


def _instead(value: Any) -> str:
    """Return what to write for `value`, the text of a sentence's end; empty where nobody can know."""
    from decimal import Decimal  # here, where a start does not pay for it

    expression = ""
    if isinstance(value, Enum):
        expression = "value.value"
    elif is_dataclass(value) and not isinstance(value, type):
        expression = "dataclasses.asdict(value)"
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        expression = "value._asdict()"
    elif isinstance(value, (date, time)):
        expression = "value.isoformat()"
    elif isinstance(value, timedelta):
        expression = "value.total_seconds()"
    elif isinstance(value, Decimal):
        expression = "str(value)"
    elif isinstance(value, (bytes, bytearray, memoryview)):
        expression = "base64.b64encode(value).decode()"
    elif isinstance(value, (tuple, set, frozenset, list)):
        expression = "list(value)"
    elif isinstance(value, dict):
        expression = "dict(value)"
    else:
        for plain in (int, float, str):
            if isinstance(value, plain):
                expression = f"{plain.__name__}(value)"
    return f"; write {expression}" if expression else ""
