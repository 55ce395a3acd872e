"""The vectors through Python values: each one holds, or is listed here with what has no meaning there."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator

import pytest
from repository import LocalHost
from verifier.cases import load
from verifier.client import Client
from verifier.forms import Scope
from verifier.match import compare
from verifier.run import Outcome, Runner

from tests.conftest import logged

WITHOUT_MEANING = {
    "a value has no spelling": {
        "tx-value-2MiB-ascii",
        "tx-value-2MiB-3-byte",
        "json-in-2MiB-as-given",
        "json-in-2MiB-escapes",
        "queue-128000-input-whitespace",
        "queue-128000-input-escapes",
        "queue-batch-body-whitespace",
        "queue-batch-1MiB",
    },
    "a function that ends has completed its transaction": {
        "tx-result-verbatim",
    },
    "a text that is no JSON, or nests past 100 levels, says no value": {
        "store-16MiB-plus-1-value",
        "store-16MiB-swallowed",
        "queue-16MiB-plus-1",
        "queue-batch-16MiB-plus-1",
    },
    "the value is refused, with its path: too large, infinite or no Unicode": {
        "json-in-lone-high",
        "json-in-lone-low",
        "json-in-reversed-pair",
        "json-in-lone-in-name",
        "json-in-past-2-53",
        "json-in-digits",
        "json-in-javascript-text",
        "queue-numbers",
        "queue-json-in-lone-surrogate",
        "queue-json-in-lone-surrogate-name",
        "queue-json-in-past-2-53",
    },
    "a dict has a key once": {
        "json-in-duplicates",
        "json-in-duplicates-escaped",
        "queue-json-in-duplicates",
        "queue-batch-duplicates",
    },
    "a delay of a wrong type is a TypeError": {
        "queue-batch-delay-whole-numbers",
    },
}


@pytest.fixture(scope="module")
def outcomes(pytestconfig: pytest.Config) -> Iterator[list[Outcome]]:
    async def run(host: LocalHost) -> list[Outcome]:
        async with Client(host.url, host.token) as client:
            return await Runner(client, excuses=True).run_all(load())

    with LocalHost(variables={"FACE": "pythonic"}) as host, logged(pytestconfig, host):
        yield asyncio.run(run(host))


def test_every_vector_holds_where_it_has_a_meaning(outcomes: list[Outcome]) -> None:
    assert {outcome.case.id: outcome.detail for outcome in outcomes if not outcome.held} == {}


def test_a_vector_without_a_meaning_is_listed_with_the_reason(outcomes: list[Outcome]) -> None:
    """One of which a part has none holds by the rest."""
    found = defaultdict(set)
    for outcome in outcomes:
        if outcome.verdict == "meaningless":
            found[outcome.detail.removeprefix("without a meaning here: ").split("; ")[0]].add(outcome.case.id)
    assert found == WITHOUT_MEANING


def test_an_excuse_counts_only_where_it_is_asked_for() -> None:
    excuse = {"error": "Meaningless", "message": "why"}
    expected = {"value": [{"value": 1}, {"value": 2}]}
    observed = {"value": [{"value": 1}, excuse]}
    assert compare(expected, observed, Scope("", excuses=True)).excuses == ["why"]
    assert not compare(expected, {"value": [{"value": 3}, excuse]}, Scope("", excuses=True)).holds
    assert not compare(expected, observed, Scope("")).holds
