"""Thousands of hostile texts through the package's public functions, in one event."""

from __future__ import annotations

import json
from typing import Any

from workers import Response

import yungong
from yungong import App, YuyanError, platform

_KEY = "k"
_given: list[str] = []

app = App()


class _CapturingQueue:
    """A queue that keeps what it is given, as the engine's JSON text, and sends nothing."""

    async def send(self, body: Any, options: Any) -> None:
        _given.append(json.dumps([platform.stringify(body), platform.stringify(options)]))

    async def sendBatch(self, requests: Any) -> None:
        _given.append(platform.stringify(requests))


class CapturingEnvironment(platform.Environment):
    """The deployment's environment with such a queue under every name."""

    def queue(self, name: str) -> Any:
        return _CapturingQueue()


@app.on("durable-fetch")
async def judge(body: str) -> Response:
    """Answer for each input what came of it: {"ok": text} or {"error", "message"}."""
    asked = json.loads(body)
    for key in asked["keys"]:
        await yungong.store_put(key, "1")
    results = [await _one(kind, text) for kind, text in asked["inputs"] for _ in range(asked.get("times", 1))]
    return Response(json.dumps(results))


async def _one(kind: str, text: str) -> Any:
    _given.clear()
    try:
        match kind:
            case "value":
                await yungong.store_put(_KEY, text)
                found = (await yungong.store_get(_KEY))[1]
                await yungong.store_delete(_KEY)
                return {"ok": found}
            case "refuse-value":
                await yungong.store_put(_KEY, text)
                await yungong.store_delete(_KEY)
                return {"ok": ""}
            case "message":
                await yungong.send_message("PAGE_QUEUE", text, 0)
                return {"ok": _given[0]}
            case "batch":
                await yungong.send_messages("PAGE_QUEUE", text)
                return {"ok": _given[0]}
            case "options":
                return {"ok": await yungong.store_list(text)}
            case _:
                existed = await yungong.store_delete(text)
                await yungong.store_put(text, "1")
                listed = await yungong.store_list(json.dumps({"start": text, "limit": 1}))
                await yungong.store_delete(text)
                if existed:
                    await yungong.store_put(text, "1")
                return {"ok": json.loads(listed)[0][0]}
    except YuyanError as error:
        return {"error": "豫言异常", "message": str(error), "called": bool(_given)}
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}
