"""What a customer's object does: it takes jobs, and knows how each one stands."""

import time
from datetime import timedelta

from workers import Response
from yungong.pythonic import Firing, Queue, Transaction, alarm, store

from application import app

PER_MINUTE = 5
LONGEST_SOURCE = 2000

pages = Queue("PAGES")


class TooMany(Exception):
    """The customer has asked too often; `wait_s` is how long to wait."""

    def __init__(self, wait_s):
        super().__init__(f"too many jobs; come again in {wait_s} s")
        self.wait_s = wait_s


# --8<-- [start:limit]
@app.transaction
async def admit(transaction: Transaction, customer: str, source: str, now_s: float) -> str:
    """Count the request and note the job: both, or neither of them."""
    recent = [at_s for at_s in await transaction.get("recent", default=[]) if at_s > now_s - 60]
    if len(recent) >= PER_MINUTE:
        raise TooMany(int(recent[0] + 61 - now_s))  # rolls back, and reaches `accept` as itself
    await transaction.put("recent", [*recent, now_s])
    number = await transaction.get("last", default=0) + 1
    await transaction.put("last", number)
    job = f"{number:08}"  # in the order of the listing
    await transaction.put(f"job:{job}", {"source": source, "state": "waiting"})
    # What is sent stands or falls with it: the alarm does it, at once and after the commit.
    await transaction.put(f"unsent:{job}", {"customer": customer, "job": job, "source": source})
    await alarm.set(timedelta(0))
    return job


async def accept(customer, wanted):
    """Take a job and tell its id, or tell when to come again."""
    source = wanted.get("source")
    if not isinstance(source, str) or len(source) > LONGEST_SOURCE:
        return Response(f"source must be a text of at most {LONGEST_SOURCE} characters\n", status=400)
    try:
        job = await admit(customer, source, time.time())
    except TooMany as error:
        return Response(f"{error}\n", status=429, headers={"Retry-After": str(error.wait_s)})
    return Response.json({"job": job}, status=202)


# --8<-- [end:limit]


# --8<-- [start:outbox]
@app.durable_alarm
async def send_unsent(firing: Firing):
    """Send what was noted; an error that escapes has the platform retry the alarm."""
    async for key, message in store.items(prefix="unsent:"):
        await pages.send(message)
        await store.delete(key)


# --8<-- [end:outbox]


@app.transaction
async def settle(transaction: Transaction, job: str, outcome: dict) -> bool:
    """Note how a job ended, once: a message may come twice."""
    entry = await transaction.get(f"job:{job}")
    if entry is None or entry["state"] != "waiting":
        return False
    await transaction.put(f"job:{job}", entry | outcome)
    return True


async def finish(job, outcome):
    return Response.json({"noted": await settle(job, outcome)})


async def status(job):
    entry = await store.get(f"job:{job}")
    return Response("no such job\n", status=404) if entry is None else Response.json({"job": job} | entry)


# --8<-- [start:paging]
async def page(query):
    """List at most ?limit= jobs, those that come after the job ?after=."""
    limit = min(int(query.get("limit", ["20"])[0]), 100)
    after = f"job:{query['after'][0]}" if "after" in query else None
    found = await store.list(prefix="job:", start_after=after, limit=limit)
    return Response.json({key.removeprefix("job:"): entry["state"] for key, entry in found.items()})


# --8<-- [end:paging]
