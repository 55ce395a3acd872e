"""Notebooks: a Starlette application answers for the Worker, another one in each notebook's object."""

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from workers import asgi, env
from yungong import App, DurableObject, Worker

import notebook

app = App()


async def home(request):
    return PlainTextResponse("PUT, GET or DELETE /notebooks/NAME/notes/KEY\n")


# --8<-- [start:enter]
front = Starlette(routes=[Route("/", home)])
inside = notebook.application(app)


@app.fetch
async def serve(request):
    match request.url.split("/")[3:]:
        case ["notebooks", name, *_] if name:
            return await env.NOTEBOOKS.getByName(name).fetch(request)
    return await asgi.fetch(front, request, env)


@app.durable_fetch
async def answer(request):
    return await asgi.fetch(inside, request, env)


# --8<-- [end:enter]


class Default(Worker, app=app): ...


class Notebook(DurableObject, app=app): ...
