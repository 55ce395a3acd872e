"""The two distributions: what is in them, and what a registry shows of them."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from repository import ROOT

import yungong

PACKAGE = ROOT / "src" / "yungong"
LOCAL = ROOT / "scripts" / "localhost"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of both and the sdist of yungong."""
    folder = tmp_path_factory.mktemp("built")
    uv = Path(sys.executable).with_name("uv")
    options = (
        "--quiet",
        "--offline",
        "--no-build-isolation",
        "--python",
        sys.executable,
        "--out-dir",
        folder,
    )
    for arguments in ([ROOT], ["--wheel", LOCAL]):
        subprocess.run([uv, "build", *options, *arguments], check=True)
    return folder


def tracked(folder: Path) -> set[str]:
    """The files of `folder` in git, from its parent on."""
    listed = subprocess.run(
        ["git", "ls-files", folder], cwd=folder, capture_output=True, text=True, check=True
    )
    return {f"{folder.name}/{name}" for name in listed.stdout.splitlines()}


def wheel(built: Path, name: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(next(built.glob(f"{name}-*.whl")))


def files(archive: zipfile.ZipFile) -> set[str]:
    return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_the_package_alone(built: Path) -> None:
    assert files(wheel(built, "yungong")) == tracked(PACKAGE)


def test_the_sdist_holds_what_a_user_needs(built: Path) -> None:
    with tarfile.open(next(built.glob("yungong-*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    beside = {".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
    assert names == {f"src/{name}" for name in tracked(PACKAGE)} | beside


def test_the_local_host_is_another_wheel(built: Path) -> None:
    assert files(wheel(built, "yungong_local")) == tracked(LOCAL / "yungong_local") - {"yungong_local/.npmrc"}


def test_metadata_says_what_a_registry_shows(built: Path) -> None:
    archive = wheel(built, "yungong")
    name = next(name for name in archive.namelist() if name.endswith("METADATA"))
    metadata = Parser().parsestr(archive.read(name).decode())
    assert metadata["Version"] == yungong.__version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_all("Project-URL")
    assert "Programming Language :: Python :: 3.14" in metadata.get_all("Classifier", [])
    assert f"## {yungong.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_sdk_is_pinned_alike_everywhere() -> None:
    settings = [
        tomllib.loads(path.read_text("utf-8")) for path in (ROOT / "pyproject.toml", LOCAL / "pyproject.toml")
    ]
    pins = {
        pin
        for setting in settings
        for pin in [*setting["project"]["dependencies"], *setting.get("dependency-groups", {}).get("dev", [])]
        if pin.startswith("workers-runtime-sdk")
    }
    (pin,) = pins
    assert f"\n{pin} \\\n" in (ROOT / "requirements.lock").read_text("utf-8")
