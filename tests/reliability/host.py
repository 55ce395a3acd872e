"""The local host with the workloads' Worker: its source folder is put together at run time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from repository import MAIN, SOURCE, LocalHost, worker_source

HERE = Path(__file__).resolve().parent

_OBJECTS = {
    "COUNTER_STORE": "CounterStore",
    "JUDGE": "Judge",
    "ORACLE": "Oracle",
    "REFUSING_STORE": "RefusingStore",
}
_CONFIG: dict[str, Any] = {
    "durable_objects": {"bindings": [{"name": name, "class_name": of} for name, of in _OBJECTS.items()]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": list(_OBJECTS.values())}],
    "queues": {
        "producers": [{"binding": "COUNT_QUEUE", "queue": "reliability-counts"}],
        "consumers": [
            {"queue": "reliability-counts", "max_batch_size": 10, "max_batch_timeout": 0, "max_retries": 5},
            # Quick, and with an end that can be seen:
            {"queue": "yungong-pages", "max_batch_timeout": 0, "max_retries": 1},
            {"queue": "yungong-pages-dead", "max_batch_timeout": 0, "max_retries": 0},
        ],
    },
}
_VARIABLES = {"PERMITS": {"QUEUE": ["PAGE_QUEUE", "COUNT_QUEUE"]}}


@contextmanager
def reliability_host(limits_ms: dict[str, int] | None = None) -> Iterator[LocalHost]:
    """The workloads' Worker, running, with state of its own on disk, and with time limits of its own."""
    variables = _VARIABLES | ({"EXECUTION_CONFIG": {"事件时限毫秒": limits_ms}} if limits_ms else {})
    parts = {
        "deployed.py": MAIN,
        "verification": SOURCE / "verification",
        "tests/reliability/worker": HERE / "worker",
    }
    javascript = HERE / "worker" / "javascript.mjs"
    with (
        worker_source((HERE / "worker" / "entry.py").read_text("utf-8"), parts) as source,
        LocalHost(source=source, config=_CONFIG, variables=variables, javascript=javascript) as host,
    ):
        yield host
