"""scripts/dev and what it stands on: a server that answers, reloads and leaves nothing running."""

import signal
import socket
import subprocess
from pathlib import Path

import httpx
from repository import LocalHost

from tests.client import HANGING_SECONDS

from .scripts import eventually

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_dev_serves_the_worker_until_it_is_interrupted(tmp_path: Path) -> None:
    port = free_port()
    log = tmp_path / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [
                ROOT / "scripts/dev",
                "--port",
                str(port),
                "--token",
                "dev-token",
                "--state",
                tmp_path / "state",
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        eventually(
            "the server's line", 60, lambda: f"Ready on http://127.0.0.1:{port}" in log.read_text("utf-8")
        )
        answer = httpx.post(
            f"http://127.0.0.1:{port}/v1/run",
            headers={"Authorization": "Bearer dev-token"},
            json={"object": "dev", "event": "durable-fetch", "steps": [{"kind": True}]},
            timeout=HANGING_SECONDS,
            trust_env=False,
        )
        assert answer.json() == {"results": [{"value": "durable-fetch"}]}
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
    assert "dev-token" not in log.read_text("utf-8")
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)), "something still listens"


def test_a_changed_source_is_served_after_a_reload(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    entry = source / "entry.py"
    text = (
        "from workers import DurableObject, Response, WorkerEntrypoint\n"
        "class DurableStore(DurableObject): ...\n"
        "class Default(WorkerEntrypoint):\n"
        "    async def fetch(self, request):\n"
        "        return Response('ANSWER')\n"
    )
    entry.write_text(text.replace("ANSWER", "first"), "utf-8")
    with LocalHost(source=source) as host:
        assert httpx.get(host.url, timeout=HANGING_SECONDS, trust_env=False).text == "first"
        entry.write_text(text.replace("ANSWER", "second"), "utf-8")
        host.reload()
        host.wait()
        assert httpx.get(host.url, timeout=HANGING_SECONDS, trust_env=False).text == "second"
