# entry.py
from datetime import timedelta

from workers import Response, env
from yungong import App, DurableObject, Worker
from yungong.pythonic import Batch, Firing, Queue, Transaction, alarm, store

app = App()
pages = Queue("PAGE_QUEUE")


@app.fetch
async def serve(request):
    return await env.DURABLE_STORE.getByName("one").fetch(request)


@app.transaction
async def add(transaction: Transaction, key: str, by: int = 1) -> int:
    total: int = await transaction.get(key, default=0) + by
    await transaction.put(key, total)
    return total


@app.durable_fetch
async def count(request):
    total = await add("visits", by=2)  # commits when it returns, rolls back when it raises
    await alarm.set(timedelta(hours=1))
    await pages.send({"total": total}, delay=timedelta(seconds=1))
    return Response.json({"total": total})


@app.durable_alarm
async def wake(firing: Firing):
    if firing.retry_count < 3:
        await store.put("visits", 0)


@app.queue
async def consume(batch: Batch):
    for message in batch:
        if message.body["total"] > 1000 and message.attempts < 3:
            message.retry(delay=timedelta(seconds=30))
        else:
            print("visits:", message.body["total"])


class Default(Worker, app=app): ...


class DurableStore(DurableObject, app=app): ...
