"""The verifier's client: what it repeats and what not, whose clock counts, and what it never shows."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from verifier.client import PAUSES_S, Answer, Client, Lost, Stuck

URL = "https://worker.example"
TOKEN = "s3cret"
READ = {"call": "读取持久仓键值", "args": ["k"]}
WRITE = {"call": "写入持久仓键值", "args": ["k", "1"]}

Handler = Callable[[httpx.Request], httpx.Response]


def told(status: int, body: Any) -> httpx.Response:
    return httpx.Response(status, json=body)


DONE = told(200, {"results": [{"value": None}]})
GATEWAY = httpx.Response(502, text="<html>Bad gateway</html>")


def asked(
    handler: Handler, step: Any = WRITE, event: str = "durable-fetch", *, once: bool = True
) -> tuple[Answer, Client]:
    async def ask() -> tuple[Answer, Client]:
        async with Client(URL, TOKEN, httpx.MockTransport(handler), pace=0) as client:
            return await client.run("a", event, [step], once=once), client

    return asyncio.run(ask())


class Script:
    """A Worker that gives these answers, or raises these errors, one after another."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, content=answer.content, request=request)

    def ids(self) -> list[str | None]:
        return [request.headers.get("idempotency-key") for request in self.requests]


@pytest.mark.parametrize(
    "failure",
    [
        GATEWAY,
        httpx.Response(503, text="no"),
        httpx.Response(500, text="error code: 1101"),
        httpx.Response(524, text="x"),
        httpx.ConnectError("refused"),
        httpx.ReadError("lost"),
        httpx.RemoteProtocolError("closed"),
        httpx.ReadTimeout("slow"),
        told(409, {"begun": "the request still runs"}),
    ],
    ids=repr,
)
def test_what_fails_for_reasons_of_its_own_is_asked_for_again_with_the_same_id(
    failure: httpx.Response | Exception,
) -> None:
    worker = Script(failure, failure, DONE)
    answer, client = asked(worker)
    assert answer.status == 200
    assert client.requests == 3
    assert client.retried.total() == 2
    assert len(set(worker.ids())) == 1
    assert worker.ids()[0]


@pytest.mark.parametrize(
    "answer",
    [told(502, {"aborted": "RuntimeError: x"}), told(502, {"aborted": "error code: 502"}), DONE],
    ids=repr,
)
def test_an_answer_of_the_protocol_is_taken_as_it_is(answer: httpx.Response) -> None:
    found, client = asked(Script(answer, GATEWAY))
    assert found == Answer(answer.status_code, answer.json())
    assert client.requests == 1
    assert not client.retried


@pytest.mark.parametrize("failure", [GATEWAY, httpx.ReadError("lost")], ids=repr)
def test_what_cannot_be_remembered_is_repeated_only_where_it_reads(
    failure: httpx.Response | Exception,
) -> None:
    with pytest.raises(Lost):
        asked(Script(failure, DONE), WRITE, "fetch")
    assert asked(Script(failure, DONE), READ, "fetch")[0].status == 200
    # What never arrived may be sent again.
    assert asked(Script(httpx.ConnectError("refused"), DONE), WRITE, "fetch")[0].status == 200


def test_what_leaves_nothing_in_its_object_carries_no_id() -> None:
    worker = Script(GATEWAY, DONE)
    assert asked(worker, once=False)[0].status == 200
    assert worker.ids() == [None, None]


def test_work_that_broke_off_is_lost() -> None:
    with pytest.raises(Lost, match="made anew"):
        asked(Script(told(409, {"begun": "the request was begun and its object was made anew"})))


def test_what_never_answers_is_stuck() -> None:
    worker = Script(GATEWAY)
    with pytest.raises(Stuck, match="502"):
        asked(worker)
    assert len(worker.requests) == len(PAUSES_S) + 1


def test_a_refused_token_is_told_at_once_and_not_shown() -> None:
    worker = Script(told(401, {"error": f"not {TOKEN}"}))
    with pytest.raises(Stuck) as stuck:
        asked(worker)
    assert len(worker.requests) == 1
    assert TOKEN not in str(stuck.value)


def test_an_answer_that_holds_the_token_comes_without_it() -> None:
    echo = httpx.Response(400, text=f"<pre>Authorization: Bearer {TOKEN}</pre>")
    for status in (400, 404, 421):
        answer, _ = asked(Script(httpx.Response(status, text=echo.text)))
        assert TOKEN not in json.dumps(answer.body)
    answer, _ = asked(Script(told(400, {"error": f"Bearer {TOKEN}"})))
    assert TOKEN not in json.dumps(answer.body)


def test_the_workers_own_answer_is_left_as_it_is() -> None:
    answer, _ = asked(Script(told(200, {"results": [{"value": TOKEN}]})))
    assert answer.body == {"results": [{"value": TOKEN}]}


def test_the_token_does_not_go_over_http_to_another_machine() -> None:
    with pytest.raises(ValueError, match="https"):
        Client("http://worker.example", TOKEN)


def test_the_token_does_not_follow_a_redirect() -> None:
    worker = Script(httpx.Response(307, headers={"location": "http://elsewhere.example/v1/run"}))
    assert asked(worker)[0].status == 307
    assert [request.url.host for request in worker.requests] == ["worker.example"]


@pytest.mark.parametrize("ahead_ms", [300_000, -300_000, 0])
def test_the_workers_clock_counts(ahead_ms: int) -> None:
    clock = iter(range(1_000_000, 2_000_000, 10))

    def worker(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/v1/version"
        return told(200, {"now_ms": next(clock) + ahead_ms})

    async def meet() -> tuple[dict[str, Any], int, int]:
        transport = httpx.MockTransport(worker)
        async with Client(URL, TOKEN, transport, clock=lambda: next(clock)) as client:
            facts = await client.meet()
            return facts, client.now_ms(), next(clock)

    facts, now_ms, after_ms = asyncio.run(meet())
    assert facts["ahead_ms"] == ahead_ms
    assert now_ms == after_ms - 10 + ahead_ms


def test_another_worker_is_not_verified() -> None:
    async def meet() -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(404, text="nothing here"))
        async with Client(URL, TOKEN, transport) as client:
            await client.meet()

    with pytest.raises(Stuck, match="404"):
        asyncio.run(meet())
