"""What the user sees: progress while cases run, the table afterwards, the JSON file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .forms import Json
from .probes.shape import Result
from .run import Outcome
from .selftest import Finding
from .session import Findings

FEW_FINDINGS = 60
COLOURS = {"holds": "green", "differs": "bold red", "unsettled": "yellow", "meaningless": "dim"}


def table(outcomes: list[Outcome]) -> Table:
    """One row a case, in file order."""
    rows = Table(title=None, show_lines=False, pad_edge=False)
    rows.add_column("interface", no_wrap=True)
    rows.add_column("case", overflow="fold")
    rows.add_column("section", overflow="fold")
    rows.add_column("result", no_wrap=True)
    for outcome in outcomes:
        colour = COLOURS[outcome.verdict]
        case = outcome.case
        result = f"[{colour}]{outcome.verdict}[/]"
        rows.add_row(escape(case.interface), escape(case.id), escape(case.section), result)
    return rows


def show(findings: Findings, output: Console) -> None:
    """The table, then each difference, each open claim and what was recorded, the probes, and the counts."""
    outcomes = findings.outcomes
    if outcomes:
        output.print(table(outcomes))
    for verdict in ("holds", "meaningless", "unsettled", "differs"):
        for outcome in outcomes:
            if outcome.verdict == verdict and outcome.detail:
                colour = COLOURS[verdict]
                output.print(
                    f"[{colour}]{verdict}[/] {escape(outcome.case.id)}: {escape(outcome.case.title['en'])}"
                )
                output.print(f"    {escape(outcome.detail)}", highlight=False)
    if findings.results:
        output.print(_probes(findings.results, findings.platform.label["en"]))
    label = escape(findings.platform.label["en"])
    seconds = (findings.ended - findings.started).total_seconds()
    verdicts = [outcome.verdict for outcome in outcomes]
    if outcomes:
        output.print(
            f"{len(outcomes)} cases on {label}: {_counts(verdicts)} ({seconds:.0f} s)", highlight=False
        )
    if findings.results:
        verdicts = [result.judged.verdict for result in findings.results]
        output.print(f"{len(verdicts)} probes on {label}: {_counts(verdicts)}", highlight=False)
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(findings.retried.items()))
    retried = f", {sum(findings.retried.values())} of them repeated ({reasons})" if reasons else ""
    output.print(f"{findings.requests} requests{retried}", highlight=False)


def _counts(verdicts: Sequence[str]) -> str:
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in COLOURS)


def _probes(results: list[Result], label: str) -> Table:
    rows = Table(title=f"Probes: what only a platform settles ({escape(label)})", pad_edge=False)
    rows.add_column("probe", no_wrap=True)
    rows.add_column("result", no_wrap=True)
    rows.add_column("expected; measured", overflow="fold")
    for result in results:
        verdict = result.judged.verdict
        told = f"{result.probe.expectation['en']} {result.judged.detail['en']}"
        rows.add_row(escape(result.probe.id), f"[{COLOURS[verdict]}]{verdict}[/]", escape(told))
    return rows


def told(findings: Findings) -> Json:
    """The same as data, of the form that tests/vectors/schema/report.json has."""
    cases = [
        {
            "id": outcome.case.id,
            "interface": outcome.case.interface,
            "section": outcome.case.section,
            "title": outcome.case.title,
            "verdict": outcome.verdict,
            "detail": outcome.detail,
        }
        for outcome in findings.outcomes
    ]
    return {
        "platform": findings.platform.told(),
        "started": findings.started.isoformat(timespec="seconds"),
        "ended": findings.ended.isoformat(timespec="seconds"),
        "requests": findings.requests,
        "retried": sum(findings.retried.values()),
        "cases": cases,
        "probes": [result.told() for result in findings.results],
    }


def write_json(path: Path, document: Json) -> None:
    """Writes a report for programs, and for --from."""
    # A lone surrogate in a detail has no UTF-8: escape what is not ASCII.
    path.write_text(json.dumps(document, indent=1) + "\n", "ascii")


def show_findings(what: str, findings: list[Finding], output: Console) -> None:
    """What came of the attempts to fool the verifier: of a long list, only those it missed."""
    for finding in findings:
        colour, word = ("green", "noticed") if finding.noticed else ("bold red", "NOT NOTICED")
        if not finding.noticed or len(findings) < FEW_FINDINGS:
            output.print(
                f"[{colour}]{word}[/] {what}: {escape(finding.what)} {escape(finding.detail)}".rstrip()
            )
    missed = sum(not finding.noticed for finding in findings)
    output.print(f"self-test, {what}: {len(findings)} tried, {missed} not noticed", highlight=False)
