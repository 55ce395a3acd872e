"""What fails is told in the log once, with where it failed, on a real workerd."""

import re
from collections.abc import Iterator

import httpx
import pytest
from repository import LocalHost, worker_source

from tests.client import HANGING_SECONDS
from tests.conftest import logged

from .scripts import eventually

APPLICATION = """
import asyncio
from workers import Response
from yungong import *

app = App()
ways = {}


def way(handler):
    ways[handler.__name__] = handler
    return handler


class Odd(BaseException): ...


async def fail_here(name, kind=ValueError):
    await sleep(1)
    raise kind(f"<{name}>")


@way
async def coroutine(name):
    wait_until(fail_here(name))


@way
async def task(name):
    wait_until(asyncio.create_task(fail_here(name)))


@way
async def odd(name):
    wait_until(fail_here(name, Odd))


@way
async def future(name):
    waiting = asyncio.get_running_loop().create_future()
    wait_until(waiting)
    waiting.set_exception(ValueError(f"<{name}> fail_here"))


@way
async def unwatched(name):
    asyncio.create_task(fail_here(name))
    await sleep(50)


@way
async def handled(name):
    failing = asyncio.create_task(fail_here(name))
    wait_until(failing)
    await sleep(50)
    try:
        await failing
    except ValueError:
        pass


@way
async def cancelled(name):
    failing = asyncio.create_task(fail_here(name))
    wait_until(failing)
    failing.cancel()


@way
async def handler(name):
    await fail_here(name)


@way
async def object(name):
    try:
        await environment.DURABLE_STORE.getByName("object").fetch("https://object.invalid/" + name)
    except Exception:
        pass


@way
async def batch(name):
    await send_message("PAGE_QUEUE", '"' + name + '"', 0)


@app.on("fetch")
async def fetch(request):
    name, _, mark = request.url.rpartition("/")[2].partition("-")
    await ways[name](mark)
    return Response("ok")


@app.on("durable-fetch")
async def durable_fetch(request):
    await fail_here(request.url.rpartition("/")[2])


@app.on("queue")
async def queue():
    await fail_here(read_batch())


class Default(Worker, app=app):
    async def fetch(self, request):
        global environment
        environment = self.env
        return await super().fetch(request)


class DurableStore(DurableObject, app=app): ...
"""


@pytest.fixture(scope="module")
def host(pytestconfig: pytest.Config) -> Iterator[LocalHost]:
    with (
        worker_source(APPLICATION) as source,
        LocalHost(source=source) as host,
        logged(pytestconfig, host),
    ):
        yield host


def told(host: LocalHost, way: str) -> str:
    """Let something fail, and return all that the log then tells of it."""
    start = len(host.log())
    httpx.get(f"{host.url}/{way}-mark", timeout=HANGING_SECONDS, trust_env=False)
    httpx.get(f"{host.url}/cancelled-after", timeout=HANGING_SECONDS, trust_env=False)
    log: str = eventually("the next request's line", 30, lambda: after(host.log()[start:]))
    return log


def after(log: str) -> str | None:
    before, found, _ = log.partition("GET /cancelled-after")
    return before if found else None


@pytest.mark.parametrize("way", ["coroutine", "task", "odd", "future", "unwatched", "handler", "object"])
def test_what_nobody_handles_is_told_once_with_its_traceback(host: LocalHost, way: str) -> None:
    log = told(host, way)
    assert len(re.findall("<mark>$|<mark> fail_here$", log, re.MULTILINE)) == 1, log
    assert "fail_here" in log
    assert "pyodide.asm.mjs" not in log


@pytest.mark.parametrize("way", ["handled", "cancelled"])
def test_what_is_handled_is_not_told(host: LocalHost, way: str) -> None:
    assert "<mark>" not in told(host, way)


def test_a_batch_that_failed_is_told_once(host: LocalHost) -> None:
    start = len(host.log())
    httpx.get(f"{host.url}/batch-mark", timeout=HANGING_SECONDS, trust_env=False)

    def deliveries_and_errors() -> tuple[int, int]:
        log = host.log()[start:]
        return log.count("QUEUE yungong-pages"), log.count("ValueError: <")

    eventually("an error told as often as it occurred", 60, lambda: told_once(*deliveries_and_errors()))


def told_once(deliveries: int, errors: int) -> bool:
    return deliveries == errors > 0
