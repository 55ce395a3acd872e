"""One counter: its total, the sockets that hear of it, and a table of the days that are closed."""

import json
from contextlib import suppress

from workers import Response
from yungong import DurableObject, current_instance, durable_method
from yungong.pythonic import Transaction, store

from application import app

DAYS = "CREATE TABLE IF NOT EXISTS days (day TEXT PRIMARY KEY, total INTEGER)"


@app.transaction
async def add(transaction: Transaction, by: int) -> int:
    total = await transaction.get("total", default=0) + by
    await transaction.put("total", total)
    return total


class AlreadyClosed(Exception):
    """The day has its row: a cron event may come twice."""


# --8<-- [start:sql]
@app.transaction
async def close(transaction: Transaction, day: str) -> None:
    """Move the total into the table of days: both change, or neither."""
    sql = current_instance().ctx.storage.sql
    sql.exec(DAYS)
    total = await transaction.get("total", default=0)
    await transaction.delete("total")
    sql.exec("INSERT OR IGNORE INTO days VALUES (?, ?)", day, total)
    if not sql.exec("SELECT changes() AS added").one()["added"]:
        raise AlreadyClosed(day)  # the total stays


# --8<-- [end:sql]


# --8<-- [start:methods]
class Counter(DurableObject, app=app):
    @durable_method
    async def count(self, by):
        total = await add(by)
        self.tell(total)
        return total

    @durable_method
    async def total(self):
        return await store.get("total", default=0)

    # --8<-- [end:methods]

    @durable_method
    async def close_day(self, day):
        with suppress(AlreadyClosed):
            await close(day)
            self.tell(0)

    @durable_method
    async def days(self):
        sql = self.ctx.storage.sql
        sql.exec(DAYS)
        rows = sql.exec("SELECT day, total FROM days ORDER BY day").raw().toArray()
        return json.dumps([[day, total] for day, total in rows])

    def tell(self, total):
        """Send the total to every socket; no decorator, and so nobody can call it over RPC."""
        for socket in self.ctx.getWebSockets():
            socket.send(str(total))


# --8<-- [start:sockets]
@app.durable_fetch
async def listen(request):
    from js import WebSocketPair  # at first use: a snapshot of the Worker holds no JavaScript object

    client, server = WebSocketPair.new().object_values()
    current_instance().ctx.acceptWebSocket(server)  # the object may sleep while it is open
    server.send(str(await store.get("total", default=0)))
    return Response(None, status=101, web_socket=client)


@app.durable_websocket_message
async def hear(socket, message):
    current_instance().tell(await add(int(message)))


# --8<-- [end:sockets]
