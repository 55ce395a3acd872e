"""Transactions as functions: calling one executes it, an error rolls it back (持久事务, 事务)."""

from __future__ import annotations

from functools import wraps
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from .. import transaction as texts
from ..errors import reason, 豫言异常
from ..keyvalue import MAX_VALUE_LEVELS
from . import listing, values
from .store import _first_key, _range

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

P = ParamSpec("P")
T = TypeVar("T", bound=values.Json)

# The parameter is {"name", "args": […], "kwargs": {…}}: two levels around each argument.
_ARGUMENT_LEVELS = MAX_VALUE_LEVELS + 2


class Transaction:
    """The current transaction: what a function registered with `app.transaction` gets first.

    Everything read and written through it is one atomic step. Its methods are refused where no transaction is
    current, and once it has been rolled back.
    """

    __slots__ = ()

    async def get(self, key: str, default: Any = None) -> Any:
        """Return the value under a key, or `default` where there is none (读取持久事务键值).

        Args:
            key: 1 to 2048 bytes of UTF-8.
            default: what is returned for a missing key; a stored null is None.
        """
        found, text = await texts.读取持久事务键值(key)
        return values.read(text) if found else default

    async def put(self, key: str, value: values.Json) -> None:
        """Write a value under a key (写入持久事务键值).

        Args:
            key: 1 to 2048 bytes of UTF-8.
            value: a JSON value of at most 2 MiB as text and 32 levels.

        Raises:
            TypeError, ValueError: something in the value is no JSON value; the sentence tells its path.
            豫言异常: as 写入持久事务键值.
        """
        await texts.写入持久事务键值(key, values.write(value, MAX_VALUE_LEVELS, "值"))

    async def delete(self, key: str) -> None:
        """Delete a key; a missing one is no error (删除持久事务键)."""
        await texts.删除持久事务键(key)

    async def list(
        self,
        *,
        prefix: str | None = None,
        start: str | None = None,
        start_after: str | None = None,
        end: str | None = None,
        limit: int | None = None,
        reverse: bool = False,
    ) -> dict[str, Any]:
        """Return keys and values as `store.list` does, as the transaction sees them (列举持久事务键值)."""
        return await listing.entries(_SOURCE, _range(prefix, start, start_after, end, limit, reverse))

    def items(
        self,
        *,
        prefix: str | None = None,
        start: str | None = None,
        start_after: str | None = None,
        end: str | None = None,
        limit: int | None = None,
        reverse: bool = False,
        page_size: int = listing.DEFAULT_PAGE_SIZE,
    ) -> AsyncIterator[tuple[str, Any]]:
        """Iterate over keys and values as `store.items` does, as the transaction sees them."""
        return listing.pages(_SOURCE, _range(prefix, start, start_after, end, limit, reverse), page_size)

    def rollback(self) -> None:
        """Give up all that the transaction wrote; the function returns as usual (回滚持久事务).

        What its keys and its alarm are asked for afterwards is refused. A second call does nothing.
        """
        texts.回滚持久事务()


_SOURCE = listing.Source(texts.列举持久事务键值, texts.读取持久事务键值, _first_key)


class _Raised(Exception):
    """What a transaction's function raised: it passes through 执行持久事务 as the cause of its error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(reason(error))
        self.error = error


class Transactions:
    """An application's transactions, by name."""

    __slots__ = ("_functions",)

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}

    def add(
        self, name: str, function: Callable[Concatenate[Transaction, P], Awaitable[T]]
    ) -> Callable[P, Coroutine[Any, Any, T]]:
        """Register a function, and return what executes it as a transaction.

        Raises:
            ValueError: another one has this name.
        """
        if name in self._functions:
            raise ValueError(f"there is a transaction named {name!r} already; tell them apart with name=")
        self._functions[name] = function

        @wraps(function)
        async def execute(*args: P.args, **kwargs: P.kwargs) -> T:
            call: dict[str, Any] = {"name": name, "args": [*args], "kwargs": kwargs}
            argument = values.write(call, _ARGUMENT_LEVELS, "事务参数")
            try:
                result = await texts.执行持久事务(argument)
            except 豫言异常 as failure:
                if not isinstance(failure.__cause__, _Raised):
                    raise
                error = failure.__cause__.error
            else:
                return cast("T", values.read(result))
            # Not in the clause above, where Python would note the failure as its context.
            try:
                raise error
            finally:
                del error

        return execute

    async def handle(self) -> None:
        """Call the function that the current transaction's parameter names, and complete with its result.

        Raises:
            ValueError: the parameter, from a call of 执行持久事务 with text, has another form.
            LookupError: no function has that name.
        """
        match values.read(texts.读取持久事务参数().strip()):
            case {"name": str(name), "args": list(args), "kwargs": dict(kwargs)}:
                pass
            case _:
                raise ValueError('事务参数须为 {"name":…,"args":[…],"kwargs":{…}}')
        function = self._functions.get(name)
        if function is None:
            raise LookupError(f"应用没有登记名为 {name} 的事务")
        try:
            result = function(Transaction(), *args, **kwargs)
            if isawaitable(result):
                result = await result
            text = values.write(result, MAX_VALUE_LEVELS, "事务结果")
        except Exception as error:
            raise _Raised(error) from error
        texts.完成持久事务(text)
