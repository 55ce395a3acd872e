"""A headless Chromium, driven over its DevTools protocol: one page at a time."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
]
START_S = 60
ANSWER_S = 60


class Page:
    """A tab; `requested` is every address that it asked for."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._events: list[dict[str, Any]] = []
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command's answer; events that come before it are kept."""
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        self._socket.send(json.dumps(message | ({"sessionId": self._session} if self._session else {})))
        while True:
            answer = json.loads(self._socket.recv(timeout=ANSWER_S))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self._events.append(answer)

    @property
    def requested(self) -> list[str]:
        events = [one["params"] for one in self._events if one.get("method") == "Network.requestWillBeSent"]
        return [str(one["request"]["url"]) for one in events]

    def open(self, path: Path, width: int = 1200, height: int = 1600) -> None:
        """Show a file and wait until it has loaded."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.ask("Emulation.setDeviceMetricsOverride", **metrics)
        self._events.clear()
        self.ask("Page.navigate", url=path.as_uri())
        while not any(one.get("method") == "Page.loadEventFired" for one in self._events):
            self._events.append(json.loads(self._socket.recv(timeout=ANSWER_S)))

    def media(self, kind: str = "", scheme: str = "light") -> None:
        """What the page is shown on (empty: as it comes), and in which colours."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=kind, features=features)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self) -> bytes:
        """The window as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot")["data"])

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.ask("Page.printToPDF", preferCSSPageSize=True)["data"])


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A page of a Chromium whose profile lies in `folder`."""
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = folder / "DevToolsActivePort"
        ends = time.monotonic() + START_S
        while not (port.exists() and port.read_text().count("\n")):
            assert process.poll() is None, f"chromium ended with status {process.returncode}"
            assert time.monotonic() < ends, f"chromium did not start within {START_S} s"
            time.sleep(0.05)
        number, path = port.read_text().split("\n")
        with connect(f"ws://127.0.0.1:{number}{path}", max_size=None, proxy=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        process.wait()
