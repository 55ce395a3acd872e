"""scripts/dev: the Worker under ``wrangler dev`` in the foreground, restarted when a file of it changes."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from localhost import build
from localhost.server import LocalHost, LocalHostError

_POLL_SECONDS = 0.3


def main() -> int:
    """Serves until interrupted; 1 if the server cannot be started or ends by itself."""
    parser = argparse.ArgumentParser(prog="scripts/dev", description=__doc__)
    parser.add_argument("--port", type=int, default=8787, help="default: %(default)s")
    parser.add_argument("--token", help="the Worker's TOKEN (default: a random one, printed)")
    parser.add_argument(
        "--state",
        type=Path,
        default=build.ROOT / ".wrangler" / "state",
        help="the folder where objects and alarms are kept (default: %(default)s)",
    )
    parser.add_argument(
        "--source",
        type=Path,
        default=build.ROOT / "src",
        help="the folder of entry.py, with the packages it imports (default: %(default)s)",
    )
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    host = LocalHost(port=options.port, token=options.token, state=options.state, source=options.source)
    _say("Starting")
    try:
        host.launch()
        if not options.token:
            _say(f"Token: {host.token}")
        _serve(host)
    except KeyboardInterrupt:
        return 0
    except LocalHostError as error:
        _say(str(error))
        return 1
    finally:
        host.stop()


def _serve(host: LocalHost) -> NoReturn:
    printed = 0
    seen = _versions(host.source)
    _await_answer(host, "")
    while True:
        lines = host.log().split("\n")[:-1]
        for line in lines[printed:]:
            _say(line)
        printed = len(lines)
        if not host.is_running():
            raise LocalHostError("wrangler dev has ended")
        now = _versions(host.source)
        changed = sorted(str(path.relative_to(host.source)) for path, _ in seen.items() ^ now.items())
        if changed:
            seen = now
            host.reload()
            _await_answer(host, f" (reloaded: {', '.join(dict.fromkeys(changed))})")
        time.sleep(_POLL_SECONDS)


def _await_answer(host: LocalHost, note: str) -> None:
    try:
        host.wait()
    except LocalHostError as error:
        if not host.is_running():
            raise
        _say(f"{error}\nWaiting for a change.")
    else:
        _say(f"Ready on {host.url}{note}")


def _versions(source: Path) -> dict[Path, int]:
    versions = {}
    for path in build.source_files(source):
        try:
            versions[path] = path.stat().st_mtime_ns
        except FileNotFoundError:
            continue  # an editor is just replacing it
    return versions


def _say(text: str) -> None:
    print(text, flush=True)


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    # A second signal must not interrupt the stopping.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
