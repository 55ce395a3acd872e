"""The vectors: loading them, strictly. What their schema does not know is an error."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .forms import Json, Words
from .schema import problem, schema

VECTORS = Path(__file__).resolve().parents[2] / "tests" / "vectors"
FILES = ("durable-alarm", "durable-transaction", "message-queue")
SETS: tuple[str, ...] = tuple(schema("vectors")["$defs"]["case"]["properties"]["set"]["enum"])
DEFAULT_EVENT = "durable-fetch"


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
    title: Words
    moves: list[Move]
    variables: dict[str, Json] = field(default_factory=dict)
    stage: int = 0
    alone: bool = False
    cloud: bool = False

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
    cases = document.get("cases") if isinstance(document, dict) else None
    if not isinstance(cases, list):
        cases = []
    for case in cases:  # one by one, so that the sentence names the case
        if wrong := problem(case, "vectors", "case"):
            name = case.get("id") if isinstance(case, dict) else None
            raise VectorError(f"case {name}: {wrong}")
    if wrong := problem(document | {"cases": []} if cases else document, "vectors"):
        raise VectorError(wrong)
    return [_case(one, document["interface"]) for one in cases]


def only_reads(step: Json) -> bool:
    """Whether a step changes nothing, so that it may be repeated."""
    return problem(step, "vectors", "reading") is None


def _case(value: Json, interface: str) -> Case:
    return Case(
        id=value["id"],
        interface=interface,
        set=value["set"],
        section=value["section"],
        title=value["title"],
        moves=[_move(one) for one in value["requests"]],
        variables=value.get("let", {}),
        stage=value.get("stage", 0),
        alone=value.get("alone", False),
        cloud=value.get("cloud", False),
    )


def _move(value: Json) -> Move:
    if "pause_ms" in value:
        return Pause(value["pause_ms"])
    if "at_once" in value:
        return AtOnce([_exchange(one) for one in value["at_once"]])
    return _exchange(value)


def _exchange(value: Json) -> Exchange:
    pairs = value.get("see", [])
    aborts = "aborted" in value
    return Exchange(
        object=value["object"],
        event=value.get("event", DEFAULT_EVENT),
        steps=list(value["steps"]) if aborts else [step for step, _ in pairs],
        expected=None if aborts else [expected for _, expected in pairs],
        aborted=value.get("aborted"),
        until_s=value.get("until_s"),
        after_ms=value.get("after_ms", 0),
    )
