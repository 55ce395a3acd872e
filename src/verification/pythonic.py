"""The same application with Python values: every call of a script is made through `yungong.pythonic`.

What a script says as JSON text becomes the value that a Python developer would write, and what comes back
becomes text again. Where there is no such value or call, `Meaningless` says why, and the verifier lists it.
"""

import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import yungong
from yungong import App, YuyanError
from yungong.pythonic import Batch, Firing, Message, Outgoing, Queue, Transaction, alarm, store, values

from . import application, native
from .script import FUNCTIONS, MalformedScript, check_steps, face, read_json, run_steps

# A difference of length tells something only near the smallest limit of size.
_SHORT = 100_000
_SPELLING = "a value has no spelling"
_FAILED = "持久事务失败："
_OPTIONS = {"prefix": str, "start": str, "startAfter": str, "end": str, "limit": int, "reverse": bool}

app = App()
_missing: Any = object()
_firing: ContextVar[Firing | None] = ContextVar("firing", default=None)
_batch: ContextVar[Batch | None] = ContextVar("batch", default=None)
_results: ContextVar[list[Any] | None] = ContextVar("results", default=None)


class Meaningless(Exception):
    """A call of a script has no counterpart with Python values; the sentence says why."""


@app.fetch
async def serve(script: dict[str, Any]) -> Any:
    face.set(CALLS)
    return await application.serve(script)


@app.durable_fetch
async def serve_object(script: dict[str, Any]) -> Any:
    face.set(CALLS)
    return await application.serve_object(script)


@app.on("durable-websocket-message")
async def hear(found: list[Any], script: dict[str, Any]) -> None:
    found.append(await serve_object(script))


@app.durable_alarm
async def wake(firing: Firing) -> None:
    face.set(CALLS)
    _firing.set(firing)
    await application.run_alarm(firing.retry_count)


@app.queue
async def consume(batch: Batch) -> None:
    face.set(CALLS)
    _batch.set(batch)
    await application.run_batch(_read_batch)


@app.transaction
async def transact(_transaction: Transaction, steps: list[Any]) -> list[Any]:
    results: list[Any] = []
    _results.set(results)
    check_steps(steps)
    await run_steps(steps)
    if not results:
        raise Meaningless("a function that ends has completed its transaction")
    return results[0]  # type: ignore[no-any-return]


async def _run_transaction(argument: str) -> str:
    try:
        return _text(await transact(_value(argument)))
    except (Meaningless, YuyanError, TypeError):
        raise
    except Exception as error:  # it comes as itself, where the specification tells its text
        raise YuyanError(f"{_FAILED}{error}") from error


def _transaction_argument() -> str:
    raise Meaningless("a transaction's parameter is its function's arguments")


def _complete_transaction(result: str) -> None:
    results = _results.get()
    if results is None:
        raise Meaningless("a transaction's result is what its function returns")
    if results:
        raise Meaningless("a function returns once")
    value = _value(result)
    if result not in (json.dumps(value), _text(value)):
        raise Meaningless(_SPELLING)
    results.append(value)


def _rollback_transaction() -> None:
    Transaction().rollback()


def _getting(get: Callable[[str, Any], Awaitable[Any]]) -> Callable[[str], Awaitable[tuple[bool, str]]]:
    async def call(key: str) -> tuple[bool, str]:
        value = await get(key, _missing)
        return (False, "") if value is _missing else (True, _text(value))

    return call


def _putting(put: Callable[[str, Any], Awaitable[None]]) -> Callable[[str, str], Awaitable[None]]:
    async def call(key: str, value: str) -> None:
        await put(key, _value(value))

    return call


def _listing(list_: Callable[..., Awaitable[dict[str, Any]]]) -> Callable[[str], Awaitable[str]]:
    async def call(options: str) -> str:
        given = _value(options)
        if not isinstance(given, dict):
            raise Meaningless("options are keyword arguments")
        for name, option in given.items():
            if type(option) is not _OPTIONS.get(name):
                raise Meaningless("an unknown keyword, or one of a wrong type, is a TypeError")
        found = await list_(
            **{"start_after" if name == "startAfter" else str(name): given[name] for name in given}
        )
        return _text([[key, value] for key, value in found.items()])

    return call


async def _get_alarm() -> tuple[bool, int]:
    time_ms = await alarm.get_ms()
    return (False, 0) if time_ms is None else (True, time_ms)


def _alarm_retry_count() -> int:
    firing = _firing.get()
    if firing is None or yungong.event_kind() != "durable-alarm":
        raise Meaningless("only an alarm's handler has a Firing")
    return firing.retry_count


async def _send_message(binding: str, body: str, delay_seconds: Any) -> None:
    await Queue(binding).send(_value(body), delay_seconds)


async def _send_messages(binding: str, messages: str) -> None:
    items = _value(messages)
    if not isinstance(items, list):
        raise Meaningless("messages are an iterable")
    for item in items:
        if not isinstance(item, dict) or "body" not in item or item.keys() - {"body", "delaySeconds"}:
            raise Meaningless("a message is a value, or an Outgoing of body and delay")
        if type(item.get("delaySeconds", 0)) is not int:
            raise Meaningless("a delay of a wrong type is a TypeError")
    await Queue(binding).send_batch(
        Outgoing(item["body"], item["delaySeconds"]) if "delaySeconds" in item else item["body"]
        for item in items
    )


def _read_batch() -> str:
    batch = _batch.get() or Batch("")
    messages = [
        {
            "id": message.id,
            "attempts": message.attempts,
            "timestamp": round(message.timestamp.timestamp() * 1000),
            "body": message.body,
        }
        for message in batch
    ]
    assert len(batch) == len(messages)
    return _text({"queue": batch.queue, "messages": messages})


def _message(index: int) -> Message:
    batch = _batch.get()
    if batch is None:
        return Message({}, index)
    messages = list(batch)
    if type(index) is not int or not 0 <= index < len(messages):
        raise Meaningless("a message that is not there has no object")
    return messages[index]


def _ack_message(index: int) -> None:
    _message(index).ack()


def _retry_message(index: int, delay_seconds: Any) -> None:
    _message(index).retry(delay_seconds)


def _value(text: Any) -> Any:
    """Return the value that a text says, where the face has one that says the same."""
    if type(text) is not str:
        raise Meaningless("what is no text may be a value")
    try:
        value = read_json(text)
    except MalformedScript:
        raise Meaningless("a text that is no JSON, or nests past 100 levels, says no value") from None
    json.loads(text, object_pairs_hook=_check_names)
    try:
        written = values.write(value, 100, "")
    except (TypeError, ValueError):
        raise Meaningless("the value is refused, with its path: too large, infinite or no Unicode") from None
    size = len(text.encode())
    if size > _SHORT and size != len(written.encode()):
        raise Meaningless(_SPELLING)
    return value


def _check_names(members: list[tuple[str, Any]]) -> None:
    if len(dict(members)) < len(members):
        raise Meaningless("a dict has a key once")


def _text(value: Any) -> str:
    return native.canonical(json.dumps(value))


_transaction = Transaction()
_BY_ALIAS: dict[str, Callable[..., Any]] = {
    "event_kind": yungong.event_kind,
    "get_alarm": _get_alarm,
    "set_alarm": alarm.set,
    "delete_alarm": alarm.delete,
    "alarm_retry_count": _alarm_retry_count,
    "run_transaction": _run_transaction,
    "transaction_argument": _transaction_argument,
    "complete_transaction": _complete_transaction,
    "rollback_transaction": _rollback_transaction,
    "transaction_get": _getting(_transaction.get),
    "transaction_put": _putting(_transaction.put),
    "transaction_delete": _transaction.delete,
    "transaction_list": _listing(_transaction.list),
    "store_get": _getting(store.get),
    "store_put": _putting(store.put),
    "store_delete": store.delete,
    "store_list": _listing(store.list),
    "store_clear": store.clear,
    "send_message": _send_message,
    "send_messages": _send_messages,
    "read_batch": _read_batch,
    "ack_message": _ack_message,
    "retry_message": _retry_message,
}
_ALIAS_OF = {id(function): name for name, function in FUNCTIONS.items() if name.isascii()}
CALLS = {name: _BY_ALIAS[_ALIAS_OF[id(function)]] for name, function in FUNCTIONS.items()}
