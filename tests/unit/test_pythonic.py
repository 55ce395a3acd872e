"""What the Python face does of its own: pages, batches that fill the limits, times, and who consumes what."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import tracemalloc
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import yungong
from yungong import App, YuyanError, pythonic
from yungong.pythonic import Batch, Queue, Transaction, alarm, packing, store, times
from yungong.pythonic.listing import Range, Source, options_text, pages
from yungong.queue import MAX_BATCH_ITEMS, MAX_BATCH_TEXT_BYTES, MAX_BODIES_BYTES


class Listed:
    """A store of texts in order, whose listings may not be longer than a limit; it notes what is asked."""

    def __init__(self, entries: dict[str, str], most: int) -> None:
        self.entries = dict(sorted(entries.items(), key=lambda entry: entry[0].encode()))
        self.most = most
        self.asked: list[dict[str, Any]] = []
        self.source = Source(self.list_text, self.get_text, self.first_key)

    def keys(self, options: dict[str, Any]) -> list[str]:
        low = options.get("start", options.get("startAfter", ""))
        found = [
            key
            for key in self.entries
            if key >= low
            and key != options.get("startAfter")
            and ("end" not in options or key < options["end"])
            and key.startswith(options.get("prefix", ""))
        ]
        if options.get("reverse"):
            found.reverse()
        return found[: options["limit"]]

    async def list_text(self, text: str) -> str:
        options = json.loads(text)
        self.asked.append(options)
        listed = ",".join(f"[{json.dumps(key)},{self.entries[key]}]" for key in self.keys(options))
        if len(listed) > self.most:
            raise YuyanError("列举结果超过 8 MiB，应按 limit 加 startAfter 分页")
        return f"[{listed}]"

    async def get_text(self, key: str) -> tuple[bool, str]:
        return key in self.entries, self.entries.get(key, "")

    def first_key(self, options: str) -> str | None:
        return next(iter(self.keys(json.loads(options))), None)


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(0, 400), max_size=40),
    st.integers(1, 50),
    st.integers(30, 1000),
    st.fixed_dictionaries(
        {"reverse": st.booleans()},
        optional={
            "limit": st.integers(1, 50),
            "prefix": st.sampled_from(["", "a", "b"]),
            "start": st.text("abc", max_size=2),
            "end": st.text("abc", max_size=2),
        },
    ),
)
def test_pages_find_what_one_listing_would(
    sizes: dict[str, int], page_size: int, most: int, wanted: Range
) -> None:
    """In order and whole, in both directions, and where an entry alone is longer than a listing may be."""
    entries = {key: json.dumps("x" * size) for key, size in sizes.items()}
    listed = Listed(entries, most)
    options = {"limit": 1000} | json.loads(options_text(wanted))

    async def collect() -> list[str]:
        return [key async for key, value in pages(listed.source, wanted, page_size) if value is not None]

    assert asyncio.run(collect()) == listed.keys(options)
    assert all(asked["limit"] <= page_size for asked in listed.asked)


async def test_a_page_is_asked_for_when_the_one_before_is_given_out() -> None:
    listed = Listed({f"{number:02}": "1" for number in range(10)}, 10_000)
    asked = [len(listed.asked) async for _ in pages(listed.source, {}, 4)]
    assert asked == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]
    assert len(listed.asked) == 3  # the last one was not full
    limited = [key async for key, _ in pages(listed.source, {"limit": 5, "reverse": True}, 2)]
    assert limited == ["09", "08", "07", "06", "05"]


async def test_pages_hold_one_page_at_most() -> None:
    """Nothing is left of a page when the next is asked for, and its text is gone before it is given out."""
    value = json.dumps({"text": ["x" * 1000] * 5})
    asked: list[int] = []
    given_out: list[int] = []

    async def list_text(options: str) -> str:
        asked.append(tracemalloc.get_traced_memory()[0])
        first = int(json.loads(options).get("startAfter", "k0")[1:]) + 1
        found = (f'["k{n}",{value}]' for n in range(first, min(first + 100, 2001)))
        return f"[{','.join(found)}]"

    tracemalloc.start()
    try:
        async for _ in pages(Listed({}, 0).source._replace(list_text=list_text), {}, 100):
            given_out.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    page_bytes = 100 * len(value)
    assert len(given_out) == 2000
    assert max(given_out) - asked[0] < 1.5 * page_bytes
    assert max(asked) - asked[0] < 0.5 * page_bytes


async def test_another_error_of_a_listing_is_raised() -> None:
    async def refuse(_options: str) -> str:
        raise YuyanError("当前事件不属于持久对象")

    listed = Listed({}, 1)
    with pytest.raises(YuyanError, match="当前事件不属于持久对象"):
        await anext(pages(listed.source._replace(list_text=refuse), {}, 4))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"limit": True}, "limit must be an int, not bool"),
        ({"limit": 1.0}, "limit must be an int, not float"),
        ({"prefix": b"x"}, "prefix must be a str, not bytes"),
        ({"start_after": 1}, "start_after must be a str, not int"),
        ({"reverse": 1}, "reverse must be a bool, not int"),
    ],
)
async def test_an_option_of_the_wrong_type_is_refused(options: dict[str, Any], text: str) -> None:
    for call in (store.list, Transaction().list):
        with pytest.raises(TypeError, match=f"^{text}$"):
            await call(**options)
    for items in (store.items, Transaction().items):
        with pytest.raises(TypeError, match=f"^{text}$"):
            await anext(items(**options))


async def test_a_page_has_at_least_one_entry() -> None:
    with pytest.raises(ValueError, match=r"^page_size must be at least 1, not 0$"):
        await anext(store.items(page_size=0))


@given(st.lists(st.integers(1, 140_000), max_size=250))
def test_batches_are_as_few_as_the_limits_allow_and_no_longer(sizes: list[int]) -> None:
    items = [packing.Item("1" * size, 43_200) for size in sizes]
    found = list(packing.packs(iter(items)))
    assert [item for pack in found for item in pack] == items
    for pack in found:
        assert 1 <= len(pack) <= MAX_BATCH_ITEMS
        assert len(pack) == 1 or sum(len(item.body) for item in pack) <= MAX_BODIES_BYTES
    for pack, following in itertools.pairwise(found):  # not one more would have gone in
        total = sum(len(item.body) for item in pack) + len(following[0].body)
        assert len(pack) == MAX_BATCH_ITEMS or total > MAX_BODIES_BYTES


def test_a_batch_is_filled_to_the_last_byte() -> None:
    half, more = packing.Item("1" * 128_000, 0), packing.Item("1", 0)
    assert list(packing.packs([half, half, more])) == [[half, half], [more]]


def test_the_longest_spelling_of_a_batch_is_below_the_limit_of_its_text() -> None:
    """As `packs` says: -0.0 is what the canonical form shortens most."""
    body = f"[{','.join(['-0.0'] * 1279)}]"
    size = 2 * 1279 + 1
    items = [packing.Item(body, 43_200)] * MAX_BATCH_ITEMS
    assert MAX_BATCH_ITEMS * size <= MAX_BODIES_BYTES < MAX_BATCH_ITEMS * (size + 2)
    assert len(packing.array_text(items)) < MAX_BATCH_TEXT_BYTES


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """What 批量发送队列消息 was given; it refuses a batch that holds "refused"."""
    calls: list[list[Any]] = []

    async def send(binding: str, messages: str) -> None:
        assert binding == "PAGE_QUEUE"
        if '"refused"' in messages:
            raise YuyanError("队列批量发送失败：Queue is full")
        calls.append(json.loads(messages))

    monkeypatch.setattr(sys.modules["yungong.queue"], "批量发送队列消息", send)
    return calls


async def test_after_a_refusal_the_error_says_how_many_were_sent(sent: list[list[Any]]) -> None:
    pages = Queue("PAGE_QUEUE")
    assert await pages.send_all(range(250), delay=timedelta(milliseconds=1500)) == 250
    assert [len(call) for call in sent] == [100, 100, 50]
    assert sent[0][7] == {"body": 7, "delaySeconds": 2}
    assert await pages.send_all([]) == 0
    with pytest.raises(YuyanError, match="Queue is full") as refused:
        await pages.send_all([*range(210), "refused"])
    assert refused.value.sent == 200
    with pytest.raises(
        TypeError, match=r"^\$\[150\]\.a: a set is no JSON value; write list\(value\)$"
    ) as wrong:
        await pages.send_all([*range(150), {"a": {1}}])  # type: ignore[list-item]
    assert wrong.value.sent == 100  # type: ignore[attr-defined]


async def test_a_message_may_have_a_delay_of_its_own(sent: list[list[Any]]) -> None:
    pages = Queue("PAGE_QUEUE")
    await pages.send_batch([1, pythonic.Outgoing({"a": 2}, delay=30), pythonic.Outgoing(None)])
    await pages.send_all([1, pythonic.Outgoing(2, timedelta(hours=12))], delay=5)
    assert sent[0] == [{"body": 1}, {"body": {"a": 2}, "delaySeconds": 30}, {"body": None}]
    assert sent[1] == [{"body": 1, "delaySeconds": 5}, {"body": 2, "delaySeconds": 43_200}]
    with pytest.raises(TypeError, match=r"^\$\[1\]\.body\[0\]: a tuple"):
        await pages.send_batch([1, pythonic.Outgoing([()])])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [
        (0.001, 1),
        (0.5, 1),
        (1, 1),
        (1.001, 2),
        (0, 0),
        (-0.000001, -1),
        (-0.5, -1),
        (-1, -1),
        (-1.000001, -2),
    ],
)
def test_a_part_of_a_second_counts_as_one(delay: float, seconds: int) -> None:
    assert times.delay_seconds(timedelta(seconds=delay)) == seconds


@pytest.mark.parametrize("delay", [1.5, True, "1", None])
def test_a_delay_is_seconds_or_a_timedelta(delay: Any) -> None:
    with pytest.raises(TypeError, match=r"^delay must be an int, in seconds, or a timedelta, not "):
        times.delay_seconds(delay)


@given(st.datetimes(timezones=st.just(timezone(timedelta(hours=8)))))
def test_a_time_is_never_early_and_off_by_less_than_a_millisecond(when: datetime) -> None:
    back = times.at_ms(times.unix_ms(when))
    assert timedelta(0) <= back - when < timedelta(milliseconds=1)
    assert back.tzinfo is UTC


@pytest.mark.parametrize("when", [1.5, True, "1", None])
async def test_an_alarms_time_has_one_of_three_types(when: Any) -> None:
    with pytest.raises(TypeError, match=r"^when must be an aware datetime, a timedelta or an int"):
        await alarm.set(when)


async def test_a_datetime_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        await alarm.set(datetime(2026, 1, 1))


async def test_outside_of_an_event_the_specifications_errors_are_raised() -> None:
    for call in (store.get("k"), store.put("k", 1), store.clear(), alarm.get(), alarm.set(1)):
        with pytest.raises(YuyanError, match=r"^当前事件不属于持久对象$"):
            await call
    with pytest.raises(YuyanError, match=r"^当前事件不是事务处理入口$"):
        await Transaction().get("k")
    with pytest.raises(YuyanError, match=r"^当前事件不是队列事件$"):
        len(Batch("q"))


def test_transactions_are_told_apart_by_name() -> None:
    app = App()

    @app.transaction
    async def add(transaction: Transaction) -> None: ...

    async def another(transaction: Transaction) -> None: ...

    assert add.__name__ == "add"
    with pytest.raises(ValueError, match=r"^there is a transaction named 'add' already"):
        app.transaction(name="add")(another)
    app.transaction(name="renamed")(another)
    app.transaction(another)
    with pytest.raises(ValueError, match=r"^'durable-transaction' has a handler already$"):
        app.on("durable-transaction")
    other = App()
    other.on("durable-transaction")(print)
    with pytest.raises(ValueError, match=r"^'durable-transaction' has a handler already$"):
        other.transaction(another)
    with pytest.raises(ValueError, match="this App has one function for every event"):
        App(print).transaction(another)


def test_a_queue_has_one_consumer() -> None:
    app = App()
    handler = app.queue(lambda batch: batch)
    assert app.queue("a")(handler) is handler
    with pytest.raises(ValueError, match=r"^the queue 'a' has a consumer already$"):
        app.queue("a")(handler)
    with pytest.raises(ValueError, match=r"^every queue has a consumer already$"):
        app.queue(handler)
    with pytest.raises(ValueError, match=r"^'queue' has a handler already$"):
        app.on("queue")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fetch", "fetch"),
        ("durable_fetch", "durable-fetch"),
        ("scheduled", "scheduled"),
        ("durable_websocket_message", "durable-websocket-message"),
        ("durable_websocket_close", "durable-websocket-close"),
        ("durable_websocket_error", "durable-websocket-error"),
    ],
)
def test_a_decorator_registers_for_its_kind_and_leaves_the_function_as_it_is(name: str, kind: Any) -> None:
    app = App()

    def handle(*arguments: Any) -> Any:
        return arguments

    assert getattr(app, name)(handle) is handle
    assert app.enter(kind, "request") == ("request",)


def test_all_is_sorted_complete_and_documented() -> None:
    assert pythonic.__all__ == sorted(pythonic.__all__)
    assert [name for name in pythonic.__all__ if not getattr(pythonic, name).__doc__] == []
    with pytest.raises(AttributeError, match=r"^module 'yungong.pythonic' has no attribute 'unknown'$"):
        _ = pythonic.unknown  # type: ignore[attr-defined]
    assert yungong.pythonic is pythonic
