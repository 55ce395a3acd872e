"""Runs cases: independent ones at the same time, a file's stages one after another."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from .cases import AtOnce, Case, Exchange, Move, Pause
from .cleaning import clear
from .client import Answer, Client, Lost
from .forms import MEANINGLESS, Json, Scope, expand
from .match import Judgement, abridge, compare
from .record import Record

Verdict = Literal["holds", "differs", "unsettled", "meaningless"]

CASES_AT_ONCE = 48
POLL_FIRST_S = 0.2
POLL_MOST_S = 0.8
TRIES = 3
TRIES_LOST = 5
SLOW_S = 0.5
"""What a request takes beyond this is a cold start's or a bad connection's, and not the waiting case's.

Two such requests and a pause of the polling fit into the platform's shortest wait, the two seconds before an
alarm's first retry.
"""


@dataclass(frozen=True)
class Seen:
    """A judged request: what it was and what came back, with the scope as it stood before the judgement."""

    exchange: Exchange
    answer: Answer
    prefix: str
    variables: dict[str, Json]


@dataclass
class Outcome:
    """A case's verdict; the detail says what differed, or what was recorded."""

    case: Case
    verdict: Verdict
    detail: str
    held: bool = True
    """Whether nothing that was observed differed, here, where the verdict may be the cloud's."""
    seconds: float = 0.0
    seen: list[Seen] = field(default_factory=list)
    slow: bool = False
    """Whether a request took so long that what it was to see may have passed."""
    tries: int = 1

    def told(self) -> dict[str, Json]:
        """What the record of a run keeps of it."""
        return {
            "verdict": self.verdict,
            "detail": self.detail,
            "held": self.held,
            "seconds": self.seconds,
        }


def judge(exchange: Exchange, answer: Answer, scope: Scope) -> Judgement:
    """Whether one answer shows what its request says must be observed. Pure: `scope` stays as it is."""
    scope = replace(scope, variables=dict(scope.variables))
    if exchange.expected is None:
        if scope.excuses and answer.status == 200 and (excuses := _excuses(answer.body)):
            return Judgement(excuses=excuses)
        if answer.status != 502 or not isinstance(answer.body, dict) or answer.body.keys() != {"aborted"}:
            return Judgement([f"expected an aborted event, observed {answer.status} {abridge(answer.body)}"])
        return compare(exchange.aborted, answer.body["aborted"], scope)
    if answer.status != 200 or not isinstance(answer.body, dict) or answer.body.keys() != {"results"}:
        return Judgement([f"expected results, observed {answer.status} {abridge(answer.body)}"])
    judgement = Judgement()
    results = answer.body["results"]
    if not isinstance(results, list) or len(results) != len(exchange.steps):
        return Judgement([f"expected {len(exchange.steps)} results, observed {abridge(results)}"])
    for number, (step, expected, result) in enumerate(
        zip(exchange.steps, exchange.expected, results, strict=True), start=1
    ):
        found = compare(expected, result, scope)
        found.problems = [f"step {number} {abridge(step, 90)}: {problem}" for problem in found.problems]
        judgement.take(found)
    return judgement


def _excuses(answer: Json) -> list[str]:
    if isinstance(answer, dict):
        if answer.get("error") == MEANINGLESS:
            return [answer["message"]]
        return _excuses(list(answer.values()))
    return [excuse for one in answer for excuse in _excuses(one)] if isinstance(answer, list) else []


def shared_a_batch(outcome: Outcome) -> bool:
    """Whether a log that the case read shows messages that it did not send.

    A queue is no case's own: what earlier runs left in it can be delivered together with a case's messages.
    """
    own = {seen.prefix for seen in outcome.seen}
    with suppress(LookupError, TypeError, AttributeError, ValueError):  # an answer of another form shows none
        results = [result for seen in outcome.seen for result in seen.answer.body["results"]]
        logs = [json.loads(one["value"][1]) for one in results if '"batch":' in str(one.get("value"))]
        bodies = [message["body"] for log in logs for entry in log for message in entry["batch"]["messages"]]
        names = [str(body.get("log")) if isinstance(body, dict) else "" for body in bodies]
        return not all(name.rpartition(".")[0] in own for name in names)
    return False


def _met_a_foreign_message(outcome: Outcome) -> bool:
    return not outcome.held and outcome.case.alone and shared_a_batch(outcome)


def _missed_its_moment(outcome: Outcome) -> bool:
    return not outcome.held and outcome.slow


def uses_queue(case: Case) -> bool:
    """Whether a case sends messages, which may come to its objects when it is over."""
    return case.interface == "消息队列"


class Runner:
    """Runs cases over one client, save those that the record has settled.

    `patience` scales the time that polling may take; `cleans` says whether what a case used is cleared.

    With `excuses`, calls that have no meaning in the Worker's face are passed over: a case that holds but for
    them holds, one that differs for want of them is `meaningless`.
    """

    def __init__(
        self,
        client: Client,
        *,
        in_cloud: bool = False,
        record: Record | None = None,
        cleans: bool = False,
        patience: float = 1.0,
        excuses: bool = False,
        on_outcome: Callable[[Outcome], None] = lambda _: None,
    ) -> None:
        self.client = client
        self.in_cloud = in_cloud
        self.record = record or Record(None, {})
        self.cleans = cleans
        self.patience = patience
        self.excuses = excuses
        self.on_outcome = on_outcome
        self.run_id = secrets.token_hex(4)

    async def run_all(self, cases: Iterable[Case]) -> list[Outcome]:
        """Every case's outcome, in the order given; the interfaces run side by side.

        A case that differs and had a slow request is run again when the others are over, one at a time:
        beside them its requests would be as slow.
        """
        wanted = list(cases)
        files: dict[str, list[Case]] = {}
        for case in wanted:
            files.setdefault(case.interface, []).append(case)
        slots = asyncio.Semaphore(CASES_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._file(one, slots)) for one in files.values()]
        first = {outcome.case.id: outcome for task in tasks for outcome in task.result()}
        return [await self._unhurried(first[case.id]) for case in wanted]

    async def _file(self, cases: list[Case], slots: asyncio.Semaphore) -> list[Outcome]:
        outcomes: list[Outcome] = []
        one_alone = asyncio.Lock()

        async def in_turn(case: Case) -> Outcome:
            if not case.alone:
                async with slots:
                    return await self._first(case)
            async with one_alone:
                return await self._first(case)

        for stage in sorted({case.stage for case in cases}):
            # Those that wait for the platform start first: the others run meanwhile.
            group = sorted((case for case in cases if case.stage == stage), key=lambda case: not case.waits())
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(in_turn(case)) for case in group]
            outcomes += [task.result() for task in running]
        return outcomes

    async def run_case(self, case: Case) -> Outcome:
        """Runs one case to its end or its first difference."""
        return await self._unhurried(await self._first(case))

    async def _first(self, case: Case) -> Outcome:
        """The case's outcome, settled unless the case may have missed its moment."""
        known = self.record.settled.get(case.id)
        if known is not None:
            return Outcome(case, known["verdict"], known["detail"], known["held"], known["seconds"])
        outcome = await self._anew_if_lost(case, f"{case.id}.{self.run_id}")
        while _met_a_foreign_message(outcome) and outcome.tries < TRIES:
            outcome = await self._again(outcome, "a message of another sender joined its batch")
        return outcome if _missed_its_moment(outcome) else await self._settled(outcome)

    async def _unhurried(self, outcome: Outcome) -> Outcome:
        """The outcome of the first run, or of those that follow where it may have missed its moment."""
        if not _missed_its_moment(outcome):
            return outcome
        while _missed_its_moment(outcome) and outcome.tries < TRIES:
            outcome = await self._again(outcome, f"a request took more than {SLOW_S:g} s")
        return await self._settled(outcome)

    async def _again(self, earlier: Outcome, reason: str) -> Outcome:
        case = earlier.case
        outcome = await self._anew_if_lost(case, f"{case.id}.{self.run_id}-{earlier.tries}")
        outcome.tries = earlier.tries + 1
        outcome.detail += f" (run again, for {reason}: {earlier.detail})"
        return outcome

    async def _settled(self, outcome: Outcome) -> Outcome:
        """Record and tell the outcome, and clear what its case used."""
        case = outcome.case
        if outcome.held or outcome.verdict == "differs":
            self.record.settle(case.id, outcome.told())
        if self.cleans and not uses_queue(case):  # what a queue still holds may come later
            mine = [name for name in self.record.open if name.startswith(f"{case.id}.{self.run_id}")]
            await clear(self.client, self.record, mine)
        self.on_outcome(outcome)
        return outcome

    async def _anew_if_lost(self, case: Case, prefix: str) -> Outcome:
        """The outcome, on other objects where an answer was lost that cannot be asked for again."""
        reason = ""
        for number in range(TRIES_LOST):
            try:
                return await self._outcome(case, f"{prefix}{f'.{number}' if number else ''}")
            except* Lost as lost:
                reason = str(lost.exceptions[0])
        return Outcome(case, "unsettled", f"its answers were lost {TRIES_LOST} times: {reason}", held=False)

    async def _outcome(self, case: Case, prefix: str) -> Outcome:
        started = time.monotonic()
        scope = Scope(prefix, now_ms=self.client.now_ms, excuses=self.excuses)
        self.record.opened(*sorted({scope.name(one.object) for one in case.exchanges()}))
        scope.variables = {name: expand(value, scope) for name, value in case.variables.items()}
        outcome = Outcome(case, "holds", "")
        judgement = Judgement()
        for move in case.moves:
            judgement.take(await self._move(move, scope, outcome))
            scope.variables |= judgement.bindings
            if not judgement.holds:
                break
        outcome.detail = "; ".join(judgement.problems + judgement.notes)
        outcome.held = judgement.holds
        outcome.verdict = "holds" if outcome.held else "differs"
        if judgement.excuses:
            told = f"without a meaning here: {'; '.join(dict.fromkeys(judgement.excuses))}"
            outcome.detail = "; ".join([told, *judgement.notes])
            if not outcome.held:
                outcome.held = True
                outcome.verdict = "meaningless"
        if case.cloud and not self.in_cloud and outcome.verdict != "meaningless":
            outcome.detail = f"locally it {outcome.verdict}" + (
                f": {outcome.detail}" if outcome.detail else ""
            )
            outcome.verdict = "unsettled"
        outcome.seconds = time.monotonic() - started
        return outcome

    async def _move(self, move: Move, scope: Scope, outcome: Outcome) -> Judgement:
        if isinstance(move, Pause):
            await asyncio.sleep(move.ms / 1000)
            return Judgement()
        if isinstance(move, AtOnce):
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._exchange(one, scope, outcome)) for one in move.exchanges]
            together = Judgement()
            for task in tasks:
                together.take(task.result())
            return together
        return await self._exchange(move, scope, outcome)

    async def _exchange(self, exchange: Exchange, scope: Scope, outcome: Outcome) -> Judgement:
        await asyncio.sleep(exchange.after_ms / 1000)
        limit = None if exchange.until_s is None else exchange.until_s * self.patience
        ends, pause = time.monotonic() + (limit or 0), POLL_FIRST_S
        while True:
            target, steps = scope.name(exchange.object), expand(exchange.steps, scope)
            asked = time.monotonic()
            answer = await self.client.run(target, exchange.event, steps)
            late = time.monotonic() - asked - SLOW_S
            if late > 0:
                ends += late
                outcome.slow = True
            seen = Seen(exchange, answer, scope.prefix, dict(scope.variables))
            judgement = judge(exchange, answer, scope)
            if judgement.holds or limit is None or time.monotonic() > ends:
                break
            await asyncio.sleep(pause)
            pause = min(pause * 1.3, POLL_MOST_S)
        if limit is not None:
            judgement.problems = [f"not within {limit:g} s: {problem}" for problem in judgement.problems]
        outcome.seen.append(seen)
        return judgement
