"""Pyodide's bridge to JavaScript, as the runtime of the compatibility date in wrangler.toml has it."""

from collections.abc import Callable, Generator, Iterable, Iterator
from enum import Enum
from typing import Any, Generic, Literal, TypeAlias, TypeVar

T_co = TypeVar("T_co", covariant=True)

class JsProxy:
    """Any JavaScript object. Strings, booleans, numbers, undefined and null cross as Python values."""

    def __getattr__(self, name: str) -> Any: ...
    def __call__(self, *arguments: Any) -> Any: ...
    def new(self, *arguments: Any) -> Any: ...
    def to_py(self) -> Any: ...

class JsArray(JsProxy, Generic[T_co]):
    """A JavaScript array."""

    @property
    def length(self) -> int: ...
    def __getitem__(self, index: int) -> T_co: ...
    def __iter__(self) -> Iterator[T_co]: ...
    def __len__(self) -> int: ...
    def to_py(self) -> list[Any]: ...

class JsPromise(JsProxy, Generic[T_co]):
    """A JavaScript promise; awaiting it takes a turn of the event loop even when it is settled."""

    def __await__(self) -> Generator[Any, Any, T_co]: ...

class JsDoubleProxy(JsProxy):
    """A Python object as JavaScript sees it; it lives until it is destroyed."""

    def destroy(self) -> None: ...

class JsNull(Enum):
    """The type of `jsnull`, said as an enumeration so that `is jsnull` narrows a type."""

    null = 0

jsnull: Literal[JsNull.null]
"""JavaScript's null; undefined is None."""

class JsException(Exception):
    """What JavaScript threw: an Error, or a value that is none."""

    # As the platform has them on an Error; a thrown value that is no Error has neither.
    message: str
    name: str

def create_proxy(value: Callable[..., Any]) -> JsDoubleProxy: ...
def create_once_callable(function: Callable[..., Any]) -> JsOnceCallable: ...

JsOnceCallable: TypeAlias = JsProxy

def to_js(value: Iterable[Any]) -> JsProxy: ...
