"""Counters: POST /NAME counts, GET /NAME tells, /NAME/live is a socket; every night a day is closed."""

import json
from datetime import UTC, datetime
from urllib.parse import urlsplit

from workers import Response, env
from yungong import Worker

from application import app
from counter import Counter
from directory import Directory

__all__ = ["Counter", "Default", "Directory"]


# --8<-- [start:rpc]
@app.fetch
async def serve(request):
    path = urlsplit(request.url).path.split("/")[1:]
    match request.method, path:
        case "POST", [name] if name:
            await env.DIRECTORY.getByName("all").enrol(name)
            return Response(str(await env.COUNTERS.getByName(name).count(1)))
        case "GET", [name] if name:
            return Response(str(await env.COUNTERS.getByName(name).total()))
        case "GET", [name, "days"]:
            return Response(await env.COUNTERS.getByName(name).days())
        case "GET", [name, "live"]:
            return await env.COUNTERS.getByName(name).fetch(request)
    return Response("not found\n", status=404)


# --8<-- [end:rpc]


# --8<-- [start:cron]
@app.scheduled
async def close_day(controller):
    day = datetime.fromtimestamp(controller.scheduledTime / 1000, UTC).date().isoformat()
    for name in json.loads(await env.DIRECTORY.getByName("all").names()):
        await env.COUNTERS.getByName(name).close_day(day)


# --8<-- [end:cron]


class Default(Worker, app=app): ...
