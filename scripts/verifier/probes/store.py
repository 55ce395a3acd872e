"""持久仓: what one cell holds, what a key may be, and what clearing takes with it."""

from __future__ import annotations

import functools
import json
from itertools import pairwise
from typing import Any

from ..forms import Json, words
from .bench import Bench, largest
from .shape import Judged, Limit, Measurement, Probe, differs, holds, unsettled

INTERFACE = "持久事务"
MIB_2 = 2 * 1024 * 1024
KEY_BYTES = 2048
FAR_MS = 1_900_000_000_000
SMALLEST = 65_536
TEXT_RESOLUTION = 512
CELL_LOW, CELL_HIGH, CELL_RESOLUTION = 1_000_000, 16_777_216, 1024


def _call(name: str, *args: Json) -> Json:
    return {"call": name, "args": list(args)}


# One value, by its text and by its serialised form


async def _measure_value(form: str, bench: Bench) -> Measurement:
    refusals: list[Json] = []

    async def accepts(size: int) -> bool:
        step = {"native": "store-text", "key": "k", "form": form, "bytes": size}
        told, there = await bench.see("a", step, _call("列举持久仓键值", '{"prefix": "k", "limit": 1}'))
        if told is None:
            return bool(there != "[]")
        refusals.append({"bytes": size, "message": told["message"]})
        return False

    found = await largest(accepts, SMALLEST, MIB_2, TEXT_RESOLUTION)
    return {"form": form, "largest": found, "refusals": refusals[-3:]}


def judge_value(measurement: Measurement) -> Judged:
    """A text of exactly 2 MiB is stored."""
    found = measurement["largest"]
    if found == MIB_2:
        return holds("A text of 2 097 152 bytes is stored.", "2 097 152 字节的文字可以存入。")
    message = measurement["refusals"][-1]["message"] if measurement["refusals"] else "?"
    if found is None:
        return differs(
            f"Not even a text of {SMALLEST} bytes is stored: {message}",
            f"连 {SMALLEST} 字节的文字也存不进：{message}",
        )
    return differs(
        f"The largest text stored has about {found} bytes; beyond it: {message}",
        f"存得进的最长文字约 {found} 字节；再长则：{message}",
    )


def _value_limits(measurement: Measurement) -> list[Limit]:
    form = measurement["form"]
    name = words(f"one value, JSON text ({form})", f"单个值的 JSON 文字（{form}）")
    return [Limit(name, MIB_2, measurement["largest"], "bytes")]


async def _measure_cell(bench: Bench) -> Measurement:
    refusals: list[str] = []

    async def accepts(size: int) -> bool:
        (told,) = await bench.see("a", {"native": "cell", "key": "k", "bytes": size})
        if told is not None:
            refusals.append(told["refused"])
        return told is None

    found = await largest(accepts, CELL_LOW, CELL_HIGH, CELL_RESOLUTION)
    return {"largest": found, "refusal": refusals[-1] if refusals else None}


def judge_cell(measurement: Measurement) -> Judged:
    """The platform's cell holds 2 MiB of serialised text."""
    found = measurement["largest"]
    told = (
        f"The cell holds about {found} characters of one byte; beyond: {measurement['refusal']}.",
        f"单元格约容 {found} 个单字节字符；再多则：{measurement['refusal']}。",
    )
    return holds(*told) if found is not None and found >= MIB_2 else differs(*told)


def _cell_limits(measurement: Measurement) -> list[Limit]:
    name = words("the platform's cell, key and serialised value", "平台单元格（键与序列化的值）")
    return [Limit(name, MIB_2, measurement["largest"], "bytes")]


# Keys


async def _measure_key(bench: Bench) -> Measurement:
    found = []
    for key in ("k" * KEY_BYTES, "汉" * (KEY_BYTES // 3) + "kk"):
        stored, read, listed, deleted = await bench.see(
            "a",
            _call("写入持久仓键值", key, "1"),
            _call("读取持久仓键值", key),
            _call("列举持久仓键值", "{}"),
            _call("删除持久仓键", key),
        )
        whole = isinstance(listed, str) and json.loads(listed) == [[key, 1]]
        found.append({"stored": stored, "read": read, "listed_whole": whole, "deleted": deleted})
    return {"bytes": KEY_BYTES, "keys": found}


def judge_key(measurement: Measurement) -> Judged:
    """Keys of 2048 bytes are stored, read, listed and deleted."""
    good = {"stored": None, "read": [True, "1"], "listed_whole": True, "deleted": True}
    if all(one == good for one in measurement["keys"]):
        return holds(
            "Keys of 2048 bytes, of ASCII and of Chinese, go round.",
            "2048 字节的键（ASCII 与汉字）都能往返。",
        )
    return differs(f"What came back: {measurement['keys']}.", f"所得：{measurement['keys']}。")


def _key_limits(measurement: Measurement) -> list[Limit]:
    held = judge_key(measurement).verdict == "holds"
    return [Limit(words("a key", "键"), KEY_BYTES, KEY_BYTES if held else None, "bytes")]


KEYS = ("a", "B", "é", "汉", "\ue000", "\uffee", "😀", "𠀀")
"""UTF-16 puts the last two, of four bytes, before the two in front of them."""


async def _measure_order(bench: Bench) -> Measurement:
    writes = [_call("写入持久仓键值", key, "1") for key in reversed(KEYS)]
    *_, there, back = await bench.see(
        "a", *writes, _call("列举持久仓键值", "{}"), _call("列举持久仓键值", '{"reverse": true}')
    )
    return {"listed": [key for key, _ in json.loads(there)], "reversed": [key for key, _ in json.loads(back)]}


def judge_order(measurement: Measurement) -> Judged:
    """A listing is in the order of UTF-8 bytes, and the reverse of it in reverse."""
    listed: list[str] = measurement["listed"]
    if sorted(listed) != sorted(KEYS):
        return unsettled(f"The listing holds {listed}.", f"列举所得为 {listed}。")
    in_order = all(one.encode() < other.encode() for one, other in pairwise(listed))
    if in_order and measurement["reversed"] == listed[::-1]:
        return holds(
            f"In the order of UTF-8 bytes: {' '.join(listed)}", f"按 UTF-8 字节序：{' '.join(listed)}"
        )
    return differs(f"The order is {' '.join(listed)}", f"次序为 {' '.join(listed)}")


# Clearing


async def _measure_clear(bench: Bench) -> Measurement:
    *_, package, platform = await bench.see(
        "a",
        _call("写入持久仓键值", "k", "1"),
        _call("设置持久告警", FAR_MS),
        _call("清空持久仓"),
        _call("读取持久告警"),
        {"native": "alarm"},
    )
    await bench.see("a", _call("删除持久告警"))
    return {"package": package, "platform": platform, "date_says": bench.facts.get("clearing_deletes_alarm")}


def judge_clear(measurement: Measurement) -> Judged:
    """Clearing takes the alarm along where the compatibility date says so, and both readings agree."""
    cleared = measurement["platform"] is None
    said: Any = measurement["date_says"]
    told = (
        f"The alarm is {'gone' if cleared else 'still set'} after clearing; the compatibility date says"
        f" that it is {'deleted' if said else 'kept'}.",
        f"清空之后告警{'没有了' if cleared else '还在'}；兼容日期表示{'一并清除' if said else '保留'}。",
    )
    expected = [False, 0] if cleared else [True, FAR_MS]
    if measurement["package"] != expected:
        return differs(
            f"The package reads {measurement['package']}, the platform {measurement['platform']}.",
            f"本包读作 {measurement['package']}，平台读作 {measurement['platform']}。",
        )
    if said is None:
        return unsettled(told[0].split(";")[0] + ".", told[1].split("；")[0] + "。")
    return holds(*told) if cleared == said else differs(*told)


VALUE = "值是有效 JSON 文字，不超过 2 MiB"
FORMS = {
    "ascii": ("ASCII text", "ASCII 文字"),
    "two-byte": ("a text with one character outside of Latin-1", "含一个 Latin-1 以外字符的文字"),
    "doubles": ("an array of fractions", "小数数组"),
    "minus-zero": ("an array of -0", "-0 的数组"),
}


def _value_probe(form: str) -> Probe:
    en, zh = FORMS[form]
    return Probe(
        id=f"store-value-{form}",
        interface=INTERFACE,
        section="键、值与列举选项：值不超过 2 MiB",
        clause=VALUE,
        title=words(f"The largest value: {en}", f"最大的值：{zh}"),
        expectation=words("A JSON text of 2 MiB is stored.", "2 MiB 的 JSON 文字可以存入。"),
        seconds=5,
        requests=14,
        measure=functools.partial(_measure_value, form),
        judge=judge_value,
        limits=_value_limits,
    )


PROBES = (
    *(_value_probe(form) for form in FORMS),
    Probe(
        id="store-cell",
        interface=INTERFACE,
        section="键、值与列举选项：值不超过 2 MiB",
        clause=VALUE,
        title=words("What the platform's cell holds", "平台单元格容得下多少"),
        expectation=words("2 MiB at least, serialised.", "序列化后至少 2 MiB。"),
        seconds=4,
        requests=16,
        measure=_measure_cell,
        judge=judge_cell,
        limits=_cell_limits,
    ),
    Probe(
        id="store-key-2048",
        interface=INTERFACE,
        section="键、值与列举选项：键按 UTF-8 计须为 1 至 2048 字节",
        clause="键按 UTF-8 计须为 1 至 2048 字节。",
        title=words("Keys of 2048 bytes", "2048 字节的键"),
        expectation=words(
            "They are stored, read, listed and deleted whole.", "写入、读取、列举、删除都完整。"
        ),
        seconds=1,
        requests=3,
        measure=_measure_key,
        judge=judge_key,
        limits=_key_limits,
    ),
    Probe(
        id="store-utf8-order",
        interface=INTERFACE,
        section="函数总表：按键的 UTF-8 字节序排列",
        clause="按键的 UTF-8 字节序排列（`reverse` 为真时逆序）",
        title=words("The order of a listing", "列举的次序"),
        expectation=words("By the bytes of UTF-8, not by UTF-16.", "按 UTF-8 字节，而非 UTF-16。"),
        seconds=1,
        requests=2,
        measure=_measure_order,
        judge=judge_order,
    ),
    Probe(
        id="store-clear-alarm",
        interface=INTERFACE,
        section="语义：清空持久仓按兼容日期可能连告警一并清除",
        clause="`清空持久仓` 在 SQLite 存储上按兼容日期可能连告警一并清除，"
        "需要告警的应用应在清仓之后重新设置。",
        title=words("Whether clearing takes the alarm along", "清空持久仓是否连告警一并清除"),
        expectation=words("As the compatibility date says.", "如兼容日期所定。"),
        seconds=1,
        requests=3,
        measure=_measure_clear,
        judge=judge_clear,
    ),
)
