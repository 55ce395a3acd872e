"""Mistakes in a configuration are sentences, before anything starts."""

import json
from pathlib import Path
from typing import Any

import pytest
from repository import CONFIG
from yungong_local import ConfigurationError, __main__, configuration

SOUND = """
name = "sound"
main = "entry.py"
compatibility_date = "2026-09-08"
compatibility_flags = ["python_workers"]

[vars]
PERMITS = { QUEUE = ["PAGES"] }

[[durable_objects.bindings]]
name = "STORE"
class_name = "Store"

[[migrations]]
tag = "v1"
new_sqlite_classes = ["Store"]

[[queues.producers]]
binding = "PAGES"
queue = "pages"

[[queues.consumers]]
queue = "pages"
"""
WITH_YUNGONG = "from yungong import App\n"
WITHOUT = "from workers import WorkerEntrypoint\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The configuration of a project that uses yungong."""
    (tmp_path / "entry.py").write_text(WITH_YUNGONG, "utf-8")
    path = tmp_path / "wrangler.toml"
    path.write_text(SOUND, "utf-8")
    return path


def change(project: Path, old: str, new: str) -> None:
    assert old in SOUND
    project.write_text(SOUND.replace(old, new), "utf-8")


def test_a_sound_configuration_has_nothing_odd(project: Path) -> None:
    assert configuration.checked(project)[1] == []
    assert configuration.checked(CONFIG)[1] == []


MISTAKES = [
    ('main = "entry.py"', "", "wrangler.toml: main is missing"),
    (
        '"entry.py"',
        '"other.py"',
        "wrangler.toml: main = 'other.py': there is no such file beside wrangler.toml",
    ),
    ('"entry.py"', '"entry.js"', "wrangler.toml: main = 'entry.js' is no Python file"),
    ('"2026-09-08"', '"2026-01-01"', "wrangler.toml: compatibility_date is 2026-01-01: "),
    ('["python_workers"]', "[]", 'wrangler.toml: compatibility_flags lacks "python_workers"'),
    (
        'new_sqlite_classes = ["Store"]',
        'new_sqlite_classes = ["Other"]',
        "wrangler.toml: [[durable_objects.bindings]] STORE: the class Store stands in no [[migrations]]",
    ),
    (
        "new_sqlite_classes",
        "new_classes",
        "wrangler.toml: [[migrations]] v1: the class Store is under new_classes",
    ),
    ('["PAGES"]', '["PAGE"]', "wrangler.toml: [vars] PERMITS.QUEUE names PAGE, which is the binding of no"),
    ('[vars]\nPERMITS = { QUEUE = ["PAGES"] }', "", "wrangler.toml: [vars] lacks PERMITS"),
    ("[vars]", "[vars", "wrangler.toml: "),
]


@pytest.mark.parametrize(("old", "new", "sentence"), MISTAKES)
def test_a_mistake_is_told_with_its_place(project: Path, old: str, new: str, sentence: str) -> None:
    change(project, old, new)
    with pytest.raises(ConfigurationError) as error:
        configuration.checked(project)
    assert str(error.value).startswith(sentence)


def test_every_mistake_is_told_at_once(project: Path) -> None:
    change(project, '"2026-09-08"\ncompatibility_flags = ["python_workers"]', '"2025-01-01"')
    with pytest.raises(ConfigurationError) as error:
        configuration.checked(project)
    assert len(str(error.value).splitlines()) == 2


ODDITIES = [
    ('"2026-09-08"', '"2026-01-01"', "compatibility_date is 2026-01-01"),
    ("new_sqlite_classes", "new_classes", "the class Store is under new_classes"),
]


@pytest.mark.parametrize(("old", "new", "words"), ODDITIES)
def test_what_only_yungong_needs_is_a_warning_elsewhere(
    project: Path, old: str, new: str, words: str
) -> None:
    project.with_name("entry.py").write_text(WITHOUT, "utf-8")
    change(project, old, new)
    (oddity,) = configuration.checked(project)[1]
    assert words in oddity


def test_permits_are_not_asked_of_a_project_without_yungong(project: Path) -> None:
    project.with_name("entry.py").write_text(WITHOUT, "utf-8")
    change(project, '[vars]\nPERMITS = { QUEUE = ["PAGES"] }', "")
    assert configuration.checked(project)[1] == []


def test_a_queue_without_a_consumer_is_a_warning(project: Path) -> None:
    change(project, '[[queues.consumers]]\nqueue = "pages"', "")
    (oddity,) = configuration.checked(project)[1]
    assert oddity.startswith(
        "wrangler.toml: [[queues.producers]] PAGES: the queue pages has no [[queues.consumers]] here"
    )


def test_jsonc_is_read_with_its_comments_and_commas(project: Path) -> None:
    config = configuration.read(project)
    jsonc = project.with_suffix(".jsonc")
    jsonc.write_text("// a comment\n" + json.dumps(config)[:-1] + ",}", "utf-8")
    assert configuration.checked(jsonc) == (config, [])
    jsonc.write_text('{"name": }', "utf-8")
    with pytest.raises(ConfigurationError, match=r"^wrangler.jsonc: "):
        configuration.checked(jsonc)


def test_what_is_found_beside_the_configuration_is_found_from_elsewhere(project: Path) -> None:
    config: dict[str, Any] = {
        **configuration.read(project),
        "assets": {"directory": "public"},
        "d1_databases": [{"binding": "DATABASE"}],
    }
    derived = configuration.derived(project, config, {})
    assert derived["assets"] == {"directory": str(project.parent / "public")}
    assert derived["d1_databases"][0]["migrations_dir"] == str(project.parent / "migrations")


def test_the_command_tells_a_mistake_and_ends(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(project, '["PAGES"]', '["PAGE"]')
    assert __main__.main(["dev", "--config", str(project)]) == 1
    assert "[vars] PERMITS.QUEUE names PAGE" in capsys.readouterr().out
