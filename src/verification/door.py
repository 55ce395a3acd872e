"""The Worker's door: who may enter, what a well-formed request is, and how an event's end is answered.

POST /v1/run   Authorization: Bearer <token>   [Idempotency-Key: <id>]
{"object": "name", "event": KIND, "steps": [STEP, …]}     the kinds: native.EVENTS
-> 200 {"results": [RESULT, …]}        the event ended normally
-> 502 {"aborted": "<type>: <message>"}   the event failed
-> 503 {"unavailable": "…"}            the platform did not reach the object, and says that asking again helps
-> 409 {"begun": "…"}                  this id came before, and its answer is not known (yet)

GET /v1/version   Authorization: Bearer <token>
-> 200 {"source": …, "python": …, …}    what this Worker is
"""

import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable
from typing import Any

from workers import Response

from yungong import platform

from . import native
from .answers import Answers, Broken
from .script import MalformedScript, check_steps, read_json

MAX_BODY_BYTES = 32 * 1024 * 1024
METHODS = {"v1/run": "POST", "v1/version": "GET"}
MAX_ID = 64


async def admit(request: Any, enter: Callable[[Any], Awaitable[Any]]) -> Response:
    """Answer one request: refuse it, run its script through `enter`, or pass it on to its object."""
    path = request.url.split("?")[0].split("/", 3)[-1]
    if path not in METHODS:
        return _refuse(404, "the only paths are /v1/run and /v1/version")
    if not _is_authorised(request.headers.get("authorization")):
        return _refuse(401, "the Authorization header must hold the configured token as a Bearer token")
    if native.method(request) != METHODS[path]:
        return _refuse(405, f"the only method of /{path} is {METHODS[path]}", {"allow": METHODS[path]})
    if path == "v1/version":
        from .version import version  # it reads every source

        return _json(200, version())
    request_id = request.headers.get("idempotency-key")
    if request_id is not None and not 0 < len(request_id) <= MAX_ID:
        return _refuse(400, f"an Idempotency-Key has 1 to {MAX_ID} characters")
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
        return response(*await _end_of(enter, json.dumps(script)))
    try:
        status, text = await native.ask_object(script["object"], body, request_id, script["event"])
    except platform.ERRORS as error:
        if native.may_be_repeated(error):
            return _json(503, {"unavailable": native.error_text(error)})
        return _json(502, {"aborted": native.error_text(error)})
    return response(status, text)


async def answer_once(
    enter: Callable[[Any], Awaitable[Any]], body: str, request_id: str | None, answers: Answers
) -> tuple[int, str]:
    """Run an admitted script in an object's event: what came of it, a status and a text.

    A request with an id that came before gets the answer of then.
    """
    if not request_id:
        return await _end_of(enter, body)
    try:
        known = answers.begin(request_id)
    except Broken as broken:
        return 409, json.dumps({"begun": str(broken)})
    if known is None:
        known = await _end_of(enter, body)
        answers.end(request_id, *known)
    return known


async def _end_of(enter: Callable[[Any], Awaitable[Any]], body: str) -> tuple[int, str]:
    try:
        response = await enter(json.loads(body))
    except BaseException as error:
        return 502, json.dumps({"aborted": f"{type(error).__name__}: {error}"})
    return 200, await response.text()


def _is_authorised(header: str | None) -> bool:
    token = native.variable("TOKEN")
    scheme, _, credentials = (header or "").partition(" ")
    if not token or scheme.lower() != "bearer":
        return False
    # Equal lengths, so that the time of the comparison says nothing of the token.
    given = hashlib.sha256(credentials.encode("utf-8", "surrogatepass")).digest()
    return hmac.compare_digest(given, hashlib.sha256(token.encode()).digest())


def _read(body: str) -> dict[str, Any]:
    script = read_json(body)
    if not isinstance(script, dict) or set(script) != {"object", "event", "steps"}:
        raise MalformedScript("the body must be an object with exactly object, event and steps")
    if not isinstance(script["object"], str) or not script["object"]:
        raise MalformedScript("object must be a name")
    if script["event"] not in native.EVENTS:
        raise MalformedScript(f"event must be one of {', '.join(native.EVENTS)}")
    check_steps(script["steps"])
    return script


def _refuse(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    return response(status, json.dumps({"error": sentence}), headers)


def _json(status: int, value: Any) -> Response:
    return response(status, json.dumps(value))


def response(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    """Return a response with a JSON text."""
    return Response(text, status=status, headers={"content-type": "application/json"} | (headers or {}))
