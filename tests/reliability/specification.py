"""The store and the alarm of one object as the specifications have them: a dict and a number.

Written from the specifications alone. A call returns ("value", …) or ("refused", sentence or None): None
where the specification gives no words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import jsonoracle
from .jsonoracle import Members, NotJson

Outcome = tuple[str, Any]

MAX_ALARM_MS = 8_640_000_000_000_000
REFUSED: Outcome = ("refused", None)
BAD_ALARM: Outcome = ("refused", "持久告警时刻须在 0 至 8640000000000000 之间")
DONE: Outcome = ("value", None)

_OPTION_KINDS: dict[str, type] = {
    "prefix": str,
    "start": str,
    "startAfter": str,
    "end": str,
    "limit": float,
    "reverse": bool,
}


@dataclass
class Store:
    """Keys and values, and the alarm."""

    values: dict[str, str] = field(default_factory=dict)
    alarm: int | None = None

    def copy(self) -> Store:
        """Return what a transaction starts from."""
        return Store(dict(self.values), self.alarm)

    def put(self, key: str, text: str) -> Outcome:
        """写入: a key of 1 to 2048 bytes, a JSON value of 2 MiB and 32 levels without reserved records."""
        if not is_key(key) or not is_value(text):
            return REFUSED
        self.values[key] = text
        return DONE

    def get(self, key: str) -> Outcome:
        """读取: presence and text; the text is compared in the sense of JSON."""
        if not is_key(key):
            return REFUSED
        return ("value", [key in self.values, self.values.get(key, "")])

    def delete(self, key: str, *, told: bool) -> Outcome:
        """删除: the direct call tells whether the key existed."""
        if not is_key(key):
            return REFUSED
        existed = self.values.pop(key, None) is not None
        return ("value", existed) if told else DONE

    def list(self, text: str) -> Outcome:
        """列举: by bytes of UTF-8."""
        options = read_options(text)
        if options is None:
            return REFUSED
        keys = sorted(self.values, key=lambda key: key.encode())
        if prefix := options.get("prefix"):
            keys = [key for key in keys if key.startswith(prefix)]
        if start := options.get("start"):
            keys = [key for key in keys if key.encode() >= start.encode()]
        if after := options.get("startAfter"):
            keys = [key for key in keys if key.encode() > after.encode()]
        if end := options.get("end"):
            keys = [key for key in keys if key.encode() < end.encode()]
        if options.get("reverse"):
            keys.reverse()
        if "limit" in options:
            keys = keys[: int(options["limit"])]
        return ("value", f"[{','.join(f'[{jsonoracle.quoted(key)},{self.values[key]}]' for key in keys)}]")

    def set_alarm(self, at_ms: int) -> Outcome:
        """设置持久告警: an absolute time, replacing the one before."""
        if not 0 <= at_ms <= MAX_ALARM_MS:
            return BAD_ALARM
        self.alarm = at_ms
        return DONE

    def delete_alarm(self) -> Outcome:
        """删除持久告警."""
        self.alarm = None
        return DONE

    def get_alarm(self) -> Outcome:
        """读取持久告警."""
        return ("value", [False, 0] if self.alarm is None else [True, self.alarm])


def is_key(key: str) -> bool:
    """Return whether `key` may be one."""
    try:
        return 1 <= len(key.encode()) <= 2048
    except UnicodeEncodeError:
        return False


def is_value(text: str) -> bool:
    """Return whether `text` may be stored."""
    try:
        value = jsonoracle.read(text)
    except (NotJson, RecursionError):
        return False
    return (
        len(text.encode()) <= 2 * 1024 * 1024
        and jsonoracle.depth(value) <= 32
        and not jsonoracle.holds_reserved_record(value)
        and not jsonoracle.overflows(value)
    )


def read_options(text: str) -> dict[str, Any] | None:
    """Return the options that `text` gives, or None where they are invalid."""
    try:
        read = jsonoracle.read(text)
    except NotJson:
        return None
    if not isinstance(read, Members):
        return None
    options = dict(read.pairs)
    for name, option in options.items():
        if name not in _OPTION_KINDS or type(option) is not _OPTION_KINDS[name]:
            return None
    limit = options.get("limit", 1.0)
    if limit < 1 or limit != int(limit):
        return None
    return None if options.get("start") and options.get("startAfter") else options
