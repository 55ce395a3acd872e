"""Workload: one object, many at once; who comes when (gate.py).

Nothing here is compared with a time from above: orders, counts, and gaps against what a transaction sleeps.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, pairwise
from statistics import median
from typing import Any

from repository import LocalHost

from tests.client import Client, Step, call

from .workload import Effort, Report

NAME = "turns"
TRANSACTIONS = 20
SLEEP_MS = 60
CLIENTS = 60
REQUESTS = 4


def transaction(mark: str, sleep_ms: int = SLEEP_MS) -> Step:
    """Return a transaction that leaves its mark and answers with how many there are."""
    put, look = call("transaction_put", f"m{mark}", "1"), call("transaction_list", '{"prefix":"m"}')
    return {"transaction": [put, look, {"sleep": sleep_ms}, {"complete": True}]}


def place_of(result: Any) -> int:
    """Return the place among all transactions that a transaction's result tells."""
    return len(json.loads(json.loads(result["value"])[1]["value"]))


def check_answers(places: list[int], gaps_ms: list[float], sleep_ms: int) -> list[str]:
    """Answers come in the order of the commits, and one by one: most of them a transaction apart.

    Two that follow each other may change places: each is read in a thread of its own.
    """
    found = []
    if any(abs(place - came) > 1 for came, place in enumerate(places, 1)):
        found.append(f"the answers came in the order of commits {places}")
    apart = sum(gap_ms > sleep_ms / 2 for gap_ms in gaps_ms)
    if apart < len(gaps_ms) / 2:
        found.append(f"only {apart} of {len(gaps_ms)} answers came apart from the one before: {gaps_ms} ms")
    return found


def check_committed(committed: dict[int, int], answered: dict[int, tuple[int, int]]) -> list[str]:
    """Whoever committed is answered with success, but for those whose event's time ended at once after that.

    Args:
        committed: by number, when it committed, in Unix milliseconds.
        answered: by number, the status and when it came. What failed for its time is told soon after its
            commit, not after half a dozen transactions.
    """
    gaps_ms = [later - earlier for earlier, later in pairwise(sorted(committed.values()))]
    transaction_ms = median(gaps_ms) if gaps_ms else 0
    late_ms = {
        number: answered[number][1] - at_ms
        for number, at_ms in committed.items()
        if answered[number][0] != 200 and answered[number][1] - at_ms > 6 * transaction_ms
    }
    found = [
        f"of {len(committed)} that committed these are answered with a failure, so many ms later: {late_ms};"
        f" a transaction takes {transaction_ms} ms"
    ]
    wrong = [number for number, (status, _) in answered.items() if status == 200 and number not in committed]
    return (found if late_ms else []) + [f"{number} is answered and not there" for number in wrong]


def check_reads(seen: list[int], transactions: int) -> list[str]:
    """One who reads again and again while transactions queue comes between them.

    A read waits for one transaction at the most; its answer leaves at the platform's next turn, which may
    come after another.
    """
    steps = [later - earlier for earlier, later in pairwise(seen) if later < transactions]
    if len(steps) < transactions / 3 or median(steps) > 2:
        return [f"reads beside {transactions} transactions saw {seen}"]
    return []


def check_fairness(order: str, clients: int) -> list[str]:
    """Of two kinds, named by letters, neither waits while the other goes once for each client."""
    asked = order[: min(order.rindex(kind) for kind in set(order))]
    longest = max(len(list(together)) for _, together in groupby(asked))
    return [f"{longest} of one kind went while the other waited: {order}"] if longest > clients else []


def run(host: LocalHost, effort: Effort) -> Report:
    """Go through the four until the effort is spent; a run is one of them."""
    report = Report(NAME, effort.seed)
    parts = (_answers, _reads, _tasks, _fairness)
    while effort.goes_on(report.runs):
        part = parts[report.runs % len(parts)]
        report.check(part(host, f"turns-{time.time_ns()}"), part.__name__.strip("_"))
        report.runs += 1
    return report


def run_hurried(host: LocalHost, effort: Effort, transactions: int = 110, sleep_ms: int = 300) -> Report:
    """Send more transactions than the event's limit allows, each with a read after it; a run is one burst."""
    report = Report("hurried", effort.seed)
    while effort.goes_on(report.runs):
        name = f"hurried-{time.time_ns()}"
        answered: dict[int, tuple[int, int]] = {}

        def visit(number: int, name: str = name, answered: dict[int, tuple[int, int]] = answered) -> None:
            mark = {"native": "mark", "key": "times", "label": str(number)}
            work = [call("transaction_put", "held", "1"), {"sleep": sleep_ms}, mark, {"complete": True}]
            steps = [{"transaction": work}, {"sleep": 1}, call("store_get", "held")]
            with Client(host) as client:
                answered[number] = client.script(name, steps).status_code, round(time.time() * 1000)

        with ThreadPoolExecutor(transactions) as pool:
            list(pool.map(visit, range(transactions)))
        with Client(host) as client:
            marks = json.loads(client.values(name, {"native": "get", "key": "times"})[0])
        committed = {int(mark["label"]): mark["at_ms"] for mark in marks}
        report.check(check_committed(committed, answered))
        report.faults += transactions - len(committed)
        report.runs += 1
    return report


def _answers(host: LocalHost, name: str) -> list[str]:
    answers: list[tuple[float, int]] = []

    def visit(number: int) -> None:
        with Client(host) as client:
            place = place_of(client.run(name, transaction(f"{number:03}"))[0])
            answers.append((time.monotonic() * 1000, place))

    with ThreadPoolExecutor(TRANSACTIONS) as pool:
        list(pool.map(visit, range(TRANSACTIONS)))
    gaps_ms = [round(later[0] - earlier[0], 1) for earlier, later in pairwise(answers)]
    return check_answers([place for _, place in answers], gaps_ms, SLEEP_MS)


def _reads(host: LocalHost, name: str) -> list[str]:
    seen = [0]
    with ThreadPoolExecutor(TRANSACTIONS) as pool, Client(host) as reader:
        client = pool.map(lambda number: _transact(host, name, f"{number:03}"), range(TRANSACTIONS))
        while seen[-1] < TRANSACTIONS:
            listed = reader.values(name, call("store_list", '{"prefix":"m"}'))[0]
            seen.append(len(json.loads(listed)))
        list(client)
    return check_reads(seen, TRANSACTIONS)


def _transact(host: LocalHost, name: str, mark: str, sleep_ms: int = SLEEP_MS) -> None:
    with Client(host) as client:
        client.run(name, transaction(mark, sleep_ms))


def _tasks(host: LocalHost, name: str) -> list[str]:
    """Between tasks of one event the call that waited first goes first, an access after one transaction."""
    look = [call("store_list", '{"prefix":"m"}')]
    tasks = [[transaction("1")], look, [transaction("2")], look, [transaction("3")]]
    with Client(host) as client:
        results = client.values(name, {"together": tasks})[0]
    reads = [len(json.loads(results[task][0]["value"])) for task in (1, 3)]
    places = [place_of(results[task][0]) for task in (0, 2, 4)]
    return [] if (reads, places) == ([1, 1], [1, 2, 3]) else [f"reads {reads}, transactions {places}"]


def _fairness(host: LocalHost, name: str) -> list[str]:
    order: list[str] = []

    def visit(number: int) -> None:
        kind = "ta"[number % 2]
        with Client(host) as client:
            for request in range(REQUESTS):
                mark = f"{number:03}-{request}"
                client.run(name, transaction(mark, 2) if kind == "t" else call("store_get", f"m{mark}"))
                order.append(kind)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(visit, range(CLIENTS)))
    return check_fairness("".join(order), CLIENTS)
