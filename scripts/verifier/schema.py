"""The forms of protocol, vectors and report: tests/vectors/schema, and what is wrong in a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry, Resource

SCHEMAS = Path(__file__).resolve().parents[2] / "tests" / "vectors" / "schema"
SHOWN = 120

# 1.0 is an integer to JSON Schema, and none to Python's json, which reads the vectors and the steps.
_Strict = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int),
)


@cache
def schema(name: str) -> dict[str, Any]:
    """One schema's document: protocol, vectors or report."""
    return cast("dict[str, Any]", json.loads((SCHEMAS / f"{name}.json").read_text("utf-8")))


@cache
def _registry() -> Registry[Any]:
    documents = [schema(path.stem) for path in SCHEMAS.glob("*.json")]
    resources = [(document["$id"], Resource.from_contents(document)) for document in documents]
    # Crawled once: otherwise each reference would look through every document anew.
    return Registry().with_resources(resources).crawl()


@cache
def _validator(name: str, definition: str) -> Validator:
    document = schema(name)
    wanted = {"$ref": document["$id"] + (definition and f"#/$defs/{definition}")}
    return cast("Validator", _Strict(wanted, registry=_registry()))


def problem(value: Any, name: str, definition: str = "") -> str | None:
    """What is wrong with a value, in a sentence; None where nothing is.

    `name` is the schema's and `definition` one of its `$defs`, where the value is no whole document.
    """
    # The schemas branch by if and then, not by oneOf: what is wrong stands at its own place.
    errors = _validator(name, definition).iter_errors(value)
    error = min(errors, key=lambda one: len(one.absolute_path), default=None)
    return None if error is None else _sentence(error)


def _sentence(error: ValidationError) -> str:
    place = _place(error.absolute_path)
    prefix = f"{place}: " if place else ""
    rule: dict[str, Any] = error.schema if isinstance(error.schema, dict) else {}
    instance: Any = error.instance
    title = str(rule.get("title", "what it should be"))
    if error.validator == "additionalProperties":
        unknown = sorted(set(instance) - set(rule.get("properties", ())))
        return f"{prefix}{title} knows no {', '.join(unknown)}"
    if error.validator == "required":
        missing = [name for name in rule["required"] if name not in instance]
        return f"{prefix}{title} lacks {', '.join(missing)}"
    return f"{prefix}{_shown(instance)} is not {title}"


def _place(path: Iterable[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
