"""The forms of the vectors' small language: one-member objects whose name starts with `$`.

A generator builds a value (in requests and in expectations alike); a matcher, allowed in expectations only,
judges one. tests/vectors/README.md documents both.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = Any
"""Any JSON value, as Python's json reads it."""

CATCHABLE = "豫言异常"
MEANINGLESS = "Meaningless"

GENERATORS = frozenset(
    {"$repeat", "$concat", "$nest", "$text", "$copies", "$name", "$now", "$var", "$literal"}
)
MATCHERS = frozenset(
    {"$error", "$json", "$int", "$string", "$includes", "$object", "$oneOf", "$bind", "$recorded"},
)
ERROR_OPTIONS = frozenset({"type", "message", "starts", "contains"})
STRING_OPTIONS = frozenset({"starts", "contains"})
BRACKETS = {"[": "]", '{"a":': "}"}


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
        case "$var":
            if argument not in scope.variables:
                raise FormError(f"nothing is bound to {argument}")
            return scope.variables[argument]
        case "$literal":
            return argument
    raise FormError(f"{form} is no generator")


def check(value: Json, *, matchers: bool) -> None:
    """Refuses unknown forms, matchers where none may stand, and malformed arguments."""
    form = form_of(value)
    if form is None:
        if isinstance(value, dict | list):
            for item in value.values() if isinstance(value, dict) else value:
                check(item, matchers=matchers)
        return
    argument = value[form]
    if form not in GENERATORS and not (matchers and form in MATCHERS):
        raise FormError(
            f"{form} is unknown" if form not in MATCHERS else f"{form} stands where only generators may"
        )
    if not _well_formed(form, argument):
        raise FormError(f"{form} is malformed: {json_text(value)[:120]}")
    for part in _parts(form, argument):
        check(part, matchers=matchers and form in MATCHERS)


def _well_formed(form: str, argument: Json) -> bool:
    items = argument if isinstance(argument, list) else []
    match form:
        case "$repeat":
            return len(items) == 2 and isinstance(items[1], int)
        case "$concat" | "$includes" | "$oneOf":
            return bool(items)
        case "$nest":
            return len(items) in (2, 3) and items[0] in BRACKETS and isinstance(items[1], int)
        case "$copies":
            return len(items) == 2 and isinstance(items[0], int)
        case "$name" | "$var" | "$recorded":
            return isinstance(argument, str) and argument != ""
        case "$now":
            return isinstance(argument, int)
        case "$error":
            return _options(argument, ERROR_OPTIONS)
        case "$string":
            return _options(argument, STRING_OPTIONS)
        case "$int":
            return len(items) == 2
        case "$object":
            return isinstance(argument, dict) and argument != {}
        case "$bind":
            return len(items) == 2 and isinstance(items[0], str)
    return form in ("$text", "$literal", "$json")


def _options(argument: Json, known: frozenset[str]) -> bool:
    if not isinstance(argument, dict) or not known.issuperset(argument):
        return False
    contains = argument.get("contains", [])
    texts = [*(contains if isinstance(contains, list) else [contains])]
    texts += [text for name, text in argument.items() if name != "contains"]
    return all(isinstance(text, str) for text in texts)


def _parts(form: str, argument: Json) -> list[Json]:
    """The arguments of a form that may hold forms themselves."""
    match form:
        case "$repeat":
            return [argument[0]]
        case "$concat" | "$includes" | "$oneOf" | "$int":
            return list(argument)
        case "$nest":
            return list(argument[2:])
        case "$text" | "$json":
            return [argument]
        case "$copies" | "$bind":
            return [argument[1]]
        case "$object":
            return list(argument.values())
    return []
