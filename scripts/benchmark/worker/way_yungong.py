"""The operations through the package's public functions, within an open event."""

from __future__ import annotations

from typing import Any

from yungong import (
    App,
    complete_transaction,
    get_alarm,
    run_transaction,
    send_message,
    set_alarm,
    store_delete,
    store_get,
    store_list,
    store_put,
    transaction_get,
    transaction_put,
)

from .settings import ALARM_MS, LISTED, QUEUE, TRANSACTION_KEYS

app = App()
_stored = ""


@app.on("durable-transaction")
async def transact() -> None:
    """Four reads and four writes."""
    for key in TRANSACTION_KEYS:
        await transaction_get(key)
        await transaction_put(key, _stored)
    complete_transaction("null")


class Yungong:
    """A loop for each operation; `empty` is an object of the package with a handler that does nothing."""

    def __init__(self, text: str, empty: Any) -> None:
        global _stored  # noqa: PLW0603  # the transaction's handler has no other way to the text
        self._text = _stored = text
        self._empty = empty

    async def get(self, keys: list[str]) -> None:
        for key in keys:
            await store_get(key)

    async def put(self, keys: list[str]) -> None:
        text = self._text
        for key in keys:
            await store_put(key, text)

    async def delete(self, keys: list[str]) -> None:
        for key in keys:
            await store_delete(key)

    async def listing(self, keys: list[str]) -> None:
        options = f'{{"prefix":"{LISTED}"}}'
        for _ in keys:
            await store_list(options)

    async def send(self, keys: list[str]) -> None:
        text = self._text
        for _ in keys:
            await send_message(QUEUE, text, 0)

    async def transaction(self, keys: list[str]) -> None:
        for _ in keys:
            await run_transaction("null")

    async def get_alarm(self, keys: list[str]) -> None:
        for _ in keys:
            await get_alarm()

    async def set_alarm(self, keys: list[str]) -> None:
        for number, _ in enumerate(keys):
            await set_alarm(ALARM_MS + number)

    async def handler(self, keys: list[str]) -> None:
        for _ in keys:
            await self._empty.fetch(None)

    # Not compared with other ways: what memory is measured with.

    async def mixed(self, keys: list[str]) -> None:
        """Four operations for each key."""
        text = self._text
        for key in keys:
            await store_put(key, text)
            await store_get(key)
            await store_get("missing")
            await store_delete(key)

    async def fill(self, keys: list[str]) -> None:
        """Store what `list_all` lists."""
        for number, _ in enumerate(keys):
            await store_put(f"large:{number}", self._text)

    async def list_all(self, _keys: list[str]) -> None:
        """Make the largest listing."""
        await store_list('{"prefix":"large:"}')
