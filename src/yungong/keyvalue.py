"""Keys and values: the operations of the store, for direct accesses and for transactions.

A value is a JSON value: it is read as JSON text, and a JavaScript Worker sharing the object reads the same
value. Keys are 1 to 2048 bytes of UTF-8 and are listed in the order of those bytes. Who may call an
operation, and when, is decided by its callers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from . import jsontext, platform
from .errors import 豫言异常
from .events import EXCHANGED_TOO_LONG

if TYPE_CHECKING:
    from js import JsArray, JsValue

    from .durable import DurableEvent
    from .events import Event

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
    """Write a checked value under a valid key for `event`; one that its cell cannot hold is refused."""
    try:
        event.durable.storage.put(key, value)
    except platform.PlatformError as error:
        if platform.is_too_big(error):
            raise 豫言异常(f"值超过平台存储单元的上限：{platform.error_text(error)}") from error
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
