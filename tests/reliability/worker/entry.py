"""The deployed Worker with three classes of objects more, reached by path:

POST /counters/NAME   an event of CounterStore (counters.py)
POST /memory          what Python has in use (memory.py)
POST /judge           hostile texts through the package (judge.py)
POST /oracle          the same through the engine alone (javascript.mjs)
POST /refusing/NAME   {"plan", "steps"}: a script on storage that refuses what `plan` says (javascript.mjs)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from workers import Response, import_from_javascript

import yungong
from tests.reliability.worker import counters, judge, memory
from verification import door
from yungong import platform
from yungong.durable import Durable

if TYPE_CHECKING:
    import entry as deployed  # how src/entry.py is named for mypy
else:
    import deployed

_OBJECTS = {"counters": "COUNTER_STORE", "refusing": "REFUSING_STORE"}


class Default(deployed.Default):
    """Passes a request to the object that its path names; everything else is the deployed Worker's."""

    async def fetch(self, request: Any) -> Any:
        kind, _, name = urlsplit(request.url).path.removeprefix("/").partition("/")
        env = import_from_javascript("cloudflare:workers").env
        if kind == "memory":
            return Response(json.dumps(memory.in_use()))
        if kind in _OBJECTS:
            stub = getattr(env, _OBJECTS[kind]).getByName(name)
        elif kind in ("judge", "oracle"):
            stub = getattr(env, f"{kind.upper()}").getByName(kind)
        else:
            return await super().fetch(request)
        return await stub.fetch(request.js_object)

    async def queue(self, batch: Any, env: Any = None, ctx: Any = None) -> None:
        raw = platform.unwrap(batch, "_binding")
        if raw.queue == counters.QUEUE:
            await counters.Consumer(self.ctx, self.env).queue(batch)
        else:
            await super().queue(batch, env, ctx)


class DurableStore(deployed.DurableStore):
    """The deployed Worker's own."""


class CounterStore(yungong.DurableObject, app=counters.app):
    """Counts within transactions, alarms and batches."""

    async def fetch(self, request: Any) -> Any:
        return await super().fetch(json.loads(await request.text()))


class Judge(yungong.DurableObject, app=judge.app):
    """Puts hostile texts through the package."""

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, judge.CapturingEnvironment(platform.unwrap(env, "_env")))

    async def fetch(self, request: Any) -> Any:
        return await super().fetch(await request.text())


class _State:
    def __init__(self, storage: Any) -> None:
        self.storage = storage


class RefusingStore(deployed.DurableStore):
    """The deployed Worker's object on storage that refuses."""

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)
        self._refusing = import_from_javascript("javascript.mjs").refusing

    async def fetch(self, request: Any) -> Any:
        asked = json.loads(await request.text())
        self._arm(asked.get("plan", {}))
        enter = super(deployed.DurableStore, self).fetch
        return door.response(*await self._answer(enter, json.dumps(asked["script"]), None))

    async def alarm(self, info: Any = None) -> None:
        kv = platform.unwrap(self.ctx, "_ctx").storage.kv
        plan = kv.get("plan:alarm")
        if plan is not None:
            self._arm(json.loads(plan))
            kv.delete("plan:alarm")
        await super().alarm(info)

    def _arm(self, plan: dict[str, Any]) -> None:
        storage = self._refusing(platform.unwrap(self.ctx, "_ctx").storage, json.dumps(plan))
        state: Any = _State(storage)
        self._durable = Durable(platform.Storage(state))
