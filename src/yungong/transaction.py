"""持久事务 (durable transaction) 0.2.0, 事务: several reads and writes that happen together or not at all.

执行持久事务 enters the application's `durable-transaction` handler. All that the handler reads and writes,
alarms included, belongs to one atomic transaction; it commits when the handler has called 完成持久事务 and
ended, and is rolled back when it fails, in whatever way. While it runs, nothing else touches the object.
"""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, cast

from . import alarm, jsontext, keyvalue, platform, running
from .arguments import require_text
from .durable import DurableEvent, check_open, durable_event
from .errors import 豫言异常
from .events import current
from .running import Run

if TYPE_CHECKING:
    from contextvars import Context

    from js import AlarmTarget, DurableObjectTransaction

    from .kinds import Kind

__all__ = [
    "complete_transaction",
    "rollback_transaction",
    "run_transaction",
    "transaction_argument",
    "transaction_delete",
    "transaction_get",
    "transaction_list",
    "transaction_put",
    "写入持久事务键值",
    "列举持久事务键值",
    "删除持久事务键",
    "回滚持久事务",
    "完成持久事务",
    "执行持久事务",
    "读取持久事务参数",
    "读取持久事务键值",
]

KIND: Kind = "durable-transaction"
_FAILED = "持久事务失败："

# The event loop holds its tasks weakly, and nobody else holds these.
_attempts: set[asyncio.Task[None]] = set()


class TransactionEvent(DurableEvent):
    """The event of a transaction's handler: its parameter, its result and whether it was rolled back."""

    __slots__ = ("argument", "changed_alarm", "raw", "result", "rolled_back")

    in_transaction: ClassVar[bool] = True

    def __init__(self, caller: DurableEvent, argument: str) -> None:
        super().__init__(KIND, caller.app, caller.environment, caller.execution, caller.durable)
        self.instance = caller.instance
        self.argument = argument
        self.result: str | None = None
        self.rolled_back = False
        self.changed_alarm = False
        self.raw: DurableObjectTransaction  # from when the platform enters it

    def alarm_target(self) -> AlarmTarget:
        self.check_usable()
        return self.raw

    def note_alarm_change(self) -> None:
        self.changed_alarm = True

    def check_usable(self) -> None:
        """Refuse the keys and the alarm of a transaction that was rolled back."""
        if self.rolled_back:
            raise 豫言异常("事务已回滚，不能再读写它的键和告警")

    def roll_back(self) -> None:
        """Give up all that the transaction wrote; a second time does nothing."""
        if not self.rolled_back:
            self.raw.rollback()
            self.rolled_back = True
            self.durable.alarm_note.reload()


async def 执行持久事务(argument: str) -> str:
    """Run the application's transaction handler in one atomic transaction (持久事务, 事务).

    Transactions of one object run one after another. The handler ends by the time limit of
    `durable-transaction`, or by what is left of the caller's event, whichever comes first.

    Args:
        argument: JSON text, which the handler gets verbatim.

    Returns:
        The JSON text that the handler gave to 完成持久事务, verbatim.

    Raises:
        TypeError: `argument` is not a str.
        豫言异常: the event is no Durable Object's or already a transaction, `argument` is not JSON text;
            or, beginning with 持久事务失败： and the reason, the handler failed, never completed or ran out
            of time, or the platform refused the commit: then nothing it wrote stays.
        宿主中止: `argument` is longer than 16 MiB, the caller's event ran out of time, or the alarm that a
            transaction gave back could not be stored.
    """
    require_text("argument (事务参数)", argument)
    event = durable_event()
    if event.in_transaction:
        raise 豫言异常("事务处理入口内不能再启动事务")
    event.check_exchanged(argument)
    if not _is_json_text(argument):
        raise 豫言异常("事务参数不是有效的 JSON 文字")
    attempt = _Attempt(event, argument)
    task = running.start_task(attempt.run(), copy_context())
    if not task.done():
        _attempts.add(task)
        task.add_done_callback(_attempts.discard)
    return await attempt.answer


def 读取持久事务参数() -> str:
    """Return the current transaction's parameter, verbatim (持久事务, 事务).

    Raises:
        豫言异常: the event is no transaction.
        宿主中止: the transaction was aborted before.
    """
    return _transaction_event().argument


def 完成持久事务(result: str) -> None:
    """Set the current transaction's result; it must succeed once, and only once (持久事务, 事务).

    Args:
        result: JSON text, which the caller of 执行持久事务 gets verbatim.

    Raises:
        TypeError: `result` is not a str.
        豫言异常: the event is no transaction, the transaction was completed before, or `result` is not JSON
            text: then a valid one may follow.
        宿主中止: `result` is longer than 16 MiB.
    """
    require_text("result (事务结果)", result)
    event = _transaction_event()
    event.check_exchanged(result)
    if event.result is not None:
        raise 豫言异常("完成持久事务 每次事务只能成功调用一次")
    if not _is_json_text(result):
        raise 豫言异常("事务结果不是有效的 JSON 文字")
    event.result = result


def 回滚持久事务() -> None:
    """Give up everything that the current transaction wrote, its alarm's changes included (持久事务, 事务).

    Its keys and its alarm are refused from then on; the handler completes as usual. A second call does
    nothing.

    Raises:
        豫言异常: the event is no transaction.
        宿主中止: the transaction was aborted before, or the platform refused.
    """
    event = _transaction_event()
    try:
        event.roll_back()
    except platform.PlatformError as error:
        event.fault(keyvalue.STORAGE, error)


async def 读取持久事务键值(key: str) -> tuple[bool, str]:
    """Read one key in the current transaction, its own uncommitted writes included (持久事务, 事务).

    Args:
        key: 1 to 2048 bytes of UTF-8.

    Returns:
        Whether the key exists, and its value as JSON text: (False, "") for a missing key, (True, "null")
        for a stored null.

    Raises:
        TypeError: `key` is not a str.
        豫言异常: the event is no transaction, the key is out of range, the transaction was rolled back, or
            what is stored there is no JSON value.
        宿主中止: the key or the value's text is longer than 16 MiB, the value nests deeper than 32 levels, or
            the storage failed.
    """
    require_text("key (键)", key)
    event = _transaction_event()
    keyvalue.check_key(event, key)
    return keyvalue.get(_usable(event), key)


async def 写入持久事务键值(key: str, value: str) -> None:
    """Write one key in the current transaction (持久事务, 事务).

    Args:
        key: 1 to 2048 bytes of UTF-8.
        value: JSON text of at most 2 MiB and 32 levels, without the host's reserved records and without
            numbers beyond double precision's range.

    Raises:
        TypeError: an argument is not a str.
        豫言异常: the event is no transaction, an argument is out of range, the value does not fit into the
            platform's cell, or the transaction was rolled back. Nothing is written.
        宿主中止: an argument is longer than 16 MiB, or the storage failed.
    """
    require_text("key (键)", key)
    require_text("value (值)", value)
    event = _transaction_event()
    event.check_exchanged(key, value)
    keyvalue.check_key(event, key)
    parsed = keyvalue.parse_value(value)
    keyvalue.put(_usable(event), key, parsed)


async def 删除持久事务键(key: str) -> None:
    """Delete one key in the current transaction; a missing one is no error (持久事务, 事务).

    Args:
        key: 1 to 2048 bytes of UTF-8.

    Raises:
        TypeError: `key` is not a str.
        豫言异常: the event is no transaction, the key is out of range, or the transaction was rolled back.
        宿主中止: the key is longer than 16 MiB, or the storage failed.
    """
    require_text("key (键)", key)
    event = _transaction_event()
    keyvalue.check_key(event, key)
    keyvalue.delete(_usable(event), key)


async def 列举持久事务键值(options: str) -> str:
    """List keys and values as the current transaction sees them (持久事务, 事务).

    Args:
        options: the text of a JSON object, with the members that 列举持久仓键值 takes.

    Returns:
        JSON text [[key, value], …] in the order of the keys' UTF-8 bytes, or the reverse.

    Raises:
        TypeError: `options` is not a str.
        豫言异常: the event is no transaction, the options are invalid, the transaction was rolled back, the
            text of the result exceeds 8 MiB, or a value is no JSON value.
        宿主中止: the options are longer than 16 MiB, a value nests deeper than 32 levels, or the storage
            failed.
    """
    require_text("options (列举选项)", options)
    event = _transaction_event()
    event.check_exchanged(options)
    parsed = keyvalue.parse_options(options)
    return keyvalue.listing(_usable(event), parsed)


run_transaction = 执行持久事务
transaction_argument = 读取持久事务参数
complete_transaction = 完成持久事务
rollback_transaction = 回滚持久事务
transaction_get = 读取持久事务键值
transaction_put = 写入持久事务键值
transaction_delete = 删除持久事务键
transaction_list = 列举持久事务键值


class _Attempt:
    """One run of the handler in the platform's transaction: a task that has the gate all the while.

    The caller waits for `answer`; one that does not any more leaves the task to its work. The handler's
    failure never leaves through JavaScript, which would keep only its traceback: the platform is told to
    roll back, and the error is raised again outside.
    """

    __slots__ = ("_began_s", "_caller", "_context", "_event", "_failure", "_over", "_refusal", "answer")

    def __init__(self, caller: DurableEvent, argument: str) -> None:
        self.answer: asyncio.Future[str] = asyncio.Future()
        self._caller = caller
        self._event = TransactionEvent(caller, argument)
        self._event.at_close(self._end)
        self._failure: BaseException | None = None
        self._context: Context
        self._began_s: float
        self._over: platform.Promise | None = None
        self._refusal: BaseException | None = None

    async def run(self) -> None:
        """Carry the transaction out when the object is free, then tell the caller."""
        gate = self._caller.durable.gate
        try:
            await gate.enter()
        except BaseException as error:
            self._fail(error)
            return
        try:
            if not self.answer.cancelled():  # while it waited: the handler must not run for nobody
                self._succeed(await self._carry_out())
        except BaseException as error:
            self._fail(error)
        finally:
            gate.leave()  # after the answer: its caller comes before those who wait

    def _succeed(self, result: str) -> None:
        if not self.answer.done():  # cancelled with its caller
            self.answer.set_result(result)

    def _fail(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)

    async def _carry_out(self) -> str:
        check_open(self._caller)
        event, refusal = self._event, None
        note = event.durable.alarm_note
        deleted_ms = note.deleted_ms
        self._context = copy_context()  # JavaScript calls the closure without one
        self._began_s = monotonic()
        try:
            await platform.awaitable(event.durable.storage.transaction(self._enter))
        except platform.ERRORS as error:
            refusal = error
        note.reload()  # it may have gone back with the transaction
        if event.changed_alarm and (event.rolled_back or refusal is not None):
            note.deleted_ms = deleted_ms
            try:
                await alarm.restore(event.durable)
            except platform.ERRORS as error:
                self._caller.fault(alarm.ALARM_STORAGE, error)
        failure = refusal if self._failure is None else self._failure
        if failure is not None:
            raise 豫言异常(_FAILED + platform.error_text(failure)) from failure
        return cast("str", event.result)  # without a result there is a failure

    def _enter(self, raw: DurableObjectTransaction) -> Any:
        """Start the handler; called by JavaScript, which waits for the promise that this returns."""
        event, caller = self._event, self._caller
        event.raw = raw
        # The platform counts its 30 seconds from about when it was asked.
        remaining_ms = max((caller.deadline_s - self._began_s) * 1000, 0)
        limit_ms = min(event.execution.limit_ms(KIND), remaining_ms)
        Run(event, event.app.enter, (KIND,), limit_ms, self._end_handler, self._context, self._began_s)
        if event.closed and self._refusal is None:
            return None  # most handlers never wait, and need no promise
        self._over = platform.Promise()
        if self._refusal is not None:
            self._over.reject(self._refusal)
        return self._over.js

    def _end_handler(self, run: Run) -> None:
        if run.error is not None:
            self._failure = run.error
            self._event.cancel_tasks()
            self._event.close()

    def _end(self) -> None:
        """Decide what becomes of the transaction: its handler, and all that it waits for, has ended."""
        event, caller = self._event, self._caller
        if self._failure is None:
            if event.aborted is not None:
                self._failure = event.aborted
            elif caller.closed or caller.aborted is not None:
                self._failure = 豫言异常("启动事务的事件已经结束")
            elif event.result is None:
                self._failure = 豫言异常("处理入口没有调用 完成持久事务")
        # Its caller may be cancelled, but the platform's transaction cannot: then it is rolled back.
        if self._failure is not None or self.answer.cancelled():
            try:
                event.roll_back()
            except platform.ERRORS as error:  # then the platform must not take it for done
                self._refusal = error
        if self._over is not None:
            if self._refusal is None:
                self._over.resolve()
            else:
                self._over.reject(self._refusal)


def _is_json_text(text: str) -> bool:
    try:
        jsontext.parse(text, jsontext.encode(text))
    except jsontext.NotJsonText:
        return False
    return True


def _transaction_event() -> TransactionEvent:
    event = current()
    if not isinstance(event, TransactionEvent):
        raise 豫言异常("当前事件不是事务处理入口")
    return event


def _usable(event: TransactionEvent) -> TransactionEvent:
    event.check_usable()
    return event
