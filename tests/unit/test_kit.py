"""Another host of the interfaces is verified by the same command: here one of a few lines, over HTTP."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from verifier.html import read
from verifier.schema import problem

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "kit"
CASE = "tx-sample-get"
HOLDS, DIFFERS, STUCK, CRASHED = range(4)

Store = dict[str, str]


def _put(store: Store, key: str, value: str) -> None:
    store[key] = value


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "写入持久仓键值": _put,
    "读取持久仓键值": lambda store, key: [key in store, store.get(key, "")],
    "列举持久仓键值": lambda store, _: json.dumps([[key, json.loads(store[key])] for key in sorted(store)]),
    "清空持久仓": lambda store: store.clear(),
    "读取持久告警": lambda _: [False, 0],
    "删除持久告警": lambda _: None,
}


@contextmanager
def host(functions: dict[str, Callable[..., Any]]) -> Iterator[tuple[str, dict[str, Store]]]:
    """The address of a host with these functions, and what its objects hold."""
    objects: dict[str, Store] = {}

    class Handler(BaseHTTPRequestHandler):
        def answer(self, status: int, body: Any) -> None:
            assert self.headers["Authorization"] == f"Bearer {TOKEN}"
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self.answer(200, {"source": "another", "now_ms": time.time_ns() // 1_000_000})

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if wrong := problem(request, "protocol"):
                self.answer(400, {"error": wrong})
                return
            store = objects.setdefault(request["object"], {})
            results = [functions[step["call"]](store, *step["args"]) for step in request["steps"]]
            self.answer(200, {"results": [{"value": value} for value in results]})

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", objects
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def verify(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "scripts"), "TOKEN": TOKEN}
    command = [sys.executable, "-m", "verifier", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_another_host_is_verified_and_reported(tmp_path: Path, right: bool) -> None:
    functions = FUNCTIONS if right else FUNCTIONS | {"读取持久仓键值": lambda *_: [False, ""]}
    data, page, again = (tmp_path / name for name in ("report.json", "report.html", "again.html"))
    with host(functions) as (url, objects):
        to = ["--json", str(data), "--html", str(page), "--state", str(tmp_path / "state")]
        told = verify("--url", url, "--case", CASE, *to)
    assert told.returncode == (HOLDS if right else DIFFERS), told.stdout + told.stderr
    assert objects
    assert not any(objects.values())  # nothing is left behind
    (case,) = read(data)["cases"]
    assert (case["id"], case["verdict"]) == (CASE, "holds" if right else "differs")
    assert ("All 1 hold." in page.read_text("utf-8")) == right
    assert verify("--html", str(again), "--from", str(data)).returncode == HOLDS
    assert again.read_bytes() == page.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--from", "{data}"], "--from goes with --html"),
        (["--from", "{data}", "--html", "{page}", "--json", "{page}"], "--from runs nothing"),
        (["--html", "{page}/none/page.html"], "does not exist"),
        (["--html", "{page}", "--from", "{data}"], "is no report of scripts/verify: {} is not"),
    ],
)
def test_what_is_called_wrongly_is_told_apart(tmp_path: Path, arguments: list[str], told: str) -> None:
    data = tmp_path / "report.json"
    data.write_text("[]")
    filled = [one.format(data=data, page=tmp_path / "page.html") for one in arguments]
    ended = verify(*filled)
    assert ended.returncode == CRASHED
    assert told.replace("{}", "[]") in re.sub(r"\s+", " ", ended.stdout + ended.stderr)
    assert not (tmp_path / "page.html").exists()
