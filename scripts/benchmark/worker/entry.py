"""The benchmark's Worker. Its objects measure within one event; a request names what.

POST /measure  a lane of a case -> {"microseconds"}
POST /deliver  {"body", "rounds", "budget_ms"}: has a batch of 100 messages delivered and measured
GET  /read     what became of it, null while it is under way
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from workers import DurableObject, Response

import yungong
from benchmark.worker import reading
from benchmark.worker.clock import microseconds
from benchmark.worker.settings import LISTED, LISTED_COUNT
from benchmark.worker.way_kv import Kv
from benchmark.worker.way_pythonic import Pythonic
from benchmark.worker.way_pythonic import app as value_app
from benchmark.worker.way_pythonic import consumer as value_consumer
from benchmark.worker.way_raw import Raw
from benchmark.worker.way_sdk import Sdk
from benchmark.worker.way_yungong import Yungong, app

empty = yungong.App()
consumer = yungong.App()
_delivery: dict[str, Any] = {}


@empty.on("durable-fetch")
async def do_nothing(_request: Any) -> Any:
    """What the event's own cost is measured with."""
    return Response(None)


@consumer.on("queue")
async def read() -> Any:
    """Read the batch once, as an event of its own."""
    return yungong.read_batch()


@app.on("durable-fetch")
@value_app.on("durable-fetch")
async def measure(asked: tuple[DurableStore, Any]) -> Any:
    """Measure one way of one operation."""
    store, wanted = asked
    return await store.measure(wanted)


@app.on("fetch")
async def serve(request_and_env: tuple[Any, Any]) -> Any:
    """Pass a measurement to its object; have a batch delivered, and tell its results."""
    request, env = request_and_env
    path = urlsplit(request.url).path
    if path == "/measure":
        text = await request.text()
        wanted = json.loads(text)
        binding = "JAVASCRIPT_STORE" if wanted["in_javascript"] else "DURABLE_STORE"
        stub = getattr(env, binding).getByName(wanted["object"])
        answer = await stub.fetch("http://object/", method="POST", body=text)
        return Response(await answer.text(), status=answer.status)
    if path == "/deliver":
        text = await request.text()
        wanted = json.loads(text)
        _delivery.clear()
        _delivery.update(wanted)
        await yungong.send_messages("PAGE_QUEUE", json.dumps([{"body": wanted["body"]}] * 100))
        return Response("")
    if path == "/read":
        return Response(json.dumps(_delivery.get("results")))
    return Response("ready")


class Default(yungong.Worker, app=app):
    """Takes the driver's requests, and consumes the queue that is read."""

    async def fetch(self, request: Any) -> Any:
        return await super().fetch((request, self.env))

    async def queue(self, batch: Any, env: Any = None, ctx: Any = None) -> None:
        if "rounds" not in _delivery:
            return
        reader = _Reader(self.ctx, self.env)

        value_reader = _ValueReader(self.ctx, self.env)

        async def read_once() -> None:
            await reader.queue(batch)

        async def consume_once() -> None:
            await value_reader.queue(batch)

        found = reading.ways(batch, read_once, consume_once)
        _delivery["results"] = await reading.measure(found, _delivery["rounds"], _delivery["budget_ms"])


class _Reader(yungong.Worker, app=consumer):
    """A consumer whose handler reads its batch."""


class _ValueReader(yungong.Worker, app=value_consumer):
    """The same with Python values."""


class DurableStore(yungong.DurableObject, app=app):
    """Measures the ways from Python, in its own event."""

    async def fetch(self, request: Any) -> Any:
        wanted = json.loads(await request.text())
        # An event keeps the application it began with, and a transaction runs that application's handler.
        self._app = value_app if wanted["way"] == "pythonic" else app
        return await super().fetch((self, wanted))

    async def measure(self, wanted: dict[str, Any]) -> Any:
        """Prepare the keys, run the loop once, tell the time of one turn."""
        storage, text, count, names = self.ctx._ctx.storage, wanted["text"], wanted["count"], wanted["names"]
        keys = [f"k:{index % names}" for index in range(count)]
        if wanted["stored"]:
            _store(storage, dict.fromkeys(keys), text)
        if wanted["operation"] == "listing":
            _store(storage, [f"{LISTED}{index}" for index in range(LISTED_COUNT)], text)
        if storage.sql.databaseSize < wanted["ballast"] * 1_000_000:
            for index in range(wanted["ballast"]):
                storage.kv.put(f"ballast:{index}", "x" * 1_000_000)
        await storage.sync()
        way = self._way(wanted["way"], text)
        # Writing is done when it is committed, in every way.
        took = await microseconds(getattr(way, wanted["operation"]), keys, storage.sync)
        for key in dict.fromkeys(keys):
            storage.kv.delete(key)
        return Response(json.dumps({"microseconds": took}))

    def _way(self, name: str, text: str) -> Any:
        if name == "yungong":
            return Yungong(text, EmptyStore(self.ctx._ctx, self.env._env))
        if name == "sdk":
            return Sdk(text, self.ctx, self.env, BareStore(self.ctx._ctx, self.env._env))
        if name == "pythonic":
            return Pythonic(text)
        if name == "kv":
            return Kv(text, self.ctx)
        return Raw(text, self.ctx, self.env)


class EmptyStore(yungong.DurableObject, app=empty):
    """An object of the package whose handler does nothing."""


class BareStore(DurableObject):  # type: ignore[no-untyped-call]  # as the SDK has it
    """The same without the package."""

    async def fetch(self, _request: Any) -> Any:
        return Response(None)


def _store(storage: Any, keys: Any, text: str) -> None:
    import js

    for key in keys:
        storage.kv.put(key, js.JSON.parse(text))
