"""The codes of the package's refusals: stable names, and what to do about each.

An error's sentence is the specification's and stays so: its beginning tells the code. It is looked up when
somebody asks, so that raising costs nothing more than before where nobody does.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

UNLISTED: Final = "application"
"""The code of an error that the application raised with words of its own."""


class Code(NamedTuple):
    """One code: how the sentences of its errors begin, as a regular expression, and what to do."""

    name: str
    sentence: str
    advice: str


CODES: Final = (
    Code("transaction-failed", "持久事务失败：", "nothing was written; the reason follows in the sentence"),
    Code(
        "time-limit",
        r"\S+ 事件超过时限",
        "do less in one event, or raise its kind's limit in [vars] EXECUTION_CONFIG",
    ),
    Code(
        "exit-in-handler",
        "处理入口要求退出|事件等待的任务要求退出",
        "do not call sys.exit in a Worker; return, or raise an Exception",
    ),
    Code(
        "exchanged-too-long", "交换文字超过宿主上限", "pass less than 16 MiB of UTF-8 at once; split the data"
    ),
    Code("no-event", "当前没有入站事件", "call it while a handler runs; give later work to wait_until"),
    Code(
        "wrong-event",
        "当前事件不属于持久对象|当前事件不是",
        "call it in an event of its kind: the store, alarms and transactions in those of a Durable Object,"
        " which env.BINDING.getByName(name) reaches; give later work to wait_until",
    ),
    Code(
        "in-transaction",
        "事务处理入口内不能",
        "in a transaction's handler use the transaction_… functions, or transaction.get and so on with Python"
        " values, and start no other transaction",
    ),
    Code(
        "transaction-over",
        "事务已回滚|完成持久事务 每次事务只能成功调用一次|启动事务的事件已经结束",
        "call complete_transaction once, use no key after rollback_transaction, and await run_transaction",
    ),
    Code(
        "transaction-not-completed",
        "处理入口没有调用",
        "call complete_transaction with a JSON text before the handler ends",
    ),
    Code("alarm-time", "持久告警时刻须在", "give absolute Unix milliseconds from 0 to 8640000000000000"),
    Code(
        "alarm-storage",
        "持久告警存储故障",
        "the platform's storage failed; the event is over, a retry may succeed",
    ),
    Code(
        "storage", "持久仓存储故障", "the platform's storage failed; the event is over, a retry may succeed"
    ),
    Code("key-size", "键按 UTF-8 计", "use keys of 1 to 2048 bytes of UTF-8"),
    Code("key-not-unicode", "键含孤立的代理字符", "use keys without lone surrogates"),
    Code("value-size", "值超过", "split the value over several keys"),
    Code(
        "value-not-json",
        "值不是有效的 JSON|值含超出双精度范围的数字",
        "pass JSON text, as json.dumps(value, allow_nan=False) gives it",
    ),
    Code("value-depth", r"(?!消息体)\S+的嵌套超过", "nest at most 32 levels"),
    Code("value-reserved", "值含宿主保留的单键对象", "rename the member, or put a second one beside it"),
    Code(
        "stored-not-json",
        "键 .* 的值不是 JSON 值",
        "the value was written past this package; replace it by a JSON value",
    ),
    Code(
        "stored-depth",
        "键 .* 的值嵌套超过",
        "the value was written past this package; flatten it to 32 levels",
    ),
    Code(
        "list-options",
        "列举选项",
        "pass a JSON object with prefix, start or startAfter, end, limit (from 1), reverse",
    ),
    Code("list-size", "列举结果超过", "page with limit and startAfter"),
    Code(
        "transaction-not-json",
        "事务参数不是|事务结果不是",
        "pass JSON text, as json.dumps(value, allow_nan=False) gives it",
    ),
    Code("queue-binding", "队列绑定名不能为空", "name the queue's producer binding in wrangler.toml"),
    Code(
        "queue-not-permitted",
        "队列绑定 .* 未获许可",
        "the deployment does not permit this queue; add it to [vars] PERMITS.QUEUE in wrangler.toml, if it is"
        " the binding of a [[queues.producers]] there",
    ),
    Code(
        "queue-not-configured",
        "队列绑定 .* 没有配置",
        "add a [[queues.producers]] with this binding to wrangler.toml",
    ),
    Code(
        "queue-delay",
        "延迟秒数须在|批量消息的 delaySeconds",
        "give whole seconds from 0 to 43200, twelve hours",
    ),
    Code(
        "queue-refused",
        "队列发送失败|队列批量发送失败",
        "the platform took no message; its words follow in the sentence; send again later",
    ),
    Code(
        "queue-fault", "队列故障", "the platform's queue failed; the event is over and the batch comes again"
    ),
    Code(
        "message-size",
        "消息体超过|全部消息体合计超过|批量消息的数组文字超过",
        "store the data and send its key; or send in several batches",
    ),
    Code(
        "message-not-json",
        "消息体不是|消息体含超出|批量消息不是有效的|批量消息含超出",
        "pass JSON text, as json.dumps(value, allow_nan=False) gives it",
    ),
    Code("message-depth", "消息体的嵌套超过", "flatten the body to the levels that the sentence tells"),
    Code("message-reserved", "消息体含宿主专用的记号", "rename the member"),
    Code(
        "message-batch",
        "批量消息",
        "pass a JSON array of 1 to 100 objects, each with body and at most delaySeconds; send_all takes any"
        " number of messages",
    ),
    Code(
        "message-index",
        "队列消息序号越界",
        "use an index from 0 that is less than the number of messages in read_batch",
    ),
    Code("received-not-json", "队列消息正文不是 JSON 值", "the producer must send contentType json"),
    Code("received-depth", "队列消息正文嵌套超过", "the producer must send flatter bodies"),
)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Code], ...]:
    return tuple((re.compile(code.sentence, re.DOTALL), code) for code in CODES)


def code_of(sentence: str) -> Code | None:
    """Return the code of an error by its sentence, or None for words of an application's own."""
    return next((code for pattern, code in _patterns() if pattern.match(sentence)), None)
