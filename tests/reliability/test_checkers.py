"""Every checker rejects a double that is broken: a planted bug, or an observation that is corrupted."""

import json
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from tests.client import call
from yungong import jsontext

from . import (
    concurrency,
    fuzz,
    hostile,
    jsonoracle,
    kills,
    linearity,
    memory,
    model,
    queue_model,
    refusals,
    retries,
    turns,
)
from .concurrency import Tally
from .kills import History
from .queue_model import Sent, read_deliveries
from .specification import Store


class TestKills:
    history = History(acknowledged=5, attempted=6, at_ms={0: None, 5: 4_000_000_000_005, 6: None})

    @pytest.mark.parametrize(("seen", "accepted"), [(4, False), (5, True), (6, True), (7, False), (0, False)])
    def test_a_lost_write_is_seen(self, seen: int, accepted: bool) -> None:
        assert (kills.check_written(self.history, seen) == []) is accepted

    @pytest.mark.parametrize(
        ("seen", "alarm", "accepted"),
        [
            ([5, 5, 5], (True, 4_000_000_000_005), True),
            ([6, 6, 6], (False, 0), True),
            ([5, 5, 6], (True, 4_000_000_000_005), False),
            ([5, 5, 5], (False, 0), False),
            ([6, 6, 6], (True, 4_000_000_000_005), False),
            ([0, 0, 0], (False, 0), False),
        ],
    )
    def test_a_torn_transaction_is_seen(
        self, seen: list[int], alarm: tuple[bool, int], accepted: bool
    ) -> None:
        assert (kills.check_whole(self.history, seen, alarm) == []) is accepted

    @pytest.mark.parametrize(
        ("alarm", "native", "accepted"),
        [
            ((False, 0), None, True),
            ((True, 5), 5, True),
            ((True, 8 * 10**15), kills.PLATFORM_END_MS, True),
            ((True, 8 * 10**15), 4 * 10**12, False),
            ((True, 5), None, False),
            ((False, 0), 5, False),
            ((True, 6), 5, False),
        ],
    )
    def test_an_exact_time_that_strays_is_seen(
        self, alarm: tuple[bool, int], native: int | None, accepted: bool
    ) -> None:
        assert (kills.check_exact(alarm, native) == []) is accepted

    def test_an_alarm_that_does_not_fire_is_seen(self) -> None:
        assert kills.check_fired(5, 5, self.history, pending=False) == []
        assert kills.check_fired(5, 4, self.history, pending=False)
        assert kills.check_fired(5, 5, self.history, pending=True)
        assert kills.check_fired(4, 4, self.history, pending=False)

    def test_a_listing_with_a_gap_is_seen(self) -> None:
        whole = [[f"l:{number:04}", json.loads(kills.LISTED_TEXT)] for number in range(kills.LISTED_COUNT)]
        assert kills.check_listing(json.dumps(whole)) == []
        assert kills.check_listing(json.dumps(whole[:7] + whole[8:]))

    def test_a_batch_that_is_not_what_was_sent_is_seen(self) -> None:
        body = {"mark": "1", "steps": []}
        entry: dict[str, Any] = {"batch": {"messages": [{"body": body}]}, "results": [[]]}
        assert kills.check_batches({"1": body}, [entry]) == []
        assert kills.check_batches({"1": {**body, "steps": [1]}}, [entry])
        assert kills.check_batches({"1": body}, [{**entry, "results": []}])


class TestRetries:
    first: ClassVar[dict[str, Any]] = {"retry": 0, "alarm": [False, 0]}
    second: ClassVar[dict[str, Any]] = {"retry": 1, "alarm": [False, 0]}

    def test_a_retry_that_counts_from_0_is_seen(self) -> None:
        assert retries.check_retries("nothing", [self.first, self.second], [True, 5]) == []
        assert retries.check_retries("nothing", [self.first, self.first], [True, 5])

    def test_an_alarm_that_is_set_in_its_handler_or_not_while_it_waits_is_seen(self) -> None:
        assert retries.check_retries("nothing", [self.first, self.second], [False, 0])
        assert retries.check_retries("nothing", [self.first, {**self.second, "alarm": [True, 5]}], [True, 5])


class TestModel:
    """The double is a store with a bug in one function, which answers as the Worker would."""

    store = Store({"a": "1", "\uffff": "true", "\U00010000": "null"}, 8 * 10**15)

    def answer(self, store: Store, step: Any) -> dict[str, Any]:
        kind, value = model.expected_call(step, store, in_transaction=False)
        return {"value": value} if kind == "value" else {"error": "豫言异常", "message": value or "…"}

    @pytest.mark.parametrize(
        ("step", "corrupt"),
        [
            (call("store_get", "a"), lambda given: {"value": [True, "true"]}),
            (call("store_get", "b"), lambda given: {"value": [True, "null"]}),
            (call("store_get", ""), lambda given: {"value": [False, ""]}),
            (call("store_get", ""), lambda given: {"error": "TypeError", "message": "…"}),
            (call("store_put", "b", "{"), lambda given: {"value": None}),
            (call("store_delete", "a"), lambda given: {"value": False}),
            (call("store_delete", "a"), lambda given: {"value": 1}),
            (call("store_list", "{}"), lambda given: {"value": given["value"].replace("true", "1")}),
            (
                call("store_list", "{}"),  # by UTF-16 units
                lambda given: {"value": json.dumps([["a", 1], ["\U00010000", None], ["\uffff", True]])},
            ),
            (call("get_alarm"), lambda given: {"value": [True, kills.PLATFORM_END_MS]}),
            (call("set_alarm", -1), lambda given: {"error": "豫言异常", "message": "other words"}),
            (call("set_alarm", -1), lambda given: {"value": None}),
        ],
    )
    def test_a_wrong_answer_is_seen(self, step: Any, corrupt: Any) -> None:
        expected = model.expected_call(step, self.store.copy(), in_transaction=False)
        given = self.answer(self.store.copy(), step)
        assert model.disagreement(step, expected, given) is None
        assert model.disagreement(step, expected, corrupt(given)) is not None

    def test_a_transaction_that_fails_leaves_the_model_as_it_was(self) -> None:
        store = self.store.copy()
        put = call("transaction_put", "b", "2")
        assert (
            model.expected_transaction([put, call("delete_alarm"), {"raise": "x"}], store)[0][0] == "failed"
        )
        assert store == self.store
        model.expected_transaction([put, call("rollback_transaction"), {"complete": True}], store)
        assert store == self.store
        model.expected_transaction([put, {"complete": True}], store)
        assert store.values["b"] == "2"


class TestQueue:
    def entry(self, *messages: tuple[str, int], queue: str = queue_model.QUEUE, ended: bool = True) -> Any:
        batch = [
            {"id": mark, "attempts": attempts, "timestamp": 5, "body": {"mark": mark}}
            for mark, attempts in messages
        ]
        return {"batch": {"queue": queue, "messages": batch}} | (
            {"results": [[] for _ in batch]} if ended else {}
        )

    def check(self, behaviour: str, *entries: Any) -> bool:
        sent = Sent("1", behaviour, '{"mark":"1"}', 0)
        return queue_model.check_deliveries([sent], read_deliveries(list(entries))) == []

    def test_what_comes_too_often_or_not_often_enough_is_seen(self) -> None:
        once, twice = self.entry(("1", 1)), self.entry(("1", 2))
        dead = self.entry(("1", 1), queue=queue_model.DEAD_QUEUE)
        failed, failed_again = self.entry(("1", 1), ended=False), self.entry(("1", 2), ended=False)
        assert self.check("nothing", once)
        assert not self.check("nothing")
        assert not self.check("nothing", once, twice)
        assert not self.check("acknowledge", once, dead)
        assert self.check("retry", once, twice, dead)
        assert not self.check("retry", once)
        assert not self.check("retry", once, twice)
        assert not self.check("retry", once, self.entry(("1", 1)), dead)
        assert self.check("raise", failed, failed_again, dead)
        assert not self.check("raise", failed)
        assert self.check("acknowledge, then raise", failed)

    def test_a_body_that_changes_is_seen(self) -> None:
        entry = self.entry(("1", 1))
        entry["batch"]["messages"][0]["body"]["more"] = 1
        assert not self.check("nothing", entry)

    def test_a_message_that_comes_early_is_seen(self) -> None:
        sent = Sent("1", "retry later", "1", 1, sent_s=100)
        assert queue_model.check_delay(sent, 101.1, 1) == []
        assert queue_model.check_delay(sent, 100.5, 1)
        assert queue_model.check_delay(sent, 101.5, 2)

    def test_it_is_not_settled_while_more_must_come(self) -> None:
        sent = [Sent("1", "retry", '{"mark":"1"}', 0)]
        assert not queue_model.is_settled(sent, read_deliveries([]))
        assert not queue_model.is_settled(sent, read_deliveries([self.entry(("1", 1))]))


class TestConcurrency:
    asked: ClassVar[dict[str, Any]] = {"object": "o", "mark": "m", "do": "hold"}
    answer: ClassVar[dict[str, Any]] = {"object": "o", "mark": "m", "kind": "durable-fetch", "seen": "m"}
    seen: ClassVar[dict[str, Any]] = {
        "counter": 2,
        "received": 1,
        "marks": 1,
        "alarms": 1,
        "alarm": [False, 0],
    }

    @pytest.mark.parametrize("name", ["object", "mark", "kind", "seen"])
    def test_an_answer_of_another_event_is_seen(self, name: str) -> None:
        assert concurrency.check_answer(self.asked, self.answer) == []
        assert concurrency.check_answer(self.asked, {**self.answer, name: "other"})

    @pytest.mark.parametrize(
        "corrupt", [{"counter": 1}, {"counter": 3}, {"received": 0}, {"marks": 2}, {"alarms": 0}]
    )
    def test_a_lost_update_is_seen(self, corrupt: dict[str, Any]) -> None:
        tally = Tally()
        tally.increments["o"], tally.sent["o"], tally.alarms["o"] = 2, 1, 3
        assert concurrency.check_counts("o", tally, {"seen": self.seen}) == []
        assert concurrency.check_counts("o", tally, {"seen": {**self.seen, **corrupt}})

    def test_a_complaint_of_the_runtime_is_seen(self) -> None:
        assert concurrency.check_log("POST /v1/run 200 OK") == []
        assert concurrency.check_log("Error: Cannot perform I/O on behalf of a different request.")

    @pytest.mark.parametrize("name", vars(memory.BOUNDS))
    def test_what_is_kept_is_seen(self, name: str) -> None:
        early = memory.InUse(engine_bytes=20_000_000, python_bytes=10_000_000, references=300)
        bound = getattr(memory.BOUNDS, name)
        for more, seen in ((bound, False), (bound + 1, True)):
            late = replace(early, **{name: getattr(early, name) + more})
            assert bool(memory.check_growth(early, late)) is seen

    def test_a_process_that_grows_is_seen(self) -> None:
        assert concurrency.check_memory([300.0] * 100, 1000) == []
        assert concurrency.check_memory([300.0 + 2 * place for place in range(100)], 1000)


class TestHostile:
    oracle: ClassVar[dict[str, Any]] = {
        "valid": True, "depth": 1, "record": False, "member": False, "infinite": False, "hidden": False,
        "bytes": 9, "canonicalBytes": 9, "canonical": '{"a":100}',
    }  # fmt: skip

    def check(self, given: Any, **oracle: Any) -> bool:
        return hostile.disagreement("value", '{"a":1e2}', {**self.oracle, **oracle}, given) is None

    def test_what_is_taken_wrongly_or_changed_is_seen(self) -> None:
        taken = {"ok": '{"a":100}'}
        assert self.check(taken)
        assert not self.check({"ok": '{"a":1e2}'})
        for corrupt in (
            {"valid": False},
            {"depth": 33},
            {"record": True},
            {"infinite": True},
            {"bytes": 2**21 + 1},
        ):
            assert not self.check(taken, **corrupt)

    def test_what_is_refused_wrongly_is_seen(self) -> None:
        refused = {"error": "豫言异常", "message": "…", "called": False}
        assert self.check(refused, record=True)
        assert not self.check(refused)
        assert not self.check({**refused, "error": "RecursionError"}, record=True)
        assert not self.check({**refused, "called": True}, record=True)

    def test_a_quadratic_cost_is_seen(self) -> None:
        assert linearity.check_linear("shape", [0.01, 0.02, 0.045, 0.09]) == []
        assert linearity.check_linear("shape", [0.01, 0.04, 0.16, 0.64])

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("nests_deeper", '["[",{"a":[[]]}]'),
            ("has_reserved_record", '[{"\\u0024数字":1}]'),
            ("has_reserved_member", '{"a":1,"$数字":1}'),
            ("overflows", "[1e309]"),
        ],
    )
    def test_a_blind_judgement_of_text_is_seen(self, name: str, text: str) -> None:
        class Blind:
            encode = staticmethod(jsontext.encode)
            is_plain = staticmethod(jsontext.is_plain)
            nests_deeper = staticmethod(jsontext.nests_deeper)
            has_reserved_record = staticmethod(jsontext.has_reserved_record)
            has_reserved_member = staticmethod(jsontext.has_reserved_member)
            overflows = staticmethod(jsontext.overflows)

        assert fuzz.disagreements(text, Blind) == []
        setattr(Blind, name, staticmethod(lambda *_: False))
        assert fuzz.disagreements(text, Blind)

    @pytest.mark.parametrize("text", ['[[""]]', '{"\\u0024数字":1}', '{"a":1,"$数字":1}', "1e309"])
    def test_a_blind_pass_for_plain_text_is_seen(self, text: str) -> None:
        class Blind:
            def __getattr__(self, name: str) -> Any:
                return (lambda *_: True) if name == "is_plain" else getattr(jsontext, name)

        assert fuzz.disagreements(text) == []
        assert fuzz.disagreements(text, Blind())


class TestRefusals:
    case = refusals.Case("put", {}, [], aborted="持久仓存储故障：full", holds=[["a", 1]])
    body: ClassVar[dict[str, Any]] = {"aborted": "宿主中止: 持久仓存储故障：full"}

    def test_other_words_are_seen(self) -> None:
        assert refusals.check_case(self.case, 502, self.body, [["a", 1]], [False, 0]) == []
        assert refusals.check_case(self.case, 502, {"aborted": "宿主中止: full"}, [["a", 1]], [False, 0])

    def test_an_event_that_goes_on_is_seen(self) -> None:
        assert refusals.check_case(self.case, 200, {"results": []}, [["a", 1]], [False, 0])

    def test_what_stays_and_should_not_is_seen(self) -> None:
        assert refusals.check_case(self.case, 502, self.body, [], [False, 0])
        assert refusals.check_case(self.case, 502, self.body, [["a", 1]], [True, 5])
        going = replace(self.case, aborted=None, last={"value": "[]"})
        assert refusals.check_case(going, 200, {"results": [{"value": "[]"}]}, [["a", 1]], [False, 0]) == []
        assert refusals.check_case(going, 200, {"results": [{"value": "1"}]}, [["a", 1]], [False, 0])

    def test_an_event_that_is_over_after_the_queue_refused_is_seen(self) -> None:
        refused = {"error": "豫言异常", "message": "队列发送失败：full"}
        assert (
            refusals.check_queue("队列发送失败：", "full", [{"value": None}, refused, {"value": None}]) == []
        )
        assert refusals.check_queue("队列发送失败：", "full", [{"value": None}, refused, refused])


class TestOracle:
    """The slow oracle itself, where it can be compared with something that is not ours."""

    @pytest.mark.parametrize(
        "text", ["1", '"a"', "[1, 2]", '{"a": [null, true]}', '"\\ud83d\\ude00"', "-0.5e+3", "[]"]
    )
    def test_it_reads_json(self, text: str) -> None:
        assert jsonoracle.plain(jsonoracle.read(text)) == _plain(json.loads(text, parse_int=float))

    @pytest.mark.parametrize(
        "text", ["", "01", "1.", "NaN", "[1,]", "[,1]", '{"a":1,}', "'a'", '"\t"', '"\\x"', "1 2"]
    )
    def test_it_refuses_what_is_no_json(self, text: str) -> None:
        with pytest.raises(jsonoracle.NotJson):
            jsonoracle.read(text)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return ("number", value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {name: _plain(member) for name, member in value.items()} if isinstance(value, dict) else value


class TestTurns:
    def test_answers_in_bunches_or_out_of_order_are_found(self) -> None:
        assert turns.check_answers([1, 2, 3, 4], [60.0, 70.0, 1.0], 60) == []
        assert turns.check_answers([1, 2, 3, 4], [160.0, 2.0, 1.0], 60)
        assert turns.check_answers([1, 3, 2, 4], [60.0, 70.0, 60.0], 60) == []
        assert turns.check_answers([1, 3, 4, 2], [60.0, 70.0, 60.0], 60)

    def test_a_commit_that_is_answered_with_a_failure_is_found(self) -> None:
        committed = {1: 1000, 2: 1090, 3: 1200}
        answers = {1: (200, 1005), 2: (200, 1095), 3: (200, 1205)}
        assert turns.check_committed(committed, answers | {4: (502, 1300)}) == []
        assert turns.check_committed(committed, answers | {3: (502, 1800)}) == []
        assert turns.check_committed(committed, answers | {3: (502, 1801)})
        assert turns.check_committed(committed, answers | {4: (200, 1300)})
        assert turns.check_committed({1: 1000}, {1: (502, 1400)})
        assert turns.check_committed({}, {1: (502, 1400)}) == []

    def test_a_reader_that_waits_for_many_transactions_is_found(self) -> None:
        assert turns.check_reads([0, 1, 2, 3, 4, 6], 6) == []
        assert turns.check_reads([0, 6], 6)
        assert turns.check_reads([0, 3, 6, 9, 12], 12)

    def test_a_kind_that_starves_is_found(self) -> None:
        assert turns.check_fairness("tatatttaaat", 4) == []
        assert turns.check_fairness("taaaaaat", 4)
        assert turns.check_fairness("ttttttta", 4)
        assert turns.check_fairness("tattttttttt", 4) == []
