"""One local Worker for all tests of this folder; its log stands in the text of a failure."""

from collections.abc import Generator, Iterator

import pytest
from localhost.server import LocalHost

LOG_SHOWN = 6000

_running = pytest.StashKey[LocalHost]()


@pytest.fixture(scope="session")
def worker(pytestconfig: pytest.Config) -> Iterator[LocalHost]:
    """The Worker on a real workerd, with state of its own on disk."""
    with LocalHost() as host:
        pytestconfig.stash[_running] = host
        yield host
        del pytestconfig.stash[_running]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    host = item.config.stash.get(_running, None)
    if report.failed and host is not None:
        report.sections.append(("the Worker's log, its end", host.log()[-LOG_SHOWN:]))
    return report
