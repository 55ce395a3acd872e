"""What a test does with the Worker: requests, objects, alarms, queues."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from yungong_local import configuration
from yungong_local.errors import LocalHostError
from yungong_local.server import LocalHost

REQUEST_SECONDS = 60.0
SETTLE_SECONDS = 10.0
"""How long the end of a test waits for what its events still do."""

_POLL_SECONDS = 0.02
_QUIET_SECONDS = 0.1


@dataclass(frozen=True)
class Delivery:
    """How the Worker's queue handler ended.

    Attributes:
        outcome: "ok", or what the platform calls the failure, such as "exception": all is delivered again.
        acknowledged: the indexes of the messages that were acknowledged one by one.
        retried: the delay in seconds of each message that is to be delivered again, by its index; None
            where the queue's own delay holds.
        acknowledged_all: whether the whole batch was acknowledged.
        retried_all: whether the whole batch is to be delivered again.
    """

    outcome: str
    acknowledged: tuple[int, ...]
    retried: dict[int, int | None]
    acknowledged_all: bool
    retried_all: bool


class WorkerObject:
    """One Durable Object, of one test unless it is shared.

    Attributes:
        binding: the binding of its class.
        name: its whole name, as ``idFromName`` takes it.
    """

    def __init__(self, worker: Worker, binding: str, name: str) -> None:
        self.binding = binding
        self.name = name
        self._worker = worker

    def fetch(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send the object a request and return its answer; `options` are those of ``httpx.request``."""
        headers = httpx.Headers(options.pop("headers", None))
        headers.update(self._worker.host.object_headers(self.binding, self.name))
        return self._worker.fetch(method, path, headers=headers, **options)

    def alarm(self) -> int | None:
        """Return the time of its alarm in Unix milliseconds, as the platform has it, or None."""
        at_ms: int | None = self._ask("alarm")
        return at_ms

    def fire_alarm(self) -> None:
        """Run its alarm now, whatever its time, and return when the handler has ended.

        The alarm is cleared first, as it is when it fires. The platform retries nothing of this firing.

        Raises:
            LocalHostError: no alarm is set; or the handler failed: tells its traceback.
        """
        if not self._ask("fire_alarm"):
            raise LocalHostError(f"the object {self.name!r} of {self.binding} has no alarm to fire")

    def entries(self) -> dict[str, Any]:
        """Return what it stores, by key in the order of the platform, read as JSON."""
        return dict(self._ask("entries"))

    def restart(self) -> None:
        """End its instance: the next event finds it constructed anew, with what is stored."""
        self._worker.host.control("restart", binding=self.binding, name=self.name)

    def _ask(self, operation: str) -> Any:
        return self._worker.host.control(
            "object", what=operation, binding=self.binding, name=self.name, seconds=REQUEST_SECONDS
        )


class Worker:
    """The Worker under test, during one test.

    When the test ends, what its events still do is waited for; then every object that it used is emptied, its
    alarm deleted and its instance ended, and messages that were sent are dropped before Python sees them. A
    shared object keeps what it stores, and loses its alarm. What stands in KV, R2 and D1 stays.
    """

    def __init__(self, host: LocalHost) -> None:
        self.host = host
        self._http = httpx.Client(base_url=host.url, timeout=REQUEST_SECONDS, trust_env=False)
        self._fresh = secrets.token_hex(4)
        self._shared: list[dict[str, str]] = []
        host.await_log(_QUIET_SECONDS)  # what the test before printed is not this one's
        self._log_start = len(host.log())

    def __enter__(self) -> Self:
        time.sleep(0.002)  # what this test sends bears a later millisecond
        self.host.control("open", nowMs=int(time.time() * 1000) - 1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()
        self._end()

    def fetch(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send the Worker a request and return its answer; `options` are those of ``httpx.request``."""
        return self._http.request(method, path, **options)

    def object(self, binding: str, name: str, *, shared: bool = False) -> WorkerObject:
        """Return an object of the class bound to `binding`.

        Args:
            binding: the name in [[durable_objects.bindings]].
            name: within this test it names one object, which no other test has.
            shared: whether the name is taken as it is, and what is stored outlives the test.

        Raises:
            LocalHostError: the configuration has no such binding.
        """
        _require("[[durable_objects.bindings]]", binding, configuration.object_bindings(self.host.config))
        if shared:
            self._shared.append({"binding": binding, "name": name})
            return WorkerObject(self, binding, name)
        return WorkerObject(self, binding, f"{name}-{self._fresh}")

    def sent(self, queue: str) -> list[Any]:
        """Return the bodies that the Worker has sent to `queue` in this test, in order, read as JSON.

        Raises:
            LocalHostError: the configuration has no producer for a queue of that name.
        """
        producers = configuration.producer_bindings(self.host.config)
        _require("queue of [[queues.producers]]", queue, producers.values(), producers)
        bodies: list[Any] = self.host.control("sent", queue=queue)
        return bodies

    def deliver(self, queue: str, bodies: Iterable[Any]) -> Delivery:
        """Give the Worker's queue handler one batch and return how it ended; nothing is redelivered.

        Raises:
            TypeError: `bodies` is a text or a mapping, and no list of bodies.
            LocalHostError: the configuration has no consumer for a queue of that name.
        """
        if isinstance(bodies, str | Mapping):
            raise TypeError(f"bodies must be a list of JSON values, not one {type(bodies).__name__}")
        consumers = [one["queue"] for one in self.host.config.get("queues", {}).get("consumers", [])]
        producers = configuration.producer_bindings(self.host.config)
        _require("queue of [[queues.consumers]]", queue, consumers, producers)
        result = self.host.control("deliver", queue=queue, bodies=list(bodies), seconds=REQUEST_SECONDS)
        return Delivery(
            outcome=result["outcome"],
            acknowledged=tuple(_index(one) for one in result.get("explicitAcks", [])),
            retried={
                _index(one["msgId"]): one.get("delaySeconds") for one in result.get("retryMessages", [])
            },
            acknowledged_all=bool(result.get("ackAll")),
            retried_all=bool(result.get("retryBatch", {}).get("retry")) or result["outcome"] != "ok",
        )

    def log(self) -> str:
        """Return what the Worker has printed in this test so far; it comes a moment after the answers."""
        return self.host.log()[self._log_start :]

    def _end(self) -> None:
        deadline = time.monotonic() + SETTLE_SECONDS
        running = self.host.control("close")
        while running and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            running = self.host.control("running")
        touched = self.host.control("touched")
        if running:
            # What cannot be waited for is ended with the whole runtime; storage stays, to be emptied below.
            self.host.restart()
        self.host.control("wipe", touched=touched, shared=self._shared)
        if running:
            raise LocalHostError(f"{running} events of the test still ran {SETTLE_SECONDS:g} s after its end")


def _require(what: str, name: str, names: Iterable[str], bindings: Mapping[str, str] | None = None) -> None:
    known = sorted(set(names))
    if name not in known:
        hint = (
            f"; {name} is a binding, its queue is {bindings[name]}" if bindings and name in bindings else ""
        )
        raise LocalHostError(f"no {what} is named {name!r}: there are {', '.join(known) or 'none'}{hint}")


def _index(message_id: str) -> int:
    return int(message_id.rpartition("-")[2])
