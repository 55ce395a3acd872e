"""The Worker's door: who may enter, what a well-formed request is, and how an event's end is answered.

POST /v1/run   Authorization: Bearer <token>
{"object": "name", "event": "durable-fetch" | "fetch", "steps": [STEP, …]}
-> 200 {"results": [RESULT, …]}        the event ended normally
-> 502 {"aborted": "<type>: <message>"}   the event failed
"""

import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable
from typing import Any

from workers import Response

from . import native
from .script import MalformedScript, check_steps, read_json

MAX_BODY_BYTES = 32 * 1024 * 1024


async def admit(request: Any, enter: Callable[[Any], Awaitable[Any]]) -> Response:
    """Answer one request: refuse it, run its script through `enter`, or pass it on to its object."""
    if request.url.split("?")[0].split("/", 3)[-1] != "v1/run":
        return _refuse(404, "the only path is /v1/run")
    if not _is_authorised(request.headers.get("authorization")):
        return _refuse(401, "the Authorization header must hold the configured token as a Bearer token")
    if str(request.method) != "POST":
        return _refuse(405, "the only method is POST")
    limit = int(native.variable("MAX_BODY_BYTES") or MAX_BODY_BYTES)
    try:
        body = await native.read_body(request, limit)
    except native.PlatformError:
        return _refuse(400, "the body is not UTF-8")
    if body is None:
        return _refuse(413, f"the body must not exceed {limit} bytes")
    try:
        script = _read(body)
    except MalformedScript as error:
        return _refuse(400, str(error))
    if script["event"] == "fetch":
        return await answer(enter, json.dumps(script))
    try:
        status, text = await native.ask_object(script["object"], body)
    except native.PlatformError as error:
        return _json(502, {"aborted": native.error_text(error)})
    return _text(status, text)


async def answer(enter: Callable[[Any], Awaitable[Any]], body: str) -> Response:
    """Run an admitted script in its event and answer with its results, or with what ended the event."""
    try:
        results = await enter(json.loads(body))
    except BaseException as error:
        return _json(502, {"aborted": f"{type(error).__name__}: {error}"})
    return _json(200, {"results": results})


def _is_authorised(header: str | None) -> bool:
    token = native.variable("TOKEN")
    if not token or not header:
        return False
    # Equal lengths, so that the time of the comparison says nothing of the token.
    given = hashlib.sha256(header.encode("utf-8", "surrogatepass")).digest()
    expected = hashlib.sha256(f"Bearer {token}".encode()).digest()
    return hmac.compare_digest(given, expected)


def _read(body: str) -> dict[str, Any]:
    script = read_json(body)
    if not isinstance(script, dict) or set(script) != {"object", "event", "steps"}:
        raise MalformedScript("the body must be an object with exactly object, event and steps")
    if not isinstance(script["object"], str) or not script["object"]:
        raise MalformedScript("object must be a name")
    if script["event"] not in ("fetch", "durable-fetch"):
        raise MalformedScript("event must be 'fetch' or 'durable-fetch'")
    check_steps(script["steps"])
    return script


def _refuse(status: int, sentence: str) -> Response:
    return _json(status, {"error": sentence})


def _json(status: int, value: Any) -> Response:
    return _text(status, json.dumps(value))


def _text(status: int, text: str) -> Response:
    return Response(text, status=status, headers={"content-type": "application/json"})
