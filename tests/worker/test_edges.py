"""Edges on a real workerd, each found by breaking a line and seeing no test fail."""

import json
from collections.abc import Iterator

import pytest
from repository import LocalHost

from tests.client import Step, call

from .conftest import Serve
from .scripts import aborted, fresh


def test_every_timer_is_cleared_when_its_event_is_over(serve: Serve) -> None:
    """The event's limit, sleeps that ended, were cancelled, or outlive it, and those of a transaction."""
    answer = serve(
        """
        from yungong.gate import TURN_MS
        from yungong.platform.engine import engine as platform_engine

        app = App()
        made, cleared = [], []

        @app.on("durable-fetch")
        async def serve(request):
            await sleep(1)
            cancelled = asyncio.ensure_future(sleep(3_600_000))
            await sleep(1)
            cancelled.cancel()
            await run_transaction("1")
            asyncio.ensure_future(sleep(3_600_000))
            await sleep(1)
            return Response("")

        @app.on("durable-transaction")
        async def transact():
            asyncio.ensure_future(sleep(3_600_000))
            await sleep(1)
            complete_transaction("1")

        class DurableStore(DurableObject, app=app):
            def __init__(self, ctx, env):
                super().__init__(ctx, env)
                engine = platform_engine()
                set_timeout, clear_timeout = engine.set_timeout, engine.clear_timeout

                def make(fire, delay_ms):
                    handle = set_timeout(fire, delay_ms)
                    if delay_ms != TURN_MS:  # the object's own, which may outlast the event
                        made.append(handle)
                    return handle

                def clear(handle):
                    if handle in made:
                        cleared.append(handle)
                    clear_timeout(handle)

                engine.set_timeout, engine.clear_timeout = make, clear

            async def fetch(self, request):
                await super().fetch(request)
                return Response(json.dumps([len(made), len(cleared)]))
        """
    )
    assert answer == "[9, 9]"


def test_minus_zero_is_stored_as_javascript_would(serve: Serve) -> None:
    answer = serve(
        """
        from workers import import_from_javascript

        app = App()

        @app.on("durable-fetch")
        async def serve(request):
            for key, text in enumerate(["-0", " -0.0 ", "[-0]", "0"]):
                await store_put(str(key), text)
            return Response("")

        class DurableStore(DurableObject, app=app):
            async def fetch(self, request):
                await super().fetch(request)
                equal = import_from_javascript("node:util").isDeepStrictEqual
                return Response(json.dumps([
                    bool(equal(self._durable.storage.boxed(str(key)), js.JSON.parse(text)))
                    for key, text in enumerate(["[-0]", "[-0]", "[[-0]]", "[0]"])
                ]))
        """
    )
    assert answer == "[true, true, true, true]"


@pytest.mark.parametrize(
    "send", [call("send_message", "BINDING", "1", 0), call("send_messages", "BINDING", '[{"body":1}]')]
)
@pytest.mark.parametrize(
    ("binding", "text"),
    [
        ("PAGE_QUEUE", "未获许可"),
        ("DURABLE_STORE", "没有配置，或不是队列"),
        ("EXECUTION_CONFIG", "没有配置，或不是队列"),
        ("MISSING", "没有配置，或不是队列"),
        ("__proto__", "没有配置，或不是队列"),
    ],
)
def test_a_binding_that_is_there_and_not_permitted_or_permitted_and_no_queue_aborts(
    permitting: LocalHost, send: Step, binding: str, text: str
) -> None:
    step = {**send, "args": [binding, *send["args"][1:]]}
    assert aborted(permitting, fresh(), step) == f'宿主中止: 队列绑定 "{binding}" {text}'


@pytest.fixture(scope="module")
def permitting() -> Iterator[LocalHost]:
    names = ["DURABLE_STORE", "EXECUTION_CONFIG", "MISSING", "__proto__"]
    with LocalHost(variables={"PERMITS": {"QUEUE": names}}) as host:
        yield host


def test_a_transaction_may_read_the_first_value_in_doubt(serve: Serve) -> None:
    """Its handler starts inside a call of JavaScript's, where nothing can be waited for."""
    answer = serve(
        """
        app = App()

        @app.on("durable-fetch")
        async def serve(request):
            await store_put("k", '{"a":null}')
            return Response(await run_transaction("1"))

        @app.on("durable-transaction")
        async def transact():
            complete_transaction(json.dumps(await transaction_get("k")))

        class DurableStore(DurableObject, app=app): ...
        """
    )
    assert json.loads(answer) == [True, '{"a":null}']


def test_what_cannot_pass_through_python_is_refused_by_name(serve: Serve) -> None:
    """A typed array that Pyodide does not know, and a text longer than the engine's strings."""
    answer = serve(
        """
        app = App()
        calls = [
            lambda: store_get("half"),
            lambda: store_list('{"prefix":"half"}'),
            lambda: run_transaction('"half"'),
            lambda: store_list('{"prefix":"vast"}'),
        ]
        told = []

        @app.on("durable-fetch")
        async def serve(request):
            for call in calls:
                try:
                    await call()
                except YuyanError as error:
                    told.append(str(error))
            await store_get("vast")

        @app.on("durable-transaction")
        async def transact():
            await transaction_get(json.loads(transaction_argument()))

        class DurableStore(DurableObject, app=app):
            async def fetch(self, request):
                kv = self.ctx._ctx.storage.kv
                half = js.Array.of(1).map(js.Float16Array.of.bind(js.Float16Array))
                js.Reflect.apply(kv.put, kv, js.Array.of("half").concat(half))
                kv.put("vast", js.Array.new(600).fill(js.JSON.parse(json.dumps(["x" * 1_000_000]))))
                try:
                    return await super().fetch(request)
                except HostAbort as error:
                    return Response(json.dumps([*told, str(error)]))
        """
    )
    assert json.loads(answer) == [
        '键 "half" 的值不是 JSON 值',
        '键 "half" 的值不是 JSON 值',
        '持久事务失败：键 "half" 的值不是 JSON 值',
        "列举结果超过 8 MiB，应按 limit 加 startAfter 分页",
        "交换文字超过宿主上限 16 MiB",
    ]


def test_a_text_of_any_length_is_read_alone(serve: Serve) -> None:
    """Texts pass through buffers that are used again: nothing of an earlier one may be left in them."""
    answer = serve(
        """
        app = App()

        @app.on("durable-fetch")
        async def serve(request):
            wrong = []
            for size in [*range(4100, 4090, -1), *range(1028, 1020, -1), *range(520, 508, -1)]:
                text = '["' + "中" + "x" * (size - 7) + '"]'
                await store_put("k", text)
                if len(text.encode()) != size or await store_get("k") != (True, text):
                    wrong.append(size)
                for broken in (text[:-1], text[:-2], text + "]", text[:-2] + "\\\\" + text[-2:]):
                    try:
                        await store_put("k", broken)
                        wrong.append(broken)
                    except 豫言异常:
                        pass
            return Response(json.dumps(wrong))

        class DurableStore(DurableObject, app=app): ...
        """
    )
    assert answer == "[]"


def test_a_listing_names_the_value_that_only_a_full_walk_refuses(serve: Serve) -> None:
    """An Error without its stack leaves no trace in its text; the null beside it gives the doubt."""
    answer = serve(
        """
        from yungong import events

        app = App()

        @app.on("durable-fetch")
        async def serve(request):
            storage = events.open_event().durable.storage
            error = js.Error.new("message")
            js.Reflect.deleteProperty(error, "stack")
            error.member = 1
            storage.put("error", error)
            await store_put("null", "null")
            try:
                return Response(await store_list("{}"))
            except 豫言异常 as refusal:
                return Response(str(refusal))

        class DurableStore(DurableObject, app=app): ...
        """
    )
    assert answer == '键 "error" 的值不是 JSON 值'


def test_an_alarm_set_by_a_task_that_outlives_its_transaction_is_no_failure_of_the_storage(
    serve: Serve,
) -> None:
    answer = serve(
        """
        app = App()
        orphans = []

        @app.on("durable-fetch")
        async def serve(request):
            result = await run_transaction("1")
            (error,) = await asyncio.gather(*orphans, return_exceptions=True)
            return Response(f"{result} {type(error).__name__}: {error}")

        @app.on("durable-transaction")
        async def transact():
            orphans.append(asyncio.create_task(set_alarm(1)))
            await asyncio.sleep(0)
            complete_transaction("1")

        class DurableStore(DurableObject, app=app): ...
        """
    )
    assert answer == "1 豫言异常: 当前事件不属于持久对象"
