"""The names that an application imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import yungong

INTERFACES = {"alarm", "queue", "store", "transaction"}


def test_all_is_sorted_and_complete() -> None:
    tree = ast.parse(Path(yungong.__file__).read_text())
    imported = [
        name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
        for name in node.names
    ]
    assert yungong.__all__ == sorted(imported)


def test_every_export_is_loaded_from_the_module_that_defines_it() -> None:
    found = {name: sys.modules[getattr(yungong, name).__module__] for name in yungong.__all__}
    assert all(getattr(module, name) is getattr(yungong, name) for name, module in found.items())
    lazy = {name for name, module in found.items() if module.__name__.rpartition(".")[2] in INTERFACES}
    assert set(yungong._MODULES) == lazy  # type: ignore[attr-defined]


def test_every_export_has_a_docstring() -> None:
    assert [name for name in yungong.__all__ if not getattr(yungong, name).__doc__] == []


def test_an_unknown_name_is_refused_as_any_module_does() -> None:
    with pytest.raises(AttributeError, match=r"^module 'yungong' has no attribute 'unknown'$"):
        _ = yungong.unknown  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("statement", "loaded"),
    [
        ("import yungong", set()),
        ("from yungong import App, DurableObject, Worker, 豫言异常, event_kind", set()),
        ("from yungong import store_get", {"store", "jsontext"}),
        ("from yungong import send_message", {"queue", "jsontext"}),
        ("import yungong; yungong.set_alarm", {"alarm"}),
        ("from yungong import *", {*INTERFACES, "jsontext"}),
    ],
)
def test_an_interface_is_loaded_when_a_name_of_it_is_asked_for(statement: str, loaded: set[str]) -> None:
    program = (
        f"{statement}\nimport sys; print(*(name for name in sys.modules if name.startswith('yungong.')))"
    )
    output = subprocess.check_output(
        [sys.executable, "-c", program], cwd=Path(yungong.__file__).parents[1], text=True
    )
    modules = {name.removeprefix("yungong.") for name in output.split() if name.startswith("yungong.")}
    assert modules & {*INTERFACES, "jsontext"} == loaded
