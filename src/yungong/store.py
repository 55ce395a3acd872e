"""持久事务 (durable transaction) 0.2.0, 直接访问持久仓: the store without a transaction.

Each call is one atomic operation on the current Durable Object's store; between two calls other events may
come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import alarm_state, keyvalue, platform
from .arguments import require_text
from .durable import check_open, durable_event, pass_gate
from .errors import 豫言异常

if TYPE_CHECKING:
    from .durable import DurableEvent

__all__ = [
    "store_clear",
    "store_delete",
    "store_get",
    "store_list",
    "store_put",
    "写入持久仓键值",
    "列举持久仓键值",
    "删除持久仓键",
    "清空持久仓",
    "读取持久仓键值",
]


async def 读取持久仓键值(key: str) -> tuple[bool, str]:
    """Read one key (持久事务, 直接访问持久仓).

    Args:
        key: 1 to 2048 bytes of UTF-8.

    Returns:
        Whether the key exists, and its value as JSON text: (False, "") for a missing key, (True, "null")
        for a stored null.

    Raises:
        TypeError: `key` is not a str.
        豫言异常: the event may not read the store directly, the key is out of range, or what is stored
            there is no JSON value.
        宿主中止: the key or the value's text is longer than 16 MiB, the value nests deeper than 32 levels, or
            the storage failed.
    """
    require_text("key (键)", key)
    event = _direct_event()
    keyvalue.check_key(event, key)
    if not event.durable.gate.open:
        await pass_gate(event)
    return keyvalue.get(event, key)


async def 写入持久仓键值(key: str, value: str) -> None:
    """Write one key (持久事务, 直接访问持久仓).

    Args:
        key: 1 to 2048 bytes of UTF-8.
        value: JSON text of at most 2 MiB and 32 levels, without the host's reserved records and without
            numbers beyond double precision's range.

    Raises:
        TypeError: an argument is not a str.
        豫言异常: the event may not write the store directly, an argument is out of range, or the value does
            not fit into the platform's cell. The store is unchanged.
        宿主中止: an argument is longer than 16 MiB, or the storage failed.
    """
    require_text("key (键)", key)
    require_text("value (值)", value)
    event = _direct_event()
    event.check_exchanged(key, value)
    keyvalue.check_key(event, key)
    parsed = keyvalue.parse_value(value)
    if not event.durable.gate.open:
        await pass_gate(event)
    keyvalue.put(event, key, parsed)


async def 删除持久仓键(key: str) -> bool:
    """Delete one key (持久事务, 直接访问持久仓).

    Args:
        key: 1 to 2048 bytes of UTF-8.

    Returns:
        Whether the key existed.

    Raises:
        TypeError: `key` is not a str.
        豫言异常: the event may not write the store directly, or the key is out of range.
        宿主中止: the key is longer than 16 MiB, or the storage failed.
    """
    require_text("key (键)", key)
    event = _direct_event()
    keyvalue.check_key(event, key)
    if not event.durable.gate.open:
        await pass_gate(event)
    return keyvalue.delete(event, key)


async def 列举持久仓键值(options: str) -> str:
    """List keys and values (持久事务, 直接访问持久仓; 键、值与列举选项).

    Args:
        options: the text of a JSON object with any of `prefix`, `start` (included), `startAfter`
            (excluded), `end` (excluded), `limit` (an integer from 1) and `reverse` (a boolean). An empty
            string counts as not given; `start` and `startAfter` exclude each other.

    Returns:
        JSON text [[key, value], …] in the order of the keys' UTF-8 bytes, or the reverse.

    Raises:
        TypeError: `options` is not a str.
        豫言异常: the event may not read the store directly, the options are invalid, the text of the
            result exceeds 8 MiB, or a value is no JSON value.
        宿主中止: the options are longer than 16 MiB, a value nests deeper than 32 levels, or the storage
            failed.
    """
    require_text("options (列举选项)", options)
    event = _direct_event()
    event.check_exchanged(options)
    parsed = keyvalue.parse_options(options)
    if not event.durable.gate.open:
        await pass_gate(event)
    return keyvalue.listing(event, parsed)


async def 清空持久仓() -> None:
    """Delete everything that the object stores (持久事务, 直接访问持久仓).

    Keys and values go, SQL tables too, and the alarm where the compatibility date says so, a pending retry
    and that of a handler which clears and then fails included: an application that needs its alarm sets it
    again.

    Raises:
        豫言异常: the event may not write the store directly.
        宿主中止: the storage failed.
    """
    event = _direct_event()
    durable = event.durable
    async with durable.gate:
        check_open(event)
        note = durable.alarm_note
        try:
            state = note.read()
            deletion = durable.storage.delete_all()
            note.reload()
            if durable.storage.clears_alarm():
                note.deleted_ms = platform.now_ms()
                state = alarm_state.cleared(state)
            note.write(state)
            await platform.awaitable(deletion)
        except platform.ERRORS as error:
            event.fault(keyvalue.STORAGE, error)


store_get = 读取持久仓键值
store_put = 写入持久仓键值
store_delete = 删除持久仓键
store_list = 列举持久仓键值
store_clear = 清空持久仓


def _direct_event() -> DurableEvent:
    event = durable_event()
    if event.in_transaction:
        raise 豫言异常("事务处理入口内不能直接访问持久仓")
    return event
