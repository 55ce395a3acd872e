"""The same Worker on the package."""

from __future__ import annotations

from typing import Any

from workers import Response

from yungong import App, DurableObject, Worker

app = App()


@app.on("fetch")
async def serve(env: Any) -> Any:
    """Pass a request to one object."""
    answer = await env.DURABLE_STORE.getByName("first").fetch("http://object/")
    return Response(await answer.text())


@app.on("durable-fetch")
async def answer(_request: Any) -> Any:
    """Answer."""
    return Response("first")


class Default(Worker, app=app):
    """Enters the application."""

    async def fetch(self, _request: Any) -> Any:
        return await super().fetch(self.env)


class DurableStore(DurableObject, app=app):
    """Enters the application."""
