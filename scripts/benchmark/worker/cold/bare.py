"""A Worker of the SDK's: it answers through its object."""

from __future__ import annotations

from typing import Any

from workers import DurableObject, Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    """Passes each request to one object."""

    async def fetch(self, _request: Any) -> Any:
        answer = await self.env.DURABLE_STORE.getByName("first").fetch("http://object/")
        return Response(await answer.text())

    async def queue(self, batch: Any, env: Any = None, ctx: Any = None) -> None:
        """Take no batch."""


class DurableStore(DurableObject):  # type: ignore[no-untyped-call]  # as the SDK has it
    """Answers."""

    async def fetch(self, _request: Any) -> Any:
        return Response("first")

    async def alarm(self, info: Any = None) -> None:
        """Set no alarm."""
