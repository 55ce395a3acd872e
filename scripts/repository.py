"""This repository, as its scripts and tests use it: where it stands, and its Worker on the local host."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import yungong_local

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "wrangler.toml"
MAIN = ROOT / "src" / "entry.py"
WORKSPACE = ROOT / ".localhost"
"""What scripts put together at run time; ignored by git."""


class LocalHost(yungong_local.LocalHost):
    """The deployable Worker on the local host, with a random token unless one is given."""

    token: str

    def __init__(self, *, token: str | None = None, **options: Any) -> None:
        super().__init__(CONFIG, token=token or secrets.token_urlsafe(24), **options)
