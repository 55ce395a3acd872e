"""Workload: producer and consumer of one queue on a real workerd against the model.

A step sends messages, each of which says what its consumer does: nothing, acknowledge, ask for a retry with
or without a delay, or raise. The consumer's log must then show the deliveries that the specification and
the queue's configuration (host.py: one retry, then the dead-letter queue) ask for.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from repository import LocalHost

from tests.client import Client, Step, call

from . import jsonoracle
from .model import leaves, run_machine
from .workload import Effort, Report

NAME = "queue"
QUEUE, DEAD_QUEUE = "yungong-pages", "yungong-pages-dead"
MAX_ATTEMPTS = 2
SETTLED_SECONDS = 30.0
POLL_SECONDS = 0.03

DELAY: str = "延迟秒数须在 0 至 43200 之间"
INDEX: str = "队列消息序号越界"

BEHAVIOURS: dict[str, list[Step]] = {
    "nothing": [],
    "acknowledge": [call("ack_message", "$index")],
    "retry": [call("retry_message", "$index", 0)],
    "retry later": [call("retry_message", "$index", 1)],
    "raise": [{"raise": "on purpose"}],
    "acknowledge, then raise": [call("ack_message", "$index"), {"raise": "on purpose"}],
    "wrong": [call("ack_message", -1), call("ack_message", 1000), call("retry_message", "$index", 43201)],
}
WRONG_RESULTS = [INDEX, INDEX, DELAY]
INVALID: list[tuple[Step, str | None]] = [
    (call("send_message", "PAGE_QUEUE", "1", -1), DELAY),
    (call("send_message", "PAGE_QUEUE", "1", 43201), DELAY),
    (call("send_message", "PAGE_QUEUE", "{", 0), "消息体不是有效的 JSON 文字"),
    (call("send_message", "PAGE_QUEUE", '{"a":1,"\\u0024数字":2}', 0), None),
    (call("send_message", "PAGE_QUEUE", "[" * 25 + "]" * 25, 0), None),
    (call("send_message", "PAGE_QUEUE", "1e999", 0), None),
    (call("send_message", "PAGE_QUEUE", json.dumps("x" * 127_999), 0), "消息体超过 128000 字节"),
    (call("send_message", "", "1", 0), None),
    (call("send_messages", "PAGE_QUEUE", "[]"), None),
    (call("send_messages", "PAGE_QUEUE", json.dumps([{"body": 1}] * 101)), "批量消息不得超过 100 条"),
    (call("send_messages", "PAGE_QUEUE", '[{"body":1},{"delaySeconds":1}]'), None),
    (call("send_messages", "PAGE_QUEUE", '[{"body":1},{"body":1,"delaySeconds":1.5}]'), None),
    (call("send_messages", "PAGE_QUEUE", '[{"body":1,"contentType":"json"}]'), None),
    (call("send_messages", "PAGE_QUEUE", '{"body":1}'), None),
    (call("read_batch"), "当前事件不是队列事件"),
    (call("ack_message", 0), "当前事件不是队列事件"),
    (call("retry_message", 0, 1), "当前事件不是队列事件"),
]


@dataclass
class Sent:
    """One message of a step."""

    mark: str
    behaviour: str
    body_text: str
    delay_seconds: int
    sent_s: float = 0.0


@dataclass
class Delivery:
    """One message in one batch of the consumer's log."""

    queue: str
    identity: str
    attempts: int
    timestamp: int
    body: Any
    ended: bool
    batch_marks: list[str]
    results: list[Any] | None


def read_deliveries(entries: list[Any]) -> dict[str, list[Delivery]]:
    """Return the deliveries of each message, by its mark, in the order of the log."""
    found: dict[str, list[Delivery]] = defaultdict(list)
    for entry in entries:
        messages = entry["batch"]["messages"]
        marks = [message["body"]["mark"] for message in messages]
        for index, message in enumerate(messages):
            results = entry["results"][index] if "results" in entry else None
            found[message["body"]["mark"]].append(
                Delivery(
                    entry["batch"]["queue"],
                    message["id"],
                    message["attempts"],
                    message["timestamp"],
                    message["body"],
                    "results" in entry,
                    marks,
                    results,
                )
            )
    return found


def is_settled(sent: list[Sent], deliveries: dict[str, list[Delivery]]) -> bool:
    """Return whether nothing more is to come for these messages."""
    raised = {
        mark for group in deliveries.values() for one in group if not one.ended for mark in one.batch_marks
    }
    for message in sent:
        group = deliveries.get(message.mark, [])
        if not group:
            return False
        last = group[-1]
        if last.queue == DEAD_QUEUE:
            continue
        succeeds = "acknowledge" in message.behaviour or (last.ended and "retry" not in message.behaviour)
        if succeeds and last.ended:
            continue
        if succeeds and message.mark in raised:  # acknowledged: whether it comes again is the platform's
            continue
        return False
    return True


def check_deliveries(sent: list[Sent], deliveries: dict[str, list[Delivery]]) -> list[str]:
    """Attempts count from 1, bodies and identity stay, and each message comes as often as it must."""
    found: list[str] = []
    for message in sent:
        group = deliveries.get(message.mark, [])
        where = f"message {message.mark} ({message.behaviour}, delay {message.delay_seconds})"
        main = [one for one in group if one.queue == QUEUE]
        dead = [one for one in group if one.queue == DEAD_QUEUE]
        if [one.attempts for one in main] != list(range(1, len(main) + 1)):
            found.append(f"{where}: attempts {[one.attempts for one in main]}")
        if len({(one.identity, one.timestamp) for one in main}) != 1:
            found.append(f"{where}: its id or its time changes")
        for one in group:
            if not jsonoracle.same(json.dumps(one.body), message.body_text):
                found.append(f"{where}: its body came as {one.body}")
            if type(one.timestamp) is not int or one.timestamp <= 0:
                found.append(f"{where}: its time is {one.timestamp!r}")
            if message.behaviour == "wrong" and one.results is not None:
                told = [result.get("message") for result in one.results]
                if told != WRONG_RESULTS:
                    found.append(f"{where}: {told}")
        found += [f"{where}: {text}" for text in _check_count(message, main, dead)]
    return found


def _check_count(message: Sent, main: list[Delivery], dead: list[Delivery]) -> list[str]:
    """How often a message comes: again after a retry or a batch that failed, never after success."""
    for number, one in enumerate(main[:-1]):
        wanted = "retry" in message.behaviour or not one.ended
        if not wanted:
            return [f"delivery {number + 2} follows one that succeeded"]
    if not main:
        return ["it never came"]
    last = main[-1]
    goes_on = "retry" in message.behaviour if last.ended else "acknowledge" not in message.behaviour
    if goes_on and (len(main) != MAX_ATTEMPTS or not dead):
        return [f"after {len(main)} deliveries that failed, {len(dead)} dead letters"]
    if last.ended and not goes_on and dead:
        return ["it succeeded and is a dead letter"]
    return [f"{len(main)} deliveries"] if len(main) > MAX_ATTEMPTS else []


def check_delay(message: Sent, seen_s: float, deliveries: int) -> list[str]:
    """A delayed message does not come early; `seen_s` is when so many deliveries were seen first."""
    delay_s = message.delay_seconds + ("later" in message.behaviour) * (deliveries - 1)
    if seen_s - message.sent_s < delay_s - 0.02:  # the platform's clock is in whole milliseconds
        return [f"{message.mark}: delivery {deliveries} after {seen_s - message.sent_s:.3f} s of {delay_s}"]
    return []


def expected_record(sent: list[Sent], *, together: bool) -> list[Any]:
    """Return what the platform must have been given."""
    if together:
        requests = [
            {"body": json.loads(message.body_text), "contentType": "json"}
            | ({"delaySeconds": message.delay_seconds} if message.delay_seconds else {})
            for message in sent
        ]
        return [{"binding": "PAGE_QUEUE", "method": "sendBatch", "messages": requests}]
    return [
        {
            "binding": "PAGE_QUEUE",
            "method": "send",
            "body": json.loads(message.body_text),
            "options": {"contentType": "json"}
            | ({"delaySeconds": message.delay_seconds} if message.delay_seconds else {}),
        }
        for message in sent
    ]


messages = st.lists(
    st.tuples(
        st.sampled_from([*BEHAVIOURS, "nothing", "acknowledge", "retry"]),
        st.sampled_from([0, 0, 0, 0, 1]),
        leaves.filter(lambda text: "$" not in text and "u0024" not in text),
    ),
    min_size=1,
    max_size=5,
)


class QueueMachine(RuleBasedStateMachine):
    """Sends, and looks at what the consumer saw; `host` and `advance` are set before it runs."""

    host: ClassVar[LocalHost]
    advance: ClassVar[Callable[[int], bool]]
    objects: ClassVar[int] = 0
    sent: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.client = Client(self.host)
        self.count = 0
        self.all: list[Sent] = []

    @initialize()
    def start(self) -> None:
        """Take an object whose log nobody has used."""
        type(self).objects += 1
        self.name = f"queue-{time.time_ns()}-{self.objects}"

    def teardown(self) -> None:
        self.client.close()

    @rule(
        wanted=messages,
        together=st.booleans(),
        event=st.sampled_from(["fetch", "durable-fetch"]),
        refused=st.lists(st.sampled_from(INVALID), max_size=2),
        binding=st.sampled_from([None, None, None, "OTHER", "TOKEN", "DURABLE_STORE", "__proto__"]),
    )
    def send_and_consume(
        self,
        wanted: list[tuple[str, int, str]],
        together: bool,
        event: str,
        refused: list[tuple[Step, str | None]],
        binding: str | None,
    ) -> None:
        """Messages go out, one by one or together, and come in as often as they must; others are refused."""
        if not type(self).advance(len(wanted)):
            return
        self._send_what_is_refused(refused)
        if binding is not None:
            self._send_to_what_is_not_permitted(binding)
        sent = [self._message(*one) for one in wanted]
        type(self).sent += len(sent)
        for message in sent:
            message.sent_s = time.monotonic()
        results = self.client.run(self.name, *self._sending(sent, together), {"recorded": True}, event=event)
        assert all("value" in result for result in results), results
        record, expected = results[-1]["value"], expected_record(sent, together=together)
        assert jsonoracle.same(json.dumps(record), json.dumps(expected)), f"{record} is not {expected}"
        self.all += sent
        deliveries = self._settle(sent)
        found = check_deliveries(self.all, deliveries)
        assert not found, found

    def _message(self, behaviour: str, delay_seconds: int, value: str) -> Sent:
        self.count += 1
        mark = f"{self.count}"
        steps = json.dumps(BEHAVIOURS[behaviour])
        text = f'{{"log":{json.dumps(self.name)},"mark":"{mark}","steps":{steps},"value":{value}}}'
        return Sent(mark, behaviour, text, delay_seconds)

    def _sending(self, sent: list[Sent], together: bool) -> list[Step]:
        if together:
            items = [f'{{"body":{one.body_text},"delaySeconds":{one.delay_seconds}}}' for one in sent]
            return [call("send_messages", "PAGE_QUEUE", f"[{','.join(items)}]")]
        return [call("send_message", "PAGE_QUEUE", one.body_text, one.delay_seconds) for one in sent]

    def _settle(self, sent: list[Sent]) -> dict[str, list[Delivery]]:
        deadline = time.monotonic() + SETTLED_SECONDS
        seen: dict[str, int] = {}
        while True:
            text = self.client.values(self.name, call("store_get", "log:queue"))[0][1]
            now_s = time.monotonic()
            deliveries = read_deliveries(json.loads(text or "[]"))
            for message in sent:
                count = sum(one.queue == QUEUE for one in deliveries.get(message.mark, []))
                if count > seen.get(message.mark, 0):
                    seen[message.mark] = count
                    # A batch that failed is delivered again without the message's own delay.
                    if count == 1 or all(one.ended for one in deliveries[message.mark]):
                        found = check_delay(message, now_s, count)
                        assert not found, found
            if is_settled(sent, deliveries):
                return deliveries
            assert time.monotonic() < deadline, (
                f"not settled within {SETTLED_SECONDS:g} s: {sent} {text[:3000]}"
            )
            time.sleep(POLL_SECONDS)

    def _send_what_is_refused(self, wanted: list[tuple[Step, str | None]]) -> None:
        """What is not allowed is refused with the specification's words, and the platform is not called."""
        results = self.client.run(self.name, *(step for step, _ in wanted), {"recorded": True})
        assert results[-1] == {"value": []}, f"{wanted}: the platform was called: {results}"
        for (step, sentence), result in zip(wanted, results[:-1], strict=True):
            assert result.get("error") == "豫言异常", f"{str(step)[:200]}: {result}"
            assert sentence in (None, result["message"]), f"{str(step)[:200]}: {result}"

    def _send_to_what_is_not_permitted(self, name: str) -> None:
        """A binding that is not permitted aborts the event."""
        answer = self.client.script(self.name, [{"swallow": [call("send_message", name, "1", 0)]}])
        assert answer.status_code == 502, answer.text
        assert "宿主中止" in answer.json()["aborted"], answer.text


def run(host: LocalHost, effort: Effort) -> Report:
    """Send and consume until the effort is spent; a run is a message."""
    report = Report(NAME, effort.seed)
    QueueMachine.host = host
    run_machine(QueueMachine, effort, report, shrink=False)  # a failure may take a minute to show
    report.figures |= {"objects": QueueMachine.objects, "messages": QueueMachine.sent}
    return report
