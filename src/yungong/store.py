"""持久事务 (durable transaction) 0.2.0, 直接访问持久仓: the store without a transaction.

Each call is one atomic operation on the current Durable Object's store; between two calls other events may
come. A value is a JSON value: it is read as JSON text, and a JavaScript Worker sharing the object reads the
same value. Keys are 1 to 2048 bytes of UTF-8 and are listed in the order of those bytes.

The operations themselves stand here for a transaction's handler too: its functions differ only in where
they may be called.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn, cast

from . import jsontext, platform
from .arguments import require_text
from .durable import NOT_DURABLE, check_open, pass_gate
from .errors import 豫言异常
from .events import EXCHANGED_TOO_LONG, current

if TYPE_CHECKING:
    from js import JsArray, JsValue

    from .events import DurableEvent, Event

MAX_KEY_BYTES = 2048
MAX_VALUE_BYTES = 2 * 1024 * 1024
MAX_VALUE_LEVELS = 32
MAX_LISTING_BYTES = 8 * 1024 * 1024
STORAGE = "持久仓存储故障"

# A database up to this size is listed in one go, a larger one in steps that grow with what they find:
# one value may take 2 MiB as text and several times that in memory.
_SMALL_DATABASE_BYTES = 1024 * 1024
_FIRST_STEP = 4
_STEP_BYTES = 1024 * 1024

_LISTING_TOO_LONG = "列举结果超过 8 MiB，应按 limit 加 startAfter 分页"
_TEXT_OPTIONS = ("prefix", "start", "startAfter", "end")
_options_decoder = json.JSONDecoder(parse_int=float)


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
    require_text("键", key)
    event = _direct_event()
    check_key(event, key)
    if not event.durable.gate.open:
        await pass_gate(event)
    return get(event, key)


async def 写入持久仓键值(key: str, value: str) -> None:
    """Write one key (持久事务, 直接访问持久仓).

    Args:
        key: 1 to 2048 bytes of UTF-8.
        value: JSON text of at most 2 MiB and 32 levels, without the host's reserved records and without
            numbers beyond double precision's range.

    Raises:
        TypeError: an argument is not a str.
        豫言异常: the event may not write the store directly, or an argument is out of range. The store is
            unchanged.
        宿主中止: an argument is longer than 16 MiB, or the storage failed.
    """
    require_text("键", key)
    require_text("值", value)
    event = _direct_event()
    event.check_exchanged(key, value)
    check_key(event, key)
    parsed = parse_value(value)
    if not event.durable.gate.open:
        await pass_gate(event)
    put(event, key, parsed)


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
    require_text("键", key)
    event = _direct_event()
    check_key(event, key)
    if not event.durable.gate.open:
        await pass_gate(event)
    return delete(event, key)


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
    require_text("列举选项", options)
    event = _direct_event()
    event.check_exchanged(options)
    parsed = parse_options(options)
    if not event.durable.gate.open:
        await pass_gate(event)
    return listing(event, parsed)


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
        records = durable.alarm_records
        record = records.read()
        try:
            deletion = durable.storage.delete_all()
            records.reload()
            if record is not None:
                # Under an older compatibility date the alarm stays set: then its record must stay too.
                records.write(record)
            await platform.settled(deletion)
            if record is not None and await platform.get_alarm(durable.storage.alarms) is None:
                records.write(None)
        except platform.ERRORS as error:
            event.fault(STORAGE, error)


store_get = 读取持久仓键值
store_put = 写入持久仓键值
store_delete = 删除持久仓键
store_list = 列举持久仓键值
store_clear = 清空持久仓


def check_key(event: Event, key: str) -> None:
    """Refuse a key that is not 1 to 2048 bytes of UTF-8, or that is longer than the host exchanges."""
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        event.check_exchanged(key)
        raise 豫言异常("键含孤立的代理字符，没有 UTF-8 形式") from None
    if not 1 <= size <= MAX_KEY_BYTES:
        event.check_exchanged(key)
        raise 豫言异常(f"键按 UTF-8 计须为 1 至 {MAX_KEY_BYTES} 字节，此键为 {size} 字节")


def parse_value(text: str) -> JsValue:
    """Return the engine's value of a text that may be stored; refuse any other."""
    try:
        data = jsontext.encode(text)
        if len(data) > MAX_VALUE_BYTES:
            raise 豫言异常(f"值超过 2 MiB：{len(data)} 字节")
        value = jsontext.parse(text, data)
    except jsontext.NotJsonText as error:
        raise 豫言异常("值不是有效的 JSON 文字") from error
    if jsontext.is_plain(data, MAX_VALUE_LEVELS):
        return value
    if jsontext.nests_deeper(data, MAX_VALUE_LEVELS):
        raise 豫言异常(f"值的嵌套超过 {MAX_VALUE_LEVELS} 层")
    if jsontext.has_reserved_record(text):
        raise 豫言异常("值含宿主保留的单键对象（$句柄、$未定义、$大整数 或 $数字）")
    if jsontext.overflows(data):
        raise 豫言异常("值含超出双精度范围的数字")
    return value


def parse_options(text: str) -> dict[str, Any]:
    """Return the list options that `text` gives, those that say nothing left out."""
    try:
        data = jsontext.encode(text)
        parsed = jsontext.parse(text, data)
    except jsontext.NotJsonText as error:
        raise 豫言异常("列举选项不是有效的 JSON 文字") from error
    if not data.lstrip(b" \t\n\r").startswith(b"{"):
        raise 豫言异常("列举选项须为 JSON 对象")
    if jsontext.nests_deeper(data, 1):
        raise 豫言异常("列举选项的成员须为字符串、整数或布尔")
    options: dict[str, Any] = {}
    for name, value in _options_decoder.decode(platform.stringify(parsed)).items():
        if name in _TEXT_OPTIONS:
            if not isinstance(value, str):
                raise 豫言异常(f"列举选项 {name} 须为字符串")
            if not value:
                continue
            try:
                jsontext.encode(value)
            except jsontext.NotJsonText as error:
                raise 豫言异常(f"列举选项 {name} 含孤立的代理字符，没有 UTF-8 形式") from error
            options[name] = value
        elif name == "limit":
            if not isinstance(value, float) or not value.is_integer() or value < 1:
                raise 豫言异常("列举选项 limit 须为不小于 1 的整数")
            options[name] = int(value)
        elif name == "reverse":
            if not isinstance(value, bool):
                raise 豫言异常("列举选项 reverse 须为布尔")
            options[name] = value
        else:
            raise 豫言异常(f"列举选项含未知的成员 {json.dumps(name, ensure_ascii=False)}")
    if "start" in options and "startAfter" in options:
        raise 豫言异常("列举选项 start 与 startAfter 不能同时给出")
    return options


def get(event: DurableEvent, key: str) -> tuple[bool, str]:
    """Read a valid key for `event`."""
    storage = event.durable.storage
    try:
        try:
            value = storage.get(key)
        except RuntimeError:  # Pyodide does not know every kind of typed array
            is_known = False
        else:
            is_known = not isinstance(value, int)  # or a BigInt
        if not is_known:
            # In an array, where the value does not pass through Python.
            text = jsontext.outgoing(storage.boxed(key), MAX_VALUE_LEVELS + 1)[1:-1]
        elif value is None:
            return False, ""
        else:
            text = jsontext.outgoing(value, MAX_VALUE_LEVELS)
    except platform.PlatformError as error:
        event.fault(STORAGE, error)
    except jsontext.Unreadable as error:
        _refuse_unreadable(event, key, error)
    event.check_exchanged(text)
    return True, text


def put(event: DurableEvent, key: str, value: JsValue) -> None:
    """Write a checked value under a valid key for `event`."""
    try:
        event.durable.storage.put(key, value)
    except platform.PlatformError as error:
        event.fault(STORAGE, error)


def delete(event: DurableEvent, key: str) -> bool:
    """Delete a valid key for `event`."""
    try:
        return event.durable.storage.delete(key)
    except platform.PlatformError as error:
        event.fault(STORAGE, error)


def listing(event: DurableEvent, options: dict[str, Any]) -> str:
    """List for `event`, in one atomic operation: no await may stand in here."""
    storage = event.durable.storage
    rest = dict(options)
    limit = min(rest.pop("limit", platform.MAX_LIST_LIMIT), platform.MAX_LIST_LIMIT)
    listed = bytearray(b"[")
    try:
        step = limit if storage.size() <= _SMALL_DATABASE_BYTES else min(limit, _FIRST_STEP)
        while True:
            if step < platform.MAX_LIST_LIMIT:
                rest["limit"] = step
            entries = storage.list(json.dumps(rest))
            found: int = entries.length
            if found:
                part = _entries_utf8(event, entries)
                listed += part
                listed += b","
                if len(listed) > MAX_LISTING_BYTES:
                    raise 豫言异常(_LISTING_TOO_LONG)
            limit -= found
            if found < step or not limit:
                listed[max(1, len(listed) - 1) :] = b"]"  # in the last comma's place
                return listed.decode()
            last_key = entries[found - 1][0]
            if rest.get("reverse"):
                rest["end"] = last_key
            else:
                rest.pop("start", None)
                rest["startAfter"] = last_key
            step = min(limit, step * 4, max(1, _STEP_BYTES * found // len(part)))
    except platform.PlatformError as error:
        event.fault(STORAGE, error)


def _entries_utf8(event: Event, entries: JsArray[Any]) -> bytes:
    """Return the text of an array of [key, value] without its brackets."""
    try:
        return jsontext.outgoing_utf8(entries, MAX_VALUE_LEVELS + 2)[1:-1]
    except jsontext.Unreadable as error:
        if error.too_long:
            raise 豫言异常(_LISTING_TOO_LONG) from error
        for entry in entries:
            try:
                jsontext.outgoing_utf8(entry, MAX_VALUE_LEVELS + 1, doubtful=True)
            except jsontext.Unreadable as entry_error:
                _refuse_unreadable(event, entry[0], entry_error)
        raise


def _refuse_unreadable(event: Event, key: str, error: jsontext.Unreadable) -> NoReturn:
    name = json.dumps(key, ensure_ascii=False)
    if error.too_deep:
        event.fail(f"键 {name} 的值嵌套超过 {MAX_VALUE_LEVELS} 层", error)
    if error.too_long:
        event.fail(EXCHANGED_TOO_LONG, error)
    raise 豫言异常(f"键 {name} 的值不是 JSON 值") from error


def _direct_event() -> DurableEvent:
    event = current()
    if event is None or event.durable is None:
        raise 豫言异常(NOT_DURABLE)
    if event.transaction is not None:
        raise 豫言异常("事务处理入口内不能直接访问持久仓")
    return cast("DurableEvent", event)
