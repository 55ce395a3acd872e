"""The files that belong to a Worker: those that wrangler would upload, packed for the host."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

_GLOBS = ("*.py", "*.txt", "*.html", "*.sql", "*.bin")
"""What wrangler attaches to a Python Worker unless [[rules]] say more."""

_SDK = ("workers", "asgi.py")
"""Of site-packages, what a deployed Worker has in python_modules (workers-runtime-sdk)."""


class Project:
    """The files of one project.

    Args:
        folder: where its configuration stands, and `python_modules`.
        config: the configuration.
        source: the folder of the main module, if it is not the one that the configuration names.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], source: Path | None = None) -> None:
        main = folder / config["main"]
        self.source = (source or main.parent).resolve()
        self.main = main.stem
        self._vendored = folder / "python_modules"
        rules = (
            rule for rule in config.get("rules", []) if rule.get("type") in ("Text", "Data", "PythonModule")
        )
        self._globs = (*_GLOBS, *(glob.rpartition("/")[2] for rule in rules for glob in rule["globs"]))

    def files(self) -> dict[str, Path]:
        """The Worker's files, by their path in it."""
        files = {
            file.relative_to(self.source).as_posix(): file for file in self._found(self.source, self._globs)
        }
        for folder, names in self._packages():
            found = (file for name in names for file in self._found(folder / name, ("*",)))
            files |= {f"python_modules/{file.relative_to(folder).as_posix()}": file for file in found}
        return files

    def packed(self) -> bytes:
        """The files as files.mjs reads them."""
        contents = [(name, path.read_bytes()) for name, path in self.files().items()]
        header = {"main": self.main, "files": [[name, len(data)] for name, data in contents]}
        head = json.dumps(header).encode()
        return len(head).to_bytes(4, "little") + head + b"".join(data for _, data in contents)

    def _packages(self) -> Iterator[tuple[Path, tuple[str, ...]]]:
        if not (self._vendored / "workers").is_dir():
            yield _site_packages(), _SDK
        if self._vendored.is_dir():
            yield self._vendored, ("",)

    def _found(self, path: Path, globs: tuple[str, ...]) -> Iterator[Path]:
        if path.is_file():
            yield path
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if self._belongs(Path(folder, name)))
            for name in sorted(names):
                if not name.startswith(".") and any(fnmatch(name, glob) for glob in globs):
                    yield Path(folder, name)

    def _belongs(self, folder: Path) -> bool:
        name = folder.name
        return (
            name not in ("__pycache__", "node_modules")
            and not name.startswith(".")
            and folder != self._vendored
        )


def _site_packages() -> Path:
    spec = importlib.util.find_spec("workers")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "workers-runtime-sdk is neither in python_modules nor installed beside yungong-local"
        )
    return Path(spec.origin).parents[1]
