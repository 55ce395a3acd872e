"""The operations of the store, as far as no engine is needed."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from yungong import jsontext, keyvalue
from yungong.errors import 豫言异常

from .doubles import make_event


class Entries(list[Any]):
    @property
    def length(self) -> int:
        return len(self)


async def test_a_listing_far_over_its_limit_is_refused_after_a_fraction_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """300 MB of which no more than 24 MiB may be read, and no more than 16 MiB at once."""
    read: list[int] = []

    class Storage:
        def size(self) -> int:
            return 300_000_000

        def list(self, text: str) -> Any:
            options = json.loads(text)
            first = options.get("startAfter", "")
            keys = [key for key in (f"k{n:03}" for n in range(150)) if key > first][: options["limit"]]
            read.append(len(keys) * 2_000_000)
            return Entries([key, "x" * 2_000_000] for key in keys)

    monkeypatch.setattr(jsontext, "outgoing_utf8", lambda value, _: json.dumps(value).encode())
    event: Any = make_event("durable-fetch", durable=SimpleNamespace(storage=Storage()))
    with pytest.raises(豫言异常, match=r"^列举结果超过 8 MiB"):
        keyvalue.listing(event, {})
    assert sum(read) <= 24 * 2**20, read
    assert max(read) <= 16 * 2**20, read
