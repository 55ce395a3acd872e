"""One local Worker for all tests of this folder."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from textwrap import dedent
from typing import Any

import httpx
import pytest
from repository import LocalHost, worker_source

from tests.client import HANGING_SECONDS
from tests.conftest import logged


@pytest.fixture(scope="session")
def worker(pytestconfig: pytest.Config) -> Iterator[LocalHost]:
    """The Worker on a real workerd, with state of its own on disk."""
    with LocalHost() as host, logged(pytestconfig, host):
        yield host


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

Start = Callable[..., LocalHost]
Serve = Callable[..., str]


@pytest.fixture
def start(pytestconfig: pytest.Config) -> Iterator[Start]:
    """Return a function that starts a Worker whose main module has the text given."""
    with ExitStack() as running:

        def starting(main: str, **options: Any) -> LocalHost:
            source = running.enter_context(worker_source(main))
            host = running.enter_context(LocalHost(source=source, **options))
            return running.enter_context(logged(pytestconfig, host))

        yield starting


@pytest.fixture
def serve(start: Start) -> Serve:
    """Return a function that starts an application and returns what its object answers."""

    def serving(
        application: str,
        binding: str = "DURABLE_STORE",
        variables: dict[str, Any] | None = None,
        **options: Any,
    ) -> str:
        limits_ms = {"durable-alarm": 900_000, "durable-fetch": int(HANGING_SECONDS * 1000)}
        host = start(
            ENTRY.format(application=dedent(application), binding=binding),
            variables={"EXECUTION_CONFIG": {"事件时限毫秒": limits_ms}, **(variables or {})},
            **options,
        )
        return httpx.get(f"{host.url}/object", timeout=HANGING_SECONDS, trust_env=False).text

    return serving
