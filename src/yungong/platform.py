"""The platform's objects as the package sees them; no other module imports JavaScript.

This module converts values, names the platform's calls and holds no policy: what is allowed, what a
failure means and in which words it is told is decided by its callers. Nothing here is looked up at
import, because a deployed Worker is snapshotted after its top level has run and a JavaScript object in a
global makes that snapshot fail.
"""

from __future__ import annotations

import math
import sys
import time
from asyncio import Future
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .errors import reason

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from typing import TypeGuard

    from js import (
        AlarmInfo,
        AlarmTarget,
        DurableObjectState,
        DurableObjectStorage,
        DurableObjectTransaction,
        JsArray,
        JsonValue,
        JsPromise,
        JsString,
        JsValue,
        MessageBatch,
        Queue,
    )
    from pyodide.ffi import JsDoubleProxy

if sys.platform == "emscripten":
    import workers
    from pyodide.ffi import JsException, JsProxy, create_once_callable, create_proxy, jsnull, to_js
    from pyodide.webloop import PyodideFuture

    PlatformError = JsException
    DurableObjectBase = workers.DurableObject
    WorkerBase = workers.WorkerEntrypoint
else:
    # Plain CPython has no platform: the names exist so that `import yungong` works there.
    class PlatformError(Exception):
        """What a call of the platform raises."""

    class PyodideFuture(Future[Any]):
        """What a call that returns a promise gives."""

    JsProxy = DurableObjectBase = WorkerBase = object
    jsnull = create_once_callable = create_proxy = to_js = None

T = TypeVar("T")

NULL = jsnull
"""JavaScript's null, which is not the None that undefined is."""

# The latest time that the platform's setAlarm takes: the end of its signed 64-bit nanoseconds, year 2262.
MAX_ALARM_MS = 9_223_372_036_854
MAX_LIST_LIMIT = 2**31 - 1

# What Object.prototype.toString says of all that a JSON value holds but arrays, and of undefined.
_JSON_TAGS = frozenset(
    f"[object {kind}]" for kind in ("Boolean", "Null", "Number", "Object", "String", "Undefined")
)

# So many elements make a text for which a few more calls of JavaScript are soon paid back.
_MANY_ELEMENTS = 64

# Texts up to here go over to JavaScript through buffers that are kept, one for each step of length.
_BUFFERED_BYTES = 4096
_BUFFER_STEP = 512


class _Engine:
    """The JavaScript functions that the package calls, looked up once at first use."""

    __slots__ = (
        "array_from",
        "array_of",
        "array_type",
        "clear_timeout",
        "decoding_of",
        "encode",
        "entries",
        "filter",
        "flat",
        "flat_map",
        "group",
        "is_array",
        "is_extensible",
        "is_null",
        "keys",
        "map",
        "parse",
        "regexp",
        "set",
        "set_timeout",
        "shift",
        "some",
        "string_object",
        "stringify",
        "stringifying_of",
        "tag",
        "text",
        "time_of",
        "uint8_array",
        "values",
        "with_resolvers",
    )

    def __init__(self) -> None:
        import js

        self.parse = js.JSON.parse
        self.stringify = js.JSON.stringify
        self.array_from = js.Array.from_
        self.array_of = js.Array.of
        self.array_type = type(js.Array.of())
        self.string_object = js.String.new
        # As functions of the object that they are called on, these can be called back by one another.
        unbound, array = js.Function.prototype.call, js.Array.prototype
        self.filter = unbound.bind(array.filter)
        self.flat = unbound.bind(array.flat)
        self.flat_map = unbound.bind(array.flatMap)
        self.map = unbound.bind(array.map)
        self.shift = unbound.bind(array.shift)
        self.some = unbound.bind(array.some)
        self.tag = unbound.bind(js.Object.prototype.toString)
        self.group = js.Object.groupBy
        self.regexp = js.RegExp.new
        self.set = js.Set.new
        self.uint8_array = js.Uint8Array.new
        encoder = js.TextEncoder.new()
        self.encode = encoder.encode.bind(encoder)
        # A BOM must reach JSON.parse, which refuses it.
        decoder = js.TextDecoder.new("utf-8", js.JSON.parse('{"ignoreBOM":true}'))
        bind = js.Function.prototype.bind
        self.decoding_of = bind.bind(decoder.decode, decoder)
        self.stringifying_of = bind.bind(js.JSON.stringify, js.JSON)
        self.is_array = js.Array.isArray
        self.is_extensible = js.Object.isExtensible
        self.is_null = getattr(js.Object, "is").bind(None, NULL)
        self.entries = js.Object.entries
        self.keys = js.Object.keys
        self.values = js.Object.values
        self.text = js.String
        self.time_of = unbound.bind(js.Date.prototype.getTime)
        self.set_timeout = js.setTimeout
        self.clear_timeout = js.clearTimeout
        self.with_resolvers = js.Promise.withResolvers.bind(js.Promise)


@cache
def engine() -> _Engine:
    """Return the JavaScript functions."""
    return _Engine()


def error_text(error: BaseException) -> str:
    """Return the platform's own words: an Error's message, or the string of any other reason."""
    if isinstance(error, PlatformError):
        message = getattr(error, "message", None)
        if isinstance(message, str):
            return message
    return reason(error)


class Rejected(Exception):
    """A promise of the platform was rejected with something that is no Error; the text says what."""


class _PlatformFuture(PyodideFuture[Any]):
    """What a call that returns a promise gives, whatever the promise's reason.

    Pyodide calls set_exception with any reason. asyncio refuses one that is no exception, and the future
    would never end: here it becomes one.
    """

    def set_exception(self, reason: Any) -> None:
        if not isinstance(reason, BaseException):
            reason = Rejected(engine().text(reason))
        super().set_exception(reason)


def settled(promise: Awaitable[T]) -> Awaitable[T]:
    """Return a promise of the platform as one that can be awaited whatever becomes of it.

    Awaiting it raises PlatformError where the reason is an Error, and Rejected where it is anything else.
    """
    if isinstance(promise, PyodideFuture):
        # It adds no state: the layout is the same, and a future round this one would cost another turn of
        # the event loop.
        promise.__class__ = _PlatformFuture
    return promise


# What a call of the platform can raise.
ERRORS = (PlatformError, Rejected)


def is_too_deep(error: BaseException) -> bool:
    """Return whether the engine's stack ended."""
    return getattr(error, "name", None) == "RangeError" and not is_too_long(error)


def is_too_long(error: BaseException) -> bool:
    """Return whether a text would be longer than the engine's strings can be."""
    return error_text(error) == "Invalid string length"


def now_ms() -> int:
    """Return the wall clock in Unix milliseconds."""
    return round(time.time() * 1000)


def unwrap(wrapped: Any, attribute: str) -> Any:
    """Return the raw object inside one of the SDK's wrappers, or `wrapped` where it is none."""
    return getattr(wrapped, attribute, wrapped)


# JSON values


def parse(text: str) -> JsonValue:
    """Return JSON.parse(text), raising PlatformError where the engine refuses it."""
    return engine().parse(text)


def parse_utf8(data: bytes) -> JsonValue:
    """Return JSON.parse of a text given in UTF-8, which goes over to JavaScript much faster than a string."""
    js = engine()
    size = len(data)
    if size <= _BUFFERED_BYTES:
        size += -size % _BUFFER_STEP
        view = _buffer(size)
        view.assign(data.ljust(size))  # spaces after a JSON text change nothing
    else:
        view = _decoded(to_js(data))
    return js.parse(view)


@cache
def _buffer(size: int) -> Any:
    return _decoded(engine().uint8_array(size))


def _decoded(view: Any) -> Any:
    """Return `view`, of bytes, with the text they spell as its string: JSON.parse takes an object so."""
    view.toString = engine().decoding_of(view)
    return view


@overload
def stringify(value: JsonValue) -> str: ...
@overload
def stringify(value: JsValue) -> str | None: ...
def stringify(value: JsValue) -> str | None:
    """Return JSON.stringify(value); None for undefined."""
    return engine().stringify(value)


def is_array(value: JsValue) -> TypeGuard[JsArray[Any]]:
    """Return whether `value` is an array."""
    return isinstance(value, JsProxy) and engine().is_array(value)


def member_names(value: JsValue) -> list[str] | None:
    """Return the names of an object's members, or None where `value` is no object or an array."""
    if not isinstance(value, JsProxy) or engine().is_array(value):
        return None
    return list(engine().keys(value))


def short_text(value: JsValue) -> str | None:
    """Return JSON.stringify(value); None for undefined, and for an array whose text is probably long."""
    js = engine()
    if type(value) is js.array_type and len(value) >= _MANY_ELEMENTS:
        return None
    return js.stringify(value)


def text_of(array: JsArray[Any]) -> JsString:
    """Return JSON.stringify(array) as a String object: the text stays in JavaScript."""
    js = engine()
    source: Any = js.array_of()
    source.toString = js.stringifying_of(array)
    text: JsString = js.string_object(source)
    return text


def utf8(text: JsString) -> bytes:
    """Return a text of JavaScript's in UTF-8: a long one comes over much faster so."""
    data: bytes = engine().encode(text).to_bytes()
    return data


def matches(text: JsString, pattern: str) -> bool:
    """Return whether `pattern`, a regular expression of JavaScript's, matches in `text`."""
    found: bool = _matcher(pattern)(text)
    return found


@cache
def _matcher(pattern: str) -> Any:
    regexp = engine().regexp(pattern)
    return regexp.test.bind(regexp)


def to_python(value: JsValue) -> Any:
    """Return a copy of `value` in Python's types; a Map becomes a dict too.

    Raises:
        PlatformError: an object has a member `constructor` that is null; Pyodide asks for its name.
    """
    return value.to_py() if isinstance(value, JsProxy) else value


def count_nulls(value: JsValue) -> int | None:
    """Return how many nulls `value` holds at any depth, or None where it holds an object foreign to JSON.

    The value must have a JSON text: BigInts and cycles are found by JSON.stringify. What JSON writes as null
    and is none does not count: undefined, a hole, NaN, an infinity.
    """
    js = engine()
    nulls = 0
    level = js.flat(js.array_of(value), math.inf)
    while level.length:  # by whole levels, for the engine to do the work; an array's members are its elements
        tags = js.array_from(js.set(js.map(level, js.tag)))
        if not _JSON_TAGS.issuperset(tags.join("\n").split("\n")):
            return None
        nulls += js.filter(level, js.is_null).length
        objects = js.filter(level, js.is_extensible)  # no primitive is
        level = js.flat(js.flat_map(objects, js.values), math.inf)
    return nulls


# Time


class Timer:
    """A JavaScript timer that is cleared when cancelled: asyncio's leaves it pending, and billed."""

    __slots__ = ("_handle", "_proxy")

    def __init__(self, delay_ms: float, fire: Callable[[], None]) -> None:
        self._proxy: JsDoubleProxy | None = create_proxy(fire)
        self._handle = engine().set_timeout(self._proxy, delay_ms)

    def cancel(self) -> None:
        """Clear the timer; after it has fired, only release what it holds."""
        if self._proxy is not None:
            engine().clear_timeout(self._handle)
            self._proxy.destroy()
            self._proxy = None


# Storage


class Storage:
    """The storage of one SQLite-backed object: synchronous keys and values, alarms, transactions."""

    __slots__ = ("_array_from", "_kv", "_list", "_raw", "_sql", "delete", "get", "put")

    get: Callable[[str], JsValue]
    """Return the value under a key; None where there is none."""
    put: Callable[[str, JsValue], None]
    """Store under a key a value that JSON.parse made."""
    delete: Callable[[str], bool]
    """Delete a key and return whether it existed."""

    def __init__(self, state: DurableObjectState) -> None:
        """Look up what an object of this state stores with.

        Raises:
            PlatformError: the object is on the older key-value backend, without SQL and synchronous keys.
        """
        self._raw: DurableObjectStorage = state.storage
        self._sql = self._raw.sql
        self.size()  # on the older backend everything is there, and throws at first use
        kv = self._kv = self._raw.kv
        self.get, self.put, self.delete, self._list = kv.get, kv.put, kv.delete, kv.list
        self._array_from = engine().array_from

    def boxed(self, key: str) -> JsArray[Any]:
        """Return the value under `key` as the one element of an array."""
        return self._array_from(engine().array_of(key), self._kv.get.bind(self._kv))

    def list(self, options: str) -> JsArray[Any]:
        """Return the array of [key, value] that `options`, a JSON object text, asks for."""
        return self._array_from(self._list(engine().parse(options)))

    def size(self) -> int:
        """Return the size of the object's database in bytes."""
        return self._sql.databaseSize

    def delete_all(self) -> JsPromise[None]:
        """Delete every key and table, and the alarm where the compatibility date says so."""
        return self._raw.deleteAll()

    def transaction(self, closure: Callable[[DurableObjectTransaction], Any]) -> JsPromise[None]:
        """Run `closure` in a transaction that ends when the promise it returns, or it itself, has."""
        return self._raw.transaction(create_once_callable(closure))

    @property
    def alarms(self) -> DurableObjectStorage:
        """What getAlarm, setAlarm and deleteAlarm are called on outside a transaction."""
        return self._raw

    def query(self, statement: str, *bindings: int | str | None) -> Sequence[Sequence[Any]]:
        """Run one SQL statement and return its rows."""
        rows = self._sql.exec(statement, *bindings).raw().toArray().to_py()
        return [[None if value is jsnull else value for value in row] for row in rows]


class Promise:
    """A JavaScript promise that Python settles, without a trip round the event loop."""

    __slots__ = ("_reject", "_resolve", "js")

    def __init__(self) -> None:
        resolvers = engine().with_resolvers()
        self.js = resolvers.promise
        self._resolve = resolvers.resolve
        self._reject = resolvers.reject

    def resolve(self) -> None:
        """Resolve the promise with undefined."""
        self._resolve()

    def reject(self, error: BaseException) -> None:
        """Reject the promise with the text of `error`: a Python object would need a proxy to be destroyed."""
        self._reject(str(error))


def alarm_info(info: AlarmInfo) -> tuple[int, int]:
    """Return the scheduled time in Unix milliseconds and the retry count of a firing alarm."""
    scheduled = info.scheduledTime
    return int(scheduled.getTime() if isinstance(scheduled, JsProxy) else scheduled), int(info.retryCount)


async def get_alarm(alarms: AlarmTarget) -> int | None:
    """Return the platform's alarm time in Unix milliseconds, or None where no alarm is set."""
    at_ms = await settled(alarms.getAlarm())
    return None if at_ms is jsnull else at_ms


# Queues


async def send(queue: Queue, value: JsValue, options: str) -> None:
    """Send one message with `options`, given as JSON text."""
    await settled(queue.send(value, engine().parse(options)))


async def send_batch(queue: Queue, requests: JsValue) -> None:
    """Send an array of requests."""
    await settled(queue.sendBatch(requests))


class Environment:
    """The raw bindings and variables of one deployment."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def variable(self, name: str) -> str | None:
        """Return a variable as JSON text; a text variable is taken to hold it. None where it is missing."""
        value = getattr(self.raw, name, None)
        return value if value is None or isinstance(value, str) else engine().stringify(value)

    def queue(self, name: str) -> Queue | None:
        """Return the queue producer bound to `name`, or None where there is none or it is something else."""
        binding = getattr(self.raw, name, None)
        if isinstance(binding, JsProxy) and engine().tag(binding) == "[object WorkerQueue]":
            return binding
        return None


class Batch:
    """One batch of messages that the platform delivered."""

    __slots__ = ("_columns", "messages", "queue")

    def __init__(self, raw: MessageBatch) -> None:
        self.queue = raw.queue
        self.messages = raw.messages
        self._columns: Any = None

    def _column(self, name: str) -> JsArray[Any]:
        """Return one member of every message, in one go: each entry [name, value] gives up its name."""
        js = engine()
        if self._columns is None:
            self._columns = js.group(js.flat_map(self.messages, js.entries), js.shift)
        column: JsArray[Any] = js.flat(getattr(self._columns, name))
        return column

    def heads(self) -> Iterable[tuple[str, str, str]]:
        """Return id, attempts and Unix milliseconds of arrival of every message, each as JSON text."""
        js = engine()
        columns = (
            js.map(self._column("id"), js.stringify),
            self._column("attempts"),
            js.map(self._column("timestamp"), js.time_of),
        )
        ids, attempts, times = (column.join("\n").split("\n") for column in columns)
        return zip(ids, attempts, times, strict=True)

    def bodies_utf8(self, pattern: str) -> tuple[bytes, bool] | None:
        """Return JSON.stringify of every body, a line each, in UTF-8, and whether `pattern` matches in one.

        One without a text leaves its line empty. None where one is a BigInt or cyclic.
        """
        js = engine()
        try:
            texts = js.map(self._column("body"), js.stringify)
        except PlatformError:
            return None
        texts.toString = texts.join.bind(texts, "\n")  # TextEncoder takes an object as its string
        return js.encode(texts).to_bytes(), js.some(texts, _matcher(pattern))

    def boxed_body(self, index: int) -> JsArray[Any]:
        """Return the body of one message as the one element of an array."""
        body: JsArray[Any] = self._column("body").slice(index, index + 1)
        return body

    def ack(self, index: int) -> None:
        """Acknowledge one message."""
        self.messages[index].ack()

    def retry(self, index: int, options: str | None) -> None:
        """Ask for one message again, with `options` as JSON text or none."""
        if options is None:
            self.messages[index].retry()
        else:
            self.messages[index].retry(engine().parse(options))
