"""The service's requests: /CUSTOMER/jobs takes a job and lists them, /CUSTOMER/jobs/ID tells of one."""

from urllib.parse import parse_qs, urlsplit

from workers import Response, env
from yungong import DurableObject, Worker

import consumer  # registers its handlers
import jobs
from application import app


@app.fetch
async def serve(request):
    match urlsplit(request.url).path.split("/"):
        case ["", customer, "jobs", *_] if customer:
            return await env.CUSTOMERS.getByName(customer).fetch(request)
    return Response("not found\n", status=404)


@app.durable_fetch
async def answer(request):
    url = urlsplit(request.url)
    _, customer, what, *rest = url.path.split("/")
    match request.method, what, rest:
        case "POST", "jobs", []:
            return await jobs.accept(customer, await request.json())
        case "GET", "jobs", []:
            return await jobs.page(parse_qs(url.query))
        case "GET", "jobs", [job]:
            return await jobs.status(job)
        case "PUT", consumer.RESULTS, [job]:  # from the consumer: `serve` lets nobody else come here
            return await jobs.finish(job, await request.json())
    return Response("not found\n", status=404)


class Default(Worker, app=app): ...


class Customer(DurableObject, app=app): ...
