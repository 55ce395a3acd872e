"""The operations as the SDK's documentation has them; JSON text where the package gives text."""

from __future__ import annotations

import json
from typing import Any

from .settings import ALARM_MS, LISTED, QUEUE, TRANSACTION_KEYS


class Sdk:
    """A loop for each operation; `bare` is an object of the SDK's with a handler that does nothing."""

    def __init__(self, text: str, ctx: Any, env: Any, bare: Any) -> None:
        self._value = json.loads(text)
        self._storage = ctx.storage
        self._queue = getattr(env, QUEUE)
        self._bare = bare

    async def get(self, keys: list[str]) -> None:
        storage = self._storage
        for key in keys:
            json.dumps(await storage.get(key))

    async def put(self, keys: list[str]) -> None:
        storage, value = self._storage, self._value
        for key in keys:
            await storage.put(key, value)

    async def get_value(self, keys: list[str]) -> None:
        storage = self._storage
        for key in keys:
            await storage.get(key)

    async def delete(self, keys: list[str]) -> None:
        storage = self._storage
        for key in keys:
            await storage.delete(key)

    async def listing(self, keys: list[str]) -> None:
        storage = self._storage
        for _ in keys:
            entries = await storage.list({"prefix": LISTED})
            json.dumps(list(entries.items()))

    async def listing_values(self, keys: list[str]) -> None:
        storage = self._storage
        for _ in keys:
            await storage.list({"prefix": LISTED})

    async def send(self, keys: list[str]) -> None:
        queue, value = self._queue, self._value
        for _ in keys:
            await queue.send(value, {"contentType": "json"})

    async def transaction(self, keys: list[str]) -> None:
        storage, value = self._storage, self._value

        async def transact(_transaction: Any) -> None:
            # What is called on the storage meanwhile belongs to it; the transaction itself is not wrapped.
            for key in TRANSACTION_KEYS:
                json.dumps(await storage.get(key))
                await storage.put(key, value)

        for _ in keys:
            await storage.transaction(transact)

    async def transaction_values(self, keys: list[str]) -> None:
        storage, value = self._storage, self._value

        async def transact(_transaction: Any) -> None:
            for key in TRANSACTION_KEYS:
                await storage.get(key)
                await storage.put(key, value)

        for _ in keys:
            await storage.transaction(transact)

    async def get_alarm(self, keys: list[str]) -> None:
        storage = self._storage
        for _ in keys:
            await storage.getAlarm()

    async def set_alarm(self, keys: list[str]) -> None:
        storage = self._storage
        for number, _ in enumerate(keys):
            await storage.setAlarm(ALARM_MS + number)

    async def handler(self, keys: list[str]) -> None:
        for _ in keys:
            await self._bare.fetch(None)
