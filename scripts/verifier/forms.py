"""The forms of the vectors' small language: one-member objects whose name starts with `$`.

A generator builds a value (in requests and in expectations alike); a matcher, allowed in expectations only,
judges one. tests/vectors/README.md documents both; tests/vectors/schema/vectors.json says where.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .schema import schema

Json = Any
"""Any JSON value, as Python's json reads it."""

CATCHABLE = "豫言异常"
MEANINGLESS = "Meaningless"

GENERATORS = frozenset(schema("vectors")["$defs"]["generator"]["properties"])
BRACKETS = {"[": "]", '{"a":': "}"}


Words = dict[str, str]
"""The same sentence in English (`en`) and 汉语 (`zh`)."""


def words(en: str, zh: str) -> Words:
    """One sentence in both languages."""
    return {"en": en, "zh": zh}


class FormError(ValueError):
    """A vector that uses the language wrongly."""


@dataclass
class Scope:
    """What a case's forms may refer to: the run's real object names and the values bound so far."""

    prefix: str
    variables: dict[str, Json] = field(default_factory=dict)
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    excuses: bool = False
    """Whether a call may be answered with the error Meaningless, which says why the face does not have it."""

    def name(self, symbol: str) -> str:
        """An object's real name: `=name` is itself, any other is unique to the case and the run."""
        return symbol[1:] if symbol.startswith("=") else f"{self.prefix}.{symbol}"


def form_of(value: Json) -> str | None:
    """The form's name when the value is one, else None."""
    if isinstance(value, dict) and len(value) == 1:
        (name,) = value
        if name.startswith("$"):
            return str(name)
    return None


def json_text(value: Json) -> str:
    """Compact JSON text; characters beyond ASCII stay, lone surrogates are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)


def expand(value: Json, scope: Scope) -> Json:
    """The value with its generators carried out."""
    form = form_of(value)
    if form is None:
        if isinstance(value, dict):
            return {key: expand(item, scope) for key, item in value.items()}
        if isinstance(value, list):
            return [expand(item, scope) for item in value]
        return value
    argument = value[form]
    match form:
        case "$repeat":
            return str(expand(argument[0], scope)) * int(argument[1])
        case "$concat":
            return "".join(expand(part, scope) for part in argument)
        case "$nest":
            opening, count, *inner = argument
            return opening * count + "".join(expand(inner, scope)) + BRACKETS[opening] * count
        case "$text":
            return json_text(expand(argument, scope))
        case "$copies":
            return [expand(argument[1], scope) for _ in range(argument[0])]
        case "$name":
            return scope.name(argument)
        case "$now":
            return scope.now_ms() + int(argument)
        case "$sum":
            return sum(expand(part, scope) for part in argument)
        case "$var":
            if argument not in scope.variables:
                raise FormError(f"nothing is bound to {argument}")
            return scope.variables[argument]
        case "$literal":
            return argument
    raise FormError(f"{form} is no generator")
