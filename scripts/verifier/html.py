"""The report as one HTML page that stands alone: no script, no network, texts escaped by the engine."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .forms import Json
from .schema import problem
from .timeline import duration, lay_out

TEMPLATES = Path(__file__).parent / "templates"
VERDICTS = ("differs", "unsettled", "holds")
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Characters that show nothing, or turn the direction of what follows: the page spells them out."""
INTERFACES = {
    "持久告警": "durable alarm",
    "持久事务": "durable transaction and store",
    "消息队列": "message queue",
}


class ReportError(ValueError):
    """A file that is no report of the verifier."""


@dataclass
class Section:
    """What was found under one heading of a specification."""

    name: str
    cases: list[Json] = field(default_factory=list)
    probes: list[Json] = field(default_factory=list)


@dataclass
class Chapter:
    """One specification, by its headings in the order of the report."""

    name: str
    english: str
    sections: list[Section] = field(default_factory=list)


def read(path: Path) -> Json:
    """A report that scripts/verify --json wrote.

    Raises:
        ReportError: the file cannot be read, or is not what the schema says.
    """
    try:
        report = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(f"{path} cannot be read: {error}") from error
    if wrong := problem(report, "report"):
        raise ReportError(f"{path} is no report of scripts/verify: {wrong}")
    return report


def render(report: Json) -> str:
    """The page of a report that follows the schema."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "duration": duration,
        "lay_out": lay_out,
        "count": _count,
        "worst_first": _worst_first,
        "json": _json,
        "moment": _moment,
    }
    shown = visible(report)
    found = [*shown["cases"], *shown["probes"]]
    return environment.get_template("report.html").render(
        report=shown,
        chapters=_chapters(shown),
        differing=[one for one in found if one["verdict"] == "differs"],
        limits=[(probe, limit) for probe in shown["probes"] for limit in probe["limits"]],
        timelines=[probe for probe in shown["probes"] if probe["timeline"]],
        verdicts=VERDICTS,
    )


def write(path: Path, report: Json) -> None:
    """Writes the page of a report that follows the schema."""
    path.write_text(render(report), "utf-8")


def visible(value: Json) -> Json:
    """The same JSON value, its unseen characters spelt as JSON escapes; line ends and tabs stay."""
    if isinstance(value, str):
        return "".join(_spelt(character) for character in value)
    if isinstance(value, list):
        return [visible(item) for item in value]
    if isinstance(value, dict):
        return {visible(name): visible(item) for name, item in value.items()}
    return value


def _spelt(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in UNSEEN:
        return character
    return json.dumps(character)[1:-1] if character > "\x7f" else f"\\u{ord(character):04x}"


def number(value: float | None) -> str:
    """Digits in groups of three; a dash for what is not known."""
    return "\N{EN DASH}" if value is None else f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _count(found: Iterable[Json], verdict: str) -> int:
    return sum(one["verdict"] == verdict for one in found)


def _worst_first(found: list[Json]) -> list[Json]:
    return sorted(found, key=lambda one: VERDICTS.index(one["verdict"]))


def _json(members: dict[str, Json]) -> str:
    """JSON text, one member a line."""
    lines = (
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in members.items()
    )
    return "{\n  " + ",\n  ".join(lines) + "\n}"


def _moment(time: str) -> str:
    return time.replace("+00:00", "Z").replace("T", " ").replace("Z", " UTC")


def _chapters(report: Json) -> list[Chapter]:
    chapters: dict[str, Chapter] = {}
    sections: dict[tuple[str, str], Section] = {}
    for kind in ("probes", "cases"):
        for one in report[kind]:
            name = one["interface"]
            chapter = chapters.setdefault(name, Chapter(name, INTERFACES.get(name, "")))
            heading = one["section"].split("：")[0]
            if (name, heading) not in sections:
                sections[name, heading] = Section(heading)
                chapter.sections.append(sections[name, heading])
            getattr(sections[name, heading], kind).append(one)
    return [chapters[name] for name in dict.fromkeys([*INTERFACES, *chapters]) if name in chapters]
