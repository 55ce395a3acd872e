"""mypy and pyright, both strict, report each wrong use of the Python face, and no right one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

RIGHT = """
from __future__ import annotations
from datetime import UTC, datetime, timedelta
from typing import Any
from yungong import App, YuyanError
from yungong.pythonic import Batch, Firing, Outgoing, Queue, Transaction, alarm, store

app = App()
pages = Queue("PAGE_QUEUE")

@app.transaction
async def add(transaction: Transaction, key: str, by: int = 1) -> int:
    total: int = await transaction.get(key, default=0) + by
    await transaction.put(key, total)
    return total

@app.transaction(name="another")
async def find(transaction: Transaction, *, prefix: str) -> dict[str, list[int]]:
    return {key: value async for key, value in transaction.items(prefix=prefix)}

@app.durable_fetch
async def count(request: Any) -> Any:
    total = await add("visits", by=2)
    total += await add("visits")
    found = await find(prefix="v")
    mixed: dict[str, int | None] = {"a": 1, "b": None}
    await store.put("found", found)
    await store.put("mixed", [mixed, {"x": [1, "y", None, 2.5, True]}])
    await alarm.set(timedelta(hours=1))
    await alarm.set(datetime.now(UTC))
    await pages.send({"total": total}, delay=timedelta(seconds=30))
    try:
        await pages.send_all([1, "x", found, Outgoing(mixed, delay=3)])
    except YuyanError as error:
        print(error.sent + 1, error.code.upper())
    async for key, value in store.items(page_size=10):
        print(key, value)

@app.durable_alarm
async def wake(firing: Firing) -> None:
    print(firing.retry_count + 1, firing.scheduled_time.isoformat())

@app.queue
async def consume(batch: Batch) -> None:
    for message in batch:
        message.retry(delay=timedelta(seconds=message.attempts))

@app.queue("other")
def consume_other(batch: Batch) -> None:
    print(len(batch), batch.queue)
"""

WRONG = [
    # A forgotten await.
    'store.put("k", 1)',
    'add("visits")',
    'alarm.set(1)',
    'alarm.delete()',
    'pages.send(1)',
    'Transaction().put("k", 1)',
    'print(await find(prefix="v") + 1, add("visits") + 1)',
    # A wrong call of a transaction.
    'await add()',
    'await add(1)',
    'await add("visits", by="2")',
    'await add("visits", to=2)',
    'await add("visits", 1, 2)',
    'await find("v")',
    'print((await add("visits")).upper())',
    # A value that is no JSON value.
    'await store.put("k", datetime.now())',
    'await store.put("k", (1, 2))',
    'await store.put("k", {"a": [{1, 2}]})',
    'await store.put("k", {1: "a"})',
    'await store.put("k", b"x")',
    'await Transaction().put("k", object())',
    'await pages.send({"at": datetime.now(UTC)})',
    'await pages.send_batch([1, (2,)])',
    'Outgoing({1})',
    # Other types.
    'await alarm.set("now")',
    'await pages.send(1, delay=1.5)',
    'await store.list(limit="3")',
    'await store.list("p")',
    'app.queue(wake)',
    'app.durable_alarm(consume)',
    'app.transaction(wake)',
]  # fmt: skip


@pytest.fixture(scope="module")
def uses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("uses") / "uses.py"
    wrong = "".join(f"    {statement}\n" for statement in WRONG)
    file.write_text(f"{RIGHT}\nasync def wrong() -> None:\n{wrong}", "utf-8")
    return file


def reported(lines: set[int]) -> tuple[set[str], set[str]]:
    """Return the wrong uses that are not among the lines, and the right lines that are."""
    first = RIGHT.count("\n") + 3
    found = {WRONG[line - first] for line in lines if line >= first}
    right = {RIGHT.splitlines()[line - 1] for line in lines if line < first}
    return set(WRONG) - found, right


def test_mypy_reports_each_wrong_use_and_no_right_one(uses: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(uses)]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert reported({int(line) for line in re.findall(r"uses\.py:(\d+): error", output)}) == (set(), set()), (
        output
    )


def test_pyright_reports_each_wrong_use_and_no_right_one(uses: Path) -> None:
    config = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT / "src")], "include": [uses.name]}
    uses.with_name("pyrightconfig.json").write_text(json.dumps(config), "utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson"]  # pyright, with a wheel on the registry
    output = subprocess.run(command, cwd=uses.parent, capture_output=True, text=True, check=False).stdout
    found = [one for one in json.loads(output)["generalDiagnostics"] if one["severity"] == "error"]
    told = {one["range"]["start"]["line"] + 1 for one in found}
    assert reported(told) == (set(), set()), "\n".join(one["message"] for one in found)
