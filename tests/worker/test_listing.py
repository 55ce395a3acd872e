"""Listings near their limit, and of an object that holds far more than the isolate's memory could."""

import json

from repository import LocalHost

from tests.client import call

from .scripts import fresh, run

LISTING_BYTES = 8 * 1024 * 1024
PAGE = '"limit":4'


def fill(worker: LocalHost, name: str, texts: list[str]) -> None:
    for number, text in enumerate(texts):
        written = run(worker, name, call("store_put", f"k{number:03}", json.dumps(text, ensure_ascii=False)))
        assert written == [None]


def test_a_listing_of_exactly_8_mib_succeeds_and_one_byte_more_fails(worker: LocalHost) -> None:
    name = fresh()
    # [["k000","…"],…]: eleven bytes and a comma or bracket round each text, and the opening bracket.
    room = LISTING_BYTES - 1 - 8 * 12
    sizes = [room // 8] * 7
    sizes.append(room - sum(sizes))
    fill(worker, name, ["x" * size for size in sizes])
    text = run(worker, name, call("store_list", "{}"))[0]
    assert len(text) == LISTING_BYTES
    assert [len(value) for _, value in json.loads(text)] == sizes
    run(worker, name, call("store_put", "k000", json.dumps("x" * (sizes[0] + 1))))
    assert run(worker, name, call("store_list", "{}"))[0].startswith("豫言异常: 列举结果超过 8 MiB")
    assert len(json.loads(run(worker, name, call("store_list", "{" + PAGE + "}"))[0])) == 4


def test_a_listing_counts_utf_8(worker: LocalHost) -> None:
    name = fresh()
    fill(worker, name, ["中" * 600_000] * 5)
    assert run(worker, name, call("store_list", "{}"))[0].startswith("豫言异常: 列举结果超过 8 MiB")


def test_a_large_object_is_listed_in_pages_and_refused_whole(worker: LocalHost) -> None:
    """80 MB in the object: the refusal reads a fraction of it, and pages in both directions are exact."""
    name = fresh()
    text = "x" * 2_000_000
    fill(worker, name, [text] * 40)
    run(worker, name, *(call("store_put", f"n{number:03}", str(number)) for number in range(300)))
    for _ in range(3):
        assert run(worker, name, call("store_list", "{}"))[0].startswith("豫言异常: 列举结果超过 8 MiB")
    first, last, middle, reverse, page = run(
        worker,
        name,
        call("store_list", "{" + PAGE + "}"),
        call("store_list", '{"prefix":"k","reverse":true,"limit":2}'),
        call("store_list", '{"prefix":"n"}'),
        call("store_list", '{"startAfter":"n010","end":"n250","reverse":true}'),
        call("store_list", '{"start":"n010","end":"n250","limit":200}'),
    )
    assert [key for key, _ in json.loads(first)] == ["k000", "k001", "k002", "k003"]
    assert [key for key, _ in json.loads(last)] == ["k039", "k038"]
    assert [value for _, value in json.loads(middle)] == list(range(300))
    assert [value for _, value in json.loads(reverse)] == list(range(249, 10, -1))
    assert [value for _, value in json.loads(page)] == list(range(10, 210))
