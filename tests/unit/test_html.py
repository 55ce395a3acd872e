"""The report's page: what it says, where it draws it, and that no text becomes markup."""

from __future__ import annotations

import html.parser
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from verifier.html import ReportError, read, render, visible
from verifier.report import write_json
from verifier.schema import problem
from verifier.timeline import MANY, lay_out

from .reports import HOSTILE, UNSEEN, backoff, both, case, hostile, probe, report

VOID = {"meta", "link", "input"}


class Reader(html.parser.HTMLParser):
    """What the page's markup holds, and whether every element is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str | None] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses += [value for name, value in attrs if name in ("href", "src", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_no_text_becomes_markup() -> None:
    assert problem(hostile(), "report") is None
    page, plain = Reader(render(hostile())), Reader(render(report(probes=[probe("p", timeline=backoff())])))
    assert page.open == []
    assert page.elements - plain.elements <= {"section", "table", "thead", "tbody", "tr", "th", "td"} | {
        "blockquote"
    }
    assert not page.elements & {"script", "img", "iframe", "object", "base", "form"}
    assert not {name for name in page.attributes if name.startswith("on")}
    assert all(address == "data:," or str(address).startswith("#") for address in page.addresses)
    for text in HOSTILE:
        assert page.text.count(text) > 10, text


def test_characters_that_are_not_seen_are_spelt_out() -> None:
    assert visible({"a": [UNSEEN, 1, "tab\tline\n"]}) == {
        "a": ["abc\\u202edef\\ud800\\u0000\\u2028end", 1, "tab\tline\n"]
    }
    page = render(hostile())
    assert "\u202e" not in page
    page.encode()  # a lone surrogate has no UTF-8


def test_the_page_loads_nothing() -> None:
    page = render(report())
    assert "default-src 'none'" in page
    assert not re.search(r"@import|@font-face|url\(|https?:", page)


def test_what_differs_comes_first_with_its_clause() -> None:
    found = report(
        cases=[case("fine"), case("broken", "differs", detail="expected 1")],
        probes=[probe("slow", "differs")],
    )
    text = Reader(render(found)).text
    assert "2 of 3 differ from the specifications." in text
    assert "3 条中有 2 条与规范不符。" in text
    assert text.index("Title of broken.") < text.index("平台文档现行") < text.index("Title of fine.")


@pytest.mark.parametrize(
    ("cases", "told"),
    [
        ([case("a")], "All 1 hold."),
        ([case("a"), case("b", "unsettled")], "Nothing differs; 1 of 2 remain unsettled."),
        ([], "Nothing was run."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_headline_says_what_came_of_it(cases: list[Any], told: str) -> None:
    assert told in Reader(render(report(cases=cases, probes=[]))).text


def test_where_it_ran_when_and_on_what_is_told() -> None:
    text = Reader(render(report())).text
    told = [
        "local workerd 1.2026, not the cloud",
        "2026-12-02 22:30:00 UTC",
        "12\N{NARROW NO-BREAK SPACE}345",
    ]
    told += ["2026-09-08", "wrangler", "What only the cloud can settle, it does not settle."]
    assert [one for one in told if one not in text] == []
    cloud = report()
    cloud["platform"] |= {"where": "cloud", "label": both("yungong.example")}
    assert "its verdicts are about the cloud" in Reader(render(cloud)).text


def test_each_section_has_its_cases_and_probes() -> None:
    found = report(
        cases=[case("a"), case("b", section="值：不超过 2 MiB")], probes=[probe("p", interface="消息队列")]
    )
    text = Reader(render(found)).text
    assert (
        text.index("durable transaction and store") < text.index("Title of a.") < text.index("不超过 2 MiB")
    )
    assert text.rindex("title of p") > text.index("Title of b.")


def test_a_limit_that_is_not_known_is_a_dash() -> None:
    limit = {
        "name": {"en": "one value", "zh": "单个值"},
        "specified": 2097152,
        "observed": None,
        "unit": "bytes",
    }
    text = Reader(render(report(probes=[probe("p", limits=[limit])]))).text
    assert "2\u202f097\u202f152 bytes字节" in text
    assert "\N{EN DASH}" in text


def test_a_timeline_is_in_proportion_and_in_order() -> None:
    drawing = lay_out(backoff()[::-1])
    assert [mark.label for mark in drawing.marks][2:] == [both(f"retry {index}") for index in range(2, 9)]
    places = {mark.at: mark.x for mark in drawing.marks}
    assert (places["131.0 s"] - places["0 ms"]) == pytest.approx(
        (places["200.0 s"] - places["0 ms"]) * 131 / 200, abs=0.1
    )
    assert [label for _, label in drawing.ticks] == ["0 s", "50 s", "100 s", "150 s", "200 s"]
    assert drawing.marks[3].after == "+4.2 s"


@pytest.mark.parametrize("spread", [0, 1, 50, 10_000])
@pytest.mark.parametrize("count", [1, 2, 30, MANY])
def test_numbered_marks_do_not_touch_at_phone_width(count: int, spread: int) -> None:
    moments = [
        {"at_ms": n * spread, "lane": both("a"), "label": both(""), "kind": "fire"} for n in range(count)
    ]
    drawing = lay_out(moments)
    assert drawing.numbered
    assert 1 <= len(drawing.ticks) <= 8
    width = 320 / 100  # pixels of a percent
    for one, other in itertools.combinations(drawing.marks, 2):
        apart = (
            abs(one.x - other.x) * width >= 2 * drawing.radius or abs(one.y - other.y) >= 2 * drawing.radius
        )
        assert apart, (one, other)


def test_many_moments_are_small_and_bear_no_numbers() -> None:
    moments = [
        {"at_ms": n % 7, "lane": both("q"), "label": both(""), "kind": "delivery"} for n in range(MANY + 1)
    ]
    drawing = lay_out(moments)
    assert not drawing.numbered
    assert drawing.height < 300
    assert "every moment" in render(report(probes=[probe("p", timeline=moments)]))


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_json(tmp_path / "report.json", hostile())
    assert read(tmp_path / "report.json") == hostile()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read"),
        ("[]", "is no report of scripts/verify: [] is not a report"),
        (json.dumps(report(cases=[case("a", "perhaps")])), 'cases[0].verdict: "perhaps" is not a verdict'),
        (
            json.dumps(report(started="yesterday")),
            'started: "yesterday" is not a time as 2026-12-02T22:30:00Z',
        ),
        (json.dumps(report(more=1)), "a report knows no more"),
        (json.dumps(report(probes=[{"id": "p"}])), "probes[0]: a probe lacks interface"),
    ],
    ids=lambda value: value[:20],
)
def test_what_is_no_report_is_refused_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(ReportError, match=re.escape(told)):
        read(tmp_path / "report.json")
