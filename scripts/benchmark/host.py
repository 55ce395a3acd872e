"""The local host with the benchmark's Worker: its source folder is put together at run time."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import repository
from repository import LocalHost

HERE = Path(__file__).resolve().parent
WORKER = HERE / "worker"
PACKAGE = repository.ROOT / "src" / "yungong"

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


@contextmanager
def source(entry: Path) -> Iterator[Path]:
    """A folder with the package, this benchmark's Python and `entry` as the main module."""
    repository.WORKSPACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=repository.WORKSPACE, prefix="benchmark-") as name:
        folder = Path(name)
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PACKAGE, folder / "yungong", ignore=skipped)
        (folder / "benchmark").mkdir()
        shutil.copy(HERE / "__init__.py", folder / "benchmark")
        shutil.copytree(WORKER, folder / "benchmark" / "worker", ignore=skipped)
        shutil.copy(entry, folder / repository.MAIN.name)
        yield folder


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
