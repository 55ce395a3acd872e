"""What the platform refuses with: any value whatever as a reason, and values that its cell does not hold."""

import json
from typing import Any

import pytest
from repository import LocalHost

from tests.client import call

from .conftest import Serve
from .scripts import fresh, run


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ({"toString": 1, "valueOf": 1}, "[object Object]"),
        ({"toString": None}, "[object Object]"),
        ("", "[object String]"),
        ([], "[object Array]"),
        ([[]], "[object Array]"),
        ([1, 2], "1,2"),
    ],
)
@pytest.mark.parametrize("event", ["fetch", "durable-fetch"])
def test_a_reason_that_is_no_text_ends_the_call_at_once_and_is_told_by_its_kind(
    worker: LocalHost, event: str, reason: Any, words: str
) -> None:
    refused = {"refuse": {"bare": reason}}
    told = run(worker, fresh(), refused, call("send_message", "PAGE_QUEUE", "1", 0), event=event)
    assert told == [None, f"豫言异常: 队列发送失败：{words}"]


def test_a_reason_that_no_json_spells_ends_the_call_too(serve: Serve) -> None:
    answer = serve(
        """
        from pyodide.ffi import jsnull, to_js
        from yungong import platform

        app = App()

        def unreadable(name):
            error = js.Error.new("its message")
            value = js.Object.fromEntries(to_js([["value", js.Object.create(jsnull)]]))
            js.Reflect.defineProperty(error, name, value)
            return js.Array.of(error)

        def revoked():
            pair = js.Proxy.revocable(js.Object.new(), js.Object.new())
            box = js.Array.of(1).map(js.Reflect.get.bind(js.Reflect, pair, "proxy"))
            pair.revoke()
            return box

        reasons = {
            "a symbol": lambda: js.Reflect.ownKeys(js.Symbol.prototype).slice(-1),
            "no prototype": lambda: js.Array.of(js.Object.create(jsnull)),
            "a revoked proxy": revoked,
            "a function": lambda: js.Array.of(js.Object),
            "a promise": lambda: js.Array.of(1).map(js.Promise.resolve.bind(js.Promise)),
            "a BigInt": lambda: js.Array.of(2**70),
            "an Error without a message": lambda: js.Array.of(js.RangeError.new("")),
            "an Error without a name": lambda: unreadable("name"),
            "an Error without a text": lambda: unreadable("toString"),
        }

        @app.on("durable-fetch")
        async def serve(request):
            told = {}
            for kind, box in reasons.items():
                try:
                    await platform.awaitable(js.Reflect.apply(js.Promise.reject, js.Promise, box()))
                except platform.ERRORS as error:
                    told[kind] = platform.error_text(error)
            return Response(json.dumps(told))

        class DurableStore(DurableObject, app=app): ...
        """
    )
    assert json.loads(answer) == {
        "a symbol": "Symbol(Symbol.toPrimitive)",
        "no prototype": "[object Object]",
        "a revoked proxy": "an object without a text",
        "a function": "function Object() { [native code] }",
        "a promise": "[object Promise]",
        "a BigInt": str(2**70),
        "an Error without a message": "RangeError",
        "an Error without a name": "its message",
        "an Error without a text": "its message",
    }


def test_a_value_that_the_cell_does_not_hold_is_refused_and_nothing_else_happens(serve: Serve) -> None:
    """No text of 2 MiB takes the local cell's 8 MiB, so the value comes from elsewhere, as a larger one."""
    answer = serve(
        """
        from yungong import events, keyvalue

        app = App()
        told = []

        def put_vast():
            try:
                keyvalue.put(events.open_event(), "vast", js.JSON.parse(json.dumps(["x" * 9_000_000])))
            except YuyanError as error:
                told.append(str(error))

        @app.on("durable-fetch")
        async def serve(request):
            await store_put("a", "1")
            put_vast()
            await store_put("b", "2")
            await run_transaction("1")
            return Response(json.dumps([told, await store_list("{}")]))

        @app.on("durable-transaction")
        async def transact():
            await transaction_put("c", "3")
            put_vast()
            await transaction_put("d", "4")
            complete_transaction("1")

        class DurableStore(DurableObject, app=app): ...
        """
    )
    told, listed = json.loads(answer)
    assert told == ["值超过平台存储单元的上限：string or blob too big: SQLITE_TOOBIG"] * 2
    assert listed == '[["a",1],["b",2],["c",3],["d",4]]'
