"""持久事务: the platform's own end of a transaction that takes too long."""

from __future__ import annotations

from ..forms import Json, words
from .bench import Bench
from .shape import Judged, Limit, Measurement, Moment, Probe, differs, holds, unsettled

HELD_MS = 36_000
SPECIFIED_S = 30.0
TOLERANCE_S = 4.0
INSTANCE: Json = {"native": "instance"}
KEY: Json = {"native": "get", "key": "held"}


async def _measure_reset(bench: Bench) -> Measurement:
    (before,) = await bench.see("a", INSTANCE)
    begun, begun_ms = bench.time.now(), bench.client.now_ms()
    answer = await bench.answer("a", {"native": "hold", "key": "held", "ms": HELD_MS})
    seconds = bench.time.now() - begun
    after, there = await bench.see("a", INSTANCE, KEY)
    return {
        "begun_at_ms": begun_ms,
        "seconds": round(seconds, 2),
        "answer": f"{answer.status} {str(answer.body)[:300]}",
        "made_anew": before != after,
        "committed": there is not None,
    }


def judge_reset(measurement: Measurement) -> Judged:
    """After 30 s the object is reset, and nothing of the transaction is kept."""
    seconds, anew, kept = measurement["seconds"], measurement["made_anew"], measurement["committed"]
    answer = measurement["answer"]
    told = (
        f"It ended after {seconds} s: {answer}; the object was {'' if anew else 'not '}made anew,"
        f" the write is {'kept' if kept else 'gone'}.",
        f"{seconds} 秒后结束：{answer}；对象{'已' if anew else '未'}重建，"
        f"写入{'仍在' if kept else '已撤销'}。",
    )
    if not anew or kept:
        return differs(*told)
    # Earlier it was reset for another reason; later it would have ended by itself.
    return holds(*told) if seconds >= SPECIFIED_S - TOLERANCE_S else unsettled(*told)


def _moments(measurement: Measurement) -> list[Moment]:
    begun_ms = measurement["begun_at_ms"]
    ended_ms = begun_ms + round(measurement["seconds"] * 1000)
    lane = words("transaction", "事务")
    ended = words("reset", "重置") if measurement["made_anew"] else words("ended", "结束")
    return [
        Moment(begun_ms, lane, words("begun", "开始"), "set"),
        Moment(ended_ms, lane, ended, "fail"),
    ]


def _limits(measurement: Measurement) -> list[Limit]:
    observed = measurement["seconds"] if measurement["made_anew"] else None
    return [Limit(words("a transaction's callback", "事务回调"), SPECIFIED_S, observed, "seconds")]


PROBES = (
    Probe(
        id="transaction-reset",
        interface="持久事务",
        section="事务：平台在事务回调超过 30 秒时会重置整个对象",
        clause="平台在事务回调超过 30 秒时会重置整个对象",
        title=words("A transaction of the platform's own that takes longer", "平台自身的事务超过时限"),
        expectation=words(
            "After 30 s the object is reset; nothing of it is committed.",
            "30 秒时对象被重置，未提交任何写入。",
        ),
        seconds=32,
        requests=4,
        measure=_measure_reset,
        judge=judge_reset,
        timeline=_moments,
        limits=_limits,
        slow=True,
    ),
)
