"""The schemas refuse what protocol, vectors and report do not have, in sentences that name the place."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from verifier.cases import VECTORS, only_reads
from verifier.schema import SCHEMAS, problem, schema

ROOT = Path(__file__).resolve().parents[2]
STEPS = schema("protocol")["$defs"]["step"]["dependentSchemas"]
NATIVES = schema("protocol")["$defs"]["native"]["enum"]


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_each_schema_is_one_of_its_draft(path: Path) -> None:
    document = schema(path.stem)
    assert document["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(document)


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"$any": 1}, "[0]: a generator knows no $any"),
        ({"$repeat": ["x"]}, '[0].$repeat: ["x"] is not [text, n]'),
        ({"$copies": [1.0, 1]}, "[0].$copies[0]: 1.0 is not an integer"),
        ({"$error": {"type": 1}}, "[0].$error.type: 1 is not a text"),
        ({"$error": {"text": "x"}}, "[0].$error: an error's options knows no text"),
        ({"$int": [1]}, "[0].$int: [1] is not [low, high]"),
        ({"$object": {}}, "[0].$object: {} is not an object with members"),
        ({"$text": {"$string": {}}}, "[0].$text: a generator knows no $string"),
    ],
)
def test_an_unknown_or_malformed_form_is_refused(form: Any, told: str) -> None:
    assert problem([form], "vectors", "expectation") == told


def test_a_matcher_is_refused_in_a_request() -> None:
    assert problem({"$text": 1}, "vectors", "value") is None
    assert problem({"a": [{"$string": {}}]}, "vectors", "expectation") is None
    assert problem({"a": [{"$string": {}}]}, "vectors", "value") == "a[0]: a generator knows no $string"
    assert problem({"$literal": {"$string": 1}}, "vectors", "value") is None


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({}, "{} is not a step of the protocol"),
        (1, "1 is not a step of the protocol"),
        ({"call": "没有", "args": []}, 'call: "没有" is not an interface function'),
        ({"call": "store_get", "args": [], "x": 1}, "a call step knows no x"),
        ({"sleep": True}, "sleep: true is not a number of milliseconds"),
        ({"native": "drop"}, 'native: "drop" is not a native step of the protocol'),
        ({"native": "put", "key": "k"}, "a native put step lacks value"),
        ({"native": "set-alarm", "at_ms": 1.0}, "at_ms: 1.0 is not an integer"),
        ({"swallow": [{"x": 1}]}, 'swallow[0]: {"x": 1} is not a step of the protocol'),
        ({"together": [[], [{"x": 1}]]}, 'together[1][0]: {"x": 1} is not a step of the protocol'),
        ({"spawn": [{"x": 1}], "log": "k"}, 'spawn[0]: {"x": 1} is not a step of the protocol'),
        ({"transaction": [{"swallow": [{}]}]}, "transaction[0].swallow[0]: {} is not a step of the protocol"),
    ],
    ids=str,
)
def test_an_unknown_step_is_refused_in_a_sentence(step: Any, told: str) -> None:
    assert problem(step, "protocol", "step") == told


def test_two_forms_in_one_step_are_refused() -> None:
    assert problem({"sleep": 1, "kind": True}, "protocol", "step") in (
        "a kind step knows no sleep",
        "a sleep step knows no kind",
    )


def test_generators_stand_in_vectors_and_not_on_the_wire() -> None:
    step = {"native": "get", "key": {"$name": "a"}}
    assert problem({"object": "a", "see": [[step, None]]}, "vectors", "exchange") is None
    assert problem(step, "protocol", "step") == 'key: {"$name": "a"} is not a text'


def test_only_steps_that_change_nothing_may_be_repeated() -> None:
    assert only_reads({"call": "读取持久仓键值", "args": ["k"]})
    assert only_reads({"native": "alarm"})
    assert not only_reads({"call": "store_put", "args": ["k", "1"]})
    assert not only_reads({"transaction": []})


def test_every_form_is_in_the_readme() -> None:
    readme = (VECTORS / "README.md").read_text("utf-8")
    forms = schema("vectors")["$defs"]
    names = [*STEPS, *forms["generator"]["properties"], *forms["matcher"]["properties"]]
    shown = [f'{{"{name}": ' for name in names] + [f'{{"native": "{name}"' for name in NATIVES]
    assert [one for one in shown if one not in readme] == []
    values = schema("protocol")["$defs"]["platformValue"]["enum"]
    assert [name for name in values if ":" not in name and f"`{name}`" not in readme] == []


def test_the_worker_knows_the_same_steps() -> None:
    """The Worker has no schema at hand; what its modules match on is what the schema has."""
    source = "".join(
        (ROOT / "src/verification" / name).read_text("utf-8")
        for name in ("script.py", "native.py", "probing.py")
    )
    patterns = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.MatchMapping)]
    keys = [[ast.literal_eval(key) for key in pattern.keys] for pattern in patterns]
    assert {one[0] for one in keys if one[0] not in ("bare", "json")} == set(STEPS)
    natives = {
        value.value.value
        for pattern, names in zip(patterns, keys, strict=True)
        if names[0] == "native"
        for value in ast.walk(pattern.patterns[names.index("native")])
        if isinstance(value, ast.MatchValue) and isinstance(value.value, ast.Constant)
    }
    assert natives == set(NATIVES)
