"""What takes the messages: it renders each page, and tells the customer's object how that ended."""

import json
from datetime import timedelta
from html import escape

from workers import env, fetch
from yungong.pythonic import Batch

from application import app

RESULTS = "results"
LONGEST_S = 3600


class Busy(Exception):
    """The source cannot answer now: it is worth asking again."""


# --8<-- [start:retries]
@app.queue("pages")
async def consume(batch: Batch):
    for message in batch:
        job = message.body
        try:
            outcome = await render(job["source"])
        except Busy:  # 10 s, 20 s, 40 s …, until max_retries sends it to the dead letters
            message.retry(delay=timedelta(seconds=min(5 * 2**message.attempts, LONGEST_S)))
        else:
            await tell(job, outcome)
            message.ack()


@app.queue("pages-dead")
async def bury(batch: Batch):
    for message in batch:
        await tell(message.body, {"state": "failed", "reason": "the source was busy for too long"})


# --8<-- [end:retries]


async def render(source):
    """Fetch a page's title and lines, and render it; one that is not there has failed for good."""
    response = await fetch(source)
    if response.status >= 500:
        raise Busy
    if response.status >= 400:
        return {"state": "failed", "reason": f"the source answered {response.status}"}
    page = await response.json()
    lines = "".join(f"<p>{escape(line)}</p>" for line in page["lines"])
    return {"state": "done", "html": f"<title>{escape(page['title'])}</title>{lines}"}


async def tell(job, outcome):
    customer = env.CUSTOMERS.getByName(job["customer"])
    url = f"https://customer/{job['customer']}/{RESULTS}/{job['job']}"
    response = await customer.fetch(url, method="PUT", body=json.dumps(outcome))
    if not response.ok:
        raise RuntimeError(f"the result of {job['job']} was refused: {response.status}")
