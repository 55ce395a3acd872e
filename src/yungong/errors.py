"""The two errors of the interfaces, told apart by what an application may do with them.

`豫言异常` is what the specifications call a violation, an exceeded limit or a refusal: an application
can catch it and go on. `宿主中止` is what they call a fault of the host or the platform: the event is
over, and because it derives from BaseException an `except Exception` does not hold it up. Swallowing it
all the same does not help: the event remembers it and fails with it.

An argument of the wrong Python type is neither: it is a TypeError.

Each has a `code`, stable and in English, and a note that every traceback shows: what was called, in which
event, and what to write. `str(error)` is the specification's sentence alone.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .codes import UNLISTED, code_of

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["HostAbort", "YuyanError", "宿主中止", "豫言异常"]


class _Coded(BaseException):
    sent: int
    """How many messages were sent before, on an error that `send_all` raised; no other has it."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        code = code_of(str(self))
        if code is not None:
            annotate(self, code.advice)

    @property
    def code(self) -> str:
        """The error's stable name, one of docs/errors.md; `application` for an application's own words."""
        code = code_of(str(self))
        return UNLISTED if code is None else code.name


class 豫言异常(_Coded, Exception):
    """A violation, an exceeded limit or a refusal, with its reason in Chinese. It can be caught."""


class 宿主中止(_Coded):
    """The host ended the current event: a platform fault, a deployment error or a time limit."""


YuyanError = 豫言异常
HostAbort = 宿主中止


def reason(error: BaseException) -> str:
    """Return an error's own text, or the name of its type where it has none or cannot say it."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def annotate(error: BaseException, advice: str = "") -> None:
    """Give an error, which is about to be raised, the note that tells the call, the event and what to do."""
    error.add_note(f"{_called()}: {advice}" if advice else _called())


def _called() -> str:
    """Return which function of the package the caller is in, by both its names, and in which event."""
    from .events import kind_told

    frame: FrameType | None = sys._getframe(1)
    function = ""
    while frame is not None and frame.f_globals.get("__name__", "").startswith("yungong."):
        names, code = frame.f_globals.get("__all__", ()), frame.f_code
        if code.co_name in names:
            public = frame.f_globals[code.co_name]
            alias = next((name for name in names if name.isascii() and frame.f_globals[name] is public), "")
            given = (
                repr(frame.f_locals[name][:60])
                if name in {"key", "binding"} and type(frame.f_locals[name]) is str
                else "…"
                for name in code.co_varnames[: code.co_argcount]
            )
            function = f"{alias or code.co_name}({', '.join(given)})"
            if alias and alias != code.co_name:
                function += f" ({code.co_name})"
        frame = frame.f_back
    return f"{function} {kind_told()}".strip()
