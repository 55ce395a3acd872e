"""The short form of every workload: no promise is broken."""

from collections.abc import Callable

import pytest
from repository import LocalHost

from . import concurrency, hostile, kills, model, purefuzz, queue_model, refusals, retries, turns
from .conftest import SEED
from .host import reliability_host
from .workload import Effort, Report

pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")


def holds(report: Report, runs: int) -> None:
    assert not report.violations, report.text()
    assert report.runs >= runs, f"only {report.runs} runs"


@pytest.mark.parametrize(
    ("run", "runs"),
    [
        pytest.param(refusals.run, 1, id=refusals.NAME),
        pytest.param(retries.run, len(retries.MEANWHILE), id=retries.NAME),
        pytest.param(turns.run, 4, id=turns.NAME),
        pytest.param(model.run, 800, id=model.NAME),
        pytest.param(queue_model.run, 40, id=queue_model.NAME),
        pytest.param(concurrency.run, 1000, id=concurrency.NAME),
        pytest.param(hostile.run, 10_000, id=hostile.NAME),
    ],
)
def test_no_promise_is_broken(
    workloads: LocalHost, run: Callable[[LocalHost, Effort], Report], runs: int
) -> None:
    holds(run(workloads, Effort(SEED, runs)), runs)


def test_a_transaction_that_committed_is_answered_though_its_event_s_time_is_nearly_over() -> None:
    with reliability_host({"durable-fetch": 3000}) as host:
        report = turns.run_hurried(host, Effort(SEED, 1), transactions=50, sleep_ms=80)
    holds(report, 1)
    assert report.faults, "all of them committed: the limit was not reached"


def test_nothing_is_lost_when_workerd_dies() -> None:
    with reliability_host() as host:
        holds(kills.run(host, Effort(SEED, 5)), 5)


def test_the_cheap_judgements_of_text_are_those_of_a_full_walk() -> None:
    holds(purefuzz.run(Effort(SEED, 3000)), 3000)
