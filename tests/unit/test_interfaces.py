"""bindings/interfaces.toml against the code, and the code against what may touch JavaScript."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import subprocess
import sys
import tomllib
import unicodedata
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

import yungong
from yungong import events, 豫言异常
from yungong.kinds import KINDS

from .doubles import Reached, Unreachable, make_event

ROOT = Path(__file__).parents[2]
TABLE: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "bindings/interfaces.toml").read_text())
STUBS = (ROOT / "bindings/js/__init__.pyi").read_text()

# What the package has besides the interfaces' functions.
OWN_FUNCTIONS = {"current_instance", "durable_method", "sleep", "wait_until"}
ARGUMENTS = {"int": 0, "str": "1"}
REFUSALS = {
    "当前没有入站事件",
    "当前事件不属于持久对象",
    "当前事件不是事务处理入口",
    "当前事件不是队列事件",
    "事务处理入口内不能直接访问持久仓",
    "事务处理入口内不能再启动事务",
}

each_function = pytest.mark.parametrize("name", TABLE)


def test_the_table_has_every_function_and_no_other() -> None:
    functions = {name for name in yungong.__all__ if inspect.isfunction(getattr(yungong, name))}
    aliases = {row["alias"] for row in TABLE.values()}
    assert functions - OWN_FUNCTIONS == set(TABLE) | aliases
    assert len(aliases) == len(TABLE)


def test_every_row_has_the_same_columns() -> None:
    columns = ["alias", "interface", "section", "async", "events", "returns", "platform"]
    assert {name: list(row) for name, row in TABLE.items()} == dict.fromkeys(TABLE, columns)


@each_function
def test_the_alias_is_the_function(name: str) -> None:
    function = getattr(yungong, name)
    assert function.__name__ == name
    assert getattr(yungong, TABLE[name]["alias"]) is function


@each_function
def test_a_name_is_what_python_makes_of_it(name: str) -> None:
    """Python reads identifiers in their NFKC form: a name that changes there is not found by its text."""
    for spelling in (name, TABLE[name]["alias"]):
        assert unicodedata.normalize("NFKC", spelling) == spelling


@each_function
def test_a_function_is_async_where_the_table_says_so(name: str) -> None:
    assert inspect.iscoroutinefunction(getattr(yungong, name)) == TABLE[name]["async"]


@each_function
def test_a_function_returns_what_the_table_says(name: str) -> None:
    assert inspect.signature(getattr(yungong, name)).return_annotation in (
        TABLE[name]["returns"],
        {"None": None, "str": str, "int": int}.get(TABLE[name]["returns"]),
    )


@each_function
def test_a_docstring_names_the_function_s_place_in_the_specification(name: str) -> None:
    summary = inspect.getdoc(getattr(yungong, name)).split("\n\n")[0]  # type: ignore[union-attr]
    assert TABLE[name]["interface"] in summary


@each_function
def test_the_platform_s_calls_are_in_the_stubs(name: str) -> None:
    for call in TABLE[name]["platform"]:
        owner, member = call.split(".")
        body = re.search(rf"^class {owner}\(.*?(?=^\S|\Z)", STUBS, re.DOTALL | re.MULTILINE)
        assert body is not None, owner
        assert re.search(rf"^    (?:def )?{member}\b", body[0], re.MULTILINE), call


def allowed_kinds(name: str) -> list[str]:
    """Return the kinds of event in which a function may be called, as the table says."""
    durable: list[str] = [kind for kind in KINDS if kind.startswith("durable-")]
    groups: dict[str, list[str]] = {
        "any": list(KINDS),
        "durable": durable,
        "direct": [kind for kind in durable if kind != "durable-transaction"],
    }
    kinds: str = TABLE[name]["events"]
    return groups.get(kinds, [kinds])


@pytest.mark.parametrize("kind", [*KINDS, None])
@each_function
async def test_a_function_is_refused_in_every_other_kind_of_event(name: str, kind: str | None) -> None:
    function = getattr(yungong, name)
    arguments = [ARGUMENTS[parameter.annotation] for parameter in _parameters(function)]
    context = copy_context()
    if kind is not None:
        context.run(events.enter, _event(kind))

    async def call() -> Any:
        value = function(*arguments)
        return await value if inspect.isawaitable(value) else value

    refused = False
    try:
        await asyncio.get_running_loop().create_task(call(), context=context)
    except 豫言异常 as error:
        refused = str(error) in REFUSALS
    except (Reached, ImportError, yungong.宿主中止):  # it went on, to values, permits or the platform
        pass
    allowed = kind in allowed_kinds(name) or name == "读取告警重试次数"
    assert refused != allowed


def _parameters(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _event(kind: Any) -> events.Event:
    event: events.Event = make_event(kind, durable=Unreachable(), batch=Unreachable())
    return event


# What may touch JavaScript

JAVASCRIPT = {"js", "pyodide", "workers"}
MAY_IMPORT = {
    "yungong/platform/engine.py": {"js"},
    "yungong/platform/runtime.py": {"pyodide", "workers"},
    "verification/native.py": JAVASCRIPT,
    "verification/application.py": {"workers"},
    "verification/door.py": {"workers"},
}


def _imported(path: Path) -> set[str]:
    """Return the JavaScript modules that a file imports, past what only a type checker reads."""
    found: set[str] = set()
    pending: list[ast.AST] = [ast.parse(path.read_text())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").split(".")[0])
        pending.extend(ast.iter_child_nodes(node))
    return found & JAVASCRIPT


def test_only_the_platform_modules_import_javascript() -> None:
    source = ROOT / "src"
    imports = {str(path.relative_to(source)): _imported(path) for path in source.rglob("*.py")}
    assert {name: found for name, found in imports.items() if found} == MAY_IMPORT


def test_the_package_imports_on_plain_cpython_without_javascript() -> None:
    program = f"import sys, yungong; print(sorted({JAVASCRIPT!r} & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "src", capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == ("[]\n", "")
