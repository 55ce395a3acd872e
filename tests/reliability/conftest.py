"""One Worker for the short forms that do not kill it."""

from collections.abc import Iterator

import pytest
from repository import LocalHost

from tests.conftest import logged

from .host import reliability_host

SEED = 20_261
"""The short forms always do the same; scripts/soak takes another seed each time."""


@pytest.fixture(scope="session")
def workloads(pytestconfig: pytest.Config) -> Iterator[LocalHost]:
    """The workloads' Worker on a real workerd."""
    with reliability_host() as host, logged(pytestconfig, host):
        yield host
