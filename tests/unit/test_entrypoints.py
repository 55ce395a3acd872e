"""The base classes of a Worker, as far as CPython can tell."""

import ast
import types
from pathlib import Path

import pytest

from yungong import App, DurableObject, Worker

ENTRY = Path(__file__).parents[2] / "src" / "entry.py"


@pytest.mark.parametrize(
    ("base", "handlers"), [(Worker, {"fetch", "queue"}), (DurableObject, {"fetch", "alarm"})]
)
def test_nothing_but_the_platform_s_handlers_can_be_called_over_rpc(base: type, handlers: set[str]) -> None:
    own = {
        name for cls in base.__mro__ if cls is not object for name, it in vars(cls).items() if callable(it)
    }
    assert {name for name in own if not name.startswith("__")} == handlers


def test_the_deployed_classes_add_no_method() -> None:
    classes = [node for node in ast.parse(ENTRY.read_text("utf-8")).body if isinstance(node, ast.ClassDef)]
    methods = {
        node.name: {
            method.name for method in node.body if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        for node in classes
    }
    assert methods == {
        "Default": {"__init__", "fetch", "queue"},
        "DurableStore": {"__init__", "fetch"},
    }


@pytest.mark.parametrize("base", [Worker, DurableObject])
def test_a_class_without_an_application_is_refused_and_one_inherits_it(base: type) -> None:
    with pytest.raises(TypeError, match=r"^Lonely has no application: write class Lonely\(…, app=app\)$"):
        type("Lonely", (base,), {})
    app = App()
    parent = types.new_class("Parent", (base,), {"app": app})
    assert type("Child", (parent,), {})._app is app  # type: ignore[attr-defined]
