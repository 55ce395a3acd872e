"""The pytest plugin, on a project that a stranger could have written: its own tests run here, once."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

PROJECT = Path(__file__).parent / "project"
FAILING = "test_deliberately_failing"
ENDLESS = "test_that_leaves_an_event_that_never_ends"


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest prints of the project's tests."""
    folder = tmp_path_factory.mktemp("plugin") / "project"
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".dev.vars").write_text('SECRET="from .dev.vars"\n', "utf-8")
    vendored = folder / "python_modules" / "greeting"
    vendored.mkdir(parents=True)
    (vendored / "__init__.py").write_text('WORDS = "from python_modules"\n', "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "yungong_local.plugin", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "-rA", "--durations=5", "--rootdir", folder, "tests"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "scripts" / "localhost")},
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    ).stdout


def test_every_test_of_the_project_holds_but_the_one_that_fails(output: str) -> None:
    verdicts = re.findall(r"^(PASSED|FAILED|ERROR) tests/test_worker.py::(\w+)", output, re.MULTILINE)
    found = [(verdict, name) for verdict, name in verdicts if verdict != "PASSED"]
    assert found == [("ERROR", ENDLESS), ("FAILED", FAILING)], output
    assert "1 events of the test still ran 10 s after its end" in output
    assert len(verdicts) > 15


def test_a_failing_test_shows_the_log_of_its_own_time(output: str) -> None:
    failure = output.partition(f"_ {FAILING} _")[2].partition("slowest 5 durations")[0]
    assert 'jobs {"shown": "with the failure"} 1' in failure
    assert "this batch fails" not in failure, "that was printed in an earlier test"
