"""The current Durable Object's store, with Python values (持久事务, 直接访问持久仓).

Each call is one atomic operation; between two calls other events may come. The functions work in every event
of a Durable Object but a transaction, which has the same as methods of its `Transaction`. What they refuse,
and with which error, is said by the function of the specification that each one calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import store as texts
from ..durable import durable_event
from ..keyvalue import MAX_VALUE_LEVELS
from . import listing, values

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def get(key: str, default: Any = None) -> Any:
    """Return the value under a key, or `default` where there is none (读取持久仓键值).

    Args:
        key: 1 to 2048 bytes of UTF-8.
        default: what is returned for a missing key; a stored null is None.
    """
    found, text = await texts.读取持久仓键值(key)
    return values.read(text) if found else default


async def put(key: str, value: values.Json) -> None:
    """Write a value under a key (写入持久仓键值).

    Args:
        key: 1 to 2048 bytes of UTF-8.
        value: a JSON value of at most 2 MiB as text and 32 levels.

    Raises:
        TypeError, ValueError: something in the value is no JSON value; the sentence tells its path.
        豫言异常: as 写入持久仓键值. The store is unchanged, in every case.
    """
    await texts.写入持久仓键值(key, values.write(value, MAX_VALUE_LEVELS, "值"))


async def delete(key: str) -> bool:
    """Delete a key and return whether it existed (删除持久仓键)."""
    return await texts.删除持久仓键(key)


async def list(
    *,
    prefix: str | None = None,
    start: str | None = None,
    start_after: str | None = None,
    end: str | None = None,
    limit: int | None = None,
    reverse: bool = False,
) -> dict[str, Any]:
    """Return keys and values in the order of the keys' UTF-8 bytes, or the reverse (列举持久仓键值).

    Args:
        prefix: what the keys begin with.
        start: the first key, itself included; not together with `start_after`.
        start_after: the key after which the first one comes.
        end: the key before which the last one comes.
        limit: how many at most, from 1.
        reverse: whether the last key comes first.

    Raises:
        豫言异常: as 列举持久仓键值; more than 8 MiB of text is refused: `items` has no such limit.
    """
    return await listing.entries(_SOURCE, _range(prefix, start, start_after, end, limit, reverse))


def items(
    *,
    prefix: str | None = None,
    start: str | None = None,
    start_after: str | None = None,
    end: str | None = None,
    limit: int | None = None,
    reverse: bool = False,
    page_size: int = listing.DEFAULT_PAGE_SIZE,
) -> AsyncIterator[tuple[str, Any]]:
    """Iterate over keys and values in the order of `list`, without its limit of size (列举持久仓键值).

    They are read a page at a time, and only one page is held. Between two pages other events may come: what
    they write behind the place reached is seen, what they write before it is not.

    Args:
        prefix, start, start_after, end, limit, reverse: as in `list`.
        page_size: how many entries a page has at most, from 1; fewer where they are long.
    """
    return listing.pages(_SOURCE, _range(prefix, start, start_after, end, limit, reverse), page_size)


async def clear() -> None:
    """Delete everything that the object stores; the alarm may go too (清空持久仓)."""
    await texts.清空持久仓()


def _range(
    prefix: str | None,
    start: str | None,
    start_after: str | None,
    end: str | None,
    limit: int | None,
    reverse: bool,
) -> listing.Range:
    return {
        "prefix": prefix,
        "start": start,
        "startAfter": start_after,
        "end": end,
        "limit": limit,
        "reverse": reverse,
    }


def _first_key(options: str) -> str | None:
    found = durable_event().durable.storage.list(options)
    return found[0][0] if found.length else None


_SOURCE = listing.Source(texts.列举持久仓键值, texts.读取持久仓键值, _first_key)
