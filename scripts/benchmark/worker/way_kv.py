"""The synchronous calls alone, on the raw JavaScript objects from Python: what is left without any check.

Of a short value nothing faster can be had from Python: this shows which targets are out of reach.
"""

from __future__ import annotations

from typing import Any

from .settings import LISTED


class Kv:
    """A loop for each operation."""

    def __init__(self, text: str, ctx: Any) -> None:
        import js

        self._text = text
        self._kv = ctx._ctx.storage.kv
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
