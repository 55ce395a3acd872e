"""What of a Durable Object can be called over RPC: its decorated methods, and nothing else.

The platform calls whatever attribute an object has: private names, static and class methods, `__init__`. So
it never gets the object: it gets a door, which has the platform's handlers and the decorated methods alone.
"""

from __future__ import annotations

from functools import partial
from inspect import getattr_static, isfunction
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["durable_method"]

HANDLERS: Final = frozenset({"fetch", "alarm", "webSocketMessage", "webSocketClose", "webSocketError"})
"""What the platform itself calls on an object, and refuses to call over RPC."""

_MARK = "__yungong_durable_method__"

Method = TypeVar("Method", bound="Callable[..., Any]")


class Callee(Protocol):
    """An object behind a door."""

    async def _enter_method(self, method: Callable[..., Any], *arguments: Any) -> Any: ...


def durable_method(method: Method) -> Method:
    """Make the decorated method one that can be called over RPC: `await stub.count(2)`.

    Each such call runs as an event of kind `durable-rpc`, with its time limit, aborts and isolation; the
    store, alarm and transaction functions work in it. Arguments and result are what RPC carries. The function
    stays as it is: called from Python it is an ordinary method and belongs to the caller's event. A method
    that overrides a decorated one needs the decorator too.

    Raises:
        TypeError: what is decorated is no function (static and class methods cannot be called over RPC), or
            has a name that the platform keeps for itself.
    """
    if not isfunction(method):
        raise TypeError(f"durable_method decorates a method, not {type(method).__name__}")
    if method.__name__ in HANDLERS or method.__name__.startswith("__"):
        raise TypeError(f"{method.__name__} cannot be called over RPC: give the method another name")
    setattr(method, _MARK, True)
    return method


class Door:
    """What the platform gets in an object's place."""

    __slots__ = ("_instance",)

    def __init__(self, instance: Callee) -> None:
        self._instance = instance

    def __getattribute__(self, name: str) -> Any:
        instance: Any = object.__getattribute__(self, "_instance")
        if name in HANDLERS:
            return getattr(instance, name)
        method = getattr_static(type(instance), name, None)
        if isfunction(method) and not name.startswith("__"):
            if hasattr(method, _MARK):
                return partial(instance._enter_method, method)
            if not name.startswith("_"):
                raise TypeError(
                    f"{type(instance).__name__}.{name} cannot be called over RPC: decorate it with"
                    " yungong.durable_method"
                )
        raise AttributeError(f"nothing named {name!r} can be called over RPC")
