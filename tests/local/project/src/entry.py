"""What the tests of the local host's plugin ask for."""

import asyncio
import json
import time
from urllib.parse import urlsplit

import base
import greeting
from workers import DurableObject, Response, WorkerEntrypoint

entered: list[str] = []
constructed: list[str] = []


def now_ms():
    return int(time.time() * 1000)


class Counter(DurableObject):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        constructed.append("Counter")
        self.number = len(constructed)

    async def fetch(self, request):
        storage = self.ctx.storage
        match urlsplit(request.url).path:
            case "/count":
                count = (await storage.get("count") or 0) + 1
                await storage.put("count", count)
                return Response(str(count))
            case "/instance":
                return Response(str(self.number))
            case "/alarm":
                await storage.setAlarm(now_ms() + int(await request.text()))
            case "/forever":
                await asyncio.sleep(3600)
            case "/failing":
                await storage.put("failing", True)
                await storage.setAlarm(now_ms())
            case "/echo":
                return Response(f"{request.method} {request.headers.get('x-own')} {await request.text()}")
        return Response("done")

    async def alarm(self, info):
        print("alarm", info.isRetry)
        if await self.ctx.storage.get("failing"):
            raise RuntimeError("this alarm fails")
        await self.ctx.storage.put("fired", info.retryCount)


class Plain(DurableObject):
    async def fetch(self, request):
        return Response("plain")


class Heir(base.Sleeper):
    fetch = Plain.fetch


class Assigned(Plain):
    alarm = base.Sleeper.alarm


class Default(WorkerEntrypoint):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        entered.append("Default")

    async def fetch(self, request):
        match urlsplit(request.url).path:
            case "/entered":
                return Response(str(len(entered)))
            case "/bindings":
                await self.env.NOTES.put("a", "kv")
                await self.env.FILES.put("a", "r2")
                row = await self.env.DATABASE.prepare("SELECT 'd1' AS a").first()
                answer = [
                    await self.env.NOTES.get("a"),
                    await (await self.env.FILES.get("a")).text(),
                    row["a"],
                    self.env.GREETING,
                    self.env.SECRET,
                    greeting.WORDS,
                ]
                return Response(json.dumps(answer))
            case "/send":
                wanted = json.loads(await request.text())
                queue = getattr(self.env, wanted["binding"])
                for body in wanted["bodies"]:
                    await queue.send(body, delaySeconds=wanted.get("delay", 0))
            case "/by-name":
                return await self.env.COUNTER.getByName("named-by-the-application").fetch(request)
            case "/names":
                return Response(json.dumps(dir(self.env._env)))
        return Response("done")

    async def queue(self, batch, env, ctx):
        for message in batch.messages:
            print(batch.queue, json.dumps(message.body), message.attempts)
            match message.body:
                case {"retry": delay}:
                    message.retry(delaySeconds=delay)
                case {"ack": _}:
                    message.ack()
        if any("fail" in message.body for message in batch.messages):
            raise RuntimeError("this batch fails")
