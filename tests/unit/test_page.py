"""The report's page in a real browser: it asks for nothing, fits a phone, and hostile texts stay texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from verifier.html import write

from .browser import CHROMIUM, Page, browser
from .reports import HOSTILE, backoff, case, hostile, probe, report

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium (Debian: apt-get install chromium)")

PHONE = 360
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
WIDE = f"""[...document.querySelectorAll('.page *')]
    .filter(one => !one.closest('svg') && one.getBoundingClientRect().right > {PHONE} + 1)
    .map(one => one.outerHTML.slice(0, 300))"""
SEEN = "document.querySelector('.page').innerText"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    write(tmp_path / "bad.html", hostile())
    return tmp_path / "bad.html"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    cases = [case("closed"), case("open", "unsettled", section="值：不超过 2 MiB")]
    write(tmp_path / "good.html", report(cases=cases, probes=[probe("p", timeline=backoff())]))
    return tmp_path / "good.html"


def test_hostile_texts_run_nothing_and_load_nothing(page: Page, bad: Path) -> None:
    page.open(bad)
    assert page.evaluate("document.querySelectorAll('script, img, iframe, object, [onerror]').length") == 0
    page.evaluate("document.querySelectorAll('*').forEach(one => one.dispatchEvent(new Event('mouseover')))")
    assert page.evaluate("typeof window.hacked") == "undefined"
    shown = page.evaluate("document.body.textContent")
    assert [text for text in HOSTILE if text not in shown] == []
    assert [address for address in page.requested if address not in (bad.as_uri(), "data:,")] == []


@pytest.mark.parametrize("language", ["english", "chinese"])
def test_nothing_is_wider_than_a_phone(page: Page, bad: Path, good: Path, language: str) -> None:
    for file in (bad, good):
        page.open(file, PHONE, 800)
        page.evaluate(f"document.getElementById('{language}').click()")
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate(WIDE) == []
        assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [PHONE, PHONE]


def test_each_language_is_shown_alone_and_the_clause_in_both(page: Page, good: Path) -> None:
    page.open(good)
    english = page.evaluate(SEEN)
    page.evaluate("document.querySelector('label[for=chinese]').click()")
    chinese = page.evaluate(SEEN)
    assert "verification report" in english
    assert "验证报告" not in english
    assert "验证报告" in chinese
    assert "verification report" not in chinese
    for text in ("title of", "retry", "alarm", "Title of"):  # of reports.both
        assert re.search(rf"{text}[^\n]* \(English\)", english)
        assert re.search(rf"{text}[^\n]*（汉语）", chinese)
    assert "（汉语）" not in english
    assert "(English)" not in chinese
    for shown in (english, chinese):
        assert "平台文档现行：最多 6 次，指数退避，起始约 2 秒" in shown


def test_it_follows_the_reader_s_colours(page: Page, good: Path) -> None:
    page.open(good)
    page.media(scheme="light")
    light = page.evaluate(BACKGROUND)
    page.media(scheme="dark")
    dark = page.evaluate(BACKGROUND)
    page.media("print", "dark")
    assert page.evaluate(BACKGROUND) == "rgb(255, 255, 255)"
    page.media()
    assert dark not in (light, "rgb(255, 255, 255)")


def test_print_holds_the_closed_sections_too(page: Page, good: Path) -> None:
    page.open(good)
    row = (
        "[...document.querySelectorAll('.cases td')].find(one => one.textContent.includes('Title of closed'))"
    )
    seen = f"{row}.checkVisibility()"
    assert page.evaluate(seen) is False
    page.media("print")
    assert page.evaluate(seen) is True
    page.media()
    assert page.pdf().startswith(b"%PDF-")
