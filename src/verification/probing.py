"""The native steps of the probes: what only the platform itself can show, asked of it past the package.

{"native": "now"}
    the Worker's clock, Unix milliseconds
{"native": "mark", "key": k, "label": text}
    appends {"at_ms", "label", "retry", "instance"} to the list under the key of this object, at once
{"native": "mark", "key": k, "label": text, "object": o}
    from a queue's event, in that object: {"at_ms", "label", "id", "attempts"} of the step's message
{"native": "abort"}
    the object is reset (ctx.abort)
{"native": "hold", "key": k, "ms": n}
    the platform's own transaction: it writes the key, then waits
{"native": "store-text", "key": k, "form": f, "bytes": n}
    写入持久仓键值 with a JSON text of so many bytes
{"native": "cell", "key": k, "bytes": n}
    kv.put of a text of n characters; null, or {"refused": why}
{"native": "enqueue", "binding": b, "bodies": […], "delay_seconds": s | null, "batch": bool}
    send or sendBatch past the interface, as JSON; an integer n stands for a body of n bytes; null, or
    {"refused": why}
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import yungong
from yungong import platform
from yungong.platform import PlatformError, error_text

from . import native

NAMES = frozenset({"now", "mark", "abort", "hold", "store-text", "cell", "enqueue"})


def check(step: dict[str, Any]) -> None:
    """Check a step of a probe; raises ValueError with a sentence."""
    match step:
        case {"native": "now" | "abort", **rest} if not rest:
            return
        case {"native": "mark", "key": str(), "label": str(), **rest} if not rest:
            return
        case {"native": "mark", "key": str(), "label": str(), "object": str(), **rest} if not rest:
            return
        case {"native": "hold", "key": str(), "ms": int(number), **rest} if not rest and type(number) is int:
            return
        case {"native": "store-text", "key": str(), "form": str(form), "bytes": int(number), **rest} if (
            not rest and form in FORMS and type(number) is int
        ):
            return
        case {"native": "cell", "key": str(), "bytes": int(number), **rest} if (
            not rest and type(number) is int
        ):
            return
        case {
            "native": "enqueue",
            "binding": str(),
            "bodies": list(),
            "delay_seconds": int() | None as delay,
            "batch": bool(),
            **rest,
        } if not rest and type(delay) is not bool:
            return
    raise ValueError(f"unknown native step {json.dumps(step, ensure_ascii=False)[:80]}")


async def run(step: dict[str, Any], index: int | None) -> Any:
    """Run one step of a probe."""
    match step:
        case {"native": "now"}:
            return platform.now_ms()
        case {"native": "mark", "object": name, "key": key, "label": label}:
            message = json.loads(yungong.read_batch())["messages"][index]
            entry = {"at_ms": platform.now_ms(), "label": label}
            entry |= {"id": message["id"], "attempts": message["attempts"]}
            await native.ask_object(name, json.dumps({"note": entry, "key": key, "place": None}))
        case {"native": "mark", "key": key, "label": label}:
            entry = {"at_ms": platform.now_ms(), "label": label, "retry": yungong.alarm_retry_count()}
            native.append(key, entry | {"instance": native.instance()})
        case {"native": "abort"}:
            native.abort_object()
            await yungong.sleep(1000)
            raise RuntimeError("the platform did not reset the object")
        case {"native": "hold", "key": key, "ms": delay_ms}:
            await _hold(key, delay_ms)
        case {"native": "store-text", "key": key, "form": form, "bytes": size}:
            await yungong.store_put(key, FORMS[form](size))
        case {"native": "cell", "key": key, "bytes": size}:
            try:
                native.storage().kv.put(key, "x" * size)
            except PlatformError as error:
                return {"refused": error_text(error)}
        case {
            "native": "enqueue",
            "batch": batch,
            "binding": binding,
            "bodies": bodies,
            "delay_seconds": delay,
        }:
            return await _enqueue(binding, bodies, delay, batch=batch)
    return None


async def _hold(key: str, delay_ms: int) -> None:
    async def closure(transaction: Any) -> None:
        await transaction.put(key, 1)
        await asyncio.sleep(delay_ms / 1000)  # in the platform's closure no event is current

    await native.transaction(closure)


async def _enqueue(binding: str, bodies: list[Any], delay_seconds: int | None, *, batch: bool) -> Any:
    options: dict[str, Any] = {"contentType": "json"}
    if delay_seconds is not None:
        options["delaySeconds"] = delay_seconds
    contents = ["x" * (body - 2) if type(body) is int else body for body in bodies]
    queue = native.queue(binding)
    try:
        if batch:
            messages = [{"body": content} | options for content in contents]
            await queue.sendBatch(native.javascript(messages))
        else:
            for content in contents:
                await queue.send(native.javascript(content), native.javascript(options))
    except PlatformError as error:
        return {"refused": error_text(error)}
    return None


# JSON texts of exactly so many bytes, by what the engine's serialised form makes of them.


def _ascii(size: int) -> str:
    return '"' + "x" * (size - 2) + '"'


def _two_byte(size: int) -> str:
    """One character outside of Latin-1 makes the whole string two bytes a character."""
    return '"汉' + "x" * (size - 5) + '"'


def _numbers(number: str) -> Callable[[int], str]:
    def text(size: int) -> str:
        count, rest = divmod(size - 1, len(number) + 1)
        return "[" + ",".join([number] * count) + "]" + " " * rest

    return text


FORMS: dict[str, Callable[[int], str]] = {
    "ascii": _ascii,
    "two-byte": _two_byte,
    "doubles": _numbers("0.5"),
    "minus-zero": _numbers("-0"),
}
