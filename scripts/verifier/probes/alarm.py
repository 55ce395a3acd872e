"""持久告警: what only the platform shows of firings, retries and transactions."""

from __future__ import annotations

import asyncio
import functools
import json
from itertools import pairwise
from typing import Any

from ..forms import Json, words
from .bench import Bench
from .shape import Judged, Measurement, Moment, Probe, differs, holds, unsettled

INTERFACE = "持久告警"
LANE, READ_LANE = words("alarm", "告警"), words("read", "读数")
FAR_MS = 1_900_000_000_000
OTHER_MS = 1_900_000_005_000
FIRES_S = 60.0
MOST_FIRINGS = 12
ALARMS = 20

MARK: Json = {"native": "mark", "key": "marks", "label": "fire"}
MARKS: Json = {"native": "get", "key": "marks"}
LOG: Json = {"native": "get", "key": "log:alarm"}
FAIL: Json = {"raise": "故意"}
PLATFORM: Json = {"native": "alarm"}
PACKAGE: Json = {"call": "读取持久告警", "args": []}
DELETE: Json = {"call": "删除持久告警", "args": []}


def _script(*steps: Json) -> Json:
    return {"call": "写入持久仓键值", "args": ["script:alarm", json.dumps(steps, ensure_ascii=False)]}


def _set(at_ms: int) -> Json:
    return {"call": "设置持久告警", "args": [at_ms]}


def _marks(value: Any) -> list[dict[str, Any]]:
    return json.loads(value) if isinstance(value, str) else []


def _at_least(count: int) -> Any:
    return lambda value: len(_marks(value)) >= count


def _moments(measurement: Measurement) -> list[Moment]:
    moments = [Moment(measurement["set_at_ms"], LANE, words("set", "设置"), "set")]
    for firing in measurement["firings"]:
        kind = "retry" if firing["retry"] else "fire"
        label = words(f"retry {firing['retry']}", f"第 {firing['retry']} 次重试")
        if not firing["retry"]:
            label = words("fired", "触发")
        moments.append(Moment(firing["at_ms"], LANE, label, kind))
    if "ended_at_ms" in measurement:
        given_up = words("no further firing", "不再触发")
        moments.append(Moment(measurement["ended_at_ms"], LANE, given_up, "give-up"))
    return moments


def _gaps(measurement: Measurement) -> list[float]:
    times = [firing["at_ms"] for firing in measurement["firings"]]
    return [(later - earlier) / 1000 for earlier, later in pairwise(times)]


def _counts(measurement: Measurement) -> list[int]:
    return [firing["retry"] for firing in measurement["firings"]]


async def _failing(bench: Bench) -> Measurement:
    now_ms = bench.client.now_ms()
    await bench.see("a", _script(MARK, FAIL), _set(now_ms + 100))
    return {"set_at_ms": now_ms, "set_for_ms": now_ms + 100}


# The retries, to the end and for a while


async def _measure_retries(bench: Bench) -> Measurement:
    measurement = await _failing(bench)
    firings: list[dict[str, Any]] = []
    quiet_s = FIRES_S
    while len(firings) < MOST_FIRINGS:
        value = await bench.until("a", MARKS, _at_least(len(firings) + 1), quiet_s)
        if len(_marks(value)) == len(firings):
            break
        firings = _marks(value)
        times = [firing["at_ms"] for firing in firings[-2:]]
        quiet_s = max(20.0, 2.6 * (times[-1] - times[0]) / 1000)
    package, platform, now_ms, log = await bench.see("a", PACKAGE, PLATFORM, {"native": "now"}, LOG)
    await bench.see("a", DELETE)
    return measurement | {
        "read_within": [entry["alarm"] for entry in _marks(log)],
        "firings": firings,
        "quiet_s": quiet_s,
        "alarm_after": {"package": package, "platform": platform},
        "ended_at_ms": now_ms,
    }


def judge_retries(measurement: Measurement) -> Judged:
    """Six retries, counted from one, each with the alarm unset within; and then the alarm is gone."""
    counts = _counts(measurement)
    if not counts:
        return unsettled("The alarm did not fire.", "告警没有触发。")
    if counts != list(range(7)):
        return differs(
            f"The handler ran {len(counts)} times, with the retry counts {counts}.",
            f"处理入口运行 {len(counts)} 次，重试次数为 {counts}。",
        )
    if measurement["alarm_after"] != {"package": [False, 0], "platform": None}:
        return differs(
            f"After the last retry the alarm still reads as {measurement['alarm_after']}.",
            f"最后一次重试之后告警仍读作 {measurement['alarm_after']}。",
        )
    if measurement["read_within"] != [[False, 0]] * 7:
        return differs(
            f"Within its own handler the alarm reads as {measurement['read_within']}.",
            f"告警在自己的处理入口里读作 {measurement['read_within']}。",
        )
    gaps = ", ".join(f"{gap:.1f}" for gap in _gaps(measurement))
    return holds(
        f"Six retries after {gaps} s, then the platform gave the alarm up.",
        f"六次重试，间隔依次为 {gaps} 秒，之后平台放弃该告警。",
    )


async def _measure_backoff(bench: Bench) -> Measurement:
    measurement = await _failing(bench)
    value = await bench.until("a", MARKS, _at_least(4), 90)
    await bench.see("a", DELETE)
    return measurement | {"firings": _marks(value)[:4]}


def judge_backoff(measurement: Measurement) -> Judged:
    """The first wait is about two seconds, and each is about twice the one before."""
    gaps = _gaps(measurement)
    told = ", ".join(f"{gap:.1f}" for gap in gaps)
    if gaps and not 1.5 <= gaps[0] <= 4:
        return differs(f"The waits were {told} s.", f"间隔依次为 {told} 秒。")
    if len(gaps) < 3:
        return unsettled(f"Only {len(gaps)} retries came in 90 s.", f"90 秒内只有 {len(gaps)} 次重试。")
    grows = all(1.4 < later / earlier < 2.9 for earlier, later in pairwise(gaps))
    verdict = holds if grows else differs
    return verdict(f"The waits were {told} s.", f"间隔依次为 {told} 秒。")


# At least once


async def _measure_often(bench: Bench) -> Measurement:
    symbols = [f"a{number}" for number in range(ALARMS)]
    now_ms = bench.client.now_ms()

    async def one(symbol: str) -> None:
        await bench.see(symbol, _script(MARK), _set(now_ms + 300))
        await bench.until(symbol, MARKS, _at_least(1), FIRES_S)

    async with asyncio.TaskGroup() as group:
        for symbol in symbols:
            group.create_task(one(symbol))
    await bench.time.sleep(4)
    found = [_marks((await bench.see(symbol, MARKS))[0]) for symbol in symbols]
    times = [[mark["at_ms"] for mark in marks] for marks in found]
    return {"set_for_ms": now_ms + 300, "firings_each": times}


def judge_often(measurement: Measurement) -> Judged:
    """Each alarm fired, perhaps more than once."""
    counts = [len(times) for times in measurement["firings_each"]]
    silent, more = counts.count(0), sum(count > 1 for count in counts)
    if silent:
        return differs(
            f"{silent} of {len(counts)} alarms did not fire within {FIRES_S:.0f} s.",
            f"{len(counts)} 个告警中有 {silent} 个在 {FIRES_S:.0f} 秒内没有触发。",
        )
    return holds(
        f"{len(counts)} of {len(counts)} alarms fired; {more} of them more than once.",
        f"{len(counts)} 个告警全部触发，其中 {more} 个触发多于一次。",
    )


# Changes within a transaction

ENDINGS: dict[str, list[Json]] = {
    "commit": [{"complete": True}],
    "rollback": [{"call": "回滚持久事务", "args": []}, {"complete": True}],
    "exception": [FAIL],
    "timeout": [{"sleep": 60_000}],
}


async def _measure_transaction(ending: str, bench: Bench) -> Measurement:
    async def one(symbol: str, change: Json) -> dict[str, Json]:
        await bench.see(symbol, _set(FAR_MS))
        (ended,) = await bench.see(symbol, {"transaction": [change, *ENDINGS[ending]]})
        package, platform = await bench.see(symbol, PACKAGE, PLATFORM)
        told = ended["message"] if isinstance(ended, dict) else "committed"
        return {"ended": told, "package": package, "platform": platform}

    set_anew, deleted = await asyncio.gather(one("set", _set(OTHER_MS)), one("delete", DELETE))
    return {"before_ms": FAR_MS, "set_to_ms": OTHER_MS, "set": set_anew, "deleted": deleted}


def judge_transaction(ending: str, measurement: Measurement) -> Judged:
    """A change follows the transaction it was made in."""
    failed = ending in ("exception", "timeout")
    for change in (measurement["set"], measurement["deleted"]):
        if failed != change["ended"].startswith("持久事务失败："):
            return unsettled(
                f"The transaction ended otherwise than it should: {change['ended']}",
                f"事务的结局与所求不符：{change['ended']}",
            )
    before = {"package": [True, FAR_MS], "platform": FAR_MS}
    after_set = {"package": [True, OTHER_MS], "platform": OTHER_MS} if ending == "commit" else before
    after_delete = {"package": [False, 0], "platform": None} if ending == "commit" else before
    for change, expected in ((measurement["set"], after_set), (measurement["deleted"], after_delete)):
        seen = {name: change[name] for name in ("package", "platform")}
        if seen != expected:
            return differs(
                f"Afterwards the alarm reads as {seen}, not as {expected}.",
                f"之后告警读作 {seen}，而非 {expected}。",
            )
    return holds("Setting and deleting followed the transaction.", "设置与删除都与事务同命运。")


# While a retry is pending


async def _measure_pending(bench: Bench) -> Measurement:
    now_ms = bench.client.now_ms()
    await bench.see("a", _script(MARK, FAIL), _set(now_ms + 100))
    await bench.until(
        "a", MARKS, _at_least(2), FIRES_S
    )  # the second wait, of about 4 s, is the one looked at
    readings = []
    for _ in range(3):
        await bench.time.sleep(0.5)
        at_ms, package, platform = await bench.see("a", {"native": "now"}, PACKAGE, PLATFORM)
        readings.append({"at_ms": at_ms, "package": package, "platform": platform})
    value = await bench.until("a", MARKS, _at_least(3), FIRES_S)
    await bench.see("a", DELETE)
    return {"set_at_ms": now_ms, "firings": _marks(value), "readings": readings}


def judge_pending(measurement: Measurement) -> Judged:
    """The alarm reads as set, for the time of the retry that follows."""
    firings = measurement["firings"]
    if len(firings) < 3:
        return unsettled("No second retry came.", "没有等到第二次重试。")
    failed_ms, retried_ms = firings[1]["at_ms"], firings[2]["at_ms"]
    readings = [one for one in measurement["readings"] if failed_ms < one["at_ms"] < retried_ms]
    if not readings:
        return unsettled("Nothing was read while the retry was pending.", "等待重试期间没有读到。")
    platform = {one["platform"] for one in readings}
    beside = f"platform's own: {sorted(map(str, platform))}", f"平台自己的读数：{sorted(map(str, platform))}"
    for one in readings:
        is_set, time_ms = one["package"]
        if not is_set:
            return differs(
                f"读取持久告警 says that no alarm is set; {beside[0]}.",
                f"读取持久告警称未设置；{beside[1]}。",
            )
        late_ms = retried_ms - time_ms
        if not -50 <= late_ms <= (time_ms - failed_ms) / 4 + 1000:
            return differs(
                f"The time read is {late_ms} ms before the retry began, the failure was"
                f" {retried_ms - failed_ms} ms before it; {beside[0]}.",
                f"读到的时刻比重试开始早 {late_ms} 毫秒，失败比它早 {retried_ms - failed_ms} 毫秒；"
                f"{beside[1]}。",
            )
    late_ms = retried_ms - readings[-1]["package"][1]
    return holds(
        f"The time read is the retry's, {late_ms} ms before it began; {beside[0]}.",
        f"读到的是重试时刻，比重试开始早 {late_ms} 毫秒；{beside[1]}。",
    )


def _pending_moments(measurement: Measurement) -> list[Moment]:
    readings = [
        Moment(one["at_ms"], READ_LANE, words(str(one["package"][1]), str(one["package"][1])), "read")
        for one in measurement["readings"]
    ]
    return _moments(measurement) + readings


# Set anew within a handler


async def _measure_set_and_failed(bench: Bench) -> Measurement:
    now_ms = bench.client.now_ms()
    new_ms = now_ms + 8000
    steps = [MARK, _script(MARK), _set(new_ms), FAIL]
    await bench.see("a", _script(*steps), _set(now_ms + 100))
    await bench.until("a", MARKS, _at_least(1), FIRES_S)

    def new_one_fired(value: Any) -> bool:
        return any(mark["at_ms"] >= new_ms for mark in _marks(value))

    await bench.until("a", MARKS, new_one_fired, 30)
    await bench.time.sleep(4)  # what else may come
    (value,) = await bench.see("a", MARKS)
    await bench.see("a", DELETE)
    return {"set_at_ms": now_ms, "new_ms": new_ms, "firings": _marks(value)}


def judge_set_and_failed(measurement: Measurement) -> Judged:
    """What the handler set is the alarm that fires next, once, at its time."""
    firings, new_ms = measurement["firings"], measurement["new_ms"]
    if not firings:
        return unsettled("The alarm did not fire.", "告警没有触发。")
    later = [(one["at_ms"] - new_ms, one["retry"]) for one in firings[1:]]
    told = (
        "; ".join(f"{offset:+} ms, retry count {retry}" for offset, retry in later) or "none",
        "；".join(f"{offset:+} 毫秒、重试次数 {retry}" for offset, retry in later) or "无",
    )
    if len(later) == 1 and later[0][0] >= 0:
        return holds(
            f"The alarm that was set replaced the retry; fired relative to its time: {told[0]}.",
            f"所设告警取代了重试；相对于其时刻的触发：{told[1]}。",
        )
    return differs(
        f"Firings relative to the time that the handler set: {told[0]}.",
        f"相对于入口所设时刻的触发：{told[1]}。",
    )


async def _measure_now_within(bench: Bench) -> Measurement:
    async def first_after(symbol: str, count: int, at_ms: int, *steps: Json) -> list[dict[str, Any]]:
        await bench.see(symbol, _script(*steps), _set(at_ms))
        return _marks(await bench.until(symbol, MARKS, _at_least(count), 90))

    await bench.see("outside", {"native": "now"})  # a cold start is not the alarm's
    now_ms = bench.client.now_ms()
    outside = await first_after("outside", 1, now_ms, MARK)
    set_ms = bench.client.now_ms()
    inside = await first_after("inside", 2, set_ms + 100, MARK, _script(MARK), _set(set_ms))
    await bench.see("inside", DELETE)
    return {
        "set_at_ms": set_ms,
        "outside_ms": outside[0]["at_ms"] - now_ms if outside else None,
        "firings": inside,
    }


def judge_now_within(measurement: Measurement) -> Judged:
    """It fires about as soon as one that is set for now from outside."""
    firings, outside_ms = measurement["firings"], measurement["outside_ms"]
    if not firings or outside_ms is None:
        return unsettled("No alarm fired at all.", "根本没有告警触发。")
    if len(firings) < 2:
        return differs("It did not fire within 90 s.", "90 秒内没有触发。")
    after_ms = firings[1]["at_ms"] - firings[0]["at_ms"]
    told = (
        f"It fired after {after_ms} ms; one set from outside, after {outside_ms} ms.",
        f"{after_ms} 毫秒后触发；从外面设置的，{outside_ms} 毫秒后触发。",
    )
    return holds(*told) if after_ms <= max(outside_ms, 0) + 5000 else differs(*told)


# Over a reset of the object


async def _measure_eviction(bench: Bench) -> Measurement:
    now_ms = bench.client.now_ms()
    await bench.see("a", _script(MARK, _script(MARK), FAIL), _set(now_ms + 100))
    await bench.until("a", MARKS, _at_least(1), FIRES_S)
    await bench.answer("a", {"native": "abort"})
    value = await bench.until("a", MARKS, _at_least(2), FIRES_S)
    return {"set_at_ms": now_ms, "firings": _marks(value)}


def judge_eviction(measurement: Measurement) -> Judged:
    """The object that was made anew runs the retry, and it counts 1."""
    firings = measurement["firings"]
    if len(firings) < 2:
        return (
            differs("The retry did not come.", "重试没有到来。")
            if firings
            else unsettled("The alarm did not fire.", "告警没有触发。")
        )
    if firings[0]["instance"] == firings[1]["instance"]:
        return unsettled("The object was not made anew.", "对象没有重建。")
    count = firings[1]["retry"]
    told = (f"The retry counted {count}.", f"重试次数为 {count}。")
    return holds(*told) if count == 1 else differs(*told)


def _transaction_probe(ending: str, en: str, zh: str, clause: str, seconds: float) -> Probe:
    return Probe(
        id=f"alarm-transaction-{ending}",
        interface=INTERFACE,
        section="语义：事务里的告警与事务同命运（云端待验）",
        clause=clause,
        title=words(f"Alarm changes in a transaction that {en}", f"事务{zh}时其中的告警变更"),
        expectation=words(
            "Both take effect." if ending == "commit" else "The alarm stays as it was before.",
            "设置与删除都生效。" if ending == "commit" else "告警保持事务之前的样子。",
        ),
        seconds=seconds,
        requests=6,
        measure=functools.partial(_measure_transaction, ending),
        judge=functools.partial(judge_transaction, ending),
        slow=seconds > 20,
    )


SAME_FATE = (
    "在事务入口里设置或删除告警，与该事务同命运：事务提交则生效，回滚或失败则撤销"
    "（本地 workerd 已验，云端待验）。"
)
PENDING = "失败之后、重试开始之前，告警视为已设置（`读取持久告警` 返回阳与重试时刻）"

PROBES = (
    Probe(
        id="alarm-retry-limit",
        interface=INTERFACE,
        section="语义：重试的次数上限与退避时间（上限待云端验证）",
        clause="重试的次数上限与退避时间以平台为准（平台文档现行：最多 6 次，指数退避，起始约 2 秒；"
        "本地 workerd 已见重试次数 0、1、2 递增，上限待云端验证），用尽后平台放弃该告警。",
        title=words("How often a failing alarm is retried", "失败的告警重试多少次"),
        expectation=words(
            "Seven runs, with the counts 0 to 6; then the alarm is unset.",
            "共运行七次，重试次数 0 至 6；之后告警为未设置。",
        ),
        seconds=340,
        requests=130,
        measure=_measure_retries,
        judge=judge_retries,
        timeline=_moments,
        slow=True,
    ),
    Probe(
        id="alarm-backoff",
        interface=INTERFACE,
        section="语义：指数退避，起始约 2 秒（平台文档现行）",
        clause="平台文档现行：最多 6 次，指数退避，起始约 2 秒",
        title=words("How long the platform waits before a retry", "平台在重试之前等多久"),
        expectation=words("About 2 s, then twice as long each time.", "约 2 秒，其后每次加倍。"),
        seconds=17,
        requests=20,
        measure=_measure_backoff,
        judge=judge_backoff,
        timeline=_moments,
    ),
    Probe(
        id="alarm-at-least-once",
        interface=INTERFACE,
        section="语义：告警至少触发一次（云端待验证）",
        clause="按平台文档，告警至少触发一次（云端待验证），因而处理入口须**幂等**。",
        title=words(f"How often each of {ALARMS} alarms fires", f"{ALARMS} 个告警各触发几次"),
        expectation=words("Each fires, perhaps more than once.", "每个都触发，也许不止一次。"),
        seconds=6,
        requests=ALARMS * 5,
        measure=_measure_often,
        judge=judge_often,
    ),
    _transaction_probe("commit", "commits", "提交", SAME_FATE, 1),
    _transaction_probe("rollback", "is rolled back", "回滚", SAME_FATE, 1),
    _transaction_probe("exception", "raises", "抛错", SAME_FATE, 1),
    _transaction_probe("timeout", "times out", "超时", SAME_FATE, 27),
    Probe(
        id="alarm-pending-retry",
        interface=INTERFACE,
        section="语义：失败之后、重试开始之前，告警视为已设置",
        clause=PENDING,
        title=words("What reads while a retry is pending", "等待重试期间读到什么"),
        expectation=words("Set, and the time of the retry.", "已设置，且为重试时刻。"),
        seconds=8,
        requests=20,
        measure=_measure_pending,
        judge=judge_pending,
        timeline=_pending_moments,
    ),
    Probe(
        id="alarm-set-and-failed",
        interface=INTERFACE,
        section="语义：设置即替换；失败时平台重试",
        clause="入口可以再次 `设置持久告警` 安排下一次（周期任务就是这样写成的）。"
        "处理入口失败（抛出未捕获异常、超过事件时限、被平台终止）时，平台自动退避重试",
        title=words("An alarm set early in a handler that then fails", "入口先设置告警、随后失败"),
        expectation=words(
            "One alarm: the one that was set fires, once, at its time.", "单告警：所设的那个到时触发一次。"
        ),
        seconds=14,
        requests=16,
        measure=_measure_set_and_failed,
        judge=judge_set_and_failed,
        timeline=_moments,
    ),
    Probe(
        id="alarm-now-within-handler",
        interface=INTERFACE,
        section="语义：时刻已经过去则平台尽快触发",
        clause="时刻已经过去则平台尽快触发。",
        title=words("An alarm set for now from inside a handler", "在处理入口里把告警设为此刻"),
        expectation=words(
            "It fires about as soon as one that is set from outside.", "与从外面设置的差不多一样快触发。"
        ),
        seconds=3,
        requests=10,
        measure=_measure_now_within,
        judge=judge_now_within,
        timeline=_moments,
    ),
    Probe(
        id="alarm-count-over-eviction",
        interface=INTERFACE,
        section="语义：重试次数（首次为零，第一次重试为一）",
        clause="重试事件里 `读取告警重试次数` 返回已重试的次数（首次为零，第一次重试为一，依此类推）",
        title=words("The retry count after the object was reset in between", "其间对象被重置之后的重试次数"),
        expectation=words("1, in the object that was made anew.", "重建的对象里为 1。"),
        seconds=4,
        requests=10,
        measure=_measure_eviction,
        judge=judge_eviction,
        timeline=_moments,
    ),
)
