"""The synchronous calls alone, on the raw JavaScript objects from Python: what is left without any check.

Of a short value nothing faster can be had from Python: this shows which targets are out of reach. With Python
values the standard library's json comes on top, without a look at what it is given.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .settings import LISTED, TRANSACTION_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable


class Kv:
    """A loop for each operation."""

    def __init__(self, text: str, ctx: Any) -> None:
        import js

        self._text = text
        self._value = json.loads(text)
        self._storage = ctx._ctx.storage
        self._kv = self._storage.kv
        self._parse: Any = js.JSON.parse
        self._stringify: Any = js.JSON.stringify
        self._array: Any = js.Array.from_

    async def get(self, keys: list[str]) -> None:
        get, stringify = self._kv.get, self._stringify
        for key in keys:
            stringify(get(key))

    async def put(self, keys: list[str]) -> None:
        put, parse, text = self._kv.put, self._parse, self._text
        for key in keys:
            put(key, parse(text))

    async def delete(self, keys: list[str]) -> None:
        delete = self._kv.delete
        for key in keys:
            delete(key)

    async def listing(self, keys: list[str]) -> None:
        options = self._parse(f'{{"prefix":"{LISTED}"}}')
        for _ in keys:
            self._stringify(self._array(self._kv.list(options)))

    async def transaction(self, keys: list[str]) -> None:
        get, put, parse, stringify, text = (
            self._kv.get,
            self._kv.put,
            self._parse,
            self._stringify,
            self._text,
        )

        def transact(_transaction: Any) -> None:
            for key in TRANSACTION_KEYS:
                stringify(get(key))
                put(key, parse(text))

        await self._transactions(transact, len(keys))

    async def get_value(self, keys: list[str]) -> None:
        get, stringify = self._kv.get, self._stringify
        for key in keys:
            json.loads(stringify(get(key)))

    async def put_value(self, keys: list[str]) -> None:
        put, parse, value = self._kv.put, self._parse, self._value
        for key in keys:
            put(key, parse(json.dumps(value)))

    async def listing_values(self, keys: list[str]) -> None:
        options = self._parse(f'{{"prefix":"{LISTED}"}}')
        for _ in keys:
            json.loads(self._stringify(self._array(self._kv.list(options))))

    async def transaction_values(self, keys: list[str]) -> None:
        get, put, parse, stringify, value = (
            self._kv.get,
            self._kv.put,
            self._parse,
            self._stringify,
            self._value,
        )

        def transact(_transaction: Any) -> None:
            for key in TRANSACTION_KEYS:
                stored = stringify(get(key))
                if stored is not None:
                    json.loads(stored)
                put(key, parse(json.dumps(value)))

        await self._transactions(transact, len(keys))

    async def _transactions(self, transact: Callable[[Any], None], count: int) -> None:
        from pyodide.ffi import create_proxy

        closure = create_proxy(transact)
        for _ in range(count):
            await self._storage.transaction(closure)
        closure.destroy()
