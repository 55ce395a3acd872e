"""Objects that count: every increment reads and writes in a transaction, with waits between the two."""

from __future__ import annotations

import json
from typing import Any

import js
from pyodide.ffi import to_js
from workers import Response, import_from_javascript

import yungong
from yungong import App

QUEUE = "reliability-counts"
BINDING = "COUNT_QUEUE"

app = App()
consumer = App()


@app.on("durable-fetch")
async def serve(asked: dict[str, Any]) -> Any:
    """Do what is asked and answer with the request's own mark, and what it saw."""
    name, mark, wait_ms = asked["object"], asked["mark"], asked.get("wait_ms", 0)
    match asked["do"]:
        case "increment":
            text = await yungong.run_transaction(json.dumps(asked))
            seen: Any = json.loads(text)
        case "hold":
            key = f"held:{mark}"
            await yungong.store_put(key, json.dumps(mark))
            if asked.get("ask"):
                await ask(asked["ask"], {"object": asked["ask"], "do": "nothing", "mark": mark})
            await yungong.sleep(wait_ms)
            seen = json.loads((await yungong.store_get(key))[1])
            await yungong.store_delete(key)
        case "send":
            await yungong.send_message(BINDING, json.dumps({"object": name, "mark": mark}), 0)
            seen = mark
        case "receive":
            text = await yungong.run_transaction(
                json.dumps({**asked, "do": "increment", "counter": "received", "seen": mark})
            )
            seen = json.loads(text)
        case "alarm":
            await yungong.set_alarm(js.Date.now() + wait_ms)
            seen = mark
        case "peek":
            names = ("counter", "received", "alarms")
            seen = {key: json.loads((await yungong.store_get(key))[1] or "0") for key in names}
            seen["marks"] = len(json.loads(await yungong.store_list('{"prefix":"seen:"}')))
            seen["alarm"] = await yungong.get_alarm()
        case _:
            await yungong.sleep(wait_ms)
            seen = mark
    told = {"object": name, "mark": mark, "kind": yungong.event_kind(), "seen": seen}
    return Response(json.dumps(told))


@app.on("durable-transaction")
async def increment() -> None:
    """Add one to a counter; a message that comes a second time is not counted again."""
    asked = json.loads(yungong.transaction_argument())
    counter = asked["counter"]
    count = json.loads((await yungong.transaction_get(counter))[1] or "0")
    if "seen" in asked:
        if (await yungong.transaction_get(f"seen:{asked['seen']}"))[0]:
            return yungong.complete_transaction(json.dumps(asked["mark"]))
        await yungong.transaction_put(f"seen:{asked['seen']}", "1")
    if asked.get("wait_ms"):
        await yungong.sleep(asked["wait_ms"])
    if asked.get("ask"):
        await ask(asked["ask"], {"object": asked["ask"], "do": "nothing", "mark": asked["mark"]})
    await yungong.transaction_put(counter, json.dumps(count + 1))
    if asked.get("fail"):
        raise RuntimeError(f"asked to fail: {asked['mark']}")
    yungong.complete_transaction(json.dumps(asked["mark"]))
    return None


@app.on("durable-alarm")
async def wake() -> None:
    """Count the firing."""
    await yungong.run_transaction(json.dumps({"counter": "alarms", "mark": 0, "wait_ms": 2}))


@consumer.on("queue")
async def consume() -> None:
    """Have each message counted by the object that it names."""
    for message in json.loads(yungong.read_batch())["messages"]:
        body = message["body"]
        await ask(body["object"], {**body, "do": "receive"})


class Consumer(yungong.Worker, app=consumer):
    """Enters the consumer."""


async def ask(name: str, body: Any) -> Any:
    """Send a request to another object, as an outgoing request of the current event."""
    stub = import_from_javascript("cloudflare:workers").env.COUNTER_STORE.getByName(name)
    options = js.Object.fromEntries(to_js([["method", "POST"], ["body", json.dumps(body)]]))
    response = await stub.fetch("https://object.invalid/", options)
    text = await response.text()
    if response.status != 200:
        raise RuntimeError(f"{name} answered {response.status}: {text[:200]}")
    return json.loads(text)
