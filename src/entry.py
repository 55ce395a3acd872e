"""The deployable Worker: the verification application behind its door."""

from typing import Any

from verification import door, native, pythonic
from verification.answers import Answers
from verification.application import app
from yungong import DurableObject, Worker

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
        return await door.answer_once(super().fetch, request, self._answers)
