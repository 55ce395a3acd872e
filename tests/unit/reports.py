"""Reports of the verifier for tests: plain ones, and one full of texts that would be markup."""

from __future__ import annotations

import json
from typing import Any

HOSTILE = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "' onmouseover='window.hacked = 1",
    "</style><script src=https://evil.example/a.js></script>",
    "{{ 7 * 7 }}{% raw %}",
    "<a href='javascript:alert(1)'>&lt;&amp;",
    "<!-- --><iframe src='https://evil.example'></iframe>",
    "url(https://evil.example/x.png); background: url(//evil.example)",
    "a" * 400,
    "汉" * 200,
)
UNSEEN = "abc\u202edef\ud800\x00\u2028end"
"""Turned text, a lone surrogate, a null, a line's end."""


def both(text: str) -> dict[str, str]:
    """One text in both languages."""
    return {"en": f"{text} (English)", "zh": f"{text}（汉语）"}


def case(name: str, verdict: str = "holds", **members: Any) -> dict[str, Any]:
    """One case of a report."""
    base = {
        "id": name,
        "interface": "持久事务",
        "section": "键：按 UTF-8 计",
        "title": both(f"Title of {name}."),
        "detail": "",
    }
    return base | {"verdict": verdict} | members


def probe(name: str, verdict: str = "holds", **members: Any) -> dict[str, Any]:
    """One probe of a report."""
    return {
        "id": name,
        "interface": "持久告警",
        "section": "语义：指数退避",
        "clause": "平台文档现行：最多 6 次，指数退避，起始约 2 秒",
        "title": both(f"title of {name}"),
        "expectation": both("expected"),
        "verdict": verdict,
        "detail": both("observed"),
        "measurement": {"firings": [1, 2]},
        "timeline": [],
        "limits": [],
        "seconds": 1.5,
    } | members


def report(**members: Any) -> dict[str, Any]:
    """A report that follows the schema."""
    versions = {"workerd": "1.2026", "wrangler": None}
    label = {"en": "local workerd 1.2026, not the cloud", "zh": "本机 workerd 1.2026，不是云端"}
    platform = {"label": label, "where": "local", "versions": versions}
    return {
        "platform": platform | {"compatibility_date": "2026-09-08"},
        "started": "2026-12-02T22:30:00+00:00",
        "ended": "2026-12-02T22:31:00+00:00",
        "requests": 12345,
        "retried": 2,
        "cases": [case("one"), case("two", "unsettled")],
        "probes": [probe("three")],
    } | members


def backoff(lane: str = "alarm", kind: str = "retry") -> list[dict[str, Any]]:
    """An alarm's timeline: set, fired, six retries, given up."""
    times = [0, 0, 2100, 6300, 14_500, 31_000, 64_200, 131_000, 200_000]
    kinds = ["set", "fire", *[kind] * 6, "give-up"]
    return [
        {"at_ms": at_ms, "lane": both(lane), "label": both(f"retry {index}"), "kind": one}
        for index, (at_ms, one) in enumerate(zip(times, kinds, strict=True))
    ]


def hostile() -> dict[str, Any]:
    """A report in which every text is hostile."""
    cases, probes = [], []
    for index, text in enumerate([*HOSTILE, UNSEEN]):
        cases.append(case(text, "differs", interface=text, section=text, title=both(text), detail=text))
        limit = {"name": both(text), "specified": 10, "observed": index, "unit": text}
        members: dict[str, Any] = {"interface": text, "section": text, "clause": text, "title": both(text)}
        members |= {"expectation": both(text), "detail": text, "measurement": {text: [text]}}
        members |= {"timeline": backoff(text, text) + backoff("queue"), "limits": [limit]}
        probes.append(probe(text, "differs", **members))
    found = report(cases=cases, probes=probes)
    everything = " ".join(HOSTILE)
    found["platform"] |= {"label": both(everything), "versions": {everything: everything}}
    found["platform"]["compatibility_date"] = everything
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]
