"""The deployable Worker: the verification application behind its door."""

import json
from collections.abc import Awaitable
from functools import partial
from typing import Any

from verification import door, native, pythonic
from verification.answers import Answers
from verification.application import app
from yungong import DurableObject, Worker, durable_method

__all__ = [
    "Default",
    "DurableStore",
]  # Cloudflare exports every class of a Worker that the module holds, or these


class Default(Worker, app=app):
    """Admits what is authorised, runs `fetch` scripts itself and passes the others to their objects."""

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, native.RecordedEnvironment(env))
        if native.variable("FACE") == "pythonic":
            self._app = pythonic.app

    async def fetch(self, request: Any) -> Any:
        return await door.admit(request, super().fetch)

    async def queue(self, batch: Any, env: Any = None, ctx: Any = None) -> None:
        await super().queue(native.RecordedBatch(batch), env, ctx)


class DurableStore(DurableObject, app=app):
    """Runs the scripts of one object."""

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, native.RecordedEnvironment(env))
        if native.variable("FACE") == "pythonic":
            self._app = pythonic.app
        native.remember_state(self._durable, ctx)
        self._answers = Answers(self._durable.storage.query)

    async def fetch(self, request: Any) -> Any:
        if request.headers.get("upgrade"):
            return native.accept_socket(self.ctx)
        request_id = request.headers.get("idempotency-key")
        return door.response(*await self._answer(super().fetch, await request.text(), request_id))

    @durable_method
    async def run_script(self, script: Any) -> Any:
        """Runs a script in a `durable-rpc` event."""
        return await self._app.enter("durable-fetch", script)

    async def _enter_method(self, method: Any, body: str, request_id: str) -> Any:
        return [*await self._answer(partial(super()._enter_method, method), body, request_id)]

    async def webSocketMessage(self, socket: Any, message: Any) -> None:
        async def enter(script: Any) -> Any:
            found: list[Any] = []
            await DurableObject.webSocketMessage(self, found, script)
            return found[0]

        socket.send(json.dumps(await self._answer(enter, *json.loads(message))))

    def _answer(self, enter: Any, body: str, request_id: str | None) -> Awaitable[tuple[int, str]]:
        return door.answer_once(enter, body, request_id, self._answers)
