"""Workload: one object on a real workerd against the model, through every store, transaction and alarm call.

Hypothesis chooses the calls, valid and invalid ones mixed. A step is one event of a few
calls; their results must be the model's, and so must what the object holds afterwards.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, ClassVar

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from repository import LocalHost

from tests.client import Client, Step, call

from . import jsonoracle
from .specification import DONE, MAX_ALARM_MS, REFUSED, Outcome, Store
from .workload import Effort, Report

NAME = "model"
EVENTS_OF_ONE_OBJECT = 50
CALLS_OF_ONE_EVENT = 4
EVENTS_BETWEEN_FIRINGS = 12
FEWEST_OBJECTS = 5
"""Hypothesis begins with the plainest choices."""
FIRING_SECONDS = 60.0
POLL_SECONDS = 0.02

NOT_A_BATCH: Outcome = ("refused", "当前事件不是队列事件")
FAILED = "持久事务失败："

STORE_CALLS = {
    f"{place}_{verb}" for place in ("store", "transaction") for verb in ("put", "get", "delete", "list")
}


keys = st.one_of(
    st.sampled_from(["a", "a ", "b", "ba", "p:1", "p:2", "é", "\uffff", "\U00010000", "z" * 2048]),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=3),
    st.sampled_from(["", "z" * 2049, "é" * 1025, "\ud800", "a\udfff"]),
)
leaves = st.one_of(
    st.sampled_from(
        ["null", "true", "false", "0", "-0", "-1.5e-7", "9007199254740993", "1E2", '""', "{}", "[]"]
    ),
    st.sampled_from(
        ['"\\ud800"', '"\\u0024句柄"', '"$句柄"', '"\\\\\\"[{"', '"\\/"', '{"$句柄":1,"a":2}', "1e-999"]
    ),
    st.text(st.characters(codec="utf-8"), max_size=6).map(jsonoracle.quoted),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
values = st.one_of(
    st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3).map(lambda items: f"[ {' , '.join(items)} ]")
            | st.lists(st.tuples(st.sampled_from(["a", "b", "1", "__proto__"]), inner), max_size=3).map(
                lambda members: f"{{{','.join(f'{json.dumps(name)}: {value}' for name, value in members)}}}"
            )
        ),
        max_leaves=6,
    ),
    st.sampled_from(["[" * 32 + "]" * 32, "[" * 33 + "]" * 33, '[{"a":' * 16 + "1" + "}]" * 16]),
    st.sampled_from(
        ['{"$句柄":"1"}', '[{"\\u0024数字" : 1}]', '{"a":{"$未定义":null}}', '{"$大整数":1,"$大整数":2}']
    ),
    st.sampled_from(
        ["", " ", "{", "nul", "NaN", "Infinity", "1e999", "-1e999", "01", "'a'", '"\t"', "1 2", "[1,]"]
    ),
    st.sampled_from(['"\ud800"', "\ufeff1", "\u00a01", '{"a":1,}', '"\\x"', "+1", ".5", "5.", "\x001"]),
)
options = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "prefix": st.sampled_from(["", "a", "p:", "\uffff", "é"]),
            "start": st.sampled_from(["", "a", "b", "p:1", "\uffff"]),
            "end": st.sampled_from(["", "b", "p:2", "\uffff", "\U00010000"]),
            "limit": st.sampled_from([1, 2, 3, 1.0, 2**31, 1e300]),
            "reverse": st.booleans(),
        },
    ).map(json.dumps),
    st.sampled_from(
        ['{"startAfter":"a"}', '{"startAfter":"p:1","reverse":true}', '{"start":"","startAfter":"b"}']
    ),
    st.sampled_from(
        ['{"limit":0}', '{"limit":1.5}', '{"limit":"1"}', '{"limit":true}', '{"limit":null}', "{}x"]
    ),
    st.sampled_from(
        ['{"reverse":1}', '{"x":1}', "[]", "null", '{"start":"a","startAfter":"a"}', '{"prefix":1}']
    ),
)
# None of these is due while the tests run.
alarm_times = st.one_of(
    st.integers(4_000_000_000_000, MAX_ALARM_MS),
    st.sampled_from([MAX_ALARM_MS, 9_223_372_036_854, 9_223_372_036_855]),
    st.sampled_from([-1, MAX_ALARM_MS + 1, -(2**63), 2**70]),
)


def store_calls(prefix: str) -> st.SearchStrategy[Step]:
    """Return calls of the direct store's or of a transaction's functions."""
    return st.one_of(
        st.builds(call, st.just(f"{prefix}_put"), keys, values),
        st.builds(call, st.just(f"{prefix}_put"), keys, values),
        st.builds(call, st.just(f"{prefix}_get"), keys),
        st.builds(call, st.just(f"{prefix}_delete"), keys),
        st.builds(call, st.just(f"{prefix}_list"), options),
    )


alarm_calls = st.one_of(
    st.builds(call, st.just("set_alarm"), alarm_times),
    st.just(call("delete_alarm")),
    st.just(call("get_alarm")),
    st.just(call("alarm_retry_count")),
)
queue_calls = st.sampled_from([call("read_batch"), call("ack_message", 0), call("retry_message", 0, 0)])
transaction_ends = st.sampled_from(
    [
        [{"complete": True}],
        [{"complete": True}],
        [call("complete_transaction", "{"), {"complete": True}],
        [call("rollback_transaction"), call("rollback_transaction"), {"complete": True}],
        [
            call("rollback_transaction"),
            call("transaction_get", "a"),
            call("set_alarm", 4 * 10**12),
            {"complete": True},
        ],
        [{"complete": True}, call("rollback_transaction")],
        [{"complete": True}, call("complete_transaction", "1")],
        [{"raise": "on purpose"}],
        [{"complete": True}, {"raise": "after all"}],
        [],
    ]
)
transactions = st.tuples(
    st.lists(
        st.one_of(store_calls("transaction"), alarm_calls, store_calls("store"), queue_calls), max_size=6
    ),
    transaction_ends,
).map(lambda parts: parts[0] + parts[1])
direct_calls = st.one_of(
    store_calls("store"),
    store_calls("store"),
    alarm_calls,
    store_calls("transaction"),
    queue_calls,
    st.sampled_from([call("rollback_transaction"), call("complete_transaction", "1"), call("store_clear")]),
    st.sampled_from([call("transaction_argument"), call("run_transaction", "{")]),
)


def expected_call(step: Step, store: Store, *, in_transaction: bool) -> Outcome:
    """Return what a call must give, and change the model as it does."""
    name, args = step["call"], step["args"]
    place, _, verb = name.partition("_")
    if name in ("set_alarm", "delete_alarm", "get_alarm"):
        outcome: Outcome = getattr(store, name)(*args)
        return outcome
    if name == "alarm_retry_count":
        return ("value", 0)
    if name in ("read_batch", "ack_message", "retry_message"):
        return NOT_A_BATCH
    if name == "store_clear" and not in_transaction:
        store.values.clear()
        store.alarm = None  # at this compatibility date the platform clears the alarm too
        return DONE
    if name not in STORE_CALLS or place != ("transaction" if in_transaction else "store"):
        return REFUSED
    if verb == "delete":
        return store.delete(*args, told=not in_transaction)
    found: Outcome = getattr(store, verb)(*args)
    return found


def expected_transaction(steps: list[Step], store: Store) -> tuple[Outcome, list[Outcome]]:
    """Return what a transaction must give and, where it completes, the outcomes before its completion."""
    draft = store.copy()
    outcomes: list[Outcome] = []
    completed: list[Outcome] | None = None
    rolled_back = False
    for step in steps:
        if "raise" in step:
            return ("failed", FAILED + step["raise"]), []
        if "complete" in step:
            completed = list(outcomes)
            outcomes.append(DONE)
        elif step["call"] == "complete_transaction":
            outcomes.append(REFUSED)  # not JSON, or the second time
        elif step["call"] == "rollback_transaction":
            rolled_back = True
            outcomes.append(DONE)
        elif rolled_back:
            outcomes.append(REFUSED)
        else:
            outcomes.append(expected_call(step, draft, in_transaction=True))
    if completed is None:
        return ("failed", FAILED), []
    if not rolled_back:
        store.values, store.alarm = draft.values, draft.alarm
    return DONE, completed


def disagreement(step: Step, expected: Outcome, result: dict[str, Any]) -> str | None:
    """Compare one result with the model's; the checker of this workload."""
    kind, value = expected
    if kind == "refused":
        if result.get("error") != "豫言异常" or not result["message"]:
            return f"{step}: to be refused, but {result}"
        return (
            None
            if value in (None, result["message"])
            else f"{step}: the message must be {value}, not {result}"
        )
    if "value" not in result:
        return f"{step}: must give {value!r}, but {result}"
    given = result["value"]
    if step.get("call", "").endswith("_get"):
        agrees = given[0] == value[0] and (
            jsonoracle.same(given[1], value[1]) if value[0] else given[1] == ""
        )
    elif step.get("call", "").endswith("_list"):
        agrees = jsonoracle.same(given, value) and _key_order(given) == _key_order(value)
    else:
        agrees = given == value and type(given) is type(value)
    return None if agrees else f"{step}: must give {value!r}, not {given!r}"


def _key_order(listing: str) -> list[Any]:
    return [entry[0] for entry in jsonoracle.read(listing)]


class ObjectMachine(RuleBasedStateMachine):
    """Drives one object; `host` and `advance` are set before it runs."""

    host: ClassVar[LocalHost]
    advance: ClassVar[Callable[[int], bool]]
    """Counts calls; False when the time is up."""

    objects: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.client = Client(self.host)
        self.store = Store()
        self.going = True
        self.events_since_firing = 0

    @initialize()
    def start(self) -> None:
        """Take an object that nobody has used."""
        type(self).objects += 1
        self.name = f"model-{time.time_ns()}-{self.objects}"

    def teardown(self) -> None:
        self.client.close()

    def goes_on(self, calls: int) -> bool:
        """Count calls; False when the time is up, and from then on."""
        self.events_since_firing += 1
        self.going = self.going and type(self).advance(calls)
        return self.going

    def compare(self, steps: list[Step], expected: list[Outcome]) -> None:
        """Run steps in one event, with a look at the whole object at its end, and compare all results."""
        looks = [call("store_list", "{}"), call("get_alarm")]
        results = self.client.run(self.name, *steps, *looks)
        wanted = [*expected, self.store.list("{}"), self.store.get_alarm()]
        for step, outcome, result in zip(steps + looks, wanted, results, strict=True):
            found = disagreement(step, outcome, result)
            assert found is None, f"in the event {steps}: {found}"

    @rule(steps=st.lists(direct_calls, min_size=1, max_size=5))
    def directly(self, steps: list[Step]) -> None:
        """Calls in an event that is no transaction, some of them where they are not allowed."""
        if self.goes_on(len(steps)):
            self.compare(steps, [expected_call(step, self.store, in_transaction=False) for step in steps])

    @rule(steps=transactions)
    def in_a_transaction(self, steps: list[Step]) -> None:
        """A transaction that completes, rolls back, raises or never completes."""
        if not self.goes_on(len(steps) + 1):
            return
        outcome, inner = expected_transaction(steps, self.store)
        step = {"transaction": steps}
        result, *looks = self.client.run(self.name, step, call("store_list", "{}"), call("get_alarm"))
        if outcome[0] == "failed":
            assert result.get("error") == "豫言异常", f"{steps}: must fail, but {result}"
            assert result["message"].startswith(outcome[1]), f"{steps}: {outcome[1]} expected, not {result}"
        else:
            assert "value" in result, f"{steps}: must complete, but {result}"
            given = json.loads(result["value"])
            for one, expected, told in zip(steps, inner, given, strict=False):
                found = disagreement(one, expected, told)
                assert found is None, f"in the transaction {steps}: {found}"
            assert len(given) == len(inner), f"in the transaction {steps}: {given}"
        for one, expected, told in zip(
            [call("store_list", "{}"), call("get_alarm")],
            [self.store.list("{}"), self.store.get_alarm()],
            looks,
            strict=True,
        ):
            found = disagreement(one, expected, told)
            assert found is None, f"after the transaction {steps}: {found}"

    @precondition(lambda self: self.events_since_firing >= EVENTS_BETWEEN_FIRINGS)  # the time must not matter
    @rule(
        at_ms=st.sampled_from([0, 1, 1_000_000_000_000]),
        fails=st.integers(0, 19).map(lambda drawn: drawn == 7),
    )
    def an_alarm_fires(self, at_ms: int, fails: bool) -> None:
        """A past time fires at once, its own alarm cleared; a handler that fails is retried and counted."""
        self.events_since_firing = 0
        if not self.goes_on(2):
            return
        script = '[{"raise":"on purpose"}]' if fails else "[]"
        self.client.values(self.name, call("store_put", "script:alarm", script), call("set_alarm", at_ms))
        log = self._log(1)
        if fails:
            self.client.values(self.name, call("store_put", "script:alarm", "[]"))
            waiting = self.client.values(self.name, call("get_alarm"), call("store_get", "log:alarm"))
            seen = len(json.loads(waiting[1][1]))
            assert seen == 2 or waiting[0][0] is True, (
                f"while a retry is pending get_alarm gives {waiting[0]}"
            )
            log = self._log(2)
        assert [entry["retry"] for entry in log] == list(range(len(log))), log
        assert all(entry["alarm"] == [False, 0] for entry in log), log
        self.client.values(self.name, call("store_delete", "log:alarm"), call("store_delete", "script:alarm"))
        self.store.alarm = None

    def _log(self, length: int) -> list[Any]:
        deadline = time.monotonic() + FIRING_SECONDS
        while True:
            text = self.client.values(self.name, call("store_get", "log:alarm"))[0][1]
            entries: list[Any] = json.loads(text or "[]")
            # The last entry is final, and the platform's alarm gone, once a later event sees none.
            if len(entries) >= length:
                pending = self.client.values(self.name, call("get_alarm"))[0][0]
                if length == 1 or not pending:
                    return entries
            assert time.monotonic() < deadline, f"{length} firings not within {FIRING_SECONDS:g} s: {entries}"
            time.sleep(POLL_SECONDS)


def run_machine(
    machine: type[RuleBasedStateMachine], effort: Effort, report: Report, *, shrink: bool = True
) -> None:
    """Run a machine with `effort.runs` as its number of calls; a disagreement is one violation."""

    def advance(calls: int) -> bool:
        if not effort.goes_on(report.runs):
            return False
        report.runs += calls
        return True

    machine.advance = staticmethod(advance)
    round_number = 0
    while effort.goes_on(report.runs) and not report.violations:
        chosen = settings(
            max_examples=max(
                FEWEST_OBJECTS, (effort.runs - report.runs) // (EVENTS_OF_ONE_OBJECT * CALLS_OF_ONE_EVENT)
            ),
            stateful_step_count=EVENTS_OF_ONE_OBJECT,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
        )
        try:
            seeded = hypothesis.seed(effort.seed + round_number)(machine)
            run_state_machine_as_test(seeded, settings=chosen)
        except Exception as error:  # an assertion, or an event that failed: both disagree with the model
            notes = "\n".join(getattr(error, "__notes__", ()))
            report.violations.append(f"{type(error).__name__}: {error}\n{notes}")
        round_number += 1


def run(host: LocalHost, effort: Effort) -> Report:
    """Drive objects until the effort is spent; a run is a call."""
    report = Report(NAME, effort.seed)
    ObjectMachine.host = host
    run_machine(ObjectMachine, effort, report)
    report.figures["objects"] = ObjectMachine.objects
    return report
