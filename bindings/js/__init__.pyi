"""JavaScript's global scope and the platform's objects, as far as the package uses them.

The names from `DurableObjectState` on are types only: the runtime's `js` module does not hold them.
Times are Unix milliseconds, sizes bytes.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias, overload

from pyodide.ffi import JsArray as JsArray
from pyodide.ffi import JsDoubleProxy, JsNull, JsOnceCallable, JsProxy
from pyodide.ffi import JsPromise as JsPromise

JsonValue: TypeAlias = JsProxy | JsNull | str | float | bool
"""What JSON.parse returns."""

JsValue: TypeAlias = JsonValue | None
"""Any value; None is undefined. A whole number below 2^53 is an int, and so is a BigInt."""

# Globals

JsString: TypeAlias = JsProxy
"""A String object, whose text stays in JavaScript."""

class _JSON(JsProxy):
    def parse(self, text: str, /) -> JsonValue: ...
    @overload
    def stringify(self, value: JsonValue, /) -> str: ...
    @overload
    def stringify(self, value: JsValue, /) -> str | None: ...

class _ArrayConstructor(JsProxy):
    # `map` is called with (item, index) and `this_argument` as its `this`.
    def from_(
        self,
        items: Iterable[Any] | JsProxy,
        map: Callable[..., Any] | None = None,
        this_argument: Any = None,
        /,
    ) -> JsArray[Any]: ...
    def of(self, *items: Any) -> JsArray[Any]: ...
    def isArray(self, value: JsValue, /) -> bool: ...

class _ObjectConstructor(JsProxy):
    @property
    def prototype(self) -> JsProxy: ...
    def keys(self, value: JsProxy, /) -> JsArray[str]: ...
    def fromEntries(self, entries: JsProxy, /) -> JsProxy: ...

class _PromiseConstructor(JsProxy):
    def reject(self, reason: JsValue, /) -> JsPromise[Any]: ...
    @property
    def withResolvers(self) -> _WithResolvers: ...

class _WithResolvers(Protocol):
    def __call__(self) -> PromiseResolvers: ...
    def bind(self, this: JsProxy, /) -> Callable[[], PromiseResolvers]: ...

class PromiseResolvers(JsProxy):
    promise: JsPromise[None]
    def resolve(self, value: JsValue = None, /) -> None: ...

class _TextDecoderConstructor(JsProxy):
    def new(self, *arguments: Any) -> TextDecoding: ...

class TextDecoding(JsProxy):
    def decode(self, piece: JsProxy | None = None, options: JsonValue | None = None, /) -> str: ...

class _CompatibilityFlags(JsProxy):
    """What the Worker's compatibility date and flags switch on."""

    delete_all_deletes_alarm: bool

class _Cloudflare(JsProxy):
    compatibilityFlags: _CompatibilityFlags

JSON: _JSON
String: _StringConstructor
Array: _ArrayConstructor
Object: _ObjectConstructor
Promise: _PromiseConstructor
TextDecoder: _TextDecoderConstructor
Cloudflare: _Cloudflare

# Used by their members, or with `new`, and no further described.
ArrayBuffer: JsProxy
Date: JsProxy
Error: JsProxy
Function: JsProxy
Map: JsProxy
Reflect: JsProxy
RegExp: JsProxy
Set: JsProxy
TextEncoder: JsProxy
Uint8Array: JsProxy

class _StringConstructor(JsProxy):
    def __call__(self, value: object, /) -> str: ...
    def new(self, value: JsProxy, /) -> JsString: ...

def queueMicrotask(callback: Callable[[], Any], /) -> None: ...
def setTimeout(callback: JsDoubleProxy, delay_ms: float, /) -> JsValue: ...
def clearTimeout(handle: JsValue, /) -> None: ...

# Durable Objects

class DurableObjectState(JsProxy):
    """What the platform gives an object's constructor."""

    storage: DurableObjectStorage

class AlarmTarget(Protocol):
    """The alarm of one object: at most one, called on its storage or on a transaction of it."""

    def getAlarm(self) -> JsPromise[int | JsNull]: ...
    # At least 1, at most 9223372036854; a past time becomes now.
    def setAlarm(self, at_ms: int, /) -> JsPromise[None]: ...
    def deleteAlarm(self) -> JsPromise[None]: ...

class DurableObjectStorage(JsProxy):
    """The storage of one SQLite-backed object."""

    kv: SyncKvStorage
    sql: SqlStorage
    def getAlarm(self) -> JsPromise[int | JsNull]: ...
    def setAlarm(self, at_ms: int, /) -> JsPromise[None]: ...
    def deleteAlarm(self) -> JsPromise[None]: ...
    # Commits when the promise that the closure returns is fulfilled, unless it called rollback.
    def transaction(self, closure: JsOnceCallable, /) -> JsPromise[None]: ...
    def deleteAll(self) -> JsPromise[None]: ...

class DurableObjectTransaction(JsProxy):
    """An open transaction. Only its own methods refuse after rollback; those of `kv` would commit."""

    def getAlarm(self) -> JsPromise[int | JsNull]: ...
    def setAlarm(self, at_ms: int, /) -> JsPromise[None]: ...
    def deleteAlarm(self) -> JsPromise[None]: ...
    def rollback(self) -> None: ...

class SyncKvStorage(JsProxy):
    """Synchronous keys and values; inside a transaction's closure they belong to it."""

    @property
    def get(self) -> KvGet: ...
    def put(self, key: str, value: JsValue, /) -> None: ...
    def delete(self, key: str, /) -> bool: ...
    # Lazy, and the only one of its object: the next list() ends it.
    def list(self, options: JsonValue, /) -> JsProxy: ...

class KvGet(JsProxy):
    """The function `get` itself, which JavaScript may be given, bound."""

    def __call__(self, key: str, /) -> JsValue: ...

class SqlStorage(JsProxy):
    """The object's own SQL database."""

    databaseSize: int
    def exec(self, statement: str, /, *bindings: int | str | None) -> SqlCursor: ...

class SqlCursor(JsProxy):
    """The rows of one statement."""

    def raw(self) -> SqlRows: ...

class SqlRows(JsProxy):
    """The rows as arrays of column values."""

    def toArray(self) -> JsArray[JsArray[Any]]: ...

# Queues

class Queue(Protocol):
    """A queue's producer binding, or what stands before it."""

    # options: {contentType: "json", delaySeconds?}
    def send(self, body: JsValue, options: JsonValue, /) -> JsPromise[Any]: ...
    # messages: [{body, contentType: "json", delaySeconds?}, …], 1 to 100
    def sendBatch(self, messages: JsValue, /) -> JsPromise[Any]: ...

class MessageBatch(JsProxy):
    """What the platform gives a `queue` handler."""

    queue: str
    messages: JsArray[Message]

class Message(JsProxy):
    """One delivered message."""

    id: str
    attempts: int
    timestamp: Timestamp
    body: JsValue
    def ack(self) -> None: ...
    # options: {delaySeconds}
    def retry(self, options: JsonValue | None = None, /) -> None: ...

class Timestamp(JsProxy):
    """A JavaScript Date."""

    def getTime(self) -> int: ...

class AlarmInfo(JsProxy):
    """What the platform gives an `alarm` handler."""

    scheduledTime: Timestamp | float
    retryCount: int
