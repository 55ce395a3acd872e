"""What mkdocs puts into the pages: tables drawn from the source, and links between the specifications."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

SPECIFICATIONS = {
    "持久告警": "durable-alarm.md",
    "持久事务": "durable-transaction.md",
    "消息队列": "message-queue.md",
}
_REFERENCE = re.compile(r"\[([^]]+)\]\(\.\./([^/]+)/规范\.汉语\.md\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Fill in what a page leaves to the source."""
    if page.file.src_uri.startswith("spec/"):
        return _REFERENCE.sub(_specification, markdown)
    if "<!-- alarm states -->" in markdown:
        markdown = markdown.replace("<!-- alarm states -->", alarm_states())
    if "<!-- interfaces -->" in markdown:
        markdown = markdown.replace("<!-- interfaces -->", interfaces())
    return markdown


def alarm_states() -> str:
    """Return the table of the alarm's states, from the docstring of the module that implements it."""
    module = ast.parse((ROOT / "src/yungong/alarm_state.py").read_text("utf-8"))
    lines = (ast.get_docstring(module) or "").splitlines()
    start = next(number for number, line in enumerate(lines) if line.split()[:1] == ["set"])
    head, *rows = lines[start : lines.index("", start)]
    cells = [re.split(r"\s{2,}", line.strip()) for line in rows]
    return _table(["", *re.split(r"\s{2,}", head.strip())], cells)


def interfaces() -> str:
    """Return the table of the functions, from bindings/interfaces.toml."""
    table = tomllib.loads((ROOT / "bindings/interfaces.toml").read_text("utf-8"))
    rows = [
        [
            f"`{name}`<br>`{function['alias']}`",
            f"{'await ' if function['async'] else ''}`{function['returns']}`",
            function["events"] if isinstance(function["events"], str) else ", ".join(function["events"]),
            "<br>".join(f"`{call}`" for call in function["platform"]),
        ]
        for name, function in table.items()
    ]
    return _table(["function", "returns", "events", "platform calls"], rows)


def _specification(found: re.Match[str]) -> str:
    """Link to a specification that is here; name one that is not."""
    words, name = found.groups()
    return f"[{words}]({SPECIFICATIONS[name]})" if name in SPECIFICATIONS else words


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
