"""One Worker for the short forms that do not kill it; its log stands in the text of a failure."""

from collections.abc import Generator, Iterator

import pytest
from localhost.server import LocalHost

from .host import reliability_host

LOG_SHOWN = 6000
SEED = 20_261
"""The short forms always do the same; scripts/soak takes another seed each time."""

_running = pytest.StashKey[LocalHost]()


@pytest.fixture(scope="session")
def workloads(pytestconfig: pytest.Config) -> Iterator[LocalHost]:
    """The workloads' Worker on a real workerd."""
    with reliability_host() as host:
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
