"""Workload: an alarm's handler fails, and before the retry its object does something else.

The retry counts on, whatever happened to what the package remembers of the alarm meanwhile.
"""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
from repository import LocalHost

from tests.client import Client, Failed, Step, call

from .workload import Effort, Report

NAME = "retries"
FIRING_SECONDS = 60.0
POLL_SECONDS = 0.02
FAILING, PEACEFUL = '[{"raise":"on purpose"}]', "[]"

MEANWHILE: dict[str, list[Step]] = {
    "nothing": [],
    "a transaction": [{"transaction": [call("transaction_put", "a", "1"), {"complete": True}]}],
    "a transaction that rolls back an alarm": [
        {"transaction": [call("set_alarm", 8 * 10**15), call("rollback_transaction"), {"complete": True}]}
    ],
    "a transaction that fails": [{"transaction": [call("delete_alarm"), {"raise": "on purpose"}]}],
    "reads": [call("get_alarm"), call("store_list", "{}")],
}


def check_retries(meanwhile: str, log: list[Any], pending: list[Any]) -> list[str]:
    """The first firing counts 0, the retry 1; the alarm is set between the two and cleared in both."""
    found = []
    if [entry["retry"] for entry in log] != [0, 1]:
        found.append(f"with {meanwhile} before the retry: {[entry['retry'] for entry in log]}")
    if any(entry["alarm"] != [False, 0] for entry in log):
        found.append(f"with {meanwhile}: in its handler the alarm is set: {log}")
    if len(pending) != 2 or pending[0] is not True:
        found.append(f"with {meanwhile}: while a retry is pending the alarm is {pending}")
    return found


def run(host: LocalHost, effort: Effort) -> Report:
    """Go through the list until the effort is spent; a run is an alarm that fails once."""
    report = Report(NAME, effort.seed)
    choices = list(MEANWHILE)
    while effort.goes_on(report.runs):
        meanwhile = choices[report.runs % len(choices)]
        with Client(host) as client:
            report.runs += 1
            report.faults += 1
            try:
                report.check(_one(client, f"retried-{time.time_ns()}", meanwhile))
            except (httpx.HTTPError, Failed) as error:
                report.violations.append(f"{meanwhile}: {error}"[:500])
    return report


def _one(client: Client, name: str, meanwhile: str) -> list[str]:
    client.values(name, call("store_put", "script:alarm", FAILING), call("set_alarm", 0))
    _log(client, name, 1)
    steps = MEANWHILE[meanwhile]
    *_, pending = client.run(name, call("store_put", "script:alarm", PEACEFUL), *steps, call("get_alarm"))
    log = _log(client, name, 2)
    return check_retries(meanwhile, log, pending["value"])


def _log(client: Client, name: str, length: int) -> list[Any]:
    deadline = time.monotonic() + FIRING_SECONDS
    while True:
        text = client.values(name, call("store_get", "log:alarm"))[0][1]
        entries: list[Any] = json.loads(text or "[]")
        if len(entries) >= length:
            return entries
        if time.monotonic() > deadline:
            raise Failed(f"{length} firings not within {FIRING_SECONDS:g} s: {entries}")
        time.sleep(POLL_SECONDS)
