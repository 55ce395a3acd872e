"""What is verified, and by whom: the platform's label, versions and date, and whose sources it runs."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .client import is_this_machine
from .forms import Json, Words, words

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("entry.py", "verification", "yungong")


@dataclass(frozen=True)
class Platform:
    """Where a run takes place, as the report tells it."""

    label: Words
    where: str
    """`local` or `cloud`."""
    versions: dict[str, str | None]
    compatibility_date: str
    facts: dict[str, Json]
    """What the Worker itself told: see verification/version.py."""

    def told(self) -> dict[str, Json]:
        """The report's form."""
        return {
            "label": self.label,
            "where": self.where,
            "versions": self.versions,
            "compatibility_date": self.compatibility_date,
        }

    @property
    def is_mine(self) -> bool:
        """Whether the Worker runs the sources that lie beside this verifier."""
        return bool(self.facts["source"] == source_digest())


def describe(facts: dict[str, Json], url: str | None) -> Platform:
    """The platform behind a Worker that told `facts`; without an address it is the local one."""
    workerd = _node_version("workerd")
    versions: dict[str, str | None] = {
        "workerd": None if url else workerd,
        "wrangler": None if url else _node_version("wrangler"),
        "pyodide": facts.get("pyodide"),
        "python": facts.get("python"),
        "sdk": facts.get("sdk") or (None if url else importlib.metadata.version("workers-runtime-sdk")),
        "yungong": f"source {facts.get('source')}",
        "verifier": f"{_project_version()}, {verifier_digest()}",
    }
    config = tomllib.loads((ROOT / "wrangler.toml").read_text("utf-8"))
    label = words(f"local workerd {workerd}, not the cloud", f"本机 workerd {workerd}，不是云端")
    if url:
        host = urlsplit(url).netloc
        label = words(host, host)
        if is_this_machine(url):
            label = words(f"{host}, this machine and not the cloud", f"{host}，本机，不是云端")
    where = "cloud" if url and not is_this_machine(url) else "local"
    return Platform(label, where, versions, config["compatibility_date"], facts)


def source_digest(source: Path = ROOT / "src") -> str:
    """The digest of the deployable Worker's sources, as the Worker makes it of its own."""
    parts = [source / part for part in PARTS]
    return _digest(source, [file for part in parts for file in _files(part, "*.py")])


def verifier_digest() -> str:
    """The digest of what judges: this verifier and the vectors."""
    files = [*_files(ROOT / "scripts" / "verifier", "*.py"), *_files(ROOT / "tests" / "vectors", "*.json")]
    return _digest(ROOT, files)


def _files(path: Path, pattern: str) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob(pattern))


def _digest(folder: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(folder).as_posix()}\0".encode())
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _node_version(package: str) -> str:
    told = json.loads((ROOT / "node_modules" / package / "package.json").read_text("utf-8"))
    return str(told["version"])


def _project_version() -> str:
    text = (ROOT / "src" / "yungong" / "__init__.py").read_text("utf-8")
    return text.partition('__version__ = "')[2].partition('"')[0]
