"""The log of a running Worker stands in the text of a failure."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest
from repository import LocalHost

LOG_SHOWN = 6000

_running = pytest.StashKey[list[LocalHost]]()


@contextmanager
def logged(config: pytest.Config, host: LocalHost) -> Iterator[LocalHost]:
    """Show the log of `host` with every failure meanwhile."""
    hosts = config.stash.setdefault(_running, [])
    hosts.append(host)
    yield host
    hosts.remove(host)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for host in item.config.stash.get(_running, []):
            report.sections.append(("the Worker's log, its end", host.log()[-LOG_SHOWN:]))
    return report
