"""A project's configuration: read, checked, and turned into the one that ``wrangler dev`` is given."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyjson5

from yungong_local.errors import ConfigurationError

NAMES = ("wrangler.toml", "wrangler.jsonc", "wrangler.json")
"""What wrangler itself looks for."""

PYTHON_DATE = "2026-09-08"
"""The compatibility date from which on Python Workers run the CPython that the local host has."""

HOST_BINDING = "YUNGONG_LOCAL_SELF"
"""The Worker's binding to itself, by which the host gives it batches; removed before Python sees it."""

_IDENTITIES = ("binding", "name", "queue", "tag")
_YUNGONG = re.compile(r"^\s*(?:from|import)\s+yungong\b", re.MULTILINE)


def read(path: Path) -> dict[str, Any]:
    """The configuration as it stands.

    Raises:
        ConfigurationError: the file is missing or cannot be read.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from error
    try:
        config = tomllib.loads(text) if path.suffix == ".toml" else pyjson5.decode(text)
    except (tomllib.TOMLDecodeError, pyjson5.Json5DecoderException) as error:
        raise ConfigurationError(f"{path.name}: {error}") from error
    if not isinstance(config, dict):
        raise ConfigurationError(f"{path.name}: the configuration must be a table")
    return config


def checked(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The configuration, and what is odd in it without being wrong.

    Raises:
        ConfigurationError: something in it cannot work.
    """
    config = read(path)
    mistakes: list[str] = []
    oddities: list[str] = []
    uses_yungong = _main_is_sound(path, config, mistakes) and _uses_yungong(
        (path.parent / config["main"]).parent
    )
    doubts = mistakes if uses_yungong else oddities
    date = str(config.get("compatibility_date", ""))
    if date < PYTHON_DATE:
        doubts.append(
            f"compatibility_date is {date or 'missing'}: Python Workers run CPython 3.14, as the local host"
            f' does, from "{PYTHON_DATE}" on'
        )
    if "python_workers" not in config.get("compatibility_flags", []):
        mistakes.append('compatibility_flags lacks "python_workers": Cloudflare would not run Python')
    mistakes += _unmigrated(config)
    doubts += _on_key_values(config)
    if uses_yungong:
        mistakes += _permits(config)
    consumed = {consumer.get("queue") for consumer in config.get("queues", {}).get("consumers", [])}
    oddities += [
        f"[[queues.producers]] {producer['binding']}: the queue {producer['queue']} has no"
        " [[queues.consumers]] here; what is sent to it goes nowhere"
        for producer in _producers(config)
        if producer["queue"] not in consumed
    ]
    if mistakes:
        raise ConfigurationError("\n".join(f"{path.name}: {mistake}" for mistake in mistakes))
    return config, [f"{path.name}: {oddity}" for oddity in oddities]


def derived(path: Path, config: Mapping[str, Any], additions: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration at `path` with the main module replaced by the host, and what the caller adds."""
    config = merged(config, additions)
    for name in ("build", "env", "python_modules"):
        config.pop(name, None)
    config.setdefault("name", path.parent.name)
    config["main"] = "worker/main.mjs"
    config["no_bundle"] = True
    config["find_additional_modules"] = True
    config["base_dir"] = "worker"
    config["rules"] = [
        {"type": kind, "globs": globs, "fallthrough": False}
        for kind, globs in [
            ("ESModule", ["**/*.mjs"]),
            ("CompiledWasm", ["**/*.wasm"]),
            ("Data", ["**/*.bin", "**/*.zip"]),
        ]
    ]
    # Python comes with the host; workerd's own would be fetched over the network.
    config["compatibility_flags"] = [
        flag for flag in config.get("compatibility_flags", []) if not flag.startswith("python_workers")
    ]
    _make_absolute(path.parent, config)
    return config


def for_tests(config: dict[str, Any]) -> dict[str, Any]:
    """A derived configuration whose Worker can be given batches."""
    binding = {"binding": HOST_BINDING, "service": config["name"]}
    return merged(config, {"services": [binding], "compatibility_flags": ["service_binding_extra_handlers"]})


def object_bindings(config: Mapping[str, Any]) -> dict[str, str]:
    """The Durable Object classes of the Worker itself, by binding."""
    return {
        binding["name"]: binding["class_name"]
        for binding in config.get("durable_objects", {}).get("bindings", [])
        if "script_name" not in binding
    }


def producer_bindings(config: Mapping[str, Any]) -> dict[str, str]:
    """The queues that the Worker sends to, by binding."""
    return {producer["binding"]: producer["queue"] for producer in _producers(config)}


def merged(base: Mapping[str, Any], additions: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``additions``: tables are merged, lists joined, anything else replaced.

    Two tables of lists that bear the same binding, name, queue or tag are one, and merged.
    """
    result = dict(base)
    for key, value in additions.items():
        old = result.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            result[key] = merged(old, value)
        elif isinstance(value, list) and isinstance(old, list):
            result[key] = _joined(old, value)
        else:
            result[key] = value
    return result


def _joined(base: list[Any], additions: list[Any]) -> list[Any]:
    result = list(base)
    for value in additions:
        twin = next((i for i, old in enumerate(result) if _same(old, value)), None)
        if twin is None:
            result.append(value)
        else:
            result[twin] = merged(result[twin], value)
    return result


def _same(one: Any, other: Any) -> bool:
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return False
    identity = next((key for key in _IDENTITIES if key in other), None)
    return identity is not None and one.get(identity) == other[identity]


def _main_is_sound(path: Path, config: Mapping[str, Any], mistakes: list[str]) -> bool:
    main = config.get("main")
    if not isinstance(main, str):
        mistakes.append('main is missing: name the main module, such as main = "src/entry.py"')
    elif not main.endswith(".py"):
        mistakes.append(f"main = {main!r} is no Python file")
    elif not (path.parent / main).is_file():
        mistakes.append(f"main = {main!r}: there is no such file beside {path.name}")
    else:
        return True
    return False


def _uses_yungong(source: Path) -> bool:
    return any(_YUNGONG.search(file.read_text("utf-8", "replace")) for file in source.glob("*.py")) or any(
        _YUNGONG.search(file.read_text("utf-8", "replace"))
        for file in source.glob("*/**/*.py")
        if file.relative_to(source).parts[0] not in ("yungong", "python_modules")
    )


def _unmigrated(config: Mapping[str, Any]) -> Iterator[str]:
    known = set()
    for migration in config.get("migrations", []):
        known |= {*migration.get("new_sqlite_classes", []), *migration.get("new_classes", [])}
        known |= {renamed["to"] for renamed in migration.get("renamed_classes", [])}
        known |= {moved["to"] for moved in migration.get("transferred_classes", [])}
    for binding, class_name in object_bindings(config).items():
        if class_name not in known:
            yield (
                f"[[durable_objects.bindings]] {binding}: the class {class_name} stands in no"
                " [[migrations]]; list it under new_sqlite_classes"
            )


def _on_key_values(config: Mapping[str, Any]) -> Iterator[str]:
    for migration in config.get("migrations", []):
        for class_name in migration.get("new_classes", []):
            yield (
                f"[[migrations]] {migration.get('tag')}: the class {class_name} is under new_classes, the"
                " older key-value backend; list it under new_sqlite_classes, which yungong needs"
            )


def _permits(config: Mapping[str, Any]) -> Iterator[str]:
    bindings = producer_bindings(config)
    permits = config.get("vars", {}).get("PERMITS")
    if permits is None and bindings:
        names = ", ".join(f'"{name}"' for name in bindings)
        yield f"[vars] lacks PERMITS: without PERMITS = {{ QUEUE = [{names}] }} yungong sends to no queue"
    queues = permits.get("QUEUE", []) if isinstance(permits, Mapping) else []
    for name in queues if isinstance(queues, list) else []:
        if name not in bindings:
            yield f"[vars] PERMITS.QUEUE names {name}, which is the binding of no [[queues.producers]]"


def _producers(config: Mapping[str, Any]) -> list[Mapping[str, str]]:
    producers: list[Mapping[str, str]] = config.get("queues", {}).get("producers", [])
    return producers


def _make_absolute(folder: Path, config: dict[str, Any]) -> None:
    assets = config.get("assets")
    if assets and "directory" in assets:
        config["assets"] = {**assets, "directory": str(folder / assets["directory"])}
    databases = config.get("d1_databases", [])
    config["d1_databases"] = [
        {**database, "migrations_dir": str(folder / database.get("migrations_dir", "migrations"))}
        for database in databases
    ]
