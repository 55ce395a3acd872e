"""What is stored and sent, in the shapes of real data with invented content. The same in every run.

Five shapes: a chat message and a GeoJSON feature, which hold neither null nor time; a line of a log, a
webhook's event and a package registry's metadata record, which hold both.
"""

from __future__ import annotations

import json
import random
from typing import Any

_PEOPLE = ("李雷", "韩梅梅", "王小明", "Alice", "Bob", "Chloé")
_PLACES = ("北京", "上海", "Lisbon", "Berlin", "Osaka")
_WORDS = (
    *("order", "shipment", "invoice", "pending", "approved", "customer", "returned", "damaged", "reviewed"),
    *("the", "of", "and", "for", "with", "今天", "已经", "发货", "等待", "确认", "退款", "完成"),
)
_PACKAGES = ("left-shelf", "tiny-queue", "moss", "@tea/kettle", "quiet-log", "pigment")


def text(size: int, *, nulls_and_times: bool = False) -> str:
    """JSON text of close to `size` bytes of UTF-8, never more.

    Up to 100 bytes a chat message or a line of a log; up to 2000 a feature or an event; else a collection of
    features or a metadata record.
    """
    source = random.Random(size)
    if size < 100:
        value = _log_line() if nulls_and_times else _chat_message()
        return _filled(source, value, "text", size)
    if size < 2_000:
        value = _event(source) if nulls_and_times else _feature(source, points=24)
        return _filled(source, value, "description", size)
    make = _metadata if nulls_and_times else _collection
    count = 1
    while len(_text(make(source, count)).encode()) < size:
        count += max(1, count // 8)
    while len(_text(value := make(random.Random(size), count)).encode()) > size:
        count -= 1
    return _filled(source, value, "description", size)


def one_string(size: int) -> str:
    """JSON text of `size` bytes that is one string."""
    return json.dumps("x" * (size - 2))


def _chat_message() -> dict[str, Any]:
    return {"id": 4711, "from": "李雷", "room": "tea", "likes": 3, "text": ""}


def _log_line() -> dict[str, Any]:
    return {"at": "2026-05-17T08:30:00.000Z", "ok": True, "err": None, "text": ""}


def _event(source: random.Random) -> dict[str, Any]:
    """Return what a code forge sends when a request for a change was opened."""
    login = source.choice(_PEOPLE)
    user = {"id": 83_012, "login": login, "avatar": None, "admin": False, "type": "User"}
    return {
        "id": "evt_7Jq2mX0",
        "type": "change_request.opened",
        "created_at": _time(source),
        "delivered_at": None,
        "attempt": 1,
        "actor": user,
        "repository": {
            "id": 5_550_123,
            "name": source.choice(_PACKAGES),
            "private": False,
            "homepage": None,
            "license": {"key": "mit", "url": None},
            "pushed_at": _time(source),
            "topics": source.sample(_WORDS, 3),
        },
        "change": {
            "number": 42,
            "state": "open",
            "title": " ".join(source.choices(_WORDS, k=6)),
            "labels": [{"name": "bug", "color": "d73a4a", "description": None}],
            "assignee": None,
            "reviewers": [user["login"]],
            "merged_at": None,
            "created_at": _time(source),
            "updated_at": _time(source),
        },
        "description": "",
    }


def _feature(source: random.Random, points: int = 8) -> dict[str, Any]:
    ring = [[_degrees(source, 180), _degrees(source, 90)] for _ in range(points)]
    return {
        "type": "Feature",
        "geometry": {"type": "Polygon", "coordinates": [[*ring, ring[0]]]},
        "properties": {
            "name": source.choice(_PLACES),
            "kind": source.choice(_WORDS),
            "height": round(source.uniform(2, 60), 1),
            "levels": source.randrange(1, 20),
            "public": source.random() < 0.5,
        },
        "description": "",
    }


def _collection(source: random.Random, count: int) -> dict[str, Any]:
    features = [{"id": number, **_feature(source)} for number in range(count)]
    return {"type": "FeatureCollection", "features": features, "description": ""}


def _metadata(source: random.Random, count: int) -> dict[str, Any]:
    versions = dict(_version(source, number) for number in range(count))
    return {
        "_id": "tiny-queue",
        "name": "tiny-queue",
        "dist-tags": {"latest": next(reversed(versions))},
        "versions": versions,
        "time": {name: _time(source) for name in versions},
        "homepage": None,
        "description": "",
    }


def _version(source: random.Random, number: int) -> tuple[str, dict[str, Any]]:
    name = f"{number // 40}.{number // 6 % 7}.{number % 6}"
    digest = f"{source.getrandbits(160):040x}"
    return name, {
        "name": "tiny-queue",
        "version": name,
        "description": " ".join(source.choices(_WORDS, k=6)),
        "main": "index.js",
        "license": "MIT",
        "deprecated": None,
        "author": {"name": source.choice(_PEOPLE), "url": None},
        "dependencies": {source.choice(_PACKAGES): f"^{source.randrange(9)}.0.0"},
        "engines": {"node": ">=18"},
        "dist": {
            "shasum": digest,
            "tarball": f"https://registry.example/tiny-queue/-/tiny-queue-{name}.tgz",
            "fileCount": source.randrange(3, 90),
            "unpackedSize": source.randrange(2_000, 900_000),
            "signatures": [{"keyid": "SHA256:" + digest[:12], "sig": None}],
        },
        "maintainers": [{"name": source.choice(_PEOPLE), "email": "someone@mail.example"}],
    }


def _time(source: random.Random) -> str:
    day, hour, minute = 1 + source.randrange(28), source.randrange(24), source.randrange(60)
    return f"2026-05-{day:02}T{hour:02}:{minute:02}:07.{source.randrange(1000):03}Z"


def _degrees(source: random.Random, most: int) -> float:
    return round(source.uniform(-most, most), 6)


def _filled(source: random.Random, value: dict[str, Any], member: str, size: int) -> str:
    """Return the text of `value`, of exactly `size` bytes by the words of one member."""
    spare = size - len(_text(value).encode())
    words = ""
    while len(words.encode()) < spare - 20:
        words += source.choice(_WORDS) + " "
    return _text(value | {member: words + "x" * (spare - len(words.encode()))})


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
