"""The rehearsal: the cloud's ways, shown here with stand-ins and a bad network."""

import asyncio
from collections.abc import Iterator

import pytest
from repository import LocalHost
from verifier.cases import load
from verifier.faults import FAULTS, Fault
from verifier.rehearsal import endure, rehearse
from verifier.selftest import Finding
from verifier.standins import STAND_INS, StandIn

from tests.conftest import logged

CASES = [
    case
    for case in load()
    if case.id
    in (
        "alarm-sample-set",
        "alarm-sample-first-firing",
        "alarm-sample-retry-one",
        "alarm-sample-rollback",
        "event-uncaught-keeps-writes",
        "tx-sample-uncaught",
        "tx-sample-list-limit-reverse",
        "queue-sample-consumer-in-fetch",
    )
]


@pytest.fixture(scope="module")
def worker(pytestconfig: pytest.Config) -> Iterator[LocalHost]:
    """A Worker whose queue nobody else uses, and which does not wait for a batch to fill."""
    queue = {"queue": "yungong-pages", "max_batch_timeout": 0}
    with LocalHost(config={"queues": {"consumers": [queue]}}) as host, logged(pytestconfig, host):
        yield host


@pytest.fixture(scope="module")
def findings(worker: LocalHost) -> dict[StandIn, Finding]:
    """What came of every stand-in; they run side by side."""
    found = asyncio.run(rehearse(worker.url, worker.token, STAND_INS))
    return dict(zip(STAND_INS, found, strict=True))


@pytest.mark.parametrize("stand_in", STAND_INS, ids=lambda one: f"{one.probe}, {one.name}: {one.verdict}")
def test_a_probe_says_what_its_stand_in_does(stand_in: StandIn, findings: dict[StandIn, Finding]) -> None:
    assert findings[stand_in].noticed, findings[stand_in].detail


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_cases_hold_through_a_bad_network(worker: LocalHost, fault: Fault) -> None:
    (finding,) = asyncio.run(endure(worker.url, worker.token, CASES, [fault]))
    assert finding.noticed, finding.detail
