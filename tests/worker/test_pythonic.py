"""Applications written with Python values, on a real workerd."""

import json
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest
from localhost.server import LocalHost

from tests.conftest import logged

from .conftest import PACKAGE, Serve
from .scripts import eventually

IMPORTS = """
from datetime import datetime, timedelta, UTC
from yungong.pythonic import Batch, Firing, Message, Outgoing, Queue, Transaction, alarm, store
app = App()
"""
OBJECT = """
class DurableStore(DurableObject, app=app): ...
"""


@pytest.fixture
def answer(serve: Serve) -> Any:
    """Return a function that gives what the body of a `durable-fetch` handler returns, through JSON."""

    def ask(body: str, before: str = "", **options: Any) -> Any:
        from textwrap import dedent, indent

        handler = "@app.durable_fetch\nasync def ask(request):\n" + indent(dedent(body), "    ")
        handler = handler.replace("return ", "return Response.json(").rstrip() + ")\n"
        return json.loads(serve(IMPORTS + dedent(before) + handler + OBJECT, **options))

    return ask


def test_a_transaction_commits_what_it_returns_and_rolls_back_what_it_raises(answer: Any) -> None:
    found = answer(
        """
        seen = [await add("visits", by=2), await add("visits"), await store.get("visits")]
        try:
            await fail("visits")
        except Broken as error:
            seen.append([error.number, repr(error.__cause__), repr(error.__context__), str(error)])
        seen.append(await give_up("visits"))
        seen.append(await store.get("visits"))
        try:
            await wrong()
        except TypeError as error:
            seen.append(str(error))
        try:
            await add("visits", by=datetime.now())
        except TypeError as error:
            seen.append(str(error))
        try:
            await add()
        except TypeError as error:
            seen.append(str(error))
        seen.append(await alarm.get_ms())
        return seen
        """,
        """
        class Broken(Exception):
            def __init__(self, number):
                super().__init__("broken")
                self.number = number

        @app.transaction
        async def add(transaction: Transaction, key: str, by: int = 1) -> int:
            total = await transaction.get(key, default=0) + by
            await transaction.put(key, total)
            return total

        @app.transaction
        async def fail(transaction, key):
            await transaction.delete(key)
            await alarm.set(timedelta(hours=1))
            raise Broken(7)

        @app.transaction
        async def give_up(transaction, key):
            await transaction.put(key, [])
            transaction.rollback()
            return "given up"

        @app.transaction(name="other")
        async def wrong(transaction):
            await transaction.put("wrong", 1)
            return {"a": [1, (2,)]}
        """,
    )
    assert found[:7] == [2, 3, 3, [7, "None", "None", "broken"], "given up", 3, found[6]]
    assert found[6] == "$.a[1]: a tuple is no JSON value; write list(value)"
    assert found[7] == "$.kwargs.by: a datetime is no JSON value; write value.isoformat()"
    assert "missing 1 required positional argument: 'key'" in found[8]
    assert found[9] is None


def test_the_readmes_first_example_runs_as_it_stands(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    readme = (PACKAGE.parents[1] / "README.md").read_text("utf-8")
    example = readme.partition("```python\n")[2].partition("```")[0]
    source = tmp_path / "src"
    shutil.copytree(PACKAGE, source / "yungong", ignore=shutil.ignore_patterns("__pycache__"))
    (source / "entry.py").write_text(example, "utf-8")
    with LocalHost(source=source) as host, logged(pytestconfig, host):
        answers = [httpx.get(host.url, timeout=30, trust_env=False).json() for _ in range(2)]
        first = answers[0]["total"]
        assert answers == [{"total": first}, {"total": first + 2}]
        eventually("both totals are consumed", 30, lambda: f"visits: {first + 2}" in host.log())
        assert f"visits: {first}" in host.log()
