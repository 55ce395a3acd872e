"""A local server of a Python Worker, started, killed and restarted by tests, tools and the command."""

from __future__ import annotations

import atexit
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from yungong_local import configuration, packages
from yungong_local.errors import LocalHostError
from yungong_local.handlers import Handlers
from yungong_local.instance import Instance
from yungong_local.log import CONTROL_PATH, readable
from yungong_local.sources import Project

START_SECONDS = 60.0
"""How long `LocalHost.wait` waits for the first answer."""

HEADER = "yungong-local"
OBJECT_HEADER = "yungong-local-object"

_STOP_SECONDS = 3.0
_POLL_SECONDS = 0.05
_LOG_SECONDS = 3.0

_RELOADED = "Local server updated and ready"

_ENVIRONMENT = {
    "CLOUDFLARE_CF_FETCH_ENABLED": "false",
    "NO_COLOR": "1",
    "WRANGLER_HIDE_BANNER": "true",  # no look for a newer version
    "WRANGLER_SEND_ERROR_REPORTS": "false",
    "WRANGLER_SEND_METRICS": "false",
    "WRANGLER_WRITE_LOGS": "false",
    "X_LOCAL_EXPLORER": "false",
    "X_LOCAL_OBSERVABILITY": "false",  # it would keep every trace on disk
}


class LocalHost:
    """The Worker under ``wrangler dev`` on 127.0.0.1, with state on disk.

    A context manager: entering starts it, leaving stops it. It never outlives this process, however that
    ends.

    Args:
        project: its configuration, a wrangler.toml, wrangler.jsonc or wrangler.json.
        state: the folder where objects are kept; by default a temporary one, removed by `stop`.
        port: a free one by default; `restart` keeps it.
        token: becomes the Worker's secret TOKEN; by default it has what ``.dev.vars`` says.
        variables: put over the configuration's ``[vars]``, name by name.
        source: the folder of the main module, if it is not the configuration's.
        config: merged into the derived wrangler configuration. Tables are merged, lists joined; tables of a
            list that bear the same binding, name, queue or tag count as one.
        javascript: an ES module (one file). What it exports is exported beside the Python classes; a Durable
            Object class of the configuration that it has as ``export class Name`` is its own, not Python's.
        testing: whether `control` can give batches, tell what was sent and end a test.

    Attributes:
        warnings: what is odd in the configuration without being wrong, a sentence each.

    Raises:
        ConfigurationError: the configuration cannot work; the text has a sentence for each mistake.
    """

    def __init__(
        self,
        project: Path,
        *,
        state: Path | None = None,
        port: int | None = None,
        token: str | None = None,
        variables: Mapping[str, object] | None = None,
        source: Path | None = None,
        config: Mapping[str, object] | None = None,
        javascript: Path | None = None,
        testing: bool = False,
    ) -> None:
        self.project = project.resolve()
        self.port = port or _free_port()
        self.token = token
        self.url = f"http://127.0.0.1:{self.port}"
        own, self.warnings = configuration.checked(self.project)
        given = {**own, "vars": {**own.get("vars", {}), **(variables or {})}}
        self.config = configuration.derived(self.project, given, config or {})
        if testing:
            self.config = configuration.for_tests(self.config)
        self.files = Project(self.project.parent, own, source)
        self._build = own.get("build", {})
        self._instance = Instance(self.project, self.config, self.files, token, javascript, testing=testing)
        self.state = state.resolve() if state else self._instance.folder / "state"
        self._inspector_port = 0
        self._log = ""
        self._log_start = 0
        self._wrangler: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the server and returns when the Worker has answered. Stops it again if it does not."""
        try:
            self.launch()
            self.wait()
        except BaseException:
            self.stop()
            raise

    def launch(self) -> None:
        """Starts the server without waiting for it."""
        if self._wrangler is not None:
            raise LocalHostError("the local host is running already")
        if not _is_free(self.port):
            raise LocalHostError(f"port {self.port} is in use")
        folder = self._instance.folder
        if not folder.exists():
            self._run_build()
            self._instance.prepare()
        self._inspector_port = _free_port()
        self.state.mkdir(parents=True, exist_ok=True)
        command: list[str | Path] = [
            packages.node(),
            "--no-warnings",
            packages.node_modules() / "wrangler/wrangler-dist/cli.js",
            "dev",
            *("--config", folder / "wrangler.json"),
            *("--ip", "127.0.0.1", "--port", str(self.port), "--inspector-port", str(self._inspector_port)),
            *("--persist-to", self.state),
            "--show-interactive-dev-session=false",
        ]
        environment = {name: value for name, value in os.environ.items() if name != "CLOUDFLARE_ENV"}
        environment |= _ENVIRONMENT
        # Wrangler's own files: the registry of running Workers (ours are not to be found), its settings, and
        # what it leaves behind when it is killed.
        environment |= {"WRANGLER_REGISTRY_PATH": f"{folder}/registry", "XDG_CONFIG_HOME": f"{folder}/config"}
        environment["TMPDIR"] = f"{folder}/temporary"
        (folder / "temporary").mkdir(exist_ok=True)
        self._log_start = len(self.log())
        with (folder / "log.txt").open("ab") as log:
            self._wrangler = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        # When this process dies, whatever kills it, the guard reads the end of its input and ends the group.
        self._guard = subprocess.Popen(
            ["sh", "-c", "read -r _; kill -KILL 0"],
            stdin=subprocess.PIPE,
            process_group=self._wrangler.pid,
        )
        atexit.register(self.stop)

    def wait(self, seconds: float = START_SECONDS) -> None:
        """Returns when Python has started and has imported the main module; no event enters it.

        Raises:
            LocalHostError: the server ended, Python did not start, a class is missing, or the time was up.
        """
        deadline = time.monotonic() + seconds
        while True:
            if not self.is_running():
                raise LocalHostError(f"wrangler dev ended while starting:\n{self._recent_log()}")
            left = deadline - time.monotonic()
            if left <= 0:
                raise LocalHostError(f"no answer within {seconds:g} seconds:\n{self._recent_log()}")
            try:
                found = self.control("ready", seconds=left)
            except OSError:
                time.sleep(_POLL_SECONDS)
                continue
            if self._take_handlers(found):
                return

    def control(self, operation: str, *, seconds: float = START_SECONDS, **details: object) -> Any:
        """Asks the host, not the application, for one of the operations of control.mjs.

        Raises:
            OSError: nothing answers.
            LocalHostError: the operation failed; tells the error.
        """
        body = json.dumps({"operation": operation, **details}).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("POST", CONTROL_PATH, body, {HEADER: self._instance.secret})
            answer = json.loads(connection.getresponse().read())
        except (http.client.HTTPException, json.JSONDecodeError) as error:
            raise ConnectionError("the server is not up yet") from error
        finally:
            connection.close()
        if "error" in answer:
            raise LocalHostError(answer["error"])
        return answer["value"]

    def object_headers(self, binding: str, name: str) -> dict[str, str]:
        """The headers with which a request goes to an object instead of the Worker's own `fetch`."""
        which = json.dumps({"binding": binding, "name": name})
        return {HEADER: self._instance.secret, OBJECT_HEADER: quote(which)}

    def reload(self) -> None:
        """Gives the running server the source as it is now; returns when wrangler has restarted the Worker.

        Python has not started by then: see `wait`.
        """
        self._require_running()
        self._log_start = len(self.log())
        if self._instance.write_files():
            self._await_reload()

    def _await_reload(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while _RELOADED not in self._recent_log():
            if time.monotonic() > deadline or not self.is_running():
                raise LocalHostError(f"wrangler dev does not reload:\n{self._recent_log()}")
            time.sleep(_POLL_SECONDS)

    @property
    def handlers(self) -> Handlers:
        """The events that each class handles, as the Worker declares them."""
        return self._instance.handlers

    def is_running(self) -> bool:
        """Whether it was started, and wrangler has not ended by itself."""
        return self._wrangler is not None and self._wrangler.poll() is None

    def stop(self) -> None:
        """Ends the server and removes what it wrote, save a state folder that was given. May be repeated."""
        self._end(graceful=True)
        atexit.unregister(self.stop)
        self._log = self.log()
        self._instance.remove()

    def kill(self) -> None:
        """Kills the server without warning (SIGKILL). The state stays, for `restart`."""
        self._require_running()
        self._end(graceful=False)

    def restart(self) -> None:
        """Starts the server again on the same state and port; ends it first if it is running."""
        self._end(graceful=True)
        self.start()

    def log(self) -> str:
        """Everything printed so far, over all restarts, made readable."""
        try:
            text = (self._instance.folder / "log.txt").read_text("utf-8", errors="replace")
        except FileNotFoundError:
            text = ""
        return self._log + readable(text)

    def await_log(self, quiet_s: float) -> None:
        """Returns when nothing has been printed for `quiet_s`: wrangler prints some milliseconds late."""
        log = self._instance.folder / "log.txt"
        deadline = time.monotonic() + _LOG_SECONDS
        while time.time() - log.stat().st_mtime < quiet_s and time.monotonic() < deadline:
            time.sleep(quiet_s / 5)

    def workerd_pid(self) -> int:
        """The process that runs the Worker (wrangler has another workerd in front of it)."""
        self._require_running()
        for pid in self._processes():
            try:
                arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if Path(arguments[0].decode()).name == "workerd" and not any(
                argument.endswith(b":%d" % self.port) for argument in arguments
            ):
                return pid
        raise LocalHostError("no workerd is running")

    @property
    def inspector_url(self) -> str:
        """V8's inspector, by way of wrangler's: connecting to workerd's own ends wrangler's log of errors."""
        self._require_running()
        return f"ws://127.0.0.1:{self._inspector_port}/ws"

    def _take_handlers(self, found: Mapping[str, list[str] | None]) -> bool:
        """Whether the Worker runs with the handlers that its classes have; else it is reloaded with them."""
        missing = [name for name, names in found.items() if names is None]
        if missing:
            raise LocalHostError(
                f"{self.project.name}: the main module has no class named {' and none named '.join(missing)}"
                " (a class counts under its __name__, an alias does not; __all__, if any, must name it)"
            )
        actual = {name: list(names or []) for name, names in found.items()}
        if actual == self.handlers:
            return True
        self._log_start = len(self.log())
        self._instance.write_main(actual)
        self._await_reload()
        return False

    def _run_build(self) -> None:
        """Runs the configuration's [build] command, as wrangler would."""
        command = self._build.get("command")
        if not command:
            return
        folder = self.project.parent / self._build.get("cwd", ".")
        done = subprocess.run(
            command, shell=True, cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode:
            output = done.stdout.decode("utf-8", "replace")
            raise LocalHostError(f"{self.project.name}: [build] command {command!r} failed:\n{output}")

    def _require_running(self) -> None:
        if self._wrangler is None:
            raise LocalHostError("the local host is not running")

    def _recent_log(self) -> str:
        return self.log()[self._log_start :]

    def _end(self, *, graceful: bool) -> None:
        if self._wrangler is None:
            return
        if graceful:
            self._wrangler.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._wrangler.wait(_STOP_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._wrangler.pid, signal.SIGKILL)
        self._wrangler.wait()
        if self._guard is not None:
            self._guard.communicate()
        # A killed process may hold its files a moment longer.
        deadline = time.monotonic() + _STOP_SECONDS
        while self._processes() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS / 5)
        self._wrangler = self._guard = None

    def _processes(self) -> list[int]:
        """The living processes of the server's group."""
        found = []
        assert self._wrangler is not None
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, group = stat.read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue  # it ended meanwhile
            if int(group) == self._wrangler.pid and state not in "ZX":
                found.append(int(stat.parent.name))
        return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
