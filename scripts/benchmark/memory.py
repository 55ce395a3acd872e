"""What workerd's memory does over many operations, and while the largest listing is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repository import LocalHost

from . import payloads
from .host import Client

_MB = 1024 * 1024
_LOOP = 2_500
_LISTED_BYTES = 130_000
_LISTED = 64  # just under 8 MiB of text
LIST_BOUND_MIB = 64.0


@dataclass(frozen=True)
class Memory:
    """Resident memory of workerd in MiB."""

    operations: int
    series: list[float]
    """Before, then after each tenth of the operations."""
    list_idle: float
    list_peak: float
    list_after: float

    @property
    def growth(self) -> float:
        """Over the second half of the operations: the first fills caches."""
        return self.series[-1] - self.series[len(self.series) // 2]


def run(host: LocalHost, operations: int, advance: Callable[[], None]) -> Memory:
    """Measure on a running benchmark's Worker, which is started anew for the listing."""
    client = Client(host)
    _turn(client, "fill", _LISTED, payloads.text(_LISTED_BYTES))
    # Wasm memory never shrinks: the listing must be the first thing that needs any.
    host.restart()
    client = Client(host)
    _turn(client, "get_alarm", 10, "0")
    idle = _resident(host)
    _forget_peak(host)
    _turn(client, "list_all", 1, "0")
    peak, after = _peak(host), _resident(host)
    host.restart()
    client = Client(host)
    text = payloads.text(1_200)
    series = [_resident(host)]
    for _ in range(10):
        for _ in range(max(1, operations // 10 // (4 * _LOOP))):
            _turn(client, "mixed", _LOOP, text)
        series.append(_resident(host))
        advance()
    return Memory(operations, series, idle, peak, after)


def _turn(client: Client, operation: str, count: int, text: str) -> Any:
    wanted: dict[str, Any] = {"way": "yungong", "in_javascript": False, "operation": operation, "text": text}
    return client.post(
        "/measure", wanted | {"count": count, "names": 8, "stored": False, "object": "memory", "ballast": 0}
    )


def _forget_peak(host: LocalHost) -> None:
    Path(f"/proc/{host.workerd_pid()}/clear_refs").write_text("5")


def _resident(host: LocalHost) -> float:
    return _status(host, "VmRSS")


def _peak(host: LocalHost) -> float:
    return _status(host, "VmHWM")


def _status(host: LocalHost, name: str) -> float:
    for line in Path(f"/proc/{host.workerd_pid()}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / _MB
    raise RuntimeError(f"/proc does not tell {name}")
