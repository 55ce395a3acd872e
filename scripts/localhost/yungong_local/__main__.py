"""The command ``yungong-local``."""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from yungong_local import configuration
from yungong_local.errors import LocalHostError
from yungong_local.server import LocalHost

_POLL_SECONDS = 0.3


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; 1 if the server cannot be started or ends by itself."""
    options = _parser().parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    token = secrets.token_urlsafe(24) if options.token == "random" else options.token
    try:
        host = LocalHost(
            options.config,
            port=options.port,
            token=token,
            state=options.state or options.config.resolve().parent / ".wrangler" / "state",
            source=options.source,
        )
    except LocalHostError as error:
        _say(str(error))
        return 1
    try:
        for warning in host.warnings:
            _say(f"Warning: {warning}")
        _say("Starting")
        host.launch()
        if options.token == "random":
            _say(f"Token: {token}")
        _introduce(host)
        _serve(host)
    except KeyboardInterrupt:
        return 0
    except LocalHostError as error:
        _say(str(error))
        return 1
    finally:
        host.stop()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="yungong-local", description=__doc__)
    dev = parser.add_subparsers(required=True, metavar="command").add_parser(
        "dev",
        help="serve a Python Worker until interrupted",
        description="Serves a Python Worker under the real wrangler dev, offline, until it is interrupted;"
        " reloads it when a file of it changes.",
    )
    default = next(
        (Path(name) for name in configuration.NAMES if Path(name).is_file()), Path("wrangler.toml")
    )
    dev.add_argument(
        "--config",
        type=Path,
        default=default,
        help="a wrangler.toml or wrangler.jsonc (default: %(default)s)",
    )
    dev.add_argument("--port", type=int, default=8787, help="default: %(default)s")
    dev.add_argument(
        "--token",
        help="the Worker's secret TOKEN; 'random' makes one and prints it (default: what .dev.vars says)",
    )
    dev.add_argument(
        "--state",
        type=Path,
        help="the folder where objects, alarms and the like are kept (default: .wrangler/state beside the"
        " configuration)",
    )
    dev.add_argument(
        "--source",
        type=Path,
        help="the folder of the main module, with what it imports (default: as the configuration has it)",
    )
    return parser


def _introduce(host: LocalHost) -> None:
    config = host.config
    _say(f"Inspector: {host.inspector_url}")
    for binding, class_name in configuration.object_bindings(config).items():
        _say(f"env.{binding}: Durable Object {class_name}")
    for binding, queue in configuration.producer_bindings(config).items():
        _say(f"env.{binding}: queue {queue}")
    for consumer in config.get("queues", {}).get("consumers", []):
        dead = consumer.get("dead_letter_queue")
        _say(f"consumes {consumer['queue']}{f', dead letters to {dead}' if dead else ''}")
    for table, kind in (("kv_namespaces", "KV"), ("r2_buckets", "R2"), ("d1_databases", "D1")):
        for entry in config.get(table, []):
            _say(f"env.{entry['binding']}: {kind}")
    for name in config.get("vars", {}):
        _say(f"env.{name}: variable")


def _serve(host: LocalHost) -> NoReturn:
    printed = 0
    seen = _versions(host)
    _await_answer(host, "")
    _say(f"Try: curl -i {host.url}/")
    while True:
        lines = host.log().split("\n")[:-1]
        for line in lines[printed:]:
            _say(line)
        printed = len(lines)
        if not host.is_running():
            raise LocalHostError("wrangler dev has ended")
        now = _versions(host)
        changed = sorted({name for name, _ in seen.items() ^ now.items()})
        if changed:
            seen = now
            host.reload()
            _await_answer(host, f" (reloaded: {', '.join(changed)})")
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


def _versions(host: LocalHost) -> dict[str, int]:
    versions = {}
    for name, path in host.files.files().items():
        try:
            versions[name] = path.stat().st_mtime_ns
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
