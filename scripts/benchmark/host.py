"""The local host with the benchmark's Worker: its source folder is put together at run time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from repository import LocalHost, worker_source

HERE = Path(__file__).resolve().parent
WORKER = HERE / "worker"

_OBJECTS = {
    "JAVASCRIPT_STORE": "JavaScriptStore",
    "JAVASCRIPT_EMPTY_STORE": "JavaScriptEmptyStore",
    "EMPTY_STORE": "EmptyStore",
    "BARE_STORE": "BareStore",
}
_CONFIG: dict[str, Any] = {
    "durable_objects": {"bindings": [{"name": name, "class_name": of} for name, of in _OBJECTS.items()]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": list(_OBJECTS.values())}],
    "queues": {"producers": [{"binding": "SINK_QUEUE", "queue": "benchmark-sink"}]},
}
_VARIABLES = {"PERMITS": {"QUEUE": ["PAGE_QUEUE", "SINK_QUEUE"]}}
_SECONDS = 120.0


def source(main: Path) -> AbstractContextManager[Path]:
    """A folder with the package, this benchmark's Python and `main` as the main module."""
    parts = {"benchmark/__init__.py": HERE / "__init__.py", "benchmark/worker": WORKER}
    return worker_source(main.read_text("utf-8"), parts)


@contextmanager
def benchmark_host() -> Iterator[LocalHost]:
    """The benchmark's Worker, running."""
    with (
        source(WORKER / "entry.py") as folder,
        LocalHost(
            source=folder, config=_CONFIG, variables=_VARIABLES, javascript=WORKER / "javascript.mjs"
        ) as host,
    ):
        yield host


class Client:
    """Asks the benchmark's Worker to measure."""

    def __init__(self, host: LocalHost) -> None:
        self.host = host
        self._http = httpx.Client(base_url=host.url, timeout=_SECONDS, trust_env=False)

    def get(self, path: str) -> Any:
        """What the Worker answers, read as JSON where it is."""
        return self._answer(self._http.get(path))

    def post(self, path: str, wanted: dict[str, Any]) -> Any:
        """The same, for a request with a body."""
        return self._answer(self._http.post(path, content=json.dumps(wanted)))

    def _answer(self, response: httpx.Response) -> Any:
        if response.status_code != 200:
            raise RuntimeError(
                f"the benchmark's Worker failed: {response.text[:4000]}\n{self.host.log()[-2000:]}"
            )
        return json.loads(response.text or "null")
