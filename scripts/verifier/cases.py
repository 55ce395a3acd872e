"""The vectors: loading and strict validation. Anything unknown in a file is an error."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .forms import FormError, Json, check

VECTORS = Path(__file__).resolve().parents[2] / "tests" / "vectors"
FILES = ("durable-alarm", "durable-transaction", "message-queue")
SETS = ("core", "extended")
EVENTS = ("durable-fetch", "fetch")

FUNCTIONS = {
    "读取入站事件种类": "event_kind",
    "读取持久告警": "get_alarm",
    "设置持久告警": "set_alarm",
    "删除持久告警": "delete_alarm",
    "读取告警重试次数": "alarm_retry_count",
    "执行持久事务": "run_transaction",
    "读取持久事务参数": "transaction_argument",
    "完成持久事务": "complete_transaction",
    "回滚持久事务": "rollback_transaction",
    "读取持久事务键值": "transaction_get",
    "写入持久事务键值": "transaction_put",
    "删除持久事务键": "transaction_delete",
    "列举持久事务键值": "transaction_list",
    "读取持久仓键值": "store_get",
    "写入持久仓键值": "store_put",
    "删除持久仓键": "store_delete",
    "列举持久仓键值": "store_list",
    "清空持久仓": "store_clear",
    "发送队列消息": "send_message",
    "批量发送队列消息": "send_messages",
    "读取队列批次": "read_batch",
    "确认队列消息": "ack_message",
    "重试队列消息": "retry_message",
}
NAMES = frozenset(FUNCTIONS) | frozenset(FUNCTIONS.values())

READING = ("读取入站事件种类", "读取持久告警", "读取告警重试次数", "读取持久仓键值", "列举持久仓键值")

STEP_FORMS: dict[str, frozenset[str]] = {
    "call": frozenset({"args"}),
    "kind": frozenset(),
    "sleep": frozenset(),
    "raise": frozenset(),
    "swallow": frozenset(),
    "together": frozenset(),
    "spawn": frozenset({"log"}),
    "transaction": frozenset(),
    "complete": frozenset(),
    "recorded": frozenset(),
    "refuse": frozenset(),
    "native": frozenset({"key", "value", "binding", "log"}),
}
NATIVES = ("put", "send", "get", "alarm", "instance")


class VectorError(ValueError):
    """A vector file that does not follow the format."""


@dataclass(frozen=True)
class Exchange:
    """One request and what its answer must show: the results in order, or the abort."""

    object: str
    event: str
    steps: list[Json]
    expected: list[Json] | None
    aborted: Json
    until_s: float | None
    after_ms: int


@dataclass(frozen=True)
class AtOnce:
    """Requests in flight at the same time."""

    exchanges: list[Exchange]


@dataclass(frozen=True)
class Pause:
    """Time in which nothing is asked, in milliseconds."""

    ms: int


Move = Exchange | AtOnce | Pause


@dataclass(frozen=True)
class Case:
    """One case: what is asked in order, and what must be observed."""

    id: str
    interface: str
    set: str
    section: str
    title: str
    moves: list[Move]
    variables: dict[str, Json] = field(default_factory=dict)
    stage: int = 0
    alone: bool = False
    cloud: bool = False
    cloud_only: bool = False

    def exchanges(self) -> list[Exchange]:
        """Every request of the case, in order."""
        found: list[Exchange] = []
        for move in self.moves:
            if isinstance(move, Exchange):
                found.append(move)
            elif isinstance(move, AtOnce):
                found += move.exchanges
        return found

    def waits(self) -> bool:
        """Whether the case spends its time waiting for the platform rather than working."""
        steps = json.dumps([exchange.steps for exchange in self.exchanges()])
        paused = any(isinstance(move, Pause) for move in self.moves)
        return paused or '"sleep"' in steps or any(one.until_s is not None for one in self.exchanges())


def load(folder: Path = VECTORS, names: Iterable[str] = FILES) -> list[Case]:
    """Every case of every file, in file order."""
    cases: list[Case] = []
    for name in names:
        path = folder / f"{name}.json"
        try:
            cases += parse(json.loads(path.read_text("utf-8")))
        except ValueError as error:
            raise VectorError(f"{path.name}: {error}") from error
    ids = [case.id for case in cases]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        raise VectorError(f"ids used twice: {', '.join(twice)}")
    return cases


def parse(document: Json) -> list[Case]:
    """The cases of one file's JSON value."""
    _keys(document, {"interface", "specification", "cases"}, set(), "the file")
    return [_case(one, document["interface"]) for one in document["cases"]]


def _case(value: Json, interface: str) -> Case:
    place = f"case {value.get('id')}" if isinstance(value, dict) else "a case"
    optional = {"let", "stage", "alone", "cloud"}
    _keys(value, {"id", "set", "section", "title", "requests"}, optional, place)
    if value["set"] not in SETS:
        raise VectorError(f"{place}: unknown set {value['set']}")
    if value.get("cloud", True) not in (True, "only"):
        raise VectorError(f'{place}: cloud is true or "only"')
    if not value["requests"]:
        raise VectorError(f"{place}: no requests")
    try:
        moves = [_move(one) for one in value["requests"]]
        check(value.get("let", {}), matchers=False)
    except (FormError, VectorError) as error:
        raise VectorError(f"{place}: {error}") from error
    return Case(
        id=value["id"],
        interface=interface,
        set=value["set"],
        section=value["section"],
        title=value["title"],
        moves=moves,
        variables=value.get("let", {}),
        stage=value.get("stage", 0),
        alone=value.get("alone", False),
        cloud="cloud" in value,
        cloud_only=value.get("cloud") == "only",
    )


def _move(value: Json) -> Move:
    if isinstance(value, dict) and "pause_ms" in value:
        _keys(value, {"pause_ms"}, set(), "a pause")
        return Pause(value["pause_ms"])
    if isinstance(value, dict) and "at_once" in value:
        _keys(value, {"at_once"}, set(), "at_once")
        return AtOnce([_exchange(one) for one in value["at_once"]])
    return _exchange(value)


def _exchange(value: Json) -> Exchange:
    optional = {"event", "until_s", "after_ms"}
    if isinstance(value, dict) and "aborted" in value:
        _keys(value, {"object", "steps", "aborted"}, optional, "a request")
        steps, expected = list(value["steps"]), None
        check(value["aborted"], matchers=True)
    else:
        _keys(value, {"object", "see"}, optional, "a request")
        if any(not isinstance(pair, list) or len(pair) != 2 for pair in value["see"]):
            raise VectorError("`see` holds pairs of a step and what must be observed")
        steps, expected = [pair[0] for pair in value["see"]], [pair[1] for pair in value["see"]]
        for one in expected:
            check(one, matchers=True)
    if value.get("event", EVENTS[0]) not in EVENTS:
        raise VectorError(f"unknown event {value['event']}")
    for step in steps:
        check_step(step)
        check(step, matchers=False)
        if "until_s" in value and not only_reads(step):
            raise VectorError("a request with until_s is repeated, so its steps may only read")
    return Exchange(
        object=value["object"],
        event=value.get("event", EVENTS[0]),
        steps=steps,
        expected=expected,
        aborted=value.get("aborted"),
        until_s=value.get("until_s"),
        after_ms=value.get("after_ms", 0),
    )


def only_reads(step: Json) -> bool:
    """Whether a step changes nothing, so that it may be repeated."""
    return (
        step.get("call") in READING
        or step.get("native") in ("get", "alarm", "instance", "now")
        or "kind" in step
    )


def check_step(step: Json) -> None:
    """Refuses a step that the protocol does not have."""
    forms = [name for name in STEP_FORMS if isinstance(step, dict) and name in step]
    if len(forms) != 1:
        raise VectorError(f"no step of the protocol: {json.dumps(step, ensure_ascii=False)[:120]}")
    (form,) = forms
    unknown = step.keys() - STEP_FORMS[form] - {form}
    if unknown:
        raise VectorError(f"a {form} step knows no {', '.join(sorted(unknown))}")
    if form == "call" and step["call"] not in NAMES:
        raise VectorError(f"no function {step['call']}")
    if form == "native" and step["native"] not in NATIVES:
        raise VectorError(f"no native step {step['native']}")
    lists = (
        step[form]
        if form == "together"
        else [step[form]]
        if form in ("swallow", "spawn", "transaction")
        else []
    )
    for steps in lists:
        for inner in steps:
            check_step(inner)


def _keys(value: Json, required: set[str], optional: set[str], place: str) -> None:
    if not isinstance(value, dict):
        raise VectorError(f"{place} is no object")
    if missing := required - value.keys():
        raise VectorError(f"{place} lacks {', '.join(sorted(missing))}")
    if unknown := value.keys() - required - optional:
        raise VectorError(f"{place} has unknown members: {', '.join(sorted(unknown))}")
