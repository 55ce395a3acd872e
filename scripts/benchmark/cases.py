"""What is measured, and the targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from . import payloads

WAYS = ("yungong", "sdk", "raw", "js", "kv", "pythonic")
_EVERYWHERE = WAYS[:4]
_STORE_WAYS = WAYS[:5]


@dataclass(frozen=True)
class Target:
    """A bound on the package against another lane, and what to aim for.

    faster: the other's time over the package's must be at least `bound`; slower: the package's over the
    other's at most `bound`; extra: the package's less the other's, in microseconds, at most `bound`.
    """

    against: str
    kind: Literal["faster", "slower", "extra"]
    bound: float
    aim: float | None = None
    of: str = "yungong"
    """The package's own lane."""


@dataclass(frozen=True)
class Lane:
    """One way of a case: the operation that the Worker runs, and whether its keys are stored before."""

    way: str
    operation: str
    stored: bool = False
    target: str | None = None
    """The binding of the object that a request goes to."""


@dataclass(frozen=True)
class Case:
    """An operation on one payload; its lanes are measured in turn, each under its own name."""

    operation: str
    size: str
    text: Callable[[], str]
    lanes: dict[str, Lane]
    targets: tuple[Target, ...] = ()
    distinct_keys: bool = False
    most: int = 20_000
    """Turns of one loop at most."""
    object: str = "measured"
    """The object measured in; a listing's cost depends on how large its database has become."""
    ballast: int = 0
    """Values of 1 MB that are stored beside."""


_KEPT = 8
SIZES = {"70 B": 70, "1.2 KB": 1_200, "131 KB": 131_000}


def names(case: Case, count: int) -> int:
    """How many different keys a loop of `count` turns uses."""
    return count if case.distinct_keys else min(count, _KEPT)


def _lanes(operation: str, *ways: str, stored: bool = False) -> dict[str, Lane]:
    return {way: Lane(way, operation, stored) for way in ways or _EVERYWHERE}


_DOUBTFUL_GET = {
    "70 B": (Target("sdk", "faster", 10), Target("js", "slower", 2)),
    "1.2 KB": (Target("sdk", "faster", 7), Target("js", "slower", 2.5)),
    "131 KB": (Target("sdk", "faster", 6), Target("js", "slower", 2.2)),
}


def _store_cases(size: str, *, doubtful: bool) -> list[Case]:
    large = size == "131 KB"
    text = partial(payloads.text, SIZES[size], nulls_and_times=doubtful)
    targets = (
        Target("sdk", "faster", 5 if large else 10, 8 if large else None),
        Target("js", "slower", 3 if large else 2, 2 if large else 1.5),
    )
    label = f"{size}, nulls and times" if doubtful else size
    return [
        Case(
            "get",
            label,
            text,
            _lanes("get", *_STORE_WAYS, stored=True),
            _DOUBTFUL_GET[size] if doubtful else targets,
        ),
        Case("put", label, text, _lanes("put", *_STORE_WAYS), targets),
    ]


def _value_cases(size: str, *, doubtful: bool) -> list[Case]:
    text = partial(payloads.text, SIZES[size], nulls_and_times=doubtful)
    label = f"{size}, nulls and times" if doubtful else size
    targets = [Target("sdk", "faster", 4 if size == "131 KB" else 6, of="pythonic")]
    if size == "1.2 KB" and not doubtful:
        targets.append(Target("yungong", "slower", 1.4, of="pythonic"))
    return [
        Case(
            "get a value",
            label,
            text,
            _value_lanes("get", "get_value", "get_value", stored=True),
            tuple(targets),
        ),
        Case("put a value", label, text, _value_lanes("put", "put", "put_value"), tuple(targets)),
    ]


def _value_lanes(operation: str, of_sdk: str, of_kv: str, *, stored: bool = False) -> dict[str, Lane]:
    return _lanes(operation, "yungong", "pythonic", stored=stored) | {
        "sdk": Lane("sdk", of_sdk, stored),
        "kv": Lane("kv", of_kv, stored),
    }


def _delete_case(size: str) -> Case:
    return Case(
        "delete",
        size,
        partial(payloads.text, SIZES[size]),
        _lanes("delete", *_STORE_WAYS, stored=True),
        (Target("sdk", "faster", 10), Target("js", "slower", 3 if size == "131 KB" else 2, 1.5)),
        distinct_keys=True,
        most=60 if size == "131 KB" else 2_000,
    )


def _request_lane(binding: str) -> Lane:
    return Lane("js", "request", target=binding)


_NEVER_SLOWER = (Target("sdk", "faster", 1, of="pythonic"),)
_small = partial(payloads.text, SIZES["70 B"])

CASES: tuple[Case, ...] = (
    *(case for size in SIZES for doubtful in (False, True) for case in _store_cases(size, doubtful=doubtful)),
    *(_delete_case(size) for size in SIZES),
    Case(
        "get missing",
        "",
        _small,
        _lanes("get", *_STORE_WAYS) | {"present": Lane("yungong", "get", stored=True)},
        (Target("sdk", "faster", 10), Target("js", "slower", 2, 1.5), Target("present", "slower", 1)),
    ),
    Case(
        "list",
        "100 of 70 B",
        _small,
        _lanes("listing", *_STORE_WAYS),
        (Target("sdk", "faster", 5),),
        object="listed",
    ),
    Case(
        "list",
        "100 of 70 B, nulls and times",
        partial(payloads.text, SIZES["70 B"], nulls_and_times=True),
        _lanes("listing", *_STORE_WAYS),
        (Target("sdk", "faster", 4),),
        object="listed",
    ),
    Case(
        "list",
        "100 of 70 B beside 8 MB",
        _small,
        _lanes("listing", *_STORE_WAYS),
        object="listed beside",
        ballast=8,
    ),
    Case(
        "send",
        "1 KB",
        partial(payloads.text, 1_000),
        _lanes("send"),
        (Target("raw", "slower", 1.2), Target("sdk", "faster", 1)),
    ),
    Case(
        "send",
        "127 KB",
        partial(payloads.text, 127_000),
        _lanes("send"),
        (Target("raw", "slower", 1.5), Target("sdk", "faster", 1)),
    ),
    Case(
        "send",
        "127 KB, one string",
        partial(payloads.one_string, 127_000),
        _lanes("send"),
        (Target("raw", "slower", 1.5), Target("sdk", "faster", 1)),
    ),
    Case(
        "transaction",
        "4 + 4 of 70 B",
        _small,
        _lanes("transaction", *_STORE_WAYS),
        (Target("sdk", "faster", 5),),
    ),
    Case(
        "transaction",
        "4 + 4 of 1.2 KB",
        partial(payloads.text, 1_200),
        _lanes("transaction", *_STORE_WAYS),
        (Target("sdk", "faster", 2.5, 3),),
    ),
    # With Python values: the SDK's own dicts, where the rows above make JSON text of them.
    *(case for size in SIZES for doubtful in (False, True) for case in _value_cases(size, doubtful=doubtful)),
    Case(
        "list values",
        "100 of 70 B",
        _small,
        _value_lanes("listing", "listing_values", "listing_values"),
        _NEVER_SLOWER,
        object="listed",
    ),
    Case(
        "transaction on values",
        "4 + 4 of 70 B",
        _small,
        _value_lanes("transaction", "transaction_values", "transaction_values"),
        _NEVER_SLOWER,
    ),
    Case("get_alarm", "", _small, _lanes("get_alarm"), (Target("raw", "slower", 1.2),)),
    Case("set_alarm", "", _small, _lanes("set_alarm"), (Target("raw", "slower", 1.2),)),
    # The bound method, called in Python, shows what the package adds; a request of another object hides it
    # among what the platform does for each, and shows whether anything is missing from it.
    Case(
        "empty event",
        "the handler",
        _small,
        _lanes("handler", "yungong", "sdk"),
        (Target("sdk", "extra", 60), Target("sdk", "slower", 2.5)),
    ),
    Case(
        "empty event",
        "a request",
        _small,
        {
            "yungong": _request_lane("EMPTY_STORE"),
            "sdk": _request_lane("BARE_STORE"),
            "js": _request_lane("JAVASCRIPT_EMPTY_STORE"),
        },
        (Target("sdk", "extra", 60),),
    ),
)

READ_BATCHES = tuple(
    Case(
        "read_batch",
        f"100 of 1 KB{label}",
        partial(payloads.text, 1_000, nulls_and_times=doubtful),
        _lanes("read_batch"),
        (Target("sdk", "faster", 10), Target("sdk values", "faster", 10, of="pythonic")),
    )
    for doubtful, label in ((False, ""), (True, ", nulls and times"))
)
COLD_START = "cold start"
COLD_START_BOUND = 1.1
MEMORY = "memory"
OPERATIONS = tuple(
    dict.fromkeys([*(case.operation for case in CASES), READ_BATCHES[0].operation, COLD_START, MEMORY])
)
