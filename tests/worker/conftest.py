"""One local Worker for all tests of this folder."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx
import pytest
from repository import LocalHost

from tests.conftest import logged


@pytest.fixture(scope="session")
def worker(pytestconfig: pytest.Config) -> Iterator[LocalHost]:
    """The Worker on a real workerd, with state of its own on disk."""
    with LocalHost() as host, logged(pytestconfig, host):
        yield host


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
