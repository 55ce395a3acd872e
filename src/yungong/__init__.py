"""yungong (云工): durable alarms, durable transactions and message queues on Cloudflare Python Workers.

An interface's module is loaded when one of its names is first asked for, so that no Worker waits at its
start for interfaces that it does not use. What a Worker imports by name at its top level is in Cloudflare's
snapshot of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .app import App
from .entrypoints import DurableObject, Worker
from .errors import HostAbort, YuyanError, 宿主中止, 豫言异常
from .events import event_kind, sleep, wait_until, 读取入站事件种类

if TYPE_CHECKING:
    from .alarm import (
        alarm_retry_count,
        delete_alarm,
        get_alarm,
        set_alarm,
        删除持久告警,
        设置持久告警,
        读取告警重试次数,
        读取持久告警,
    )
    from .queue import (
        ack_message,
        read_batch,
        retry_message,
        send_message,
        send_messages,
        发送队列消息,
        批量发送队列消息,
        确认队列消息,
        读取队列批次,
        重试队列消息,
    )
    from .store import (
        store_clear,
        store_delete,
        store_get,
        store_list,
        store_put,
        写入持久仓键值,
        列举持久仓键值,
        删除持久仓键,
        清空持久仓,
        读取持久仓键值,
    )
    from .transaction import (
        complete_transaction,
        rollback_transaction,
        run_transaction,
        transaction_argument,
        transaction_delete,
        transaction_get,
        transaction_list,
        transaction_put,
        写入持久事务键值,
        列举持久事务键值,
        删除持久事务键,
        回滚持久事务,
        完成持久事务,
        执行持久事务,
        读取持久事务参数,
        读取持久事务键值,
    )
else:
    _MODULES = {
        "alarm_retry_count": "alarm",
        "delete_alarm": "alarm",
        "get_alarm": "alarm",
        "set_alarm": "alarm",
        "删除持久告警": "alarm",
        "设置持久告警": "alarm",
        "读取告警重试次数": "alarm",
        "读取持久告警": "alarm",
        "ack_message": "queue",
        "read_batch": "queue",
        "retry_message": "queue",
        "send_message": "queue",
        "send_messages": "queue",
        "发送队列消息": "queue",
        "批量发送队列消息": "queue",
        "确认队列消息": "queue",
        "读取队列批次": "queue",
        "重试队列消息": "queue",
        "store_clear": "store",
        "store_delete": "store",
        "store_get": "store",
        "store_list": "store",
        "store_put": "store",
        "写入持久仓键值": "store",
        "列举持久仓键值": "store",
        "删除持久仓键": "store",
        "清空持久仓": "store",
        "读取持久仓键值": "store",
        "complete_transaction": "transaction",
        "rollback_transaction": "transaction",
        "run_transaction": "transaction",
        "transaction_argument": "transaction",
        "transaction_delete": "transaction",
        "transaction_get": "transaction",
        "transaction_list": "transaction",
        "transaction_put": "transaction",
        "写入持久事务键值": "transaction",
        "列举持久事务键值": "transaction",
        "删除持久事务键": "transaction",
        "回滚持久事务": "transaction",
        "完成持久事务": "transaction",
        "执行持久事务": "transaction",
        "读取持久事务参数": "transaction",
        "读取持久事务键值": "transaction",
    }

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
        globals()[name] = value
        return value


__all__ = [
    "App",
    "DurableObject",
    "HostAbort",
    "Worker",
    "YuyanError",
    "ack_message",
    "alarm_retry_count",
    "complete_transaction",
    "delete_alarm",
    "event_kind",
    "get_alarm",
    "read_batch",
    "retry_message",
    "rollback_transaction",
    "run_transaction",
    "send_message",
    "send_messages",
    "set_alarm",
    "sleep",
    "store_clear",
    "store_delete",
    "store_get",
    "store_list",
    "store_put",
    "transaction_argument",
    "transaction_delete",
    "transaction_get",
    "transaction_list",
    "transaction_put",
    "wait_until",
    "写入持久事务键值",
    "写入持久仓键值",
    "列举持久事务键值",
    "列举持久仓键值",
    "删除持久事务键",
    "删除持久仓键",
    "删除持久告警",
    "发送队列消息",
    "回滚持久事务",
    "完成持久事务",
    "宿主中止",
    "执行持久事务",
    "批量发送队列消息",
    "清空持久仓",
    "确认队列消息",
    "设置持久告警",
    "读取入站事件种类",
    "读取告警重试次数",
    "读取持久事务参数",
    "读取持久事务键值",
    "读取持久仓键值",
    "读取持久告警",
    "读取队列批次",
    "豫言异常",
    "重试队列消息",
]
