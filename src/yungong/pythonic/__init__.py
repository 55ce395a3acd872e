"""The three interfaces with Python values instead of JSON text, and handlers that get what they are about.

Every call goes through the functions of the specifications, with the same effects, limits and errors. The
decorators of `yungong.App` register the handlers. `values` says what a JSON value is, and what is refused.

A name is loaded when it is first asked for, as in `yungong` itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import alarm, store
    from .alarm import Firing
    from .batch import Batch, Message
    from .queue import Outgoing, Queue
    from .transaction import Transaction
    from .values import Json
else:
    _MODULES = {
        "Batch": "batch",
        "Firing": "alarm",
        "Json": "values",
        "Message": "batch",
        "Outgoing": "queue",
        "Queue": "queue",
        "Transaction": "transaction",
    }

    def __getattr__(name: str) -> object:
        if name in ("alarm", "store"):
            return import_module(f".{name}", __name__)
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
        globals()[name] = value
        return value


__all__ = [
    "Batch",
    "Firing",
    "Json",
    "Message",
    "Outgoing",
    "Queue",
    "Transaction",
    "alarm",
    "store",
]
