"""A run of the verifier on a Worker as if it were deployed: resumed, cleared, and its token unseen."""

import asyncio
import io
import json
import re
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from repository import MAIN, SOURCE, LocalHost, worker_source
from rich.console import Console
from verifier import report
from verifier.cases import Case, load
from verifier.client import Client, Stuck
from verifier.probes import PROBES, Probe
from verifier.schema import problem
from verifier.session import Findings, Run

from tests.client import call

from .scripts import fresh, run

ROOT = Path(__file__).parents[2]
CASES = {case.id: case for case in load()}
FEW = [CASES[name] for name in ("tx-sample-get", "alarm-sample-set", "queue-sample-128000")]
FEW_PROBES = [probe for probe in PROBES if probe.id in ("store-key-2048", "alarm-transaction-commit")]


class Counting(httpx.AsyncBaseTransport):
    """The way to the Worker, which breaks for good after so many scripts."""

    def __init__(self, most: float = float("inf")) -> None:
        self._most = most
        self._real = httpx.AsyncHTTPTransport()
        self.objects: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.content:
            self.objects.append(json.loads(request.content)["object"])
        if len(self.objects) > self._most:
            raise httpx.ConnectError("the line is cut")
        return await self._real.handle_async_request(request)

    async def aclose(self) -> None:
        await self._real.aclose()


def carried_out(
    worker: LocalHost,
    cases: Sequence[Case],
    probes: Sequence[Probe],
    state: Path,
    transport: Counting,
    *,
    anew: bool = False,
) -> tuple[Findings, str]:
    """Run these as on a deployed Worker; what was found, and what was printed."""
    printed = io.StringIO()
    run = Run(list(cases), list(probes), worker.url, state, anew, None)

    async def carry_out() -> Findings:
        async with Client(worker.url, worker.token, transport, pace=0.01) as client:
            return await run.carry_out(client, Console(file=printed, width=200))

    try:
        findings = asyncio.run(carry_out())
    except ExceptionGroup as group:
        raise Stuck(printed.getvalue()) from group
    report.show(findings, Console(file=printed, width=200))
    return findings, printed.getvalue()


def left_in(worker: LocalHost, name: str) -> list[object]:
    return run(worker, name, call("store_list", "{}"), call("get_alarm"))


def test_an_interrupted_run_goes_on_where_it_was_and_leaves_nothing_behind(
    worker: LocalHost, tmp_path: Path
) -> None:
    state = tmp_path / "state.jsonl"
    first = Counting(most=7)
    with pytest.raises(Stuck, match=re.escape(state.name)):
        carried_out(worker, FEW, FEW_PROBES, state, first)
    lines = [json.loads(line) for line in state.read_text("ascii").splitlines()]
    settled = {line["settled"] for line in lines if "settled" in line}
    assert settled
    assert settled < {case.id for case in FEW} | {probe.id for probe in FEW_PROBES}

    second = Counting()
    findings, printed = carried_out(worker, FEW, FEW_PROBES, state, second)
    assert [outcome.verdict for outcome in findings.outcomes] == ["holds"] * len(FEW)
    assert [result.judged.verdict for result in findings.results] == ["holds"] * len(FEW_PROBES)
    assert f"({len(settled)} are settled already)" in printed
    assert not state.exists()
    for name in settled:  # only cleared, if that was still to be done
        used = [one for one in second.objects if one.startswith(f"{name}.")]
        assert len(used) == len(set(used))
    for name in {*first.objects, *second.objects}:
        assert left_in(worker, name) == ["[]", [False, 0]], name


def test_a_lost_answer_is_fetched_and_the_work_not_done_again(worker: LocalHost) -> None:
    name = fresh()

    class Losing(Counting):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response = await super().handle_async_request(request)
            await response.aread()
            if len(self.objects) == 1:
                raise httpx.ReadError("lost after the work was done")
            return response

    async def mark() -> int:
        async with Client(worker.url, worker.token, Losing(), pace=0.01) as client:
            await client.run(name, "durable-fetch", [{"native": "mark", "key": "marks", "label": "x"}])
            return client.retried.total()

    assert asyncio.run(mark()) == 1
    (marks,) = run(worker, name, {"native": "get", "key": "marks"})
    assert len(json.loads(marks)) == 1


UNREACHED = """
import js
from verification import native

ask_object, unreached = native.ask_object, []


async def reached_at_the_second_try(name, *asked):
    if name not in unreached:
        unreached.append(name)
        error = js.Error.new("Network connection lost.")
        error.retryable = True
        await js.Promise.reject(error)
    return await ask_object(name, *asked)


native.ask_object = reached_at_the_second_try
"""


def changed_worker(addition: str) -> AbstractContextManager[Path]:
    return worker_source(MAIN.read_text("utf-8") + addition, {"verification": SOURCE / "verification"})


def test_an_object_that_the_platform_did_not_reach_is_asked_again(tmp_path: Path) -> None:
    with changed_worker(UNREACHED) as source, LocalHost(source=source) as host:
        findings, printed = carried_out(host, FEW[:1], [], tmp_path / "state", Counting())
    assert findings.outcomes[0].verdict == "holds"
    assert findings.retried["status 503"] >= 1
    assert "repeated (status 503" in printed


def test_a_worker_of_other_sources_is_warned_of(tmp_path: Path, worker: LocalHost) -> None:
    state = tmp_path / "state.jsonl"
    assert "warning" not in carried_out(worker, FEW[:1], [], state, Counting())[1]
    with changed_worker("\n# another version\n") as source, LocalHost(source=source) as other:
        _, printed = carried_out(other, FEW[:1], [], state, Counting())
    assert "warning: the Worker runs the source" in printed


def test_the_json_says_what_was_run_where(worker: LocalHost, tmp_path: Path) -> None:
    findings, _ = carried_out(worker, FEW[:1], FEW_PROBES[:1], tmp_path / "state", Counting())
    report.write_json(tmp_path / "report.json", report.told(findings))
    told = json.loads((tmp_path / "report.json").read_text("ascii"))
    assert problem(told, "report") is None
    assert told["platform"]["where"] == "local"
    assert "not the cloud" in told["platform"]["label"]["en"]
    assert {"workerd", "wrangler", "pyodide", "python", "sdk", "yungong", "verifier"} == set(
        told["platform"]["versions"]
    )
    assert told["requests"] > 0
    assert told["retried"] == 0
    (case,), (probe,) = told["cases"], told["probes"]
    assert case == {
        "id": FEW[0].id,
        "interface": FEW[0].interface,
        "section": FEW[0].section,
        "title": FEW[0].title,
        "verdict": "holds",
        "detail": "",
    }
    assert probe["clause"] == FEW_PROBES[0].clause
    assert probe["verdict"] == "holds"


def test_the_local_platform_is_called_by_its_name(worker: LocalHost, tmp_path: Path) -> None:
    run = Run(FEW[:1], [], None, None, False, None)

    async def carry_out() -> Findings:
        async with Client(worker.url, worker.token) as client:
            return await run.carry_out(client, Console(file=io.StringIO()))

    platform = asyncio.run(carry_out()).platform
    assert re.fullmatch(r"local workerd [\d.]+, not the cloud", platform.label["en"])


@pytest.mark.parametrize("given", ["environment", "file"])
def test_the_command_shows_the_token_nowhere(worker: LocalHost, tmp_path: Path, given: str) -> None:
    written = tmp_path / "report.json"
    token_file = tmp_path / "token"
    token_file.write_text(worker.token + "\n", "ascii")
    arguments: list[str | Path] = ["--token-file", token_file] if given == "file" else []
    environment = {"TOKEN": worker.token} if given == "environment" else {}
    for case in ("tx-sample-get", "event-uncaught-keeps-writes", "store-key-2048"):
        arguments += ["--case", case]
    state = tmp_path / "state"
    command: list[str | Path] = [
        ROOT / "scripts/verify",
        *("--url", worker.url, "--json", written, "--state", state),
        *arguments,
    ]
    ended = subprocess.run(
        command,
        env={"PATH": "/usr/bin:/bin"} | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "about" in ended.stdout
    assert worker.token not in ended.stdout + ended.stderr + written.read_text("ascii")
    assert not state.exists()


def test_a_wrong_token_is_not_shown_either(worker: LocalHost, tmp_path: Path) -> None:
    wrong = "wr0ng-t0ken-that-nobody-has"
    ended = subprocess.run(
        [ROOT / "scripts/verify", "--url", worker.url, "--state", tmp_path / "state", "--quick"],
        env={"PATH": "/usr/bin:/bin", "TOKEN": wrong},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 2
    assert "refuses the token" in ended.stdout
    assert wrong not in ended.stdout + ended.stderr


def test_the_cloud_is_told_by_its_host(worker: LocalHost) -> None:
    from verifier.platform import describe

    async def meet() -> dict[str, object]:
        async with Client(worker.url, worker.token) as client:
            return await client.meet()

    platform = describe(asyncio.run(meet()), "https://yungong.example.workers.dev/x")
    assert (platform.label["en"], platform.where) == ("yungong.example.workers.dev", "cloud")
    assert platform.versions["workerd"] is None
    assert replace(platform, facts=platform.facts | {"source": "other"}).is_mine is False
