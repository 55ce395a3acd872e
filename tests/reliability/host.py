"""The local host with the workloads' Worker: its source folder is put together at run time."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import repository
from repository import LocalHost

HERE = Path(__file__).resolve().parent
REQUEST_SECONDS = 120.0

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
    with _source() as source:
        javascript = HERE / "worker" / "javascript.mjs"
        with LocalHost(source=source, config=_CONFIG, variables=variables, javascript=javascript) as host:
            yield host


@contextmanager
def _source() -> Iterator[Path]:
    repository.WORKSPACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=repository.WORKSPACE, prefix="reliability-") as name:
        folder = Path(name)
        skipped = shutil.ignore_patterns("__pycache__")
        main = repository.MAIN
        shutil.copytree(main.parent, folder, ignore=skipped, dirs_exist_ok=True)
        (folder / main.name).rename(folder / "deployed.py")
        package = folder / "tests" / "reliability"
        shutil.copytree(HERE / "worker", package / "worker", ignore=skipped)
        for part in (package, package.parent):
            (part / "__init__.py").touch()
        shutil.copy(HERE / "worker" / "entry.py", folder / main.name)
        yield folder


class Failed(Exception):
    """An event that should have ended normally did not."""


class Client:
    """One connection to the Worker, for one thread."""

    def __init__(self, host: LocalHost, seconds: float = REQUEST_SECONDS) -> None:
        self._http = httpx.Client(
            base_url=host.url,
            headers={"Authorization": f"Bearer {host.token}"},
            timeout=seconds,
            trust_env=False,
            transport=httpx.HTTPTransport(retries=0),
        )

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def post(self, path: str, body: Any) -> httpx.Response:
        """Send a JSON body."""
        return self._http.post(path, content=json.dumps(body).encode("ascii"))

    def ask(self, path: str, body: Any) -> Any:
        """Send a JSON body and read a JSON answer, which must be a 200."""
        answer = self.post(path, body)
        if answer.status_code != 200:
            raise Failed(f"{path} answered {answer.status_code}: {answer.text[:2000]}")
        return json.loads(answer.content)

    def script(self, target: str, steps: list[Any], event: str = "durable-fetch") -> httpx.Response:
        """Run a script."""
        return self.post("/v1/run", {"object": target, "event": event, "steps": steps})

    def run(self, target: str, *steps: Any, event: str = "durable-fetch") -> list[Any]:
        """Run a script in an event that must end normally, and return its results."""
        answer = self.script(target, list(steps), event)
        if answer.status_code != 200:
            raise Failed(f"status {answer.status_code}: {answer.text[:2000]}")
        results: list[Any] = json.loads(answer.content)["results"]
        return results

    def values(self, target: str, *steps: Any) -> list[Any]:
        """Run a script of which every step must succeed, and return the values."""
        results = self.run(target, *steps)
        for result in results:
            if "value" not in result:
                raise Failed(f"{result['error']}: {result['message']}")
        return [result["value"] for result in results]
