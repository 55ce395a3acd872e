"""Fuzzing of the pure part of yungong/jsontext.py on CPython, against the slow oracle (jsonoracle.py).

With atheris, which the long run installs into an environment of its own, the choices are guided by coverage:

    python -m tests.reliability.fuzz -seed=1 -max_total_time=60
"""

from __future__ import annotations

import sys
from random import Random
from typing import Any

from yungong import jsontext

from . import jsonoracle
from .jsonoracle import NotJson
from .texts import Hostile

LEVELS = (1, 24, 32)
MAX_TEXT = 4000


def disagreements(text: str, judge: Any = jsontext) -> list[str]:
    """Compare the package's cheap tests of a text with a full walk; the checker of this workload."""
    try:
        value = jsonoracle.read(text)
        data = judge.encode(text)
        depth = jsonoracle.depth(value)
    except (NotJson, RecursionError):
        return []  # what is not JSON the engine refuses
    wanted: list[tuple[str, bool, bool]] = [
        (f"nests_deeper({levels})", judge.nests_deeper(data, levels), depth > levels) for levels in LEVELS
    ]
    wanted += [
        ("has_reserved_record", judge.has_reserved_record(text), jsonoracle.holds_reserved_record(value)),
        ("has_reserved_member", judge.has_reserved_member(text), jsonoracle.holds_reserved_member(value)),
        ("overflows", judge.overflows(data), jsonoracle.overflows(value)),
    ]
    if judge.is_plain(data, LEVELS[0]):
        # Of several levels the least was asked for: no fault may be there at all.
        wanted.append((f"is_plain({LEVELS[0]})", True, not any(right for _, _, right in wanted)))
    return [f"{name} gives {given} for {text[:300]!r}" for name, given, right in wanted if given is not right]


class _Choices(Random):
    """A generator whose choices are the fuzzer's bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = data
        self._at = 0

    def random(self) -> float:
        """Return the next choice."""
        piece = self._data[self._at : self._at + 2]
        self._at += 2
        return int.from_bytes(piece, "big") / 65536 if len(piece) == 2 else super().random()

    def getrandbits(self, k: int, /) -> int:
        """Return bits of the next choices."""
        bits = 0
        for _ in range(0, k, 16):
            bits = bits << 16 | int(self.random() * 65536)
        return bits & ((1 << k) - 1)


def test_one_input(data: bytes) -> None:
    """Judge what the bytes say, as text or as choices."""
    if data[:1] and data[0] % 2:
        text = data[1:].decode("utf-8", "replace")
    else:
        text = Hostile(_Choices(data[1:])).text()
    found = disagreements(text[:MAX_TEXT])
    if found:
        raise AssertionError(found[0])


def main() -> None:
    """Run atheris with the command's arguments."""
    import atheris  # type: ignore[import-untyped]  # and only where the long run has installed it

    atheris.instrument_func(disagreements)
    for name in ("is_plain", "nests_deeper", "has_reserved_record", "has_reserved_member", "overflows"):
        setattr(jsontext, name, atheris.instrument_func(getattr(jsontext, name)))
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
