"""持久事务 (durable transaction) 0.2.0, 事务: several reads and writes that happen together or not at all.

执行持久事务 enters the application's `durable-transaction` handler. All that the handler reads and writes,
alarms included, belongs to one atomic transaction; it commits when the handler has called 完成持久事务 and
ended, and is rolled back when it fails, in whatever way. While it runs, nothing else touches the object.
"""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from . import alarm, jsontext, platform, store
from .arguments import require_text
from .durable import NOT_DURABLE, check_open
from .errors import 豫言异常
from .events import Event, current
from .running import Run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine

    from js import DurableObjectTransaction

    from .durable import Durable
    from .events import TransactionEvent

KIND = "durable-transaction"
_FAILED = "持久事务失败："

# The event loop holds its tasks weakly, and nobody else holds these.
_leaving: set[asyncio.Task[None]] = set()


class Transaction:
    """One transaction: its parameter, its result, and whether its keys may still be used."""

    __slots__ = ("argument", "changed_alarm", "raw", "result", "rolled_back")

    def __init__(self, argument: str) -> None:
        self.argument = argument
        self.result: str | None = None
        self.rolled_back = False
        self.changed_alarm = False
        self.raw: DurableObjectTransaction  # from when the platform enters it

    def check_usable(self) -> None:
        """Refuse the keys and the alarm of a transaction that was rolled back."""
        if self.rolled_back:
            raise 豫言异常("事务已回滚，不能再读写它的键和告警")

    def roll_back(self) -> None:
        """Give up all that the transaction wrote; a second time does nothing."""
        if not self.rolled_back:
            self.raw.rollback()
            self.rolled_back = True


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
    require_text("事务参数", argument)
    event = current()
    if event is None or event.durable is None:
        raise 豫言异常(NOT_DURABLE)
    if event.transaction is not None:
        raise 豫言异常("事务处理入口内不能再启动事务")
    event.check_exchanged(argument)
    if not _is_json_text(argument):
        raise 豫言异常("事务参数不是有效的 JSON 文字")
    return await _Attempt(event, event.durable, argument).run()


def 读取持久事务参数() -> str:
    """Return the current transaction's parameter, verbatim (持久事务, 事务).

    Raises:
        豫言异常: the event is no transaction.
        宿主中止: the transaction was aborted before.
    """
    return _transaction_event().transaction.argument


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
    require_text("事务结果", result)
    event = _transaction_event()
    event.check_exchanged(result)
    if event.transaction.result is not None:
        raise 豫言异常("完成持久事务 每次事务只能成功调用一次")
    if not _is_json_text(result):
        raise 豫言异常("事务结果不是有效的 JSON 文字")
    event.transaction.result = result


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
        event.transaction.roll_back()
    except platform.PlatformError as error:
        event.fault(store.STORAGE, error)


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
    require_text("键", key)
    event = _transaction_event()
    store.check_key(event, key)
    return store.get(_usable(event), key)


async def 写入持久事务键值(key: str, value: str) -> None:
    """Write one key in the current transaction (持久事务, 事务).

    Args:
        key: 1 to 2048 bytes of UTF-8.
        value: JSON text of at most 2 MiB and 32 levels, without the host's reserved records and without
            numbers beyond double precision's range.

    Raises:
        TypeError: an argument is not a str.
        豫言异常: the event is no transaction, an argument is out of range, or the transaction was rolled
            back. Nothing is written.
        宿主中止: an argument is longer than 16 MiB, or the storage failed.
    """
    require_text("键", key)
    require_text("值", value)
    event = _transaction_event()
    event.check_exchanged(key, value)
    store.check_key(event, key)
    parsed = store.parse_value(value)
    store.put(_usable(event), key, parsed)


async def 删除持久事务键(key: str) -> None:
    """Delete one key in the current transaction; a missing one is no error (持久事务, 事务).

    Args:
        key: 1 to 2048 bytes of UTF-8.

    Raises:
        TypeError: `key` is not a str.
        豫言异常: the event is no transaction, the key is out of range, or the transaction was rolled back.
        宿主中止: the key is longer than 16 MiB, or the storage failed.
    """
    require_text("键", key)
    event = _transaction_event()
    store.check_key(event, key)
    store.delete(_usable(event), key)


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
    require_text("列举选项", options)
    event = _transaction_event()
    event.check_exchanged(options)
    parsed = store.parse_options(options)
    return store.listing(_usable(event), parsed)


run_transaction = 执行持久事务
transaction_argument = 读取持久事务参数
complete_transaction = 完成持久事务
rollback_transaction = 回滚持久事务
transaction_get = 读取持久事务键值
transaction_put = 写入持久事务键值
transaction_delete = 删除持久事务键
transaction_list = 列举持久事务键值


class _Attempt:
    """One run of the handler inside the platform's transaction.

    The handler's failure never leaves through JavaScript, which would keep only its traceback: the platform
    is told to roll back, and the error is raised again outside.
    """

    __slots__ = (
        "_caller",
        "_cancelled",
        "_context",
        "_durable",
        "_event",
        "_failure",
        "_over",
        "_refusal",
        "_transaction",
    )

    def __init__(self, caller: Event, durable: Durable, argument: str) -> None:
        self._caller = caller
        self._durable = durable
        self._transaction = Transaction(argument)
        self._event = Event(
            KIND,
            caller.app,
            caller.environment,
            caller.execution,
            durable=durable,
            transaction=self._transaction,
        )
        self._event.at_close(self._end)
        self._context = copy_context()  # JavaScript calls the closure without one
        self._over: platform.Promise | None = None
        self._failure: BaseException | None = None
        self._refusal: BaseException | None = None
        self._cancelled = False

    async def run(self) -> str:
        """Run the handler when the object is free, and free it again when the platform is through."""
        await self._durable.gate.enter()
        try:
            check_open(self._caller)
            promise = platform.settled(self._durable.storage.transaction(self._enter))
        except BaseException as error:
            self._durable.gate.leave()
            if isinstance(error, platform.ERRORS):
                raise 豫言异常(_FAILED + platform.error_text(error)) from error
            raise
        try:
            await asyncio.shield(promise)
        except asyncio.CancelledError:
            # The platform's transaction cannot be called off: it goes on, and rolls back at its end, unless
            # its handler has ended already.
            self._cancelled = True
            _held(self._leave_after(promise))
            raise
        except platform.ERRORS as error:
            self._refusal = error
            await self._leave()
            raise 豫言异常(_FAILED + platform.error_text(self._failure or error)) from error
        await self._leave()
        if self._failure is not None:
            raise 豫言异常(_FAILED + platform.error_text(self._failure)) from self._failure
        return cast("str", self._transaction.result)  # without a result there is a failure

    async def _leave_after(self, promise: Awaitable[None]) -> None:
        try:
            await promise
        except platform.ERRORS as error:
            self._refusal = error
        await self._leave()

    async def _leave(self) -> None:
        self._durable.alarm_records.reload()  # they may have gone back with the transaction
        if self._transaction.changed_alarm and (self._transaction.rolled_back or self._refusal is not None):
            await asyncio.shield(_held(self._restore_alarm()))  # whatever becomes of the caller
        else:
            self._durable.gate.leave()

    async def _restore_alarm(self) -> None:
        try:
            await alarm.restore(self._durable)
        except platform.ERRORS as error:
            self._caller.fault(alarm.ALARM_STORAGE, error)
        finally:
            self._durable.gate.leave()

    def _enter(self, raw: DurableObjectTransaction) -> Any:
        """Start the handler; called by JavaScript, which waits for the promise that this returns."""
        self._transaction.raw = raw
        remaining_ms = (self._caller.deadline_s - monotonic()) * 1000
        limit_ms = min(self._event.execution.limit_ms(KIND), max(remaining_ms, 0))
        Run(self._event, self._event.app.enter, (KIND,), limit_ms, self._end_handler, self._context)
        if not self._event.closed:
            self._over = platform.Promise()
            return self._over.js
        if self._refusal is not None:
            raise self._refusal
        return None

    def _end_handler(self, run: Run) -> None:
        if run.error is not None:
            self._failure = run.error
            self._event.cancel_tasks()
            self._event.close()

    def _end(self) -> None:
        """Decide what becomes of the transaction: its handler, and all that it waits for, has ended."""
        if self._failure is None:
            if self._event.aborted is not None:
                self._failure = self._event.aborted
            elif self._caller.closed or self._caller.aborted is not None:
                self._failure = 豫言异常("启动事务的事件已经结束")
            elif self._transaction.result is None:
                self._failure = 豫言异常("处理入口没有调用 完成持久事务")
        if self._failure is not None or self._cancelled:
            try:
                self._transaction.roll_back()
            except platform.ERRORS as error:  # then the platform must not take it for done
                self._refusal = error
        if self._over is None:
            return
        if self._refusal is None:
            self._over.resolve()
        else:
            self._over.reject(self._refusal)


def _held(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Start a task that the one who waits for it may leave."""
    task = asyncio.create_task(coroutine)
    _leaving.add(task)
    task.add_done_callback(_leaving.discard)
    return task


def _is_json_text(text: str) -> bool:
    try:
        jsontext.parse(text, jsontext.encode(text))
    except jsontext.NotJsonText:
        return False
    return True


def _transaction_event() -> TransactionEvent:
    event = current()
    if event is None or event.transaction is None:
        raise 豫言异常("当前事件不是事务处理入口")
    return cast("TransactionEvent", event)


def _usable(event: TransactionEvent) -> TransactionEvent:
    event.transaction.check_usable()
    return event
