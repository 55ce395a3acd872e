"""Workload: the pure part of jsontext, by atheris where the long run has it, and by chance everywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import repository

from .fuzz import disagreements
from .texts import Hostile
from .workload import Effort, Report

NAME = "pure"
ATHERIS = "atheris==3.0.0"
_EXECUTED = re.compile(r"^(?:#|Done )(\d+)", re.MULTILINE)


def run(effort: Effort) -> Report:
    """Judge generated texts until the effort is spent; a run is a text."""
    report = Report(NAME, effort.seed)
    hostile = Hostile(effort.random(NAME))
    while effort.goes_on(report.runs):
        report.runs += 1
        report.check(disagreements(hostile.text()))
    return report


def run_guided(effort: Effort) -> Report:
    """Have atheris look for disagreements for as long as the effort says; a run is an execution."""
    report = Report("atheris", effort.seed)
    try:
        python = _environment()
    except subprocess.CalledProcessError as error:
        report.violations.append(f"atheris could not be installed:\n{error.stderr}")
        return report
    folder = repository.WORKSPACE / "atheris" / "found"
    folder.mkdir(exist_ok=True)
    command: list[str | Path] = [python, "-m", "tests.reliability.fuzz", f"-seed={effort.seed % 2**31 or 1}"]
    command += [
        f"-max_total_time={max(1, round(effort.left_s()))}",
        f"-artifact_prefix={folder}/",
        "-max_len=400",
    ]
    path = os.pathsep.join(
        str(repository.ROOT / part) for part in (".", "src", "scripts", "scripts/localhost")
    )
    done = subprocess.run(
        command,
        cwd=repository.ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    report.runs = max((int(number) for number in _EXECUTED.findall(output)), default=0)
    if done.returncode != 0 or not report.runs:
        report.violations.append(f"atheris ended with {done.returncode}:\n{output[-3000:]}")
    return report


def _environment() -> Path:
    """Return the Python of an environment that has atheris, made at first use."""
    folder = repository.WORKSPACE / "atheris"
    python = folder / "bin" / "python"
    if not (folder / ".installed").exists():
        repository.WORKSPACE.mkdir(exist_ok=True)
        venv.create(folder, clear=True)
        uv = Path(sys.executable).with_name("uv")
        command: list[str | Path] = [uv, "pip", "install", "--quiet", "--system-certs", "--python", python]
        subprocess.run([*command, ATHERIS], check=True, stderr=subprocess.PIPE, text=True)
        (folder / ".installed").touch()
    return python
