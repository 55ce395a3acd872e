"""The command line's arguments, and whose token goes where."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from .cases import SETS
from .client import is_confidential
from .platform import ROOT

HOLDS, DIFFERS, STUCK, CRASHED = range(4)
PROBES_SET = "probes"
DESCRIPTION = """\
Runs every conformance case of the three specifications (tests/vectors) and every probe of what they leave to
the platform against a Worker: one started locally, or with --url one that is deployed. Prints tables of
interface, case, section and result.

A result is `holds`, `differs`, or `unsettled`: a case's claim that only the cloud can settle, run against a
local Worker, or a probe whose measurement decided nothing. What a probe says of a local Worker it says of
workerd, not of the cloud."""
EPILOG = """\
The token of a deployed Worker is read from the file that --token-file names, or from the environment variable
TOKEN. (--token shows it to whoever lists this machine's processes.) It is never printed, and never sent over
http to another machine.

An interrupted run of a deployed Worker goes on where it was when the same command is given again: what was
settled is not run again. Where its state is kept is told at the start.

exit status:
  0  every case holds (or is unsettled); with --from: the page is written
  1  a case differs, or a probe of a deployed Worker; with --self-test and --rehearse: one that should have
     been noticed was not
  2  the run got stuck: the Worker could not be started or reached, or did not answer in time
  3  the verifier itself crashed or was called wrongly, or a vector or a report is malformed"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # argparse would exit with 2, which means that the run got stuck.
        self.print_usage(sys.stderr)
        self.exit(CRASHED, f"{self.prog}: {message}\n")


def parse() -> argparse.Namespace:
    """The arguments, checked; ends the process with a sentence where they are wrong."""
    parser = _Parser(
        prog="scripts/verify",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--url", help="verify this deployed Worker instead of starting one")
    parser.add_argument("--token", help="the deployed Worker's token; rather one of the two ways told below")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="read the token from there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as JSON too")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write them there as a page to read, print and archive"
    )
    parser.add_argument(
        "--from",
        type=Path,
        metavar="REPORT",
        dest="from_report",
        help="with --html: run nothing, and make the page of what --json wrote there",
    )
    parser.add_argument("--quick", action="store_true", help="leave the slow probes out")
    parser.add_argument(
        "--deploy",
        metavar="COMMAND",
        help="with --url: the shell command that deploys the Worker anew, for the probe of a delayed message",
    )
    parser.add_argument(
        "--state", type=Path, metavar="FILE", help="where an interrupted run is kept (default: below .verify)"
    )
    parser.add_argument(
        "--anew", action="store_true", help="run what an interrupted run had settled once more"
    )
    parser.add_argument(
        "--pythonic",
        action="store_true",
        help="run the cases, and no probes, through yungong.pythonic; one that asks for what has no Python"
        " value or call is listed as meaningless, with the reason",
    )
    parser.add_argument(
        "--self-test", action="store_true", help="show that the verifier can fail, with broken doubles"
    )
    parser.add_argument(
        "--rehearse",
        action="store_true",
        help="show that every probe can hold and differ, with stand-ins for the cloud's ways",
    )
    parser.add_argument(
        "--case", action="append", metavar="ID", help="run this case or probe only (may be repeated)"
    )
    parser.add_argument(
        "--set", choices=[*SETS, PROBES_SET, "all"], default="all", help="which to run (default: all)"
    )
    options = parser.parse_args()
    if options.token is not None and options.token_file is not None:
        parser.error("--token and --token-file are two ways to say the same")
    if options.token_file is not None:
        options.token = _token_in(options.token_file, parser)
    if options.url is not None and options.token is None:
        options.token = os.environ.get("TOKEN")
    if (options.url is None) != (options.token is None):
        parser.error("--url and a token (--token-file or the variable TOKEN) go together")
    if options.url is not None and not is_confidential(options.url):
        parser.error("the token must not go over http to another machine: use https")
    if options.url is not None and "@" in urlsplit(options.url).netloc:
        parser.error("the address must not hold a user's name or password")
    if options.token is not None and (not options.token.isascii() or not options.token):
        parser.error("a token is ASCII, and not empty")
    for file in (options.json, options.html):
        if file is not None and not file.absolute().parent.is_dir():
            parser.error(f"the folder of {file} does not exist")
    if options.from_report is not None and options.html is None:
        parser.error("--from goes with --html")
    if options.from_report is not None and (options.json is not None or options.url is not None):
        parser.error("--from runs nothing, so neither --json nor --url goes with it")
    if options.pythonic and (options.url is not None or options.self_test or options.rehearse):
        parser.error("--pythonic is for a local run of the cases")
    if options.url is None:
        for name in ("deploy", "state"):
            if getattr(options, name) is not None:
                parser.error(f"--{name} goes with --url")
    elif options.state is None:
        options.state = ROOT / ".verify" / f"{urlsplit(options.url).netloc.replace(':', '-')}.jsonl"
    return options


def _token_in(file: Path, parser: argparse.ArgumentParser) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        # An error of decoding would show what it could not decode.
        parser.error(f"cannot read the token from {file}: {type(error).__name__}")
