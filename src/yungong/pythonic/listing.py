"""Listings: the options as text, and pages of entries one after another."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from ..arguments import require_int, require_text
from ..errors import 豫言异常
from . import values

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

DEFAULT_PAGE_SIZE = 1000

# A page of this many characters is a tenth of what a listing may be: values are rarely ten times their mean.
_GOOD_LENGTH = 800_000
_TOO_LONG = "list-size"


class Range(TypedDict, total=False):
    """What is listed, by the specification's names; None and an empty text count as not given."""

    prefix: str | None
    start: str | None
    startAfter: str | None
    end: str | None
    limit: int | None
    reverse: bool


class Source(NamedTuple):
    """Where entries come from: the direct store, or the current transaction."""

    list_text: Callable[[str], Awaitable[str]]
    get_text: Callable[[str], Awaitable[tuple[bool, str]]]
    first_key: Callable[[str], str | None]
    """Return the first key that a listing with these options would find."""


def options_text(wanted: Range) -> str:
    """Return the options as the text that the specification's functions take.

    Raises:
        TypeError: one has the wrong type.
    """
    given: dict[str, Any] = {name: option for name, option in wanted.items() if option is not None}
    for name, option in given.items():
        if name == "limit":
            require_int(name, option)
        elif name == "reverse":
            if type(option) is not bool:
                raise TypeError(f"reverse must be a bool, not {type(option).__name__}")
        else:
            require_text("start_after" if name == "startAfter" else name, option)
    return json.dumps({name: option for name, option in given.items() if option != ""})


async def entries(source: Source, wanted: Range) -> dict[str, Any]:
    """Return what one listing finds, in its order."""
    return dict(values.read(await source.list_text(options_text(wanted))))


async def pages(source: Source, wanted: Range, page_size: int) -> AsyncIterator[tuple[str, Any]]:
    """Yield what listings of at most `page_size` entries find, one after another; only one is held.

    A page whose text is too long is asked for again with fewer entries. An entry that is too long by itself
    is read by its key.
    """
    require_int("page_size", page_size)
    if page_size < 1:
        raise ValueError(f"page_size must be at least 1, not {page_size}")
    options_text(wanted)
    rest: Range = {**wanted}
    left = wanted.get("limit")
    size = page_size
    while True:
        limit = rest["limit"] = size if left is None else min(size, left)
        options = options_text(rest)
        page: list[Any]
        try:
            text = await source.list_text(options)
        except 豫言异常 as error:
            if error.code != _TOO_LONG:
                raise
            if limit > 1:
                size = max(1, limit // 4)
                continue
            last_key = source.first_key(options)
            if last_key is None:
                return
            found, text = await source.get_text(last_key)
            page = [(last_key, values.read(text))] if found else []
            is_last = False
        else:
            page = values.read(text)
            if not page:
                return
            last_key = page[-1][0]
            is_last = len(page) < limit
            size = max(1, min(page_size, len(page) * _GOOD_LENGTH // len(text)))
        del text
        if left is not None:
            left -= len(page)
        page.reverse()
        while page:  # what has been given out is not kept
            key, value = page.pop()
            yield key, value
            del value
        if is_last or left == 0:
            return
        if rest.get("reverse"):
            rest["end"] = last_key
        else:
            rest["start"] = None
            rest["startAfter"] = last_key
