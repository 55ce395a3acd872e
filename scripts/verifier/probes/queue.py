"""消息队列: the platform's limits, and what becomes of messages that fail, wait or are refused."""

from __future__ import annotations

import json
from typing import Any

from ..forms import Json, words
from .bench import Bench, largest
from .shape import Judged, Limit, Measurement, Moment, Probe, differs, holds, unsettled

INTERFACE = "消息队列"
BINDING = "PAGE_QUEUE"
MESSAGE_BYTES = 128_000
BATCH_BYTES = 256_000
MOST_DELAY_S = 43_200
ARRIVES_S = 60.0
TRIES = 3
RETRIES = 3
"""`max_retries` of the deployment."""

FAIL: Json = {"raise": "故意"}
ACK: Json = {"call": "确认队列消息", "args": ["$index"]}
MARKS: Json = {"native": "get", "key": "marks"}
DEAD: Json = {"native": "get", "key": "log:dead"}


def _body(bench: Bench, symbol: str, label: str, *steps: Json) -> Json:
    name = bench.name(symbol)
    mark = {"native": "mark", "key": "marks", "label": label, "object": name}
    return {"log": name, "steps": [mark, *steps]}


def _enqueue(bodies: list[Json], *, batch: bool = False, delay_seconds: int | None = None) -> Json:
    return {
        "native": "enqueue",
        "binding": BINDING,
        "bodies": bodies,
        "delay_seconds": delay_seconds,
        "batch": batch,
    }


def _list(value: Any) -> list[dict[str, Any]]:
    return json.loads(value) if isinstance(value, str) else []


def _deliveries(measurement: Measurement) -> list[Moment]:
    moments = [Moment(measurement["sent_at_ms"], words("queue", "队列"), words("sent", "发送"), "set")]
    for one in measurement["deliveries"]:
        kind = "delivery" if one["attempts"] == 1 else "retry"
        message = words(f"message {one['label']}", f"消息 {one['label']}")
        attempt = words(f"attempt {one['attempts']}", f"第 {one['attempts']} 次投递")
        moments.append(Moment(one["at_ms"], message, attempt, kind))
        if one["label"] == "acked":
            moments.append(Moment(one["at_ms"], message, words("acknowledged", "确认"), "ack"))
    for at_ms in measurement.get("dead_at_ms", []):
        dead = words("dead letters", "死信队列"), words("given up", "放弃")
        moments.append(Moment(at_ms, *dead, "give-up"))
    return moments


# Acknowledged messages of a batch that fails


async def _measure_acked(bench: Bench) -> Measurement:
    deliveries: list[dict[str, Any]] = []
    sent_ms = bench.client.now_ms()
    for number in range(TRIES):
        symbol = f"a{number}"
        bodies = [_body(bench, symbol, "acked", ACK), _body(bench, symbol, "failing", FAIL)]
        sent_ms = bench.client.now_ms()
        await bench.see(symbol, _enqueue(bodies, batch=True))

        def is_over(value: Any) -> bool:
            return any(one["label"] == "failing" and one["attempts"] > RETRIES for one in _list(value))

        await bench.until(symbol, MARKS, is_over, ARRIVES_S)
        await bench.time.sleep(2)
        deliveries = _list((await bench.see(symbol, MARKS))[0])
        if [one["label"] for one in deliveries[:2]] == ["acked", "failing"]:
            break
    return {"sent_at_ms": sent_ms, "deliveries": deliveries}


def judge_acked(measurement: Measurement) -> Judged:
    """What was acknowledged does not come back with its batch."""
    deliveries = measurement["deliveries"]
    first = [(one["label"], one["attempts"]) for one in deliveries[:2]]
    acked = [one["attempts"] for one in deliveries if one["label"] == "acked"]
    failing = [one["attempts"] for one in deliveries if one["label"] == "failing"]
    # Attempts before these two were ended by another message of the batch.
    together = len(first) == 2 and first == [("acked", first[0][1]), ("failing", first[0][1])]
    if not together or len(failing) < 2:
        return unsettled(
            "The two messages did not come in one batch, in the order sent, that was then delivered again.",
            "两条消息没有按次序同批到达并整批重投。",
        )
    told = (
        f"The acknowledged message was delivered with the attempts {acked}, the failing one with {failing}.",
        f"已确认的消息投递次数为 {acked}，失败的为 {failing}。",
    )
    return holds(*told) if len(acked) == 1 else differs(*told)


# Limits


async def _measure_message(bench: Bench) -> Measurement:
    refusals: list[str] = []

    async def accepts(size: int) -> bool:
        (told,) = await bench.see("a", _enqueue([size]))
        if told is not None:
            refusals.append(told["refused"])
        return told is None

    found = await largest(accepts, 96_000, 160_000, 1)
    return {"largest": found, "refusal": refusals[-1] if refusals else None}


def judge_message(measurement: Measurement) -> Judged:
    """A body of 128000 bytes is taken, and one of 128001 is not."""
    found, refusal = measurement["largest"], measurement["refusal"]
    if found is None:
        return differs(f"Not even 96 000 bytes are taken: {refusal}", f"连 96 000 字节也不收：{refusal}")
    told = (
        f"The largest body taken has {found} bytes ({found - MESSAGE_BYTES:+}); beyond: {refusal}",
        f"所收消息体最大 {found} 字节（{found - MESSAGE_BYTES:+}）；再大则：{refusal}",
    )
    return holds(*told) if found == MESSAGE_BYTES else differs(*told)


def _message_limits(measurement: Measurement) -> list[Limit]:
    return [Limit(words("one message", "单条消息"), MESSAGE_BYTES, measurement["largest"], "bytes")]


async def _measure_batch(bench: Bench) -> Measurement:
    found: Measurement = {}
    for count in (3, 100):

        async def accepts(total: int, count: int = count) -> bool:
            sizes: list[Json] = [total // count + (place < total % count) for place in range(count)]
            (told,) = await bench.see("a", _enqueue(sizes, batch=True))
            if told is not None:
                found["refusal"] = told["refused"]
            return told is None

        found[f"of_{count}"] = await largest(accepts, 160_000, 380_000, 64)
    return found


def judge_batch(measurement: Measurement) -> Judged:
    """Bodies of 256000 bytes together are taken, whether few or many."""
    few, many = measurement["of_3"], measurement["of_100"]
    told = (
        f"About {few} bytes are taken in 3 messages and {many} in 100; beyond: {measurement.get('refusal')}",
        f"3 条共收约 {few} 字节，100 条共收约 {many} 字节；再多则：{measurement.get('refusal')}",
    )
    enough = all(one is not None and one >= BATCH_BYTES for one in (few, many))
    return holds(*told) if enough else differs(*told)


def _batch_limits(measurement: Measurement) -> list[Limit]:
    return [
        Limit(
            words(f"a batch of {count}", f"{count} 条的一批"),
            BATCH_BYTES,
            measurement[f"of_{count}"],
            "bytes",
        )
        for count in (3, 100)
    ]


async def _measure_delay(bench: Bench) -> Measurement:
    taken: dict[str, Json] = {}
    for seconds in (MOST_DELAY_S, MOST_DELAY_S + 1, 86_400, 86_401):
        (told,) = await bench.see("a", _enqueue([None], delay_seconds=seconds))
        taken[str(seconds)] = True if told is None else told["refused"]
    return {"taken": taken}


def judge_delay(measurement: Measurement) -> Judged:
    """Twelve hours are taken; what lies beyond is told."""
    taken = measurement["taken"]
    accepted = [int(seconds) for seconds, answer in taken.items() if answer is True]
    told = (
        f"Delays taken: {accepted} s of {list(map(int, taken))}.",
        f"所收延迟：{accepted} 秒（试过 {list(map(int, taken))}）。",
    )
    return holds(*told) if MOST_DELAY_S in accepted else differs(*told)


def _delay_limits(measurement: Measurement) -> list[Limit]:
    accepted = [int(seconds) for seconds, answer in measurement["taken"].items() if answer is True]
    return [Limit(words("a delay", "延迟"), MOST_DELAY_S, max(accepted, default=None), "seconds")]


# Refused batches, failing messages, deployments


async def _measure_partial(bench: Bench) -> Measurement:
    sent_ms = bench.client.now_ms()
    small = [_body(bench, "a", "first"), _body(bench, "a", "second")]
    # What follows a refused batch shows when those in it would have come.
    refused, control = await bench.see(
        "a",
        _enqueue([*small, MESSAGE_BYTES + 10_000], batch=True),
        _enqueue([_body(bench, "a", "control")]),
    )
    await bench.until(
        "a", MARKS, lambda value: any(one["label"] == "control" for one in _list(value)), ARRIVES_S
    )
    await bench.time.sleep(3)
    (value,) = await bench.see("a", MARKS)
    return {
        "sent_at_ms": sent_ms,
        "refusal": None if refused is None else refused["refused"],
        "control": control,
        "deliveries": _list(value),
    }


def judge_partial(measurement: Measurement) -> Judged:
    """Of a batch that is refused nothing arrives."""
    labels = [one["label"] for one in measurement["deliveries"]]
    if measurement["refusal"] is None or "control" not in labels:
        return unsettled(
            "The batch was not refused, or the message after it did not arrive.",
            "该批未被拒绝，或其后的消息没有到达。",
        )
    arrived = sorted({label for label in labels if label != "control"})
    told = (
        f"Refused ({measurement['refusal']}); of its messages {arrived or 'none'} arrived.",
        f"被拒绝（{measurement['refusal']}）；其中到达的：{arrived or '无'}。",
    )
    return differs(*told) if arrived else holds(*told)


async def _measure_dead(bench: Bench) -> Measurement:
    sent_ms = bench.client.now_ms()
    await bench.see("a", _enqueue([_body(bench, "a", "failing", FAIL)]))
    dead = _list(await bench.until("a", DEAD, lambda value: bool(_list(value)), 2 * ARRIVES_S))
    now_ms, value = await bench.see("a", {"native": "now"}, MARKS)
    return {
        "sent_at_ms": sent_ms,
        "deliveries": _list(value),
        "dead": [{"id": one["id"], "attempts": one["attempts"]} for one in dead],
        "dead_at_ms": [now_ms] if dead else [],
    }


def judge_dead(measurement: Measurement) -> Judged:
    """The attempts count from 1 to the last retry, and then the message is a dead letter."""
    attempts = [one["attempts"] for one in measurement["deliveries"]]
    dead = measurement["dead"]
    told = (
        f"Attempts {attempts}, then {len(dead)} dead letter(s).",
        f"投递次数 {attempts}，之后死信 {len(dead)} 条。",
    )
    if not attempts:
        return unsettled("The message did not arrive.", "消息没有到达。")
    return holds(*told) if attempts == list(range(1, RETRIES + 2)) and len(dead) == 1 else differs(*told)


async def _measure_deployment(bench: Bench) -> Measurement:
    if bench.redeploy is None:
        return {"deployed": False}
    before = await bench.client.meet()
    sent_ms = bench.client.now_ms()
    delay_s = bench.redeploy.within_seconds
    await bench.see("a", _enqueue([_body(bench, "a", "delayed")], delay_seconds=delay_s))
    await bench.redeploy.run()
    after = await bench.client.meet()
    value = await bench.until("a", MARKS, lambda value: bool(_list(value)), 2 * delay_s)
    return {
        "sent_at_ms": sent_ms,
        "delay_s": delay_s,
        "deployed": before["deployment"] != after["deployment"],
        "deliveries": _list(value),
    }


def judge_deployment(measurement: Measurement) -> Judged:
    """It arrives, once its delay is over."""
    if not measurement["deployed"]:
        return unsettled(
            "The Worker was not deployed meanwhile (--deploy COMMAND does it).",
            "其间没有重新部署（用 --deploy 命令）。",
        )
    deliveries = measurement["deliveries"]
    if not deliveries:
        return differs("The message is lost.", "消息丢失。")
    after_s = (deliveries[0]["at_ms"] - measurement["sent_at_ms"]) / 1000
    told = f"It arrived {after_s:.1f} s after it was sent.", f"发出 {after_s:.1f} 秒后到达。"
    return holds(*told) if after_s >= measurement["delay_s"] - 1 else differs(*told)


UPPER = "平台文档称上限含元数据，接近上限的消息若仍被平台拒绝，按平台失败处理。"

PROBES = (
    Probe(
        id="queue-acked-and-failed",
        interface=INTERFACE,
        section="消费者：已确认的消息是否随整批重投由平台决定",
        clause="已显式确认的消息是否随整批重投由平台决定：Cloudflare 文档承诺不重投，"
        "但本地 Miniflare 模拟器实测会连同已确认者一起整批重投；应用不应依赖任何一方，消费处理必须幂等。",
        title=words("An acknowledged message whose batch fails", "已确认的消息所在的批次失败"),
        expectation=words(
            "It does not come back, as Cloudflare's documentation has it.", "如 Cloudflare 文档所言，不重投。"
        ),
        seconds=10,
        requests=15,
        measure=_measure_acked,
        judge=judge_acked,
        timeline=_deliveries,
        lane="queue",
    ),
    Probe(
        id="queue-message-limit",
        interface=INTERFACE,
        section="生产者：128000 个 UTF-8 字节；上限含元数据",
        clause=UPPER,
        title=words("The largest message", "最大的消息"),
        expectation=words(
            "128 000 bytes are taken, 128 001 refused.", "128 000 字节可投，128 001 字节被拒。"
        ),
        seconds=4,
        requests=19,
        measure=_measure_message,
        judge=judge_message,
        limits=_message_limits,
        lane="queue",
    ),
    Probe(
        id="queue-batch-limit",
        interface=INTERFACE,
        section="生产者：全部 body 合计不超过 256000 字节",
        clause="数组有 1 至 100 项，每条 body 不超过 128000 字节，全部 body 合计不超过 256000 字节",
        title=words("The largest batch", "最大的一批"),
        expectation=words(
            "256 000 bytes of bodies are taken, in 3 messages and in 100.",
            "消息体合计 256 000 字节可投，3 条与 100 条皆然。",
        ),
        seconds=8,
        requests=30,
        measure=_measure_batch,
        judge=judge_batch,
        limits=_batch_limits,
        lane="queue",
    ),
    Probe(
        id="queue-partial-enqueue",
        interface=INTERFACE,
        section="生产者：平台拒绝整批时是否有部分消息已入队由平台决定",
        clause="平台拒绝整批时是否有部分消息已入队由平台决定，应用需要幂等时自行保证。",
        title=words("What a refused batch leaves in the queue", "被拒绝的一批在队列里留下什么"),
        expectation=words("Nothing.", "什么也不留。"),
        seconds=8,
        requests=10,
        measure=_measure_partial,
        judge=judge_partial,
        timeline=_deliveries,
        lane="queue",
    ),
    Probe(
        id="queue-delay-limit",
        interface=INTERFACE,
        section="生产者：延迟秒数须在 0 至 43200（12 小时）之间",
        clause="延迟秒数须在 0 至 43200（12 小时）之间，0 表示不延迟，负数或超限抛出异常。",
        title=words(
            "The longest delay (what is taken stays in the queue so long, as empty messages)",
            "最长的延迟（所收者以空消息在队列里留到那时）",
        ),
        expectation=words("43 200 s are taken.", "43 200 秒可投。"),
        seconds=1,
        requests=4,
        measure=_measure_delay,
        judge=judge_delay,
        limits=_delay_limits,
        lane="queue",
    ),
    Probe(
        id="queue-attempts-dead-letter",
        interface=INTERFACE,
        section="消费者：平台按队列的重试与死信配置整批重新投递（attempts 相应加一）",
        clause="豫言异常无人捕获时，宿主不吞掉异常，本次队列处理失败，"
        "平台按队列的重试与死信配置整批重新投递（`attempts` 相应加一）。",
        title=words("A message that fails every time", "每次都失败的消息"),
        expectation=words(
            f"Attempts 1 to {RETRIES + 1} (max_retries is {RETRIES}), then one dead letter.",
            f"投递次数 1 至 {RETRIES + 1}（max_retries 为 {RETRIES}），之后一条死信。",
        ),
        seconds=9,
        requests=15,
        measure=_measure_dead,
        judge=judge_dead,
        timeline=_deliveries,
        lane="queue",
    ),
    Probe(
        id="queue-delayed-over-deployment",
        interface=INTERFACE,
        section="生产者：延迟秒数",
        clause="`发送队列消息` 的参数依次是队列绑定名、消息体 JSON 文字和延迟秒数，投递一条消息。",
        title=words("A delayed message over a deployment", "延迟的消息跨过一次部署"),
        expectation=words("It arrives when its delay is over.", "延迟期满时到达。"),
        seconds=45,
        requests=40,
        measure=_measure_deployment,
        judge=judge_deployment,
        timeline=_deliveries,
        lane="queue",
        slow=True,
        last=True,
    ),
)
