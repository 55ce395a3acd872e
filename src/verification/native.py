"""What the verification needs of the platform past the package: legacy data, the recorder, refusals.

The recorder stands between the package and the real bindings: it notes what they are given, in the order
given, and passes it on.
"""

import functools
import json
import uuid
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import js
import pyodide
from pyodide.ffi import jsnull, to_js
from workers import Response, import_from_javascript

from yungong import jsontext, platform
from yungong.alarm_state import Armed
from yungong.durable import durable_event
from yungong.platform import PlatformError, error_text

__all__ = ["PlatformError", "error_text"]

_recording: ContextVar[list[dict[str, Any]]] = ContextVar("recording")
_refusals: ContextVar[list[Any]] = ContextVar("refusals")
_instances: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_states: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _env() -> Any:
    return import_from_javascript("cloudflare:workers").env


def variable(name: str) -> str | None:
    """Return a variable or secret of the deployment as text."""
    value = getattr(_env(), name, None)
    return None if value is None else str(value)


async def read_body(request: Any, limit: int) -> str | None:
    """Return the request's body as text, or None where it is longer than `limit` bytes.

    Raises:
        PlatformError: the body is not UTF-8.
    """
    reader = request.js_object.body.getReader()
    decoder = js.TextDecoder.new("utf-8", js.JSON.parse('{"fatal": true, "ignoreBOM": true}'))
    pieces: list[str] = []
    size = 0
    while True:
        chunk = await reader.read()
        if chunk.done:
            return "".join(pieces) + decoder.decode()
        size += chunk.value.byteLength
        if size > limit:
            await reader.cancel()
            return None
        pieces.append(decoder.decode(chunk.value, js.JSON.parse('{"stream": true}')))


def method(request: Any) -> str:
    """Return a request's method; the SDK's own property raises for the methods that it does not know."""
    return str(request.js_object.method)


def may_be_repeated(error: BaseException) -> bool:
    """Return whether the platform says of its error that it passes, and is not of the object's making."""
    return getattr(error, "retryable", None) is True and getattr(error, "overloaded", None) is not True


def deployment() -> str:
    """Return what changes when the Worker is deployed anew, or started anew where nothing tells that."""
    metadata = getattr(_env(), "CF_VERSION_METADATA", None)
    return str(metadata.id) if metadata is not None and metadata.id else _isolate()


@functools.cache
def _isolate() -> str:
    return uuid.uuid4().hex


def pyodide_version() -> str:
    """Return the version of Pyodide that runs this Worker."""
    return pyodide.__version__


def compatibility(flag: str) -> bool | None:
    """Return whether the compatibility date, or a flag, switches something on; None where it is not told."""
    told = getattr(getattr(js, "Cloudflare", None), "compatibilityFlags", None)
    return None if told is None else bool(getattr(told, flag, False))


async def ask_object(
    name: str, body: str, request_id: str | None = None, event: str = "durable-fetch"
) -> tuple[int, str]:
    """Send a request to an object of this Worker, as an event of a kind, and return its status and text."""
    return await _WAYS[event](_env().DURABLE_STORE.getByName(name), body, request_id)


async def _fetch(stub: Any, body: str, request_id: str | None) -> tuple[int, str]:
    headers = _object(**({} if request_id is None else {"idempotency-key": request_id}))
    response = await stub.fetch("https://object.invalid/", _object(method="POST", body=body, headers=headers))
    return response.status, await response.text()


async def _call(stub: Any, body: str, request_id: str | None) -> tuple[int, str]:
    status, text = await stub.run_script(body, request_id or "")
    return status, text


async def _converse(stub: Any, body: str, request_id: str | None) -> tuple[int, str]:
    answer = await stub.fetch("https://object.invalid/", _object(headers=_object(upgrade="websocket")))
    socket = answer.webSocket
    ended: Any = js.Promise.withResolvers()
    socket.accept()
    socket.addEventListener("message", ended.resolve)
    socket.addEventListener("close", ended.reject)
    socket.send(json.dumps([body, request_id]))
    status, text = json.loads((await platform.awaitable(ended.promise)).data)
    socket.close()
    return status, text


_WAYS = {"durable-fetch": _fetch, "durable-rpc": _call, "durable-websocket-message": _converse}
EVENTS = ("fetch", *_WAYS)
"""The events that a request can enter."""


def accept_socket(ctx: Any) -> Response:
    """Accept a hibernating WebSocket, for messages with scripts."""
    client, server = js.WebSocketPair.new().object_values()  # type: ignore[attr-defined]
    ctx.acceptWebSocket(server)
    return Response(None, status=101, web_socket=client)


def canonical(text: str) -> str:
    """Return JSON text as the engine writes it."""
    # In an array, where a number does not pass through Python.
    canonical_text: str = js.JSON.stringify(js.JSON.parse(f"[{text}]"))[1:-1]
    return canonical_text


# The recorder


def begin_recording() -> None:
    """Start the record of the current event."""
    _recording.set([])
    _refusals.set([])


def recorded() -> list[dict[str, Any]]:
    """Return what the queue bindings and the batch were given in this event, in order."""
    return list(_recording.get())


def refuse_next(reason: Any) -> None:
    """Have the next send or sendBatch of this event reject."""
    _refusals.get().append(reason)


def _plain(value: Any) -> Any:
    return None if value is None else json.loads(js.JSON.stringify(value))


class _RecordedQueue:
    def __init__(self, name: str, binding: Any) -> None:
        self._name = name
        self._binding = binding

    def send(self, body: Any, options: Any) -> Any:
        call = {"binding": self._name, "method": "send", "body": _plain(body), "options": _plain(options)}
        _recording.get().append(call)
        return _refusal() or self._binding.send(body, options)

    def sendBatch(self, messages: Any) -> Any:
        call = {"binding": self._name, "method": "sendBatch", "messages": _plain(messages)}
        _recording.get().append(call)
        return _refusal() or self._binding.sendBatch(messages)


def _refusal() -> Any:
    refusals = _refusals.get()
    return js.Promise.reject(_reason(refusals.pop(0))) if refusals else None


def _reason(refusal: Any) -> Any:
    """Return what a promise is rejected with: an Error for a text, or the bare value that is named."""
    if isinstance(refusal, str):
        return js.Error.new(refusal)
    return None if refusal["bare"] == "undefined" else js.JSON.parse(json.dumps(refusal["bare"]))


class RecordedEnvironment(platform.Environment):
    """The deployment's environment, with its queues recorded."""

    def __init__(self, env: Any) -> None:
        super().__init__(platform.unwrap(env, "_env"))

    def queue(self, name: str) -> Any:
        binding = super().queue(name)
        return None if binding is None else _RecordedQueue(name, binding)


class RecordedBatch(platform.Batch):
    """The delivered batch, with its acknowledgements and retries recorded."""

    def __init__(self, batch: Any) -> None:
        super().__init__(platform.unwrap(batch, "_binding"))

    def ack(self, index: int) -> None:
        _recording.get().append({"method": "ack", "index": index})
        super().ack(index)

    def retry(self, index: int, options: str | None) -> None:
        shown = None if options is None else json.loads(options)
        _recording.get().append({"method": "retry", "index": index, "options": shown})
        super().retry(index, options)


# Native steps


def check(step: dict[str, Any]) -> None:
    """Check a native step; raises ValueError with a sentence."""
    match step:
        case {"native": "put", "key": str(), "value": {"json": _, **more}, **rest} if not more and not rest:
            return
        case {"native": "put", "key": str(), "value": str(name), **rest} if not rest and _is_value(name):
            return
        case {"native": "send", "binding": str(), "log": str(), "value": str(name), **rest} if (
            not rest and _is_value(name)
        ):
            return
        case {"native": "get", "key": str(), **rest} if not rest:
            return
        case {"native": "plant-alarm", "exact_ms": int(exact), "delay_ms": int(delay), **rest} if (
            not rest and type(exact) is int and type(delay) is int
        ):
            return
        case {"native": "set-alarm", "at_ms": int(at_ms), **rest} if not rest and type(at_ms) is int:
            return
        case {"native": "alarm" | "instance", **rest} if not rest:
            return
    raise ValueError(f"unknown native step {json.dumps(step, ensure_ascii=False)[:80]}")


async def run(step: dict[str, Any]) -> Any:
    """Run one native step."""
    match step:
        case {"native": "put", "key": key, "value": value}:
            _storage().kv.put(key, _value(value))
            return None
        case {"native": "send", "binding": binding, "log": log, "value": value}:
            body = _object(log=log, steps=js.Array.new(), value=_value(value))
            await getattr(_env(), binding).send(body, _object(contentType="v8"))
            return None
        case {"native": "get", "key": key}:
            if _storage().kv.get(key) is None:
                return None
            # In an array, where the value does not pass through Python.
            return js.JSON.stringify(_durable().storage.boxed(key))[1:-1]
        case {"native": "alarm"}:
            at_ms = await _storage().getAlarm()
            return None if at_ms is jsnull else at_ms
        case {"native": "set-alarm", "at_ms": at_ms}:
            await _storage().setAlarm(at_ms)
            return None
        case {"native": "plant-alarm", "exact_ms": exact_ms, "delay_ms": delay_ms}:
            platform_ms = platform.now_ms() + delay_ms
            setting = _storage().setAlarm(platform_ms)
            _durable().alarm_note.write(Armed(exact_ms, platform_ms, miscounted=False))
            await setting
            return None
        case _:
            return instance()


def storage() -> Any:
    """Return the raw storage of the current event's object."""
    return _storage()


def transaction(closure: Callable[[Any], Any]) -> Any:
    """Run a closure in a transaction of the platform's own on the current event's object."""
    return _durable().storage.transaction(closure)


def javascript(value: Any) -> Any:
    """Return the JavaScript value of a JSON value."""
    return js.JSON.parse(json.dumps(value))


def queue(name: str) -> Any:
    """Return the raw producer of a queue, not recorded."""
    return getattr(_env(), name)


def instance() -> str:
    """Return an id that changes when the object is made anew."""
    return _instances.setdefault(_durable(), uuid.uuid4().hex)


def append(key: str, entry: Any) -> None:
    """Append to the list under `key` of the current object, at once."""
    kv = _storage().kv
    entries = json.loads(js.JSON.stringify(kv.get(key) or js.Array.new()))
    kv.put(key, js.JSON.parse(json.dumps([*entries, entry])))


def remember_state(durable: Any, state: Any) -> None:
    """Keep what the platform gave an object when it was made, for `abort_object`."""
    _states[durable] = platform.unwrap(state, "_ctx")


def abort_object() -> None:
    """Have the current event's object reset."""
    # From a microtask: called from Python it would end the interpreter of the whole isolate.
    state = _states[_durable()]
    js.queueMicrotask(state.abort.bind(state, "a probe resets its object"))


def log_writer(key: str) -> Callable[[str], None]:
    """Return what writes JSON text under `key` of the current object, even when its event is over."""
    kv = _storage().kv
    return lambda text: kv.put(key, js.JSON.parse(text))


def _durable() -> Any:
    return durable_event().durable


def _storage() -> Any:
    return _durable().storage.alarms


def _object(**members: Any) -> Any:
    return js.Object.fromEntries(to_js(list(members.items())))


def _value(name: Any) -> Any:
    if isinstance(name, dict):
        text = json.dumps(name["json"])
        return jsontext.parse(text, text.encode())
    if name.startswith("inside:"):
        return _object(a=js.Array.of(1, _value(name.removeprefix("inside:"))))
    return _VALUES[name]()


def _is_value(name: str) -> bool:
    return name.removeprefix("inside:") in _VALUES


def _hole() -> Any:
    array = js.JSON.parse("[1, 2, 3]")
    js.Reflect.deleteProperty(array, "1")
    return array


def _cycle() -> Any:
    array = js.Array.new()
    array.push(array)
    return array


_VALUES: dict[str, Callable[[], Any]] = {
    "date": lambda: js.Date.new(0),
    "map": lambda: js.Map.new(to_js([["a", 1]])),
    "set": lambda: js.Set.new(to_js([1])),
    "regexp": lambda: js.RegExp.new("a"),
    "error": lambda: js.Error.new("x"),
    "bytes": lambda: js.Uint8Array.of(1, 2, 3),
    "buffer": lambda: js.ArrayBuffer.new(3),
    "undefined": lambda: None,
    "undefined-member": lambda: _object(a=1, b=None),
    "hole": _hole,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "bigint": lambda: 2**64,  # an int beyond 2^53 becomes a BigInt
    "boxed": lambda: _object(a=js.Object.new(5)),
    "cycle": _cycle,
    "deep-33": lambda: js.JSON.parse("[" * 33 + "]" * 33),
    "text-3MiB": lambda: "x" * (3 * 1024 * 1024),
    "reserved": lambda: js.JSON.parse('{"$句柄": "1"}'),
}
