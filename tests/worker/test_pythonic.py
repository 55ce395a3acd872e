"""Applications written with Python values, on a real workerd."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repository import ROOT, LocalHost

from tests.client import HANGING_SECONDS, call
from tests.values import BOTH, VALUES, from_javascript, shown

from .conftest import Serve, Start
from .scripts import eventually, fresh, run

IMPORTS = """
from datetime import datetime, timedelta, UTC
from yungong.pythonic import Batch, Firing, Message, Outgoing, Queue, Transaction, alarm, store
app = App()
"""
OBJECT = """
class DurableStore(DurableObject, app=app): ...
"""


@pytest.fixture
def answer(serve: Serve) -> Any:
    """Return a function that gives what the body of a `durable-fetch` handler returns, through JSON."""

    def ask(body: str, before: str = "", **options: Any) -> Any:
        from textwrap import dedent, indent

        handler = "@app.durable_fetch\nasync def ask(request):\n" + indent(dedent(body), "    ")
        handler = handler.replace("return ", "return Response.json(").rstrip() + ")\n"
        return json.loads(serve(IMPORTS + dedent(before) + handler + OBJECT, **options))

    return ask


def test_a_transaction_commits_what_it_returns_and_rolls_back_what_it_raises(answer: Any) -> None:
    found = answer(
        """
        seen = [await add("visits", by=2), await add("visits"), await store.get("visits")]
        try:
            await fail("visits")
        except Broken as error:
            seen.append([error.number, repr(error.__cause__), repr(error.__context__), str(error)])
        seen.append(await give_up("visits"))
        seen.append(await store.get("visits"))
        try:
            await wrong()
        except TypeError as error:
            seen.append(str(error))
        try:
            await add("visits", by=datetime.now())
        except TypeError as error:
            seen.append(str(error))
        try:
            await add()
        except TypeError as error:
            seen.append(str(error))
        seen.append(await alarm.get_ms())
        seen.append(await run_transaction(' {"name": "add", "args": ["visits"], "kwargs": {"by": 4}}'))
        for argument in ("1", '{"name": "none", "args": [], "kwargs": {}}'):
            try:
                await run_transaction(argument)
            except YuyanError as error:
                seen.append(str(error))
        try:
            await stop()
        except YuyanError as error:
            seen.append(str(error))
        return seen
        """,
        """
        class Broken(Exception):
            def __init__(self, number):
                super().__init__("broken")
                self.number = number

        @app.transaction
        async def add(transaction: Transaction, key: str, by: int = 1) -> int:
            total = await transaction.get(key, default=0) + by
            await transaction.put(key, total)
            return total

        @app.transaction
        async def fail(transaction, key):
            await transaction.delete(key)
            await alarm.set(timedelta(hours=1))
            raise Broken(7)

        @app.transaction
        async def give_up(transaction, key):
            await transaction.put(key, [])
            transaction.rollback()
            return "given up"

        @app.transaction
        async def stop(transaction):
            raise SystemExit(3)

        @app.transaction(name="other")
        async def wrong(transaction):
            await transaction.put("wrong", 1)
            return {"a": [1, (2,)]}
        """,
    )
    assert found[:7] == [2, 3, 3, [7, "None", "None", "broken"], "given up", 3, found[6]]
    assert found[6] == "$.a[1]: a tuple is no JSON value; write list(value)"
    assert found[7] == "$.kwargs.by: a datetime is no JSON value; write value.isoformat()"
    assert "missing 1 required positional argument: 'key'" in found[8]
    assert found[9:] == [
        None,
        "7",
        '持久事务失败：事务参数须为 {"name":…,"args":[…],"kwargs":{…}}',
        "持久事务失败：应用没有登记名为 none 的事务",
        "持久事务失败：处理入口要求退出：3",
    ]


def test_the_readmes_first_example_runs_as_it_stands(start: Start) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    host = start(readme.partition("```python\n")[2].partition("```")[0])
    first, second = (
        httpx.get(host.url, timeout=HANGING_SECONDS, trust_env=False).json()["total"] for _ in range(2)
    )
    assert second == first + 2
    eventually("both totals are consumed", 30, lambda: f"visits: {second}" in host.log())
    assert f"visits: {first}" in host.log()


def test_items_over_many_keys_are_whole_and_in_order_both_ways(answer: Any) -> None:
    """Some values make a page too long, and one is too long for a listing by itself."""
    found = answer(
        """
        kv = current_storage().kv
        for number in range(20_000):
            kv.put(f"k:{number:05}", number)
        for number in range(7_000, 7_006):
            await store.put(f"k:{number:05}", "x" * 2_000_000)
        await store_put("k:09000", "[" + ",".join(["1e20"] * 400_000) + "]")
        keys = [f"k:{number:05}" for number in range(20_000)]
        seen = []
        for reverse in (False, True):
            found = [(key, value if type(value) is int else len(value))
                     async for key, value in store.items(prefix="k:", reverse=reverse)]
            seen.append([key for key, _ in found] == (keys[::-1] if reverse else keys))
            found.sort()
            seen.append([found[number][1] for number in (7_000, 7_005, 7_006, 9_000, 19_999)])
        seen.append([key async for key, _ in store.items(start_after="k:06999", end="k:07003", page_size=2)])
        seen.append([key async for key, _ in store.items(start="k:07002", limit=3, reverse=True)])
        seen.append(await count())
        return seen
        """,
        """
        from yungong import events

        def current_storage():
            return events.open_event().durable.storage.alarms

        @app.transaction
        async def count(transaction):
            await transaction.delete("k:18001")
            return len([key async for key, _ in transaction.items(prefix="k:18", page_size=300)])
        """,
    )
    lengths = [2_000_000, 2_000_000, 7_006, 400_000, 19_999]
    assert found == [
        *[True, lengths] * 2,
        ["k:07000", "k:07001", "k:07002"],
        ["k:19999", "k:19998", "k:19997"],
        999,
    ]


def test_send_all_sends_whole_in_as_few_calls_as_the_limits_allow(answer: Any) -> None:
    """1000 messages of mixed sizes; some floats are longer in the form that is sent."""
    found = answer(
        """
        import random
        from yungong import queue as texts
        source = random.Random(12)
        bodies = [{"n": n, "x": "x" * source.choice([10, 500, 40_000, 120_000]), "f": [1e20, 1.0, 2.5] * 3}
                  for n in range(1000)]
        calls, real = [], texts.批量发送队列消息

        async def counted(binding, messages):
            calls.append(json.loads(messages))
            if len(calls) == 300:
                raise YuyanError("队列批量发送失败：Queue is full")
            await real(binding, messages)

        texts.批量发送队列消息 = counted
        pages = Queue("SINK_QUEUE")
        sent = await pages.send_all(bodies)
        arrived = [item["body"]["n"] for call in calls for item in call]
        totals = [sum(len(js.JSON.stringify(js.JSON.parse(json.dumps(item["body"])))) for item in call)
                  for call in calls]
        firsts = [len(js.JSON.stringify(js.JSON.parse(json.dumps(call[0]["body"])))) for call in calls]
        tight = [total + first > 256_000 or len(call) == 100
                 for call, total, first in zip(calls, totals, firsts[1:])]
        used = len(calls)
        try:
            await pages.send_all(bodies)
        except YuyanError as error:
            refused = error.sent == sum(len(call) for call in calls[used:-1])
        whole = await pages.send_all([2.0**53 - 1, 1 - 2.0**53, [2.0**53 - 1]])
        arrived = arrived == list(range(1000))
        return [sent, arrived, max(totals) <= 256_000, all(tight), used < 300, refused, whole]
        """,
        config={"queues": {"producers": [{"binding": "SINK_QUEUE", "queue": "test-sink"}]}},
        variables={"PERMITS": {"QUEUE": ["SINK_QUEUE"]}},
    )
    assert found == [1000, True, True, True, True, True, 3]


def test_an_alarm_fires_with_its_retries_and_its_time(answer: Any) -> None:
    found = answer(
        """
        seen = [await alarm.get(), await alarm.get_ms()]
        await alarm.set(datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=UTC))
        seen.append((await alarm.get()).isoformat())
        await alarm.set(8_640_000_000_000_000)
        seen.append(await alarm.get_ms())
        try:
            await alarm.get()
        except OverflowError as error:
            seen.append(str(error))
        await alarm.delete()
        seen.append(await alarm.get_ms())
        before = datetime.now(UTC)
        await alarm.set(timedelta(milliseconds=20))
        set_to = await alarm.get()
        seen.append(timedelta(0) <= set_to - before - timedelta(milliseconds=20) < timedelta(seconds=5))
        wait_until(fired.wait())
        await fired.wait()
        seen.append([[count, scheduled == set_to] for count, scheduled in firings])
        return seen
        """,
        """
        firings, fired = [], asyncio.Event()

        @app.durable_alarm
        async def wake(firing: Firing):
            firings.append((firing.retry_count, firing.scheduled_time))
            if not firing.retry_count:
                raise RuntimeError("once more")
            fired.set()
        """,
    )
    assert found == [
        None,
        None,
        "2030-01-02T03:04:05.001000+00:00",
        8_640_000_000_000_000,
        "the alarm's time, 8640000000000000 ms, is beyond the year 9999; alarm.get_ms() returns it",
        None,
        True,
        [[0, True], [1, True]],
    ]


CONSUMERS = """
import asyncio, json
from datetime import UTC, datetime, timedelta
from workers import Response
from yungong import App, DurableObject, Worker
from yungong.pythonic import Batch, Outgoing, Queue

app = App()
seen = []


@app.fetch
async def serve(request):
    if not request.url.endswith("/send"):
        return Response("up")
    before = datetime.now(UTC)
    await Queue("PAGE_QUEUE").send_batch([{"a": [1.0, None]}, Outgoing("again", delay=1)])
    await Queue("OTHER_QUEUE").send("other")
    for _ in range(2000):
        if len(seen) >= 4:
            break
        await asyncio.sleep(0.01)
    recent = all(before - timedelta(seconds=1) <= entry[4] <= datetime.now(UTC) for entry in seen)
    ids = {entry[2] for entry in seen if entry[1] == "again"}
    return Response.json([sorted(([*entry[:2], entry[3]] for entry in seen), key=repr), len(ids), recent])


def note(name, batch):
    for message in batch:
        seen.append((name, message.body, message.id, message.attempts, message.timestamp))
        if message.body == "again" and message.attempts == 1:
            message.retry(delay=timedelta(milliseconds=1))
        else:
            message.ack()
    assert len(batch) == len(list(batch))


@app.queue
async def consume(batch: Batch):
    note("any " + batch.queue, batch)


@app.queue("test-other")
def consume_other(batch):
    note("other", batch)


class Default(Worker, app=app): ...
class DurableStore(DurableObject, app=app): ...
"""


def test_a_batch_is_consumed_by_the_consumer_of_its_queue(start: Start) -> None:
    host = start(
        CONSUMERS,
        config={
            "queues": {
                "producers": [{"binding": "OTHER_QUEUE", "queue": "test-other"}],
                "consumers": [{"queue": "test-other", "max_batch_timeout": 0}],
            }
        },
        variables={"PERMITS": {"QUEUE": ["PAGE_QUEUE", "OTHER_QUEUE"]}},
    )
    assert httpx.get(f"{host.url}/send", timeout=HANGING_SECONDS, trust_env=False).json() == [
        [
            ["any yungong-pages", "again", 1],
            ["any yungong-pages", "again", 2],
            ["any yungong-pages", {"a": [1, None]}, 1],
            ["other", "other", 1],
        ],
        1,
        True,
    ]


@settings(deadline=None, max_examples=40)
@given(wanted=st.lists(VALUES, min_size=1, max_size=20))
def test_what_the_engine_returns_is_read_as_the_value_that_was_written(
    worker: LocalHost, wanted: list[Any]
) -> None:
    """Through the store and back, with orjson and without: 1.0 is 1 then, and nothing else has changed."""
    wanted = [value for value in wanted if not _is_reserved(value)]
    puts = [
        call("store_put", f"{name}{index}", module.write(value, 32, "值"))
        for name, module in zip("ab", BOTH, strict=True)
        for index, value in enumerate(wanted)
    ]
    gets = [{"native": "get", "key": put["args"][0]} for put in puts]
    results = run(worker, fresh(), *puts, *gets)
    texts = results[len(puts) :]
    for value, text in zip(wanted * 2, texts, strict=True):
        for module in BOTH:
            assert shown(module.read(text)) == shown(from_javascript(value))


def _is_reserved(value: Any) -> bool:
    """Return whether the store refuses a record in it."""
    if isinstance(value, dict):
        return list(value) == ["$句柄"] or any(map(_is_reserved, value.values()))
    return isinstance(value, list) and any(map(_is_reserved, value))
