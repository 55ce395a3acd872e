"""Messages as the text of a batch, and any number of them as batches that the limits allow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .. import platform
from ..queue import MAX_BATCH_ITEMS, MAX_BODIES_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAY_DIFFER = re.compile(r"[0-9](?:\.0|e)")


class Item(NamedTuple):
    """One message of a batch: its body as JSON text, and its delay."""

    body: str
    delay_seconds: int


def array_text(items: Iterable[Item]) -> str:
    """Return the text that 批量发送队列消息 takes."""
    return f"[{','.join(map(_item_text, items))}]"


def packs(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Divide messages, in their order, into as few batches as the limits allow.

    A body that is too long for any batch is in one of its own. A batch's text needs no look: bodies whose
    canonical forms have 256000 bytes never come to 1 MiB, with all that stands around 100 of them.
    """
    pack: list[Item] = []
    total = 0
    for item in items:
        size = _canonical_size(item.body)
        if pack and (len(pack) == MAX_BATCH_ITEMS or total + size > MAX_BODIES_BYTES):
            yield pack
            pack, total = [], 0
        pack.append(item)
        total += size
    if pack:
        yield pack


def _item_text(item: Item) -> str:
    delay = f',"delaySeconds":{item.delay_seconds}' if item.delay_seconds else ""
    return f'{{"body":{item.body}{delay}}}'


def _canonical_size(body: str) -> int:
    """Return the bytes of the form that is sent, as the limit counts them.

    Only floats are spelt otherwise there: 1.0 as 1, 1e+20 as 100000000000000000000.
    """
    if _MAY_DIFFER.search(body):
        value = platform.parse(body)
        # As an int, 2^53 - 1 would go back to JavaScript as a BigInt.
        body = str(value) if type(value) is int else platform.stringify(value)
    return len(body.encode())
