"""A thin client of the protocol: scripts in, results out."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Self

import httpx
from repository import LocalHost

Step = dict[str, Any]

REQUEST_SECONDS = 120.0
HANGING_SECONDS = 300.0
"""When a test takes a whole program's request for hanging: one takes 22 s, and many times that under load."""


def call(name: str, *args: Any) -> Step:
    """Return the step that calls an interface function."""
    return {"call": name, "args": list(args)}


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
