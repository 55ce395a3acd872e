"""The base classes of a Worker, as far as CPython can tell."""

import ast
import asyncio
import types
from pathlib import Path
from typing import Any

import pytest

from yungong import App, DurableObject, Worker, durable_method
from yungong.rpc import Door

ENTRY = Path(__file__).parents[2] / "src" / "entry.py"


def test_nothing_but_the_platform_s_handlers_of_a_worker_can_be_called_over_rpc() -> None:
    own = {name for name, it in vars(Worker).items() if callable(it) and not name.startswith("__")}
    assert own == {"fetch", "queue", "scheduled"}


class Doored:
    """An object that is no Durable Object: a door does not ask."""

    def __init__(self) -> None:
        self.attribute = self.helper

    async def fetch(self) -> str:
        return "fetched"

    @durable_method
    def count(self, by: int) -> int:
        return by

    def helper(self) -> None: ...

    def _private(self) -> None: ...

    @staticmethod
    def static() -> None: ...

    @classmethod
    def of_class(cls) -> None: ...

    async def _enter_method(self, method: Any, *arguments: Any) -> Any:
        return "entered", method(self, *arguments)


class Overriding(Doored):
    def count(self, by: int) -> int:
        return -by


def test_a_door_has_the_handlers_and_the_decorated_methods_and_nothing_else() -> None:
    instance = Doored()
    door = Door(instance)
    assert asyncio.run(door.fetch()) == "fetched"
    assert asyncio.run(door.count(2)) == ("entered", 2)
    assert {name for name in dir(instance) if reachable(door, name)} == {"count", "fetch"}
    assert {name for name in dir(instance) if reachable(Door(Overriding()), name)} == {"fetch"}


def reachable(door: Door, name: str) -> bool:
    try:
        getattr(door, name)
    except (AttributeError, TypeError):
        return False
    return True


def test_a_decorated_method_called_from_python_is_itself() -> None:
    assert Doored().count(2) == 2


def test_what_is_no_method_cannot_be_decorated() -> None:
    with pytest.raises(TypeError, match=r"^durable_method decorates a method, not staticmethod$"):
        durable_method(staticmethod(print))
    with pytest.raises(TypeError, match=r"^alarm cannot be called over RPC: give the method another name$"):

        @durable_method
        def alarm() -> None: ...


def test_the_deployed_classes_add_no_method_but_these() -> None:
    classes = [node for node in ast.parse(ENTRY.read_text("utf-8")).body if isinstance(node, ast.ClassDef)]
    methods = {
        node.name: {
            method.name for method in node.body if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        for node in classes
    }
    assert methods == {
        "Default": {"__init__", "fetch", "queue"},
        # Behind the door of an object: see above.
        "DurableStore": {"__init__", "_answer", "_enter_method", "fetch", "run_script", "webSocketMessage"},
    }


@pytest.mark.parametrize("base", [Worker, DurableObject])
def test_a_class_without_an_application_is_refused_and_one_inherits_it(base: type) -> None:
    with pytest.raises(TypeError, match=r"^Lonely has no application: write class Lonely\(…, app=app\)$"):
        type("Lonely", (base,), {})
    app = App()
    parent = types.new_class("Parent", (base,), {"app": app})
    assert type("Child", (parent,), {})._app is app  # type: ignore[attr-defined]
