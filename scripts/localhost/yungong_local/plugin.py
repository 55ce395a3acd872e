"""The pytest plugin: a fixture ``worker``, and the Worker's log beside each failure."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from yungong_local import configuration
from yungong_local.client import Worker
from yungong_local.errors import LocalHostError
from yungong_local.server import LocalHost

_SETTING = "worker_config"
_QUIET_SECONDS = 0.3
_worker = pytest.StashKey[Worker]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a project say which configuration is under test."""
    parser.addini(
        _SETTING, "the Worker's configuration, from the root folder (default: wrangler.toml or .jsonc)"
    )


@pytest.fixture(scope="session")
def worker_host(pytestconfig: pytest.Config) -> Iterator[LocalHost]:
    """The Worker under test, running, with state of its own that ends with the session."""
    with LocalHost(_configuration(pytestconfig), testing=True) as host:
        yield host


@pytest.fixture
def worker(request: pytest.FixtureRequest, worker_host: LocalHost) -> Iterator[Worker]:
    """The Worker under test; what one test does in it reaches no other."""
    with Worker(worker_host) as running:
        request.node.stash[_worker] = running
        yield running


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failure what the Worker printed during its test."""
    report = yield
    running = item.stash.get(_worker, None)
    if report.failed and running is not None:
        running.host.await_log(_QUIET_SECONDS)
        report.sections.append(("the Worker's log", running.log()))
    return report


def _configuration(config: pytest.Config) -> Path:
    given = config.getini(_SETTING)
    candidates = [given] if given else configuration.NAMES
    found = next((path for name in candidates if (path := config.rootpath / name).is_file()), None)
    if found is None:
        raise LocalHostError(
            f"{config.rootpath} has no {' or '.join(candidates)}: set {_SETTING} in pytest's settings"
        )
    return found
