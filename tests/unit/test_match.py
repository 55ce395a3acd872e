"""The matchers accept what they should and reject everything near it; vectors are read strictly."""

import json
from typing import Any

import pytest
from verifier.cases import Exchange, VectorError, load, parse
from verifier.client import Answer
from verifier.forms import Scope, expand, json_text
from verifier.match import compare
from verifier.run import Outcome, Seen, judge, shared_a_batch


def scope(**variables: Any) -> Scope:
    return Scope("case.run", variables, now_ms=lambda: 1_000)


def holds(expected: Any, observed: Any, **variables: Any) -> bool:
    return compare(expected, observed, scope(**variables)).holds


ERROR = {"error": "豫言异常", "message": "键太长：2049"}

PAIRS: list[tuple[Any, list[Any], list[Any]]] = [
    # expected, accepted, rejected
    (None, [None], [0, False, "", [], {}]),
    (True, [True], [1, 1.0, "true", False]),
    (1, [1], [True, 1.0, "1", 2, None]),
    ("a", ["a"], ["a ", "A", None, ["a"]]),
    ([1, 2], [[1, 2]], [[2, 1], [1], [1, 2, 3], {"0": 1, "1": 2}]),
    ({"a": 1}, [{"a": 1}], [{"a": 2}, {"a": 1, "b": 2}, {}, [1]]),
    (
        {"$error": {}},
        [ERROR],
        [{"value": None}, ERROR | {"error": "TypeError"}, ERROR | {"message": ""}, None],
    ),
    ({"$error": {}}, [], [{"error": "豫言异常"}, ERROR | {"more": 1}, ERROR | {"message": 3}]),
    ({"$error": {"message": "键太长：2049"}}, [ERROR], [ERROR | {"message": "键太长：2049。"}]),
    ({"$error": {"starts": "键"}}, [ERROR], [ERROR | {"message": "这键"}]),
    ({"$error": {"contains": ["2049", "长"]}}, [ERROR], [ERROR | {"message": "2049"}]),
    ({"$error": {"type": "TypeError"}}, [{"error": "TypeError", "message": "x"}], [ERROR]),
    (
        {"$json": [1, {"a": None}]},
        ['[1,{"a":null}]', ' [1.0, {"a": null}]'],
        ["[1]", "[1,{}]", "", "[true]", [1]],
    ),
    ({"$json": 1e21}, ["1e21", "1e+21", "1" + "0" * 21], ["1e20", "true", '"1e21"', "NaN", "Infinity"]),
    ({"$json": {"a": 2}}, ['{"a":2}'], ['{"a":1,"a":2}', '{"a":2,"b":1}']),
    ({"$int": [1, 3]}, [1, 3], [0, 4, 2.0, True, "2", None]),
    ({"$int": [None, 3]}, [-(10**20)], [4]),
    ({"$int": [{"$now": 0}, {"$now": 9}]}, [1000, 1009], [999, 1010]),
    ({"$string": {}}, ["", "x"], [1, None, ["x"]]),
    ({"$string": {"starts": "ab", "contains": "c"}}, ["abc"], ["ab", "xabc"]),
    ({"$includes": [1, 2]}, [[1, 2], [3, 2, 1]], [[1], [1, 3], "12", {"1": 2}]),
    ({"$includes": [1, 1]}, [[1, 1]], [[1], [1, 2]]),
    ({"$object": {"a": 1}}, [{"a": 1}, {"a": 1, "b": 2}], [{"a": 2}, {"b": 1}, [1]]),
    ({"$oneOf": [1, {"$string": {}}]}, [1, "x"], [2, None]),
    ({"$literal": {"$int": [1, 2]}}, [{"$int": [1, 2]}], [1, {"$int": [1, 3]}]),
    ({"$copies": [3, "x"]}, [["x", "x", "x"]], [["x"], ["x", "x", "y"]]),
    ({"$repeat": ["ab", 2]}, ["abab"], ["ab", "ababab"]),
    (
        {"value": [True, {"$json": "x"}]},
        [{"value": [True, '"x"']}],
        [{"value": [False, '"x"']}, {"value": [True, "x"]}],
    ),
]


@pytest.mark.parametrize(("expected", "accepted", "rejected"), PAIRS)
def test_each_matcher_accepts_and_rejects(expected: Any, accepted: list[Any], rejected: list[Any]) -> None:
    assert [one for one in accepted if not holds(expected, one)] == []
    assert [one for one in rejected if holds(expected, one)] == []


def test_a_recorded_value_is_noted_and_never_judged() -> None:
    judgement = compare({"$recorded": "the time"}, [True, 5], scope())
    assert judgement.holds
    assert judgement.notes == ["the time: [true,5]"]


def test_a_bound_value_must_come_again() -> None:
    expected = [{"$bind": ["x", {"$string": {}}]}, {"$var": "x"}]
    assert holds(expected, ["a", "a"])
    assert not holds(expected, ["a", "b"])
    assert not holds(expected, [1, 1])
    assert compare(expected, ["a", "a"], scope()).bindings == {"x": "a"}


def test_a_problem_names_the_place() -> None:
    (problem,) = compare({"a": [1, {"$json": {"b": 2}}]}, {"a": [1, '{"b":3}']}, scope()).problems
    assert problem == ".a[1](JSON).b: expected 2, observed 3"


def test_generators_build_texts_and_values() -> None:
    assert expand({"$concat": ['"', {"$repeat": ["x", 3]}, '"']}, scope()) == '"xxx"'
    assert expand({"$nest": ["[", 2]}, scope()) == "[[]]"
    assert expand({"$nest": ['{"a":', 2, "1"]}, scope()) == '{"a":{"a":1}}'
    assert (
        expand({"$text": {"a": [{"$name": "o"}, "文\ud800"]}}, scope()) == '{"a":["case.run.o","文\\ud800"]}'
    )
    assert expand([{"$now": 5}, {"$var": "t"}], scope(t=7)) == [1005, 7]
    assert expand({"$name": "=unreadable"}, scope()) == "unreadable"


def test_json_text_keeps_characters_and_escapes_lone_surrogates() -> None:
    assert json_text({"键": "😀\udc00"}) == '{"键":"😀\\udc00"}'


CASE = {
    "id": "a",
    "set": "core",
    "section": "语义",
    "title": {"en": "A.", "zh": "甲。"},
    "requests": [{"object": "a", "see": [[{"kind": True}, {"value": "durable-fetch"}]]}],
}


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"set": "some"},
        {"requests": []},
        {"cloud": "yes"},
        {"requests": [{"object": "a"}]},
        {"requests": [{"object": "a", "see": [[{"kind": True}]]}]},
        {"requests": [{"object": "a", "event": "queue", "see": []}]},
        {"requests": [{"object": "a", "see": [], "aborted": "x"}]},
        {"requests": [{"object": "a", "see": [[{"complete": True}, {"$recorded": "x"}]], "until_s": 1}]},
        {"let": {"x": {"$string": {}}}},
    ],
)
def test_a_malformed_case_is_refused(change: dict[str, Any]) -> None:
    file = {"interface": "持久事务", "specification": "x"}
    assert len(parse(file | {"cases": [CASE]})) == 1
    with pytest.raises(VectorError, match=r"^case a: "):
        parse(file | {"cases": [CASE | change]})


def exchange(**members: Any) -> Exchange:
    base: dict[str, Any] = {
        "object": "a",
        "event": "fetch",
        "steps": [{"kind": True}],
        "expected": [{"value": 1}],
    }
    return Exchange(**(base | {"aborted": None, "until_s": None, "after_ms": 0} | members))


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, {"results": [{"value": 2}]}),
        Answer(200, {"results": []}),
        Answer(200, {"results": [{"value": 1}, {"value": 1}]}),
        Answer(200, {"results": [{"value": 1}], "more": 1}),
        Answer(200, "text"),
        Answer(500, {"results": [{"value": 1}]}),
        Answer(502, {"aborted": "宿主中止: x"}),
    ],
)
def test_an_answer_is_judged_whole(answer: Answer) -> None:
    assert judge(exchange(), Answer(200, {"results": [{"value": 1}]}), scope()).holds
    assert not judge(exchange(), answer, scope()).holds


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, {"results": [{"value": 1}]}),
        Answer(502, {"aborted": "RuntimeError: x"}),
        Answer(500, {"aborted": "x"}),
    ],
)
def test_an_abort_is_judged_by_status_and_reason(answer: Answer) -> None:
    aborted = exchange(expected=None, aborted={"$string": {"starts": "宿主中止"}})
    assert judge(aborted, Answer(502, {"aborted": "宿主中止: x"}), scope()).holds
    assert not judge(aborted, answer, scope()).holds


def logged(*bodies: Any) -> Answer:
    text = json.dumps([{"batch": {"messages": [{"body": body} for body in bodies]}, "results": []}])
    return Answer(200, {"results": [{"value": [True, text]}]})


@pytest.mark.parametrize(
    ("answer", "shared"),
    [
        (logged({"log": "case.1.a"}), False),
        (logged({"log": "case.1.a"}, {"log": "case.2.a"}), True),
        (logged(None, {"log": "case.1.a"}), True),
        (logged({"log": 1}), True),
        (logged({"kind": "page"}), True),
        (Answer(200, {"results": [{"value": [True, '[{"batch":{}}]']}]}), False),
        (Answer(200, {"results": [{"value": [True]}]}), False),
        (Answer(200, {"results": [None]}), False),
        (Answer(200, {"results": None}), False),
        (Answer(502, {"aborted": "x"}), False),
        (Answer(500, "text"), False),
    ],
)
def test_only_a_foreign_message_in_a_log_makes_a_batch_a_shared_one(answer: Answer, shared: bool) -> None:
    (case, *_) = load()
    outcome = Outcome(case, "differs", "", seen=[Seen(exchange(), answer, "case.1", {})])
    assert shared_a_batch(outcome) is shared


def test_the_vectors_are_well_formed_and_every_case_judges_something() -> None:
    cases = load()
    assert {case.interface for case in cases} == {"持久告警", "持久事务", "消息队列"}
    for case in cases:
        assert case.exchanges(), case.id
        judged = [
            one
            for one in case.exchanges()
            if one.expected is None or any("$recorded" not in e for e in one.expected)
        ]
        assert judged, f"{case.id} accepts everything"
