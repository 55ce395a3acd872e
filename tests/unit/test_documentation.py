"""The documentation is built strictly and without a network, and its code is drawn from tested files."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))

# Whoever asks for the network fails.
BUILD = """
import socket
def refuse(*arguments, **options):
    raise OSError(f"the build asked for the network: {arguments}")
socket.socket.connect = socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
cli()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built pages."""
    folder = tmp_path_factory.mktemp("site")
    command: list[str | Path] = [
        sys.executable,
        "-c",
        BUILD,
        "build",
        "--quiet",
        "--strict",
        "--site-dir",
        folder,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


class _Loaded(HTMLParser):
    """What a page loads by itself, and what it holds that would have Material load more."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.classes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.classes |= set((found.get("class") or "").split())
        if tag in ("script", "img", "iframe", "source"):
            self.addresses.append(found.get("src") or "")
        elif tag == "link" and found.get("rel") not in ("canonical", "alternate", "prev", "next"):
            self.addresses.append(found.get("href") or "")


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loaded = _Loaded()
        loaded.feed(page.read_text("utf-8"))
        assert not [address for address in loaded.addresses if "//" in address], page
        assert "mermaid" not in loaded.classes, page
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text("utf-8")), style


def test_both_languages_have_every_page(site: Path) -> None:
    own = [page for page in PAGES if page.parent.name not in ("spec", "reference")]
    names = {page.name for page in own if not page.name.endswith(".zh.md")}
    assert {page.name.replace(".zh.md", ".md") for page in own if page.name.endswith(".zh.md")} == names
    english = {page.relative_to(site) for page in site.rglob("*.html") if "zh" not in page.parts[-3:]}
    assert all((site / "zh" / page).is_file() for page in english if page.name != "404.html")


def test_code_is_drawn_from_tested_files() -> None:
    for page in PAGES:
        for block in re.findall(r"^```\w+\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            assert re.fullmatch(r'--8<-- "(examples/[^"]+|wrangler\.toml)"\n', block), f"{page}:\n{block}"


def test_the_readmes_example_is_the_first_of_the_examples() -> None:
    example = (ROOT / "README.md").read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    assert example == (ROOT / "examples/first/src/entry.py").read_text("utf-8")


def test_links_between_files_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES):
        if page.parent.name == "spec":
            continue  # verbatim copies, which name specifications that are not here
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_tables_are_those_of_the_source(site: Path) -> None:
    how = (site / "how.html").read_text("utf-8")
    for state in ("Armed", "Running", "Retrying", "Deleted"):
        assert f"<td>{state}</td>" in how
    functions = (site / "reference" / "functions.html").read_text("utf-8")
    for name in ("设置持久告警", "set_alarm", "DurableObjectStorage.setAlarm"):
        assert f"<code>{name}</code>" in functions.partition("<tbody>")[2].partition("</tbody>")[0]
