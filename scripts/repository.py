"""This repository, as its scripts and tests use it: where it stands, and its Worker on the local host."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yungong_local

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "wrangler.toml"
SOURCE = ROOT / "src"
MAIN = SOURCE / "entry.py"
WORKSPACE = ROOT / ".localhost"
"""What scripts put together at run time; ignored by git."""


class LocalHost(yungong_local.LocalHost):
    """The deployable Worker on the local host, with a random token unless one is given."""

    token: str

    def __init__(self, *, token: str | None = None, **options: Any) -> None:
        super().__init__(CONFIG, token=token or secrets.token_urlsafe(24), **options)


@contextmanager
def worker_source(main: str, parts: Mapping[str, Path] = MappingProxyType({})) -> Iterator[Path]:
    """A Worker's source folder for the time of the context: the package, and a main module.

    Args:
        main: the text of the main module.
        parts: what else stands in the folder, a file or a folder by its path there.
    """
    WORKSPACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORKSPACE, prefix="source-") as name:
        folder = Path(name)
        for place, part in {"yungong": SOURCE / "yungong", **parts}.items():
            if part.is_dir():
                shutil.copytree(part, folder / place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(part, folder / place)
        (folder / MAIN.name).write_text(main, "utf-8")
        yield folder
