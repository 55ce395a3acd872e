"""Registering handlers and entering them."""

from __future__ import annotations

from typing import Any

import pytest

from yungong import App
from yungong.kinds import KINDS, Kind

WITH_REQUEST = ("fetch", "durable-fetch")


def test_a_handler_is_entered_for_the_kind_it_was_registered_for() -> None:
    app = App()
    kinds = [kind for kind in KINDS if kind != "durable-rpc"]
    for kind in kinds:
        app.on(kind)(lambda *request, kind=kind: (kind, *request))
    for kind in kinds:
        request = ("request",) if kind in WITH_REQUEST else ()
        assert app.enter(kind, *request) == (kind, *request)


def test_registering_leaves_the_function_as_it_is() -> None:
    def serve() -> None: ...

    assert App().on("queue")(serve) is serve


def test_an_event_without_a_handler_fails_with_the_name_of_its_kind() -> None:
    app = App()
    app.on("fetch")(lambda request: request)
    with pytest.raises(LookupError, match=r"^应用没有登记事件种类 durable-alarm 的处理入口\nno handler"):
        app.enter("durable-alarm")


def test_an_unknown_kind_is_refused_with_the_kinds_there_are() -> None:
    with pytest.raises(ValueError, match=r"^'alarm' is no event kind; the kinds are fetch, queue, scheduled"):
        App().on("alarm")  # type: ignore[arg-type]


def test_a_second_handler_for_a_kind_is_refused_and_the_first_one_stays() -> None:
    app = App()
    app.on("queue")(lambda: "first")
    with pytest.raises(ValueError, match=r"^'queue' has a handler already$"):
        app.on("queue")
    assert app.enter("queue") == "first"
    register = app.on("fetch")
    register(lambda request: request)
    with pytest.raises(ValueError, match=r"^'fetch' has a handler already$"):
        register(lambda _: "second")
    assert app.enter("fetch", "request") == "request"


def test_a_method_is_no_handler() -> None:
    with pytest.raises(ValueError, match=r"^a 'durable-rpc' event enters a method: decorate that with durab"):
        App().on("durable-rpc")


@pytest.mark.parametrize("kind", KINDS)
def test_one_function_for_every_event_gets_the_request_or_none(kind: Kind) -> None:
    entered: list[Any] = []
    app = App(entered.append)
    request = ("request",) if kind in WITH_REQUEST else ()
    app.enter(kind, *request)
    assert entered == [request[0] if request else None]


def test_an_app_with_one_function_for_every_event_takes_no_handlers() -> None:
    with pytest.raises(ValueError, match=r"^this App has one function for every event, 'queue' included$"):
        App(print).on("queue")
