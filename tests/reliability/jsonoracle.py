"""JSON text by the letter of RFC 8259: slow, obviously right, and sharing nothing with the package.

An object is a list of its members as written, repeated names included; `plain` makes of it what JSON.parse
does. Numbers are doubles.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

RESERVED = ("$句柄", "$未定义", "$大整数", "$数字")

_SPACE = " \t\n\r"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")


class NotJson(ValueError):
    """The text is not JSON."""


@dataclass
class Members:
    """An object as it is written."""

    pairs: list[tuple[str, Any]]


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def space(self) -> None:
        while self.peek() and self.peek() in _SPACE:
            self.at += 1

    def take(self, token: str) -> None:
        if not self.text.startswith(token, self.at):
            raise NotJson(f"no {token!r} at {self.at}")
        self.at += len(token)

    def value(self) -> Any:
        self.space()
        first = self.peek()
        if first == "{":
            value: Any = Members(self.items("{", "}", self.member))
        elif first == "[":
            value = self.items("[", "]", self.value)
        elif first == '"':
            value = self.string()
        elif first and first in "tfn":
            word, value = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}[first]
            self.take(word)
        else:
            match = _NUMBER.match(self.text, self.at)
            if match is None:
                raise NotJson(f"no value at {self.at}")
            self.at = match.end()
            value = float(match[0])
        self.space()
        return value

    def items(self, start: str, end: str, read: Any) -> list[Any]:
        self.take(start)
        self.space()
        found: list[Any] = []
        while self.peek() != end:
            if found:
                self.take(",")
            found.append(read())
        self.take(end)
        return found

    def member(self) -> tuple[str, Any]:
        self.space()
        name = self.string()
        self.space()
        self.take(":")
        return name, self.value()

    def string(self) -> str:
        self.take('"')
        units: list[str] = []
        while True:
            char = self.peek()
            self.at += 1
            if char == '"':
                break
            if not char or char < " ":
                raise NotJson(f"a string breaks off at {self.at}")
            if char != "\\":
                units.append(char)
                continue
            escape = self.peek()
            self.at += 1
            if escape == "u":
                match = _HEX.match(self.text, self.at)
                if match is None:
                    raise NotJson(f"no escape at {self.at}")
                self.at += 4
                units.append(chr(int(match[0], 16)))
            elif escape in _ESCAPES and escape:
                units.append(_ESCAPES[escape])
            else:
                raise NotJson(f"no escape at {self.at}")
        # Two escaped surrogates are one character.
        return "".join(units).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def read(text: str) -> Any:
    """Return the value of JSON text, objects as `Members`; raises NotJson."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise NotJson("a lone surrogate")
    reader = _Reader(text)
    value = reader.value()
    if reader.at != len(text):
        raise NotJson(f"more text at {reader.at}")
    return value


def depth(value: Any) -> int:
    """Return how many arrays and objects stand inside one another."""
    if isinstance(value, Members):
        return 1 + max((depth(member) for _, member in value.pairs), default=0)
    if isinstance(value, list):
        return 1 + max((depth(item) for item in value), default=0)
    return 0


def _nodes(value: Any) -> list[Any]:
    inner = [member for _, member in value.pairs] if isinstance(value, Members) else value
    return [value] + [node for item in inner for node in _nodes(item)] if isinstance(inner, list) else [value]


def holds_reserved_record(value: Any) -> bool:
    """Return whether an object's only member has a reserved name."""
    return any(
        isinstance(node, Members)
        and len({name for name, _ in node.pairs}) == 1
        and node.pairs[0][0] in RESERVED
        for node in _nodes(value)
    )


def holds_reserved_member(value: Any) -> bool:
    """Return whether an object has a member of a reserved name."""
    return any(
        isinstance(node, Members) and any(name in RESERVED for name, _ in node.pairs)
        for node in _nodes(value)
    )


def overflows(value: Any) -> bool:
    """Return whether a number is an infinity."""
    return any(isinstance(node, float) and abs(node) == float("inf") for node in _nodes(value))


def plain(value: Any) -> Any:
    """Return the value for comparing: numbers told apart from booleans, of repeated members the last."""
    if isinstance(value, Members):
        return {name: plain(member) for name, member in value.pairs}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return ("number", value)
    return value


def same(one: str, other: str) -> bool:
    """Return whether two JSON texts are equal in the sense of JSON."""
    return bool(plain(read(one)) == plain(read(other)))


def quoted(text: str) -> str:
    """Return `text` as a JSON string."""
    return json.dumps(text, ensure_ascii=False)
