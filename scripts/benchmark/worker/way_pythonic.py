"""The operations with Python values, within an open event."""

from __future__ import annotations

import json
from typing import Any

from yungong import App
from yungong.pythonic import Batch, Transaction, store

from .settings import LISTED, TRANSACTION_KEYS

app = App()
consumer = App()
_stored: Any = None


@app.transaction
async def transact(transaction: Transaction) -> None:
    """Four reads and four writes."""
    for key in TRANSACTION_KEYS:
        await transaction.get(key)
        await transaction.put(key, _stored)


@consumer.queue
async def consume(batch: Batch) -> None:
    """Look at every message."""
    for message in batch:
        _ = message.id, message.attempts, message.timestamp, message.body


class Pythonic:
    """A loop for each operation."""

    def __init__(self, text: str) -> None:
        global _stored  # noqa: PLW0603  # the transaction's handler has no other way to the value
        self._value = _stored = json.loads(text)

    async def get(self, keys: list[str]) -> None:
        for key in keys:
            await store.get(key)

    async def put(self, keys: list[str]) -> None:
        value = self._value
        for key in keys:
            await store.put(key, value)

    async def listing(self, keys: list[str]) -> None:
        for _ in keys:
            await store.list(prefix=LISTED)

    async def transaction(self, keys: list[str]) -> None:
        for _ in keys:
            await transact()
