"""From start to first answer: a Worker on the package beside the same Worker on the SDK alone.

Both answer through an object. The time is that of the first request to a workerd that has settled: Python
starts with it, imports the Worker, and answers. What wrangler and workerd need before is the same for both
and would hide the difference. Cloudflare keeps a snapshot of the imported Worker: what is imported here at
each start is not, there.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from repository import LocalHost
from yungong_local import LocalHostError

from .host import WORKER, source
from .summary import Rounds

ENTRIES = {"yungong": WORKER / "cold" / "package.py", "sdk": WORKER / "cold" / "bare.py"}
_SETTLED_SECONDS = 0.4
_START_SECONDS = 30.0
_ANSWER_SECONDS = 60.0
_POLL_SECONDS = 0.05


def run(starts: int, advance: Callable[[], None]) -> Rounds:
    """Start each Worker `starts` times, in turn, and return the microseconds of each first answer."""
    results = []
    with source(ENTRIES["yungong"]) as package, source(ENTRIES["sdk"]) as bare:
        for _ in range(starts):
            results.append({"yungong": _first_answer_us(package), "sdk": _first_answer_us(bare)})
            advance()
    return results


def _first_answer_us(folder: Path) -> float:
    with _launched(folder) as host:
        _settle(host)
        connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=_ANSWER_SECONDS)
        before = time.perf_counter()
        connection.request("GET", "/")
        response = connection.getresponse()
        body = response.read()
        took = time.perf_counter() - before
        connection.close()
        if response.status != 200 or body != b"first":
            raise RuntimeError(f"the Worker did not answer: {response.status} {body.decode()[:2000]}")
        return took * 1e6


@contextmanager
def _launched(folder: Path) -> Iterator[LocalHost]:
    host = LocalHost(source=folder)
    try:
        host.launch()
        yield host
    finally:
        host.stop()


def _settle(host: LocalHost) -> None:
    """Wait until workerd runs and has been idle for a while."""
    deadline = time.monotonic() + _START_SECONDS
    seen, since = -1, time.monotonic()
    while time.monotonic() < deadline:
        try:
            ticks = _ticks(host.workerd_pid())
        except (LocalHostError, OSError):
            ticks = -1
        if ticks != seen:
            seen, since = ticks, time.monotonic()
        elif ticks >= 0 and time.monotonic() - since > _SETTLED_SECONDS:
            return
        time.sleep(_POLL_SECONDS)
    raise RuntimeError(f"workerd did not come to rest within {_START_SECONDS:g} seconds:\n{host.log()}")


def _ticks(pid: int) -> int:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
