"""What runs in a notebook's object: its notes, and how often each one was written."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route
from yungong import YuyanError
from yungong.pythonic import Transaction, store


def application(app):
    """Return the Starlette application, whose transaction is registered with `app`."""

    @app.transaction
    async def write(transaction: Transaction, key: str, note: str) -> int:
        written = (await transaction.get(key, default={"written": 0}))["written"] + 1
        await transaction.put(key, {"note": note, "written": written})
        return written

    async def put(request):
        note = (await request.json())["note"]
        return JSONResponse({"written": await write(request.path_params["key"], note)})

    async def get(request):
        note = await store.get(request.path_params["key"])
        if note is None:
            raise HTTPException(404, "no such note")
        return JSONResponse(note)

    async def delete(request):
        return JSONResponse({"existed": await store.delete(request.path_params["key"])})

    async def export(request):
        async def lines():
            async for key, note in store.items():
                yield f"{key}: {note['note']}\n"

        return StreamingResponse(lines(), media_type="text/plain")

    async def refused(request, error):
        return JSONResponse({"refused": str(error)}, status_code=400)

    path = "/notebooks/{name}/notes/{key:path}"
    routes = [
        Route("/notebooks/{name}/notes", export),
        Route(path, put, methods=["PUT"]),
        Route(path, get, methods=["GET"]),
        Route(path, delete, methods=["DELETE"]),
    ]
    return Starlette(routes=routes, exception_handlers={YuyanError: refused})
