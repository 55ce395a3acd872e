"""Hostile inputs: JSON texts valid and nearly valid, keys, list options and batches."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

NAMES = [
    "$句柄",
    "$未定义",
    "$大整数",
    "$数字",
    "$",
    "$句",
    "$句柄x",
    "x$句柄",
    "a",
    "",
    "__proto__",
    "0",
    "toJSON",
    "constructor",
    "length",
]
STRINGS = [
    "",
    "a",
    "$句柄",
    '"',
    "\\",
    '\\"',
    "[",
    "]{",
    '":',
    "é",
    "\U0001f600",
    "\u2028",
    "\x7f",
    "\ufeff",
    "null",
    "2020-01-01T00:00:00.000Z",
    '{"$句柄":1}',
    "\\u0024",
]
NUMBERS = [
    "0",
    "-0",
    "1",
    "-1",
    "1.0",
    "0.1",
    "1e2",
    "1E+2",
    "1e-2",
    "1e308",
    "1e309",
    "-1e309",
    "1e999",
    "1e-999",
    "0e999",
    "0.0e99999",
    "9007199254740991",
    "9007199254740993",
    "-9007199254740992",
    "1e20",
    "1e21",
    "123456789012345678901234567890",
    "1" + "0" * 308,
    "1" + "0" * 309,
    "0." + "0" * 400 + "1",
    "1" + "0" * 400 + "e-400",
    "0.1e310",
    "17976931348623157" + "0" * 292,
    "1.7976931348623159e308",
    "1.7976931348623158e308",
    "100e307",
    "4e-324",
]
BROKEN_NUMBERS = [
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "1e+",
    "--1",
    "0x1",
    "1_000",
    "Infinity",
    "NaN",
    "-Infinity",
    "1e5.5",
    "\u0661",
]
SPACES = ["", "", "", "", " ", "\n", "\t", "\r", "  \n", "\u00a0", "\ufeff", "\x0b", "\x00"]
BROKEN = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "\\",
    "tru",
    "nulll",
    "undefined",
    "'a'",
    "//",
    "{a:1}",
    "[1,]",
    "[,1]",
    '{"a":1,}',
    '{"a"}',
    '{"a":}',
    "{1:2}",
    "",
    " ",
    "\ud800",
    '"\udc00"',
    "\ud83d\ude00",
]
KEYS = [
    "a",
    "aa",
    "ab",
    "b",
    "é",
    "é!",
    "z",
    "\uffff",
    "\U00010000",
    "\U0010ffff",
    "\u0000",
    "\x7f",
    "\u0800",
    "p:1",
    "p:10",
    "p:2",
]
"""What the judge's store holds for the listings."""


class Hostile:
    """Makes inputs from one generator; each is (kind, text)."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._kinds: list[tuple[int, Callable[[], tuple[str, str]]]] = [
            (8, lambda: ("value", self.text())),
            (5, lambda: ("message", self.text())),
            (4, lambda: ("batch", self.batch())),
            (3, lambda: ("options", self.options())),
            (2, lambda: ("key", self.key())),
        ]
        self._weights = [weight for weight, _ in self._kinds]

    def input(self) -> tuple[str, str]:
        """Return the next input."""
        return self._random.choices(self._kinds, self._weights)[0][1]()

    def text(self) -> str:
        """Return a JSON text; about one in three is broken."""
        random = self._random
        if not random.randrange(40):
            return self._deep()
        text = self.space() + self.value(random.choice([0, 1, 2, 3, 5])) + self.space()
        return self.broken(text) if random.random() < 0.3 else text

    def space(self) -> str:
        """Return white space, JSON's nearly always."""
        return self._random.choice(SPACES if not self._random.randrange(12) else SPACES[:9])

    def value(self, levels: int) -> str:
        """Return a valid value of at most so many levels, unless its white space is not JSON's."""
        random = self._random
        kind = random.randrange(10 if levels else 5)
        if kind < 2:
            return random.choice(NUMBERS) if random.random() < 0.8 else repr(random.uniform(-1e6, 1e6))
        if kind < 4:
            return self.string(random.choice(STRINGS))
        if kind == 4:
            return random.choice(["true", "false", "null", "{}", "[]", '""'])
        count = random.choice([0, 1, 1, 2, 3])
        if kind < 7:
            return f"[{','.join(self.space() + self.value(levels - 1) + self.space() for _ in range(count))}]"
        members = (
            self.space() + self.string(random.choice(NAMES)) + self.space() + ":" + self.value(levels - 1)
            for _ in range(count)
        )
        return f"{{{','.join(members)}{self.space()}}}"

    def string(self, text: str) -> str:
        """Return a JSON string, its characters spelt in any of the ways that JSON has."""
        random = self._random
        if random.random() < 0.5:
            return json.dumps(text, ensure_ascii=random.random() < 0.5)
        spelt = []
        for char in text + random.choice(["", "", "a", "\ud800", "\udfff"]):
            if char < " " or char in '"\\' or "\ud800" <= char <= "\udfff" or random.random() < 0.4:
                units = char.encode("utf-16-be", "surrogatepass").hex()
                escaped = "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))
                spelt.append(escaped.upper().replace("\\U", "\\u") if random.random() < 0.5 else escaped)
            else:
                spelt.append(char)
        return f'"{"".join(spelt)}"'

    def broken(self, text: str) -> str:
        """Return `text` with one thing wrong, perhaps."""
        random = self._random
        place = random.randrange(len(text) + 1)
        match random.randrange(5):
            case 0:
                return text[:place] + random.choice(BROKEN) + text[place:]
            case 1:
                return text[:place]
            case 2:
                return text[:place] + text[place + 1 :]
            case 3:
                return text[:place] + random.choice(BROKEN_NUMBERS) + text[place:]
            case _:
                other = random.randrange(len(text) + 1)
                return text[:place] + text[other:]

    def _deep(self) -> str:
        random = self._random
        levels = random.choice([22, 23, 24, 25, 26, 30, 31, 32, 33, 34, 100])
        opened = [random.choice(["[", '{"a":', '{"[{":', '["]",', '{ "\\"" : ']) for _ in range(levels)]
        closed = ["]" if part.startswith("[") else "}" for part in reversed(opened)]
        last = random.choice(["1", "[]", "{}", '"[[["', '""'])
        return "".join(opened) + last + "".join(closed)

    def batch(self) -> str:
        """Return the text of a batch."""
        random = self._random
        if not random.randrange(12):
            return self.text()
        count = random.choice([0, 1, 1, 2, 3, 99, 100, 101] if not random.randrange(20) else [1, 2, 3])
        text = f"[{','.join(self._item() for _ in range(count))}]"
        return self.broken(text) if random.random() < 0.15 else text

    def _item(self) -> str:
        random = self._random
        if not random.randrange(30):
            return self.value(1)
        members = [f'"body":{self.space()}{self.value(random.choice([0, 1, 2]))}']
        if random.random() < 0.4:
            delay = random.choice(
                ["0", "1", "43200", "43201", "-1", "1.5", "1.0", "1e2", "-0", '"1"', "null", "1e999"]
            )
            members.append(f'"delaySeconds":{delay}')
        if not random.randrange(15):
            members.append(f"{self.string(random.choice([*NAMES, 'contentType', 'body']))}:{self.value(1)}")
        if not random.randrange(40):
            del members[0]
        random.shuffle(members)
        return f"{{{','.join(members)}}}"

    def options(self) -> str:
        """Return the text of list options."""
        random = self._random
        if not random.randrange(10):
            return self.text()
        limits = [
            "1",
            "2",
            "3",
            "100",
            "0",
            "-1",
            "1.5",
            "2.0",
            "1e300",
            "1e999",
            "2147483648",
            '"1"',
            "null",
        ]
        members: dict[str, str] = {}
        for name in random.sample(
            ["prefix", "start", "startAfter", "end", "limit", "reverse"], random.randrange(4)
        ):
            if name == "limit":
                members[name] = random.choice(limits)
            elif name == "reverse":
                members[name] = random.choice(["true", "false", "true", "1", "null"])
            else:
                members[name] = self.string(random.choice([*KEYS, "", "", "o", "~"]))
        if not random.randrange(15):
            members[random.choice([*NAMES, "noCache", "Limit"])] = self.value(1)
        pairs = [f"{json.dumps(name)}:{self.space()}{value}" for name, value in members.items()]
        text = f"{{{','.join(pairs)}}}"
        return self.broken(text) if random.random() < 0.1 else text

    def key(self) -> str:
        """Return a key, its length often at the limit."""
        random = self._random
        char = random.choice([*KEYS, "\ud800", "\udfff", "é", "$句柄", '"', "\\"])
        size = len(char.encode("utf-8", "surrogatepass"))
        match random.randrange(6):
            case 0:
                return char * (2048 // size) + "x" * (2048 % size)
            case 1:
                return char * (2048 // size + 1)
            case 2:
                return random.choice(["", "x" * 2047, "x" * 2048, "x" * 2049, "é" * 1024, "é" * 1025])
            case _:
                return "".join(random.choice([*KEYS, char]) for _ in range(random.randrange(4)))


def large(random: Random) -> list[tuple[str, str]]:
    """Return inputs at the limits of size, one of each."""
    text = "x" * random.randrange(3)
    message, value = 128_000 - len(text), 2 * 1024 * 1024 - len(text)
    found: list[tuple[str, str]] = []
    for kind, size in (("message", message), ("value", value)):
        for more in (-1, 0, 1):
            found.append((kind, json.dumps(text + "y" * (size + len(text) - len(text) - 2 + more))))
            found.append((kind, f"{' ' * (size + len(text) - 1 + more)}1"))
    numbers = ",".join(["1e20"] * 6000)
    found += [
        ("message", f"[{numbers}]"),
        ("message", f"[{numbers[:-5]}]"),
        ("message", '"' + "\\u0041" * 21_333 + '"'),
    ]
    body: Any = "y" * 63_998
    found += [("batch", json.dumps([{"body": body}] * count)) for count in (3, 4, 5)]
    found.append(("batch", json.dumps([{"body": "é" * 63_998 + "xx"}], ensure_ascii=False)))
    found.append(("batch", json.dumps([{"body": "é" * 63_999}], ensure_ascii=False)))
    found.append(("batch", json.dumps([{"body": 1}]) + " " * 1024 * 1024))
    return found
