"""The one object that knows which counters there are."""

import json

from yungong import DurableObject, durable_method
from yungong.pythonic import store

from application import app


class Directory(DurableObject, app=app):
    @durable_method
    async def enrol(self, name):
        await store.put(name, None)

    @durable_method
    async def names(self):
        return json.dumps([name async for name, _ in store.items()])
