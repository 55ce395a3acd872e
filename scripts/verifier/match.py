"""Pure judgement: does an answer show what a case says must be observed?"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import NoReturn

from .forms import CATCHABLE, GENERATORS, MEANINGLESS, FormError, Json, Scope, expand, form_of, json_text

SHOWN = 240


@dataclass
class Judgement:
    """What a comparison found: problems (none: it holds), values recorded, excuses, values bound."""

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    excuses: list[str] = field(default_factory=list)
    bindings: dict[str, Json] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return not self.problems

    def take(self, other: Judgement) -> None:
        self.problems += other.problems
        self.notes += other.notes
        self.excuses += other.excuses
        self.bindings |= other.bindings


def abridge(value: Json, shown: int = SHOWN) -> str:
    """JSON text of a value, its middle left out when it is long."""
    text = json_text(value)
    if len(text) <= shown:
        return text
    return f"{text[: shown * 2 // 3]} …({len(text)} characters)… {text[-shown // 3 :]}"


def compare(expected: Json, observed: Json, scope: Scope) -> Judgement:
    """Exact JSON equality, except where `expected` holds a matcher.

    An integer is no float and no boolean, save inside `$json`, where numbers are equal when their values are.
    What `$bind` binds is in `scope` at once, for what is compared after it.
    """
    return _Comparison(scope).at("", expected, observed)


class _Comparison:
    def __init__(self, scope: Scope, *, by_value: bool = False) -> None:
        self.scope = scope
        self.by_value = by_value

    def at(self, path: str, expected: Json, observed: Json) -> Judgement:
        if self.scope.excuses and isinstance(observed, dict) and observed.get("error") == MEANINGLESS:
            return Judgement(excuses=[observed["message"]])
        form = form_of(expected)
        if form is None:
            return self._plain(path, expected, observed)
        argument = expected[form]
        if form in GENERATORS:
            built = expand(expected, self.scope)
            return Judgement() if self._equal(built, observed) else _differs(path, abridge(built), observed)
        match form:
            case "$error":
                return self._error(path, argument, observed)
            case "$json":
                return self._json(path, argument, observed)
            case "$int":
                return self._integer(path, argument, observed)
            case "$string":
                holds = isinstance(observed, str) and _text_problem(argument, observed) is None
                return Judgement() if holds else _differs(path, abridge(expected), observed)
            case "$includes":
                return self._includes(path, argument, observed)
            case "$object":
                return self._members(path, argument, observed, exact=False)
            case "$oneOf":
                found = [self.at(path, one, observed) for one in argument]
                return next((one for one in found if one.holds), _differs(path, abridge(expected), observed))
            case "$bind":
                judgement = self.at(path, argument[1], observed)
                judgement.bindings[argument[0]] = observed
                self.scope.variables[argument[0]] = observed
                return judgement
            case "$recorded":
                return Judgement(notes=[f"{argument}: {abridge(observed)}"])
        raise FormError(f"{form} is no matcher")

    def _plain(self, path: str, expected: Json, observed: Json) -> Judgement:
        if isinstance(expected, dict):
            return self._members(path, expected, observed, exact=True)
        if isinstance(expected, list):
            if not isinstance(observed, list) or len(expected) != len(observed):
                return _differs(path, abridge(expected), observed)
            judgement = Judgement()
            for index, pair in enumerate(zip(expected, observed, strict=True)):
                judgement.take(self.at(f"{path}[{index}]", *pair))
            return judgement
        return Judgement() if self._equal(expected, observed) else _differs(path, abridge(expected), observed)

    def _members(self, path: str, expected: dict[str, Json], observed: Json, *, exact: bool) -> Judgement:
        if not isinstance(observed, dict) or (exact and expected.keys() != observed.keys()):
            return _differs(path, abridge(expected), observed)
        judgement = Judgement()
        for name, one in expected.items():
            if name in observed:
                judgement.take(self.at(f"{path}.{name}", one, observed[name]))
            else:
                judgement.problems.append(f"{path or 'answer'}: no member {name} in {abridge(observed)}")
        return judgement

    def _error(self, path: str, options: dict[str, Json], observed: Json) -> Judgement:
        wanted = abridge({"$error": options})
        if not isinstance(observed, dict) or observed.keys() != {"error", "message"}:
            return _differs(path, wanted, observed)
        message = observed["message"]
        if (
            observed["error"] != options.get("type", CATCHABLE)
            or not isinstance(message, str)
            or message == ""
        ):
            return _differs(path, wanted, observed)
        return Judgement() if _text_problem(options, message) is None else _differs(path, wanted, observed)

    def _json(self, path: str, expected: Json, observed: Json) -> Judgement:
        if not isinstance(observed, str):
            return _differs(path, abridge({"$json": expected}), observed)
        try:
            value = parse_json(observed)
        except ValueError as error:
            return Judgement([f"{path or 'answer'}: no JSON text ({error}): {abridge(observed)}"])
        return _Comparison(self.scope, by_value=True).at(f"{path}(JSON)", expected, value)

    def _integer(self, path: str, bounds: Json, observed: Json) -> Judgement:
        low, high = (expand(bound, self.scope) for bound in bounds)
        is_integer = isinstance(observed, int) and not isinstance(observed, bool)
        if is_integer and (low is None or low <= observed) and (high is None or observed <= high):
            return Judgement()
        return _differs(path, f"an integer from {low} to {high}", observed)

    def _includes(self, path: str, expected: list[Json], observed: Json) -> Judgement:
        """Each matcher finds an item of its own, in any order: the first that fits, no backtracking."""
        if not isinstance(observed, list):
            return _differs(path, abridge({"$includes": expected}), observed)
        free = list(range(len(observed)))
        judgement = Judgement()
        for one in expected:
            for index in free:
                found = self.at(f"{path}[{index}]", one, observed[index])
                if found.holds:
                    free.remove(index)
                    judgement.take(found)
                    break
            else:
                judgement.problems.append(
                    f"{path or 'answer'}: none is {abridge(one)} in {abridge(observed)}"
                )
        return judgement

    def _equal(self, expected: Json, observed: Json) -> bool:
        if isinstance(expected, list):
            return (
                isinstance(observed, list)
                and len(expected) == len(observed)
                and all(map(self._equal, expected, observed))
            )
        if isinstance(expected, dict):
            return (
                isinstance(observed, dict)
                and expected.keys() == observed.keys()
                and all(self._equal(item, observed[name]) for name, item in expected.items())
            )
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (expected, observed))
        if self.by_value and numbers:
            return bool(expected == observed)
        return type(expected) is type(observed) and bool(expected == observed)


def parse_json(text: str) -> Json:
    """Strict JSON: no NaN, no infinity, no duplicate members (a canonical text has none)."""

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")

    def members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("duplicate members")
        return found

    return json.loads(text, parse_constant=constant, object_pairs_hook=members)


def _text_problem(options: dict[str, Json], text: str) -> str | None:
    """Why a text does not fit `message`, `starts` and `contains`; None when it does."""
    contains = options.get("contains", [])
    if text != options.get("message", text):
        return "message"
    if not text.startswith(options.get("starts", "")):
        return "starts"
    wanted = contains if isinstance(contains, list) else [contains]
    return None if all(part in text for part in wanted) else "contains"


def _differs(path: str, expected: str, observed: Json) -> Judgement:
    return Judgement([f"{path or 'answer'}: expected {expected}, observed {abridge(observed)}"])
