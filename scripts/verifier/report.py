"""What the user sees: progress while cases run, the table afterwards, the JSON file."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .run import Outcome
from .selftest import Finding

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


def show(outcomes: list[Outcome], output: Console, platform: str, seconds: float) -> None:
    """The table, then each difference, each open claim and what was recorded, then one line of counts."""
    output.print(table(outcomes))
    for verdict in ("holds", "meaningless", "unsettled", "differs"):
        for outcome in outcomes:
            if outcome.verdict == verdict and outcome.detail:
                colour = COLOURS[verdict]
                output.print(
                    f"[{colour}]{verdict}[/] {escape(outcome.case.id)}: {escape(outcome.case.title)}"
                )
                output.print(f"    {escape(outcome.detail)}", highlight=False)
    counts = {verdict: sum(one.verdict == verdict for one in outcomes) for verdict in COLOURS}
    if not counts["meaningless"]:
        del counts["meaningless"]
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    output.print(f"{len(outcomes)} cases on {escape(platform)}: {told} ({seconds:.0f} s)", highlight=False)


def write_json(path: Path, outcomes: list[Outcome], platform: str) -> None:
    """The same as data."""
    cases = [
        {
            "id": outcome.case.id,
            "interface": outcome.case.interface,
            "section": outcome.case.section,
            "verdict": outcome.verdict,
            "detail": outcome.detail,
        }
        for outcome in outcomes
    ]
    document = {"platform": platform, "cases": cases}
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
