"""One local Worker for all tests of this folder; its log stands in the text of a failure."""

import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx
import pytest
from localhost.server import LocalHost

LOG_SHOWN = 6000

_running = pytest.StashKey[LocalHost]()


@pytest.fixture(scope="session")
def worker(pytestconfig: pytest.Config) -> Iterator[LocalHost]:
    """The Worker on a real workerd, with state of its own on disk."""
    with LocalHost() as host:
        pytestconfig.stash[_running] = host
        yield host
        del pytestconfig.stash[_running]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    host = item.config.stash.get(_running, None)
    if report.failed and host is not None:
        report.sections.append(("the Worker's log, its end", host.log()[-LOG_SHOWN:]))
    return report


PACKAGE = Path(__file__).parents[2] / "src" / "yungong"

ENTRY = """
import asyncio
import json
import js
from workers import Response, WorkerEntrypoint, import_from_javascript
from yungong import *

{application}


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if not request.url.endswith("/object"):
            return Response("up")
        try:
            env = import_from_javascript("cloudflare:workers").env
            answer = await env.{binding}.getByName("object").fetch("https://object.invalid/")
            return Response(await answer.text(), status=answer.status)
        except Exception as error:
            return Response(str(error), status=500)
"""

Serve = Callable[..., str]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Return a function that starts an application and returns what its object answers."""
    with ExitStack() as hosts:

        def start(application: str, binding: str = "DURABLE_STORE", **options: Any) -> str:
            source = tmp_path / "src"
            shutil.copytree(PACKAGE, source / "yungong", ignore=shutil.ignore_patterns("__pycache__"))
            (source / "entry.py").write_text(
                ENTRY.format(application=dedent(application), binding=binding), "utf-8"
            )
            host = hosts.enter_context(LocalHost(source=source, **options))
            return httpx.get(f"{host.url}/object", timeout=30, trust_env=False).text

        yield start
