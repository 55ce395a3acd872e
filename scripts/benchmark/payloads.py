"""What is stored and sent: ordinary records, of which a part is Chinese text. The same in every run."""

from __future__ import annotations

import json
import random

_NAMES = ("李雷", "韩梅梅", "王小明", "Alice", "Bob", "Chloé")
_CITIES = ("北京", "上海", "Lisbon", "Berlin", "Osaka")
_WORDS = (
    *("order", "shipment", "invoice", "pending", "approved", "customer", "returned", "damaged", "reviewed"),
    *("the", "of", "and", "for", "with", "今天", "已经", "发货", "等待", "确认", "退款", "完成"),
)

SMALL = '{"id":7,"name":"李雷","score":3.5,"ok":true,"tags":["a","b"],"n":12}'
"""About 70 bytes."""


def records(size: int, *, nulls_and_times: bool = False) -> str:
    """JSON text of close to `size` bytes of UTF-8, never more: an array of records."""
    if size < 100:
        return '{"id":7,"name":"李雷","at":"2026-05-17T08:30:00.000Z","x":null}' if nulls_and_times else SMALL
    source = random.Random(size)
    # What keeps the sum from meeting the size exactly: the last record's note is cut to fit.
    texts: list[str] = []
    left = size - 2
    while True:
        record = _record(source, len(texts), nulls_and_times)
        text = _text(record)
        if len(text.encode()) + 1 > left:
            spare = left - len(_text(record | {"note": ""}).encode())
            if spare >= 0:
                texts.append(_text(record | {"note": "x" * spare}))
            return f"[{','.join(texts)}]"
        texts.append(text)
        left -= len(text.encode()) + 1


def one_string(size: int) -> str:
    """JSON text of `size` bytes that is one string."""
    return json.dumps("x" * (size - 2))


def _record(source: random.Random, number: int, nulls_and_times: bool) -> dict[str, object]:
    record: dict[str, object] = {
        "id": number,
        "name": source.choice(_NAMES),
        "active": source.random() < 0.5,
        "score": round(source.uniform(0, 100), 2),
        "address": {"city": source.choice(_CITIES), "zip": str(source.randrange(10_000, 99_999))},
        "tags": source.sample(_WORDS, 3),
        "note": " ".join(source.choices(_WORDS, k=6)),
    }
    if nulls_and_times:
        record["closed"] = None
        record["at"] = f"2026-05-{1 + number % 28:02}T08:30:{number % 60:02}.000Z"
    return record


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
