"""What `wrangler deploy` would upload, and what the package relies on in it."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest
from repository import ROOT, LocalHost
from yungong_local import Worker, configuration, packages

# Of the SDK: its modules, and what every installer leaves beside them.
SDK = re.compile(
    r"python_modules/(workers/[\w/]+\.(py|js)|workers/py\.typed|asgi\.py|_workers_sdk_\w+\.(py|pth)"
    r"|workers_runtime_sdk-[\d.]+\.dist-info/[\w/]+)"
)
OWN = re.compile(r"entry\.py|(yungong|verification)/[\w/]+\.py")


def wrangler(*arguments: str | Path) -> str:
    done = subprocess.run(
        [packages.node(), packages.node_modules() / "wrangler/wrangler-dist/cli.js", *arguments],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1", "WRANGLER_SEND_METRICS": "false"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def uploaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of the Worker as `wrangler deploy` would upload it."""
    folder = tmp_path_factory.mktemp("uploaded")
    output = wrangler("deploy", "--dry-run", "--env", "", "--outdir", folder)
    print(next(line for line in output.splitlines() if line.startswith("Total Upload:")))
    (folder / "README.md").unlink()  # wrangler's own word on the folder
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_package_the_application_and_the_sdk_are_uploaded(uploaded: set[str]) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT / "src", capture_output=True, text=True, check=True
    )
    sdk = {name for name in uploaded if name.startswith("python_modules/")}
    assert uploaded - sdk == set(listed.stdout.split())
    assert {
        "python_modules/workers/__init__.py",
        "python_modules/workers/rpc.py",
        "python_modules/asgi.py",
    } <= sdk
    assert [name for name in sdk if not SDK.fullmatch(name)] == []
    assert [name for name in uploaded - sdk if not OWN.fullmatch(name)] == []


def test_vendoring_needs_no_network_when_nothing_has_changed() -> None:
    vendor = ROOT / "scripts" / "vendor"
    subprocess.run([vendor], check=True)
    before = (ROOT / "python_modules").stat()
    # Nothing that could download is on this PATH.
    tools = {name: shutil.which(name) for name in ("bash", "awk", "cat", "dirname")}
    directory = {str(Path(tool or "").parent) for tool in tools.values()}
    subprocess.run([vendor], check=True, env={"PATH": os.pathsep.join(directory), "UV_OFFLINE": "1"})
    after = (ROOT / "python_modules").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_staging_is_the_same_worker_with_queues_of_its_own() -> None:
    config = configuration.read(ROOT / "wrangler.toml")
    staging = json.loads(json.dumps(config["env"]["staging"]).replace("yungong-staging-", "yungong-"))
    assert staging == {name: config[name] for name in staging}
    assert set(staging) == {"vars", "durable_objects", "queues", "version_metadata"}
    assert "yungong-pages" not in json.dumps(config["env"]["staging"])


RELIED_ON = """
from workers import DurableObject, Response, WorkerEntrypoint

found = {}


def look(name, wrapper, attribute):
    found[name] = hasattr(wrapper, attribute)


class DurableStore(DurableObject):
    async def fetch(self, request):
        look("DurableObjectContext._ctx", self.ctx, "_ctx")
        look("_EnvWrapper._env", self.env, "_env")
        return Response("seen")


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        await self.env.DURABLE_STORE.getByName("one").fetch("https://object.invalid/")
        return Response.json(found)

    async def queue(self, batch, env, ctx):
        look("_BindingWrapper._binding", batch, "_binding")
"""


def test_the_names_inside_the_sdk_that_the_package_relies_on_are_there(tmp_path: Path) -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    relied_on = set(re.findall(r'unwrap\(\w+, "(\w+)"\)', source))
    (tmp_path / "entry.py").write_text(dedent(RELIED_ON), "utf-8")
    with LocalHost(source=tmp_path, testing=True) as host, Worker(host) as worker:
        worker.deliver("yungong-pages", [1])
        found = worker.fetch("GET", "/").json()
    assert [name for name, there in found.items() if not there] == [], "gone from the SDK"
    assert {name.rpartition(".")[2] for name in found} == relied_on
