"""消息队列 (message queue) 0.1.0: sending to permitted queues, and reading the current batch.

A message's body is any JSON value. Everything is checked before the platform is called: of a batch with one
bad item nothing is sent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import jsontext, platform
from .arguments import require_int, require_text
from .errors import 豫言异常
from .events import EXCHANGED_TOO_LONG, Event, current, open_event

if TYPE_CHECKING:
    from collections.abc import Callable

    from js import JsArray, JsonValue, Queue

    from .app import App
    from .execution import Execution

__all__ = [
    "ack_message",
    "read_batch",
    "retry_message",
    "send_message",
    "send_messages",
    "发送队列消息",
    "批量发送队列消息",
    "确认队列消息",
    "读取队列批次",
    "重试队列消息",
]

MAX_BODY_BYTES = 128_000
MAX_BODIES_BYTES = 256_000
MAX_BATCH_TEXT_BYTES = 1024 * 1024
MAX_BATCH_ITEMS = 100
MAX_SENT_LEVELS = 24
MAX_READ_LEVELS = 32
MAX_DELAY_SECONDS = 43_200

_QUEUE = "队列故障"
_DELAY = f"延迟秒数须在 0 至 {MAX_DELAY_SECONDS} 之间"
_BODY_TOO_LONG = f"消息体超过 {MAX_BODY_BYTES} 字节"
_NOT_JSON = "消息体不是有效的 JSON 文字"
# 1e20 becomes 100000000000000000000: no number grows more.
_MAX_GROWTH = 5.25


class QueueEvent(Event):
    """An event that a queue's batch brought."""

    __slots__ = ("batch",)

    def __init__(
        self,
        app: App,
        environment: platform.Environment,
        execution: Execution,
        batch: platform.Batch,
        *,
        keep_alive: Callable[[Any], None] | None = None,
    ) -> None:
        super().__init__("queue", app, environment, execution, keep_alive=keep_alive)
        self.batch = batch


async def 发送队列消息(binding: str, body: str, delay_seconds: int) -> None:
    """Send one message (消息队列, 生产者).

    Args:
        binding: the name of a queue binding that the deployment permits.
        body: JSON text; it and its canonical form are at most 128000 bytes of UTF-8 and 24 levels, without
            the host's reserved records.
        delay_seconds: 0 to 43200; 0 means no delay.

    Raises:
        TypeError: an argument has the wrong type.
        豫言异常: no event is open, or an argument is out of range: nothing was sent. Or 队列发送失败：with
            the platform's own text.
        宿主中止: the binding is not permitted or not configured, an argument is longer than 16 MiB: nothing
            was sent.
    """
    require_text("binding (队列绑定名)", binding)
    require_text("body (消息体)", body)
    require_int("delay_seconds (延迟秒数)", delay_seconds)
    event = open_event()
    event.check_exchanged(binding, body)
    if not binding:
        raise 豫言异常("队列绑定名不能为空")
    if not 0 <= delay_seconds <= MAX_DELAY_SECONDS:
        raise 豫言异常(_DELAY)
    boxed = _boxed_string(body)
    value = _parse_body(body) if boxed is None else None
    options: dict[str, Any] = {"contentType": "json"}
    if delay_seconds:
        options["delaySeconds"] = delay_seconds
    queue = _permitted(event, binding)
    try:
        if boxed is None:
            await platform.send(queue, value, json.dumps(options))
        else:
            await platform.send_boxed(queue, boxed, json.dumps(options))
    except platform.ERRORS as error:
        raise 豫言异常(f"队列发送失败：{platform.error_text(error)}") from error


async def 批量发送队列消息(binding: str, messages: str) -> None:
    """Send up to 100 messages together (消息队列, 生产者).

    Args:
        binding: the name of a queue binding that the deployment permits.
        messages: the text of a JSON array of 1 to 100 items {"body": any JSON value, "delaySeconds": an
            integer from 0 to 43200, or left out}; at most 1 MiB, each body at most 128000 bytes in its
            canonical form and all of them 256000, 24 levels each.

    Raises:
        TypeError: an argument has the wrong type.
        豫言异常: no event is open, or an argument is out of range: nothing was sent. Or 队列批量发送失败：
            with the platform's own text: whether some were sent then is the platform's.
        宿主中止: the binding is not permitted or not configured, an argument is longer than 16 MiB: nothing
            was sent.
    """
    require_text("binding (队列绑定名)", binding)
    require_text("messages (批量消息)", messages)
    event = open_event()
    event.check_exchanged(binding, messages)
    if not binding:
        raise 豫言异常("队列绑定名不能为空")
    requests = _parse_batch(messages)
    queue = _permitted(event, binding)
    try:
        await platform.send_batch(queue, requests)
    except platform.ERRORS as error:
        raise 豫言异常(f"队列批量发送失败：{platform.error_text(error)}") from error


def 读取队列批次() -> str:
    """Return the current batch (消息队列, 消费者). Reading acknowledges nothing.

    Returns:
        JSON text {"queue": name, "messages": [{"id", "attempts" (from 1), "timestamp" (Unix milliseconds),
        "body"}, …]}; the order of the messages is that of the indexes for 确认队列消息 and 重试队列消息.

    Raises:
        豫言异常: 当前事件不是队列事件; or 队列消息正文不是 JSON 值：序号 n.
        宿主中止: a body nests deeper than 32 levels, or the text is longer than 16 MiB.
    """
    event = _queue_event()
    batch = event.batch
    messages = _message_texts(event) if len(batch.messages) else []
    text = f'{{"queue":{json.dumps(batch.queue)},"messages":[{",".join(messages)}]}}'
    event.check_exchanged(text)
    return text


def 确认队列消息(index: int) -> None:
    """Acknowledge one message of the current batch: it will not be retried (消息队列, 消费者).

    Args:
        index: its place in the batch, from 0.

    Raises:
        TypeError: `index` is not an int.
        豫言异常: 当前事件不是队列事件; or 队列消息序号越界.
        宿主中止: the platform refused.
    """
    require_int("index (队列消息序号)", index)
    event = _queue_event()
    _check_index(event, index)
    try:
        event.batch.ack(index)
    except platform.PlatformError as error:
        event.fault(_QUEUE, error)


def 重试队列消息(index: int, delay_seconds: int) -> None:
    """Ask for one message of the current batch to be delivered again (消息队列, 消费者).

    Args:
        index: its place in the batch, from 0.
        delay_seconds: 1 to 43200, or 0 for the platform's own delay.

    Raises:
        TypeError: an argument is not an int.
        豫言异常: 当前事件不是队列事件; 队列消息序号越界; or 延迟秒数须在 0 至 43200 之间.
        宿主中止: the platform refused.
    """
    require_int("index (队列消息序号)", index)
    require_int("delay_seconds (延迟秒数)", delay_seconds)
    event = _queue_event()
    _check_index(event, index)
    if not 0 <= delay_seconds <= MAX_DELAY_SECONDS:
        raise 豫言异常(_DELAY)
    options = json.dumps({"delaySeconds": delay_seconds}) if delay_seconds else None
    try:
        event.batch.retry(index, options)
    except platform.PlatformError as error:
        event.fault(_QUEUE, error)


send_message = 发送队列消息
send_messages = 批量发送队列消息
read_batch = 读取队列批次
ack_message = 确认队列消息
retry_message = 重试队列消息


def _message_texts(event: QueueEvent) -> list[str]:
    return [
        f'{{"id":{name},"attempts":{attempts},"timestamp":{timestamp_ms},"body":{text}}}'
        for (name, attempts, timestamp_ms), text in zip(event.batch.heads(), _body_texts(event), strict=True)
    ]


def _body_texts(event: QueueEvent) -> list[str]:
    """Return the JSON text of each body: all in one call where none is in doubt, one by one otherwise."""
    batch = event.batch
    lines = batch.bodies_utf8(jsontext.DOUBT, jsontext.ELEMENT_NULL, MAX_READ_LEVELS)
    if lines is not None:
        data, is_plain = lines
        if is_plain and not jsontext.nests_deeper(data, MAX_READ_LEVELS):
            texts = data.decode().split("\n")
            if "" not in texts:
                return texts
    return [_body_text(event, index) for index in range(len(batch.messages))]


def _body_text(event: QueueEvent, index: int) -> str:
    batch = event.batch
    try:
        # In an array, where the engine tells a BigInt from a number.
        return jsontext.outgoing(batch.boxed_body(index), MAX_READ_LEVELS + 1)[1:-1]
    except jsontext.Unreadable as error:
        if error.too_deep:
            event.fail(f"队列消息正文嵌套超过 {MAX_READ_LEVELS} 层：序号 {index}", error)
        if error.too_long:
            event.fail(EXCHANGED_TOO_LONG, error)
        raise 豫言异常(f"队列消息正文不是 JSON 值：序号 {index}") from error


def _boxed_string(text: str) -> JsArray[str] | None:
    """Return the one string that a body is, as the only element of an array; None where it is something else.

    A string has no depth, no members, no numbers, and its canonical form is not longer.
    """
    if not text.lstrip(" \t\n\r").startswith('"'):
        return None
    data = _body_utf8(text)
    try:
        boxed = platform.parse_utf8(b"[%b]" % data)
    except platform.PlatformError as error:
        raise 豫言异常(_NOT_JSON) from error
    if not platform.is_array(boxed) or boxed.length != 1:
        raise 豫言异常(_NOT_JSON)
    return boxed


def _body_utf8(text: str) -> bytes:
    try:
        data = jsontext.encode(text)
    except jsontext.NotJsonText as error:
        raise 豫言异常(_NOT_JSON) from error
    if len(data) > MAX_BODY_BYTES:
        raise 豫言异常(_BODY_TOO_LONG)
    return data


def _parse_body(text: str) -> JsonValue:
    data = _body_utf8(text)
    try:
        value = jsontext.parse(text, data)
    except jsontext.NotJsonText as error:
        raise 豫言异常(_NOT_JSON) from error
    _check_body(text, data)
    if jsontext.overflows(data):
        raise 豫言异常("消息体含超出双精度范围的数字")
    if len(data) * _MAX_GROWTH > MAX_BODY_BYTES and jsontext.may_grow(data):
        canonical = platform.stringify(value)
        if len(canonical.encode()) > MAX_BODY_BYTES:
            raise 豫言异常(_BODY_TOO_LONG)
    return value


def _check_body(text: str, data: bytes, place: str = "", levels: int = MAX_SENT_LEVELS) -> None:
    if jsontext.nests_deeper(data, levels):
        raise 豫言异常(f"消息体的嵌套超过 {MAX_SENT_LEVELS} 层{place}")
    if jsontext.has_reserved_member(text):
        raise 豫言异常(f"消息体含宿主专用的记号（$句柄、$未定义、$大整数 或 $数字）{place}")


def _parse_batch(text: str) -> JsonValue:
    """Return the platform's requests for a valid batch."""
    try:
        data = jsontext.encode(text)
        if len(data) > MAX_BATCH_TEXT_BYTES:
            raise 豫言异常("批量消息的数组文字超过 1 MiB")
        items = jsontext.parse(text, data)
    except jsontext.NotJsonText as error:
        raise 豫言异常("批量消息不是有效的 JSON 文字") from error
    if not platform.is_array(items):
        raise 豫言异常("批量消息须为 JSON 数组")
    if not items.length:
        raise 豫言异常("批量消息不得为空")
    if items.length > MAX_BATCH_ITEMS:
        raise 豫言异常(f"批量消息不得超过 {MAX_BATCH_ITEMS} 条")
    if jsontext.overflows(data):
        raise 豫言异常("批量消息含超出双精度范围的数字")
    total = 0
    requests = []
    for index, item in enumerate(items):
        request, size = _parse_item(item, index)
        requests.append(request)
        total += size
    if total > MAX_BODIES_BYTES:
        raise 豫言异常(f"全部消息体合计超过 {MAX_BODIES_BYTES} 字节")
    # The text counts, as in a single message: what a later member of the same name replaces is in it too.
    _check_body(text, data, "", MAX_SENT_LEVELS + 2)
    return platform.parse(f"[{','.join(requests)}]")


def _parse_item(item: Any, index: int) -> tuple[str, int]:
    """Return the text of the platform's request for one item of a batch, and the size of its body."""
    members = platform.member_names(item)
    if members is None:
        raise 豫言异常(f"批量消息的项须为 JSON 对象：序号 {index}")
    if "body" not in members:
        raise 豫言异常(f"批量消息的项缺 body：序号 {index}")
    for name in members:
        if name not in ("body", "delaySeconds"):
            raise 豫言异常(f"批量消息的项含未知的成员 {json.dumps(name, ensure_ascii=False)}：序号 {index}")
    delay_seconds = item.delaySeconds if "delaySeconds" in members else 0
    if isinstance(delay_seconds, float) and delay_seconds.is_integer():
        raise 豫言异常(_DELAY)  # an integer too large to be an int here
    if type(delay_seconds) is not int:
        raise 豫言异常(f"批量消息的 delaySeconds 须为整数：序号 {index}")
    if not 0 <= delay_seconds <= MAX_DELAY_SECONDS:
        raise 豫言异常(_DELAY)
    body = item.body
    # An integer of 2^53 - 1 or more would return to JavaScript as a BigInt.
    is_integer = isinstance(body, int) and not isinstance(body, bool)
    try:
        text = str(body) if is_integer else platform.stringify(body)
    except platform.PlatformError as error:  # the engine's stack ended
        raise 豫言异常(f"消息体的嵌套超过 {MAX_SENT_LEVELS} 层：序号 {index}") from error
    data = text.encode()
    if len(data) > MAX_BODY_BYTES:
        raise 豫言异常(_BODY_TOO_LONG)
    _check_body(text, data, f"：序号 {index}")
    delay = f',"delaySeconds":{delay_seconds}' if delay_seconds else ""
    return f'{{"body":{text},"contentType":"json"{delay}}}', len(data)


def _permitted(event: Event, binding: str) -> Queue:
    if binding not in event.execution.queues:
        raise event.abort(f"队列绑定 {json.dumps(binding, ensure_ascii=False)} 未获许可")
    queue = event.environment.queue(binding)
    if queue is None:
        raise event.abort(f"队列绑定 {json.dumps(binding, ensure_ascii=False)} 没有配置，或不是队列")
    return queue


def _queue_event() -> QueueEvent:
    event = current()
    if not isinstance(event, QueueEvent):
        raise 豫言异常("当前事件不是队列事件")
    return event


def _check_index(event: QueueEvent, index: int) -> None:
    if not 0 <= index < len(event.batch.messages):
        raise 豫言异常("队列消息序号越界")
