"""The folder that one ``wrangler dev`` runs in: the host's files, the Worker's, and what both are told."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yungong_local import configuration, handlers, packages
from yungong_local.handlers import Handlers
from yungong_local.sources import Project

_HOST = ("host.mjs", "files.mjs", "isolation.mjs", "control.mjs")


class Instance:
    """One such folder, in the cache beside the runtime; made by `prepare`.

    Attributes:
        folder: where it is.
        secret: what a request must bear to be the host's and not the application's.
        handlers: what the main module declares.
    """

    def __init__(
        self,
        project: Path,
        config: Mapping[str, Any],
        files: Project,
        token: str | None,
        javascript: Path | None,
        *,
        testing: bool,
    ) -> None:
        self.folder = packages.cache() / f"instance-{secrets.token_hex(8)}"
        self.secret = f"yungong_local_{secrets.token_hex(16)}"
        self.handlers: Handlers = {}
        self._config = config
        self._files = files
        self._secrets = _secrets(project.with_name(".dev.vars"), token)
        self._javascript = javascript.read_text("utf-8") if javascript else None
        self._testing = testing
        self._worker = self.folder / "worker"
        self._lock = -1

    def prepare(self) -> None:
        """Make the folder and everything in it.

        Raises:
            InstallationError: Node's packages could not be installed.
        """
        runtime = packages.runtime()
        _remove_abandoned()
        # Under its name nobody sees it before its lock is held.
        new = self.folder.with_name(f"new-{self.folder.name}")
        new.mkdir()
        self._lock = os.open(new, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        new.rename(self.folder)
        self._worker.mkdir()
        for path in runtime.iterdir():
            os.link(path, self._worker / path.name)
        for name in _HOST:
            shutil.copy(packages.HERE / name, self._worker)
        (self.folder / "wrangler.json").write_text(json.dumps(self._config, ensure_ascii=False), "utf-8")
        if self._secrets:
            file = self.folder / ".dev.vars"
            file.touch(mode=0o600)
            file.write_text(self._secrets, "utf-8")
        if self._javascript:
            (self._worker / "javascript.mjs").write_text(self._javascript, "utf-8")
        self.write_files()
        self.write_main(handlers.expected(self._files.files().values(), self._classes()))

    def write_files(self) -> bool:
        """Write the Worker's files where wrangler watches for changes; False if nothing has changed."""
        packed = self._files.packed()
        path = self._worker / "files.bin"
        if path.exists() and path.read_bytes() == packed:
            return False
        new = self.folder / "files.bin"
        new.write_bytes(packed)
        new.replace(path)
        return True

    def write_main(self, declared: Handlers) -> None:
        """Write the main module, which declares these handlers, and what it is told of this run."""
        self.handlers = declared
        objects = configuration.object_bindings(self._config)
        settings = {
            "secret": self.secret,
            "testing": self._testing,
            "handlers": {
                "Default": handlers.WORKER_HANDLERS,
                **dict.fromkeys(self._classes(), handlers.OBJECT_HANDLERS),
            },
            "objects": {class_name: binding for binding, class_name in objects.items()},
            "producers": configuration.producer_bindings(self._config),
            "selfBinding": configuration.HOST_BINDING,
        }
        text = f"export const settings = {json.dumps(settings)};\n"
        (self._worker / "settings.mjs").write_text(text, "utf-8")
        (self._worker / "main.mjs").write_text(handlers.main_module(declared, self._javascript), "utf-8")

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _classes(self) -> list[str]:
        own = handlers.javascript_classes(self._javascript)
        return sorted(set(configuration.object_bindings(self._config).values()) - own)


def _secrets(file: Path, token: str | None) -> str:
    text = file.read_text("utf-8") if file.is_file() else ""
    # Not among the vars: wrangler prints those.
    return text if token is None else f"{text}\nTOKEN={json.dumps(token)}\n"


def _remove_abandoned() -> None:
    """Remove what a process that was killed could not: nobody holds its lock."""
    for folder in packages.cache().glob("instance-*"):
        try:
            lock = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
