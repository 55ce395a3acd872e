"""Scripts: lists of steps, each an interface call or something to happen round one, and their results."""

import asyncio
import inspect
import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import yungong
from yungong import jsontext

from . import native, probing

MAX_LEVELS = 100

FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: value
    for name in yungong.__all__
    # An interface's function bears the specification's Chinese name; nothing else of the package does.
    if inspect.isfunction(value := getattr(yungong, name)) and not value.__name__.isascii()
}


# What a script's calls call: the specifications' own functions, or what stands for them in another face.
face: ContextVar[dict[str, Callable[..., Any]]] = ContextVar("face", default=FUNCTIONS)

_spawned: set[asyncio.Task[None]] = set()


class MalformedScript(ValueError):
    """A script is not what the protocol says; the sentence names the step."""


def read_json(text: str) -> Any:
    """Return what JSON text says, where it nests no deeper than a script can.

    Python's own parser must not see deeper ones: here its recursion ends the whole runtime.

    Raises:
        MalformedScript: `text` is not JSON, or nests too deep.
    """
    try:
        data = jsontext.encode(text)
        jsontext.parse(text, data)
    except jsontext.NotJsonText:
        raise MalformedScript("the script is not JSON text") from None
    if jsontext.nests_deeper(data, MAX_LEVELS):
        raise MalformedScript(f"the script nests deeper than {MAX_LEVELS} levels")
    try:
        return json.loads(text)
    except ValueError as error:  # an integer of thousands of digits
        raise MalformedScript(f"the script is out of range: {error}") from error


def check_steps(steps: Any) -> None:
    """Check a list of steps before anything of it runs.

    Raises:
        MalformedScript: a step has none of the known forms, or calls an unknown function.
    """
    pending = [steps]
    while pending:
        steps = pending.pop()
        if not isinstance(steps, list):
            raise MalformedScript(f"steps must be a list, not {_shown(steps)}")
        for step in steps:
            pending.extend(_check_step(step))


def _check_step(step: Any) -> list[Any]:
    """Check one step, and return the lists of steps inside it."""
    if not isinstance(step, dict):
        raise MalformedScript(f"a step must be an object, not {_shown(step)}")
    match step:
        case {"call": str(name), "args": list(), **rest} if not rest:
            if name not in FUNCTIONS:
                raise MalformedScript(f"there is no interface function {_shown(name)}")
            return []
        case {"kind": True, **rest} | {"complete": True, **rest} | {"recorded": True, **rest} if not rest:
            return []
        case {"sleep": int() | float() as delay_ms, **rest} if not rest and type(delay_ms) is not bool:
            return []
        case {"raise": str(), **rest} if not rest:
            return []
        case {"refuse": str(), **rest} if not rest:
            return []
        case {"refuse": {"bare": _, **more}, **rest} if not more and not rest:
            return []
        case {"swallow": inner, **rest} | {"transaction": inner, **rest} if not rest:
            return [inner]
        case {"together": list(inner), **rest} if not rest:
            return inner
        case {"spawn": inner, "log": str(), **rest} if not rest:
            return [inner]
        case {"native": str(name)}:
            try:
                (probing if name in probing.NAMES else native).check(step)
            except ValueError as error:
                raise MalformedScript(str(error)) from error
            return []
    raise MalformedScript(f"unknown step {_shown(step)}")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:80] + "…"


async def run_steps(steps: list[Any], index: int | None = None) -> list[Any]:
    """Run steps one after another and return their results; `index` is what "$index" stands for."""
    results: list[Any] = []
    await _run_into(results, steps, index)
    return results


async def _run_into(results: list[Any], steps: list[Any], index: int | None) -> None:
    for step in steps:
        try:
            results.append({"value": await _run_step(step, results, index)})
        except _Uncaught as error:
            raise RuntimeError(str(error)) from None
        except Exception as error:
            results.append(_failure(error))


class _Uncaught(Exception):
    """What a `raise` step raises: nothing here catches it."""


def _failure(error: BaseException) -> dict[str, str]:
    return {"error": type(error).__name__, "message": str(error)}


async def _run_step(step: dict[str, Any], results: list[Any], index: int | None) -> Any:
    match step:
        case {"call": name, "args": args}:
            value = face.get()[name](*(index if arg == "$index" else arg for arg in args))
            return await value if inspect.isawaitable(value) else value
        case {"kind": _}:
            return yungong.event_kind()
        case {"sleep": delay_ms}:
            return await yungong.sleep(delay_ms)
        case {"raise": text}:
            raise _Uncaught(text)
        case {"swallow": inner}:
            return await _swallow(inner, index)
        case {"together": lists}:
            return await asyncio.gather(*(run_steps(inner, index) for inner in lists))
        case {"spawn": inner, "log": key}:
            task = asyncio.create_task(_run_spawned(inner, native.log_writer(key), index))
            _spawned.add(task)
            task.add_done_callback(_spawned.discard)
            return None
        case {"transaction": inner}:
            return await face.get()["run_transaction"](json.dumps(inner))
        case {"complete": _}:
            return face.get()["complete_transaction"](json.dumps(results))
        case {"recorded": _}:
            return native.recorded()
        case {"refuse": reason}:
            return native.refuse_next(reason)
        case {"native": name} if name in probing.NAMES:
            return await probing.run(step, index)
        case _:
            return await native.run(step)


async def _swallow(steps: list[Any], index: int | None) -> list[Any]:
    results: list[Any] = []
    try:
        await _run_into(results, steps, index)
    except BaseException as error:
        results.append(_failure(error))
    return results


async def _run_spawned(steps: list[Any], write: Callable[[str], None], index: int | None) -> None:
    write(json.dumps(await _swallow(steps, index)))
