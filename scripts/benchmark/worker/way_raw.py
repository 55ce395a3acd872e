"""The operations on the raw JavaScript objects from Python, without any check."""

from __future__ import annotations

from typing import Any

from .settings import ALARM_MS, LISTED, QUEUE, TRANSACTION_KEYS


class Raw:
    """A loop for each operation."""

    def __init__(self, text: str, ctx: Any, env: Any) -> None:
        import js

        self._text = text
        self._storage = ctx._ctx.storage
        self._queue = getattr(env._env, QUEUE)
        self._parse: Any = js.JSON.parse
        self._stringify: Any = js.JSON.stringify
        self._array: Any = js.Array.from_

    async def get(self, keys: list[str]) -> None:
        storage, stringify = self._storage, self._stringify
        for key in keys:
            stringify(await storage.get(key))

    async def put(self, keys: list[str]) -> None:
        storage, parse, text = self._storage, self._parse, self._text
        for key in keys:
            await storage.put(key, parse(text))

    async def delete(self, keys: list[str]) -> None:
        storage = self._storage
        for key in keys:
            await storage.delete(key)

    async def listing(self, keys: list[str]) -> None:
        options = self._parse(f'{{"prefix":"{LISTED}"}}')
        for _ in keys:
            self._stringify(self._array(await self._storage.list(options)))

    async def send(self, keys: list[str]) -> None:
        queue, parse, text = self._queue, self._parse, self._text
        options = parse('{"contentType":"json"}')
        for _ in keys:
            await queue.send(parse(text), options)

    async def transaction(self, keys: list[str]) -> None:
        from pyodide.ffi import create_proxy

        parse, stringify, text = self._parse, self._stringify, self._text

        async def transact(transaction: Any) -> None:
            for key in TRANSACTION_KEYS:
                stringify(await transaction.get(key))
                await transaction.put(key, parse(text))

        closure = create_proxy(transact)
        for _ in keys:
            await self._storage.transaction(closure)
        closure.destroy()

    async def get_alarm(self, keys: list[str]) -> None:
        storage = self._storage
        for _ in keys:
            await storage.getAlarm()

    async def set_alarm(self, keys: list[str]) -> None:
        storage = self._storage
        for number, _ in enumerate(keys):
            await storage.setAlarm(ALARM_MS + number)
