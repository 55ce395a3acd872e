"""The application that test_other_events.py drives."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import asyncio
import json
from itertools import count
from typing import Any

import js
from workers import Response, import_from_javascript

import yungong
from yungong import App, DurableObject, HostAbort, Worker, YuyanError, current_instance, durable_method

app = App()
constructions = count()


def native():
    return import_from_javascript("cloudflare:workers").env.DURABLE_STORE


@app.on("fetch")
async def serve(request):
    name = request.url.rstrip("/").rpartition("/")[2]
    stub = native().getByName(name)
    if request.headers.get("upgrade") == "websocket":
        return await stub.fetch(request.js_object)
    if request.method != "POST":
        return Response("up")
    caller = import_from_javascript("cloudflare:workers").env.CALLER.getByName("caller")
    body = json.dumps([name, *json.loads(await request.text())])
    return await caller.fetch("https://object.invalid/", method="POST", body=body)


@app.on("scheduled")
async def tick(controller):
    try:
        await yungong.store_put("k", "1")
    except YuyanError as error:
        refusal = str(error)
    entry = [
        yungong.event_kind(),
        type(current_instance()) is Default,
        controller.cron,
        int(controller.scheduledTime),
        refusal,
    ]
    await (
        native().getByName("cron").fetch("https://object.invalid/note", body=json.dumps(entry), method="POST")
    )


@app.on("durable-fetch")
async def accept(request):
    if request.method == "POST":
        await yungong.store_put("cron", await request.text())
        return Response("noted")
    client, server = js.WebSocketPair.new().object_values()  # type: ignore[attr-defined]
    current_instance().ctx.acceptWebSocket(server)
    return Response(None, status=101, web_socket=client)


@app.on("durable-transaction")
async def transact():
    mine = isinstance(current_instance(), DurableStore)
    await yungong.transaction_put("k", yungong.transaction_argument())
    yungong.complete_transaction(json.dumps([yungong.event_kind(), mine]))


@app.on("durable-websocket-message")
async def converse(socket, message):
    if not isinstance(message, str):
        socket.send(json.dumps(list(message.to_bytes())))
        return
    instance = current_instance()
    answer: dict[str, Any] = {"kind": yungong.event_kind(), "instance": isinstance(instance, DurableStore)}
    if message == "everything":
        answer["everything"] = await instance.everything()
    if message == "identity":
        found, text = await yungong.store_get("count")
        answer["count"] = int(text) + 1 if found else 0
        await yungong.store_put("count", str(answer["count"]))
        answer["constructed"] = instance.constructed
    if message == "linger":
        await yungong.sleep(60_000)
    socket.send(json.dumps(answer))


@app.on("durable-websocket-close")
async def part(socket, code, reason, clean):
    entry = [yungong.event_kind(), isinstance(current_instance(), DurableStore), code, reason, clean]
    await yungong.store_put("closed", json.dumps(entry))


@app.on("durable-websocket-error")
async def lose(socket, error):
    await yungong.store_put("failed", json.dumps([yungong.event_kind(), str(error)]))


class Default(Worker, app=app): ...


class DurableStore(DurableObject, app=app):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        self.constructed = next(constructions)
        self.calls = []
        self.attribute = self.helper

    async def webSocketMessage(self, socket, message):
        try:
            await super().webSocketMessage(socket, message)
        except HostAbort as error:
            self.ctx._ctx.storage.kv.put("ended", str(error))

    def helper(self):
        self.calls.append("helper")
        return "called"

    def _private(self):
        self.calls.append("_private")
        return "called"

    def __mangled(self):
        self.calls.append("__mangled")
        return "called"

    def __call__(self):
        self.calls.append("__call__")
        return "called"

    @staticmethod
    def static():
        DurableStore.static_calls += 1
        return "called"

    @classmethod
    def of_class(cls):
        DurableStore.static_calls += 1
        return "called"

    static_calls = 0

    async def everything(self):
        await yungong.store_put("k", "1")
        stored = await yungong.store_get("k")
        await yungong.set_alarm(1_900_000_000_000)
        return {
            "stored": list(stored),
            "alarm": list(await yungong.get_alarm()),
            "transaction": json.loads(await yungong.run_transaction("2")),
            "listed": json.loads(await yungong.store_list('{"prefix": "k"}')),
            "retries": yungong.alarm_retry_count(),
            "refused": [refusal(yungong.transaction_argument), refusal(yungong.read_batch)],
        }

    @durable_method
    async def use_everything(self):
        return await self.everything()

    @durable_method
    def describe(self, *arguments):
        return {
            "kind": yungong.event_kind(),
            "arguments": list(arguments),
            "instance": current_instance() is self,
            "inner": self.kind_within(),
        }

    def kind_within(self):
        return yungong.event_kind()

    @durable_method
    async def read(self, key="k"):
        return list(await yungong.store_get(key))

    @durable_method
    async def linger(self):
        await yungong.sleep(60_000)
        await yungong.store_put("after", "1")

    @durable_method
    async def swallow(self):
        try:
            await yungong.store_put("k", '"' + "x" * 17_000_000 + '"')
        except BaseException:
            return "swallowed"

    @durable_method
    async def fail(self):
        raise ValueError("told")

    @durable_method
    async def echo_slowly(self, number=0):
        await asyncio.sleep(0.02)
        return [yungong.event_kind(), number]

    @durable_method
    async def attributes(self):
        return sorted({*dir(self), *dir(type(self))})

    @durable_method
    async def touched(self):
        return self.calls + ["static"] * DurableStore.static_calls


def refusal(function):
    try:
        function()
    except YuyanError as error:
        return str(error)
