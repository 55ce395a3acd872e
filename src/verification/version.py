"""What this Worker is: its versions, told behind the door, so that a verifier knows whom it asks."""

import hashlib
import platform as interpreter
from importlib import metadata
from pathlib import Path
from typing import Any

from yungong import platform

from . import native

SOURCE = Path(__file__).resolve().parents[1]
PARTS = ("entry.py", "verification", "yungong")


def version() -> dict[str, Any]:
    """Return the versions, which deployment this is, what its date switched on, and the time."""
    return {
        "source": source_digest(),
        "python": interpreter.python_version(),
        "pyodide": native.pyodide_version(),
        "sdk": _sdk(),
        "deployment": native.deployment(),
        "clearing_deletes_alarm": native.compatibility("delete_all_deletes_alarm"),
        "now_ms": platform.now_ms(),
    }


def source_digest() -> str:
    """Return a digest of the Worker's own sources; the verifier makes the same of its own."""
    digest = hashlib.sha256()
    for part in PARTS:
        path = SOURCE / part
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(f"{file.relative_to(SOURCE).as_posix()}\0".encode())
            digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _sdk() -> str | None:
    try:
        return metadata.version("workers-runtime-sdk")
    except metadata.PackageNotFoundError:
        return None  # vendored without its metadata
