"""The handlers: scripts that arrive in requests, as transaction parameters, under a key, and in messages."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from workers import Response

import yungong
from yungong import App

from . import native
from .script import MalformedScript, check_steps, read_json, run_steps

ALARM_SCRIPT = "script:alarm"
ALARM_LOG = "log:alarm"
QUEUE_LOG = "log:queue"
UNREADABLE = "unreadable"
DEAD = "-dead"
"""How the name of the dead-letter queue ends."""
DEAD_LOG = "log:dead"

app = App()


@app.on("fetch")
async def serve(script: dict[str, Any]) -> Response:
    native.begin_recording()
    return _response(await run_steps(script["steps"]))


@app.on("durable-fetch")
async def serve_object(script: dict[str, Any]) -> Response:
    """Run an admitted script; or note what a queue's consumer has to say, which only this Worker can ask."""
    native.begin_recording()
    if "note" in script:
        return _response(await _note(script["key"], script["note"], script["place"]))
    return _response(await run_steps(script["steps"]))


@app.on("durable-websocket-message")
async def hear(found: list[Response], script: dict[str, Any]) -> None:
    found.append(await serve_object(script))


def _response(results: Any) -> Response:
    return Response(json.dumps({"results": results}))


@app.on("durable-transaction")
async def transact() -> None:
    steps = read_json(yungong.transaction_argument())
    check_steps(steps)
    await run_steps(steps)


@app.on("durable-alarm")
async def wake() -> None:
    await run_alarm(yungong.alarm_retry_count())


async def run_alarm(retry_count: int) -> None:
    """Run the stored script and note what it came to."""
    native.begin_recording()
    entry = {"retry": retry_count, "alarm": await yungong.get_alarm(), "results": []}
    found, text = await yungong.store_get(ALARM_SCRIPT)
    place = await _note(ALARM_LOG, entry, None)
    steps = json.loads(text) if found else []
    check_steps(steps)
    entry["results"] = await run_steps(steps)
    await _note(ALARM_LOG, entry, place)


@app.on("queue")
async def consume() -> None:
    await run_batch(yungong.read_batch)


async def run_batch(read: Callable[[], str]) -> None:
    """Run the scripts of a batch and note what they came to."""
    native.begin_recording()
    try:
        batch = json.loads(read())
    except yungong.YuyanError as error:
        result = {"error": type(error).__name__, "message": str(error)}
        await _note_in(UNREADABLE, result, None)
        return
    if batch["queue"].endswith(DEAD):
        await _bury(batch)
        return
    scripts = [_script(message["body"]) for message in batch["messages"]]
    names = sorted({script["log"] for script in scripts if script is not None})
    places = await asyncio.gather(*(_note_in(name, {"batch": batch}, None) for name in names))
    results = [
        [] if script is None else await run_steps(script["steps"], index)
        for index, script in enumerate(scripts)
    ]
    entry = {"batch": batch, "results": results}
    await asyncio.gather(*(_note_in(name, entry, place) for name, place in zip(names, places, strict=True)))


async def _bury(batch: Any) -> None:
    """Note the messages that the platform gave up, in the objects that they name; they run nothing."""
    for message in batch["messages"]:
        body = message["body"]
        if isinstance(body, dict) and isinstance(body.get("log"), str):
            await _note_in(body["log"], message, None, DEAD_LOG)


def _script(body: Any) -> dict[str, Any] | None:
    if not isinstance(body, dict) or not isinstance(body.get("log"), str):
        return None
    if "steps" not in body:
        raise MalformedScript("a message's body with a log must have steps")
    check_steps(body["steps"])
    return body


async def _note(key: str, entry: Any, place: int | None) -> int:
    """Put an entry into the list under `key`, at `place` or at its end, and return its place."""
    found, text = await yungong.store_get(key)
    entries = json.loads(text) if found else []
    if place is not None and place < len(entries):
        entries[place] = entry
    else:
        place = len(entries)
        entries.append(entry)
    # Past the package: a message from another producer may hold what the store's functions refuse.
    native.log_writer(key)(json.dumps(entries))
    return place


async def _note_in(name: str, entry: Any, place: int | None, key: str = QUEUE_LOG) -> int:
    _, text = await native.ask_object(name, json.dumps({"note": entry, "key": key, "place": place}))
    return int(json.loads(text)["results"])
