"""Applications other than the verification's: a few lines of Python, on a real workerd."""

import pytest

from .conftest import Serve


def test_a_kind_without_a_handler_fails_with_its_name(serve: Serve) -> None:
    answer = serve(
        """
        app = App()

        @app.on("durable-fetch")
        async def serve(request):
            try:
                await run_transaction("1")
            except YuyanError as error:
                return Response(str(error))

        class DurableStore(DurableObject, app=app): ...
        """
    )
    assert answer == "持久事务失败：应用没有登记事件种类 durable-transaction 的处理入口"


def test_an_event_without_a_handler_fails(serve: Serve) -> None:
    answer = serve("class DurableStore(DurableObject, app=App()): ...")
    assert "LookupError: 应用没有登记事件种类 durable-fetch 的处理入口" in answer


def test_one_start_function_is_entered_for_every_event(serve: Serve) -> None:
    """As the specifications' `_start`, it asks for the kind; only a request's event hands it a request."""
    answer = serve(
        """
        async def start(request):
            kind = 读取入站事件种类()
            if kind == "durable-transaction":
                完成持久事务(json.dumps([kind, request is None, 读取持久事务参数()]))
            else:
                result = await 执行持久事务("[ 1 ]")
                return Response(json.dumps([kind, request is None, json.loads(result)]))

        class DurableStore(DurableObject, app=App(start)): ...
        """
    )
    assert answer == '["durable-fetch", false, ["durable-transaction", true, "[ 1 ]"]]'


def test_wait_until_keeps_the_event_open(serve: Serve) -> None:
    answer = serve(
        """
        app = App()

        @app.on("durable-fetch")
        async def serve(request):
            async def later():
                await sleep(50)
                await store_put("later", "1")
                asyncio.get_running_loop().call_soon(ended.set)

            ended = asyncio.Event()
            if not (await store_get("later"))[0]:
                wait_until(later())
                wait_until(ended.wait())
                asyncio.ensure_future(again(ended))
            return Response("ok")

        seen = []

        async def again(ended):
            await ended.wait()
            await asyncio.sleep(0.01)
            try:
                await store_put("orphan", "1")
            except YuyanError as error:
                seen.append(str(error))

        class DurableStore(DurableObject, app=app):
            async def fetch(self, request):
                await super().fetch(request)
                while not seen:
                    await asyncio.sleep(0.01)
                kv = self.ctx._ctx.storage.kv
                return Response(json.dumps([seen, kv.get("later"), kv.get("orphan")]))
        """
    )
    assert (
        answer
        == '[["\\u5f53\\u524d\\u4e8b\\u4ef6\\u4e0d\\u5c5e\\u4e8e\\u6301\\u4e45\\u5bf9\\u8c61"], 1, null]'
    )


def test_a_cancelled_transaction_is_rolled_back(serve: Serve) -> None:
    """Its caller is cancelled at once; the object is free again only when the platform is through."""
    answer = serve(
        """
        app = App()
        running = asyncio.Event()

        @app.on("durable-fetch")
        async def serve(request):
            task = asyncio.ensure_future(run_transaction("1"))
            await running.wait()
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                return Response(json.dumps(["cancelled", await store_get("k")]))

        @app.on("durable-transaction")
        async def transact():
            await transaction_put("k", "1")
            running.set()
            await sleep(50)
            complete_transaction("1")

        class DurableStore(DurableObject, app=app): ...
        """
    )
    assert answer == '["cancelled", [false, ""]]'


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("SystemExit(3)", "处理入口要求退出：3"),
        ("KeyboardInterrupt()", "处理入口要求退出：KeyboardInterrupt"),
    ],
)
def test_an_exit_ends_the_event_and_not_the_runtime(serve: Serve, ending: str, text: str) -> None:
    answer = serve(
        f"""
        app = App()

        @app.on("durable-fetch")
        async def serve(request):
            try:
                await run_transaction("1")
            except YuyanError as error:
                first = str(error)
            await store_put("k", json.dumps(first))
            raise {ending}

        @app.on("durable-transaction")
        async def transact():
            raise {ending}

        class DurableStore(DurableObject, app=app):
            async def fetch(self, request):
                try:
                    await super().fetch(request)
                except HostAbort as error:
                    return Response(self.ctx._ctx.storage.kv.get("k") + " / " + str(error))
        """
    )
    assert answer == f"持久事务失败：{text} / {text}"


def test_an_object_of_the_older_backend_is_refused_at_construction(serve: Serve) -> None:
    answer = serve(
        """
        app = App()

        @app.on("durable-fetch")
        async def serve(request):
            return Response("served")

        class DurableStore(DurableObject, app=app): ...
        class OlderStore(DurableObject, app=app): ...
        """,
        binding="OLDER_STORE",
        config={
            "durable_objects": {"bindings": [{"name": "OLDER_STORE", "class_name": "OlderStore"}]},
            "migrations": [{"tag": "v2", "new_classes": ["OlderStore"]}],
        },
    )
    assert "OlderStore" in answer
    assert "new_sqlite_classes" in answer


@pytest.mark.parametrize(
    ("value", "given"), [("None", "NoneType"), ("'text'", "str"), ("js.Object.new()", "JsProxy")]
)
def test_a_handler_that_returns_no_response_fails_with_its_name_and_event(
    serve: Serve, value: str, given: str
) -> None:
    answer = serve(
        f"""
        app = App()

        @app.on("durable-fetch")
        async def forgetful(request):
            return {value}

        class DurableStore(DurableObject, app=app): ...
        """
    )
    assert (
        f"TypeError: 事件种类 durable-fetch 的处理入口 forgetful 须返回 Response，而它返回了 {given}"
        in answer
    )


def test_a_response_of_javascript_s_own_is_one(serve: Serve) -> None:
    answer = serve(
        """
        app = App()

        @app.on("durable-fetch")
        async def answering(request):
            return js.Response.new("as it is")

        class DurableStore(DurableObject, app=app): ...
        """
    )
    assert answer == "as it is"


@pytest.mark.parametrize("ending", ["complete", "raise"])
def test_sql_commits_or_goes_back_with_its_transaction(serve: Serve, ending: str) -> None:
    answer = serve(
        """
        app = App()

        @app.on("durable-fetch")
        async def serve(request):
            sql = current_instance().ctx.storage.sql
            sql.exec("CREATE TABLE rows (n)")
            try:
                await run_transaction('"ENDING"')
            except YuyanError:
                pass
            return Response(str(sql.exec("SELECT count(*) AS n FROM rows").one()["n"]))

        @app.on("durable-transaction")
        async def transact():
            current_instance().ctx.storage.sql.exec("INSERT INTO rows VALUES (1)")
            if transaction_argument() == '"raise"':
                raise ValueError
            complete_transaction("1")

        class DurableStore(DurableObject, app=app): ...
        """.replace("ENDING", ending)
    )
    assert answer == ("1" if ending == "complete" else "0")
