"""Generated values: JSON values, what is none, and what comes back of one."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from yungong.pythonic import values as with_orjson

MAX = 2**53 - 1


def _with_json() -> ModuleType:
    spec = importlib.util.spec_from_file_location("yungong.pythonic.values_with_json", with_orjson.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with patch.dict(sys.modules, {"orjson": None}):
        spec.loader.exec_module(module)
    return module


with_json = _with_json()
BOTH = (with_orjson, with_json)

_floats = st.floats(allow_nan=False, allow_infinity=False) | st.builds(
    lambda sign, digits, exponent: float(f"{sign}{digits}e{exponent}"),
    st.sampled_from(["", "-"]),
    st.integers(0, 10**17),
    st.integers(-330, 290),
)
_integers = st.integers(-MAX, MAX) | st.sampled_from([MAX, -MAX, 10**15, 0, -1])
_texts = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ["null", "$句柄", '"\\', ":1234567890123456789", "\x00\x1f\x7f\u2028\ufeff", "\U0001f600", "__proto__"]
)
SCALARS = st.none() | st.booleans() | _integers | _floats | _texts
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_texts, inner, max_size=5),
    max_leaves=25,
)


def from_javascript(value: Any) -> Any:
    """Return what comes back of a JSON value: whole floats that are exact as integers."""
    if type(value) is float and value.is_integer() and -MAX <= value <= MAX:
        return int(value)
    if type(value) is list:
        return [from_javascript(member) for member in value]
    if type(value) is dict:
        return {key: from_javascript(member) for key, member in value.items()}
    return value


def shown(value: Any) -> str:
    """Return a text that tells 1 from 1.0 and True, and not the order of members."""
    if type(value) is dict:
        return f"{{{', '.join(sorted(f'{key!r}: {shown(member)}' for key, member in value.items()))}}}"
    if type(value) is list:
        return f"[{', '.join(map(shown, value))}]"
    return repr(value)
