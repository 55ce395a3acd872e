"""The types of what an application passes: the first thing that every function checks."""

from __future__ import annotations

from typing import NoReturn

from . import errors


def require_text(name: str, value: object) -> None:
    """Raise TypeError unless `value` is a str; `name` is the argument's."""
    if type(value) is not str:
        _refuse(f"{name} must be a str, not {type(value).__name__}")


def require_int(name: str, value: object) -> None:
    """Raise TypeError unless `value` is an int, and not a bool; `name` is the argument's."""
    if type(value) is not int:
        _refuse(f"{name} must be an int, not {type(value).__name__}")


def _refuse(sentence: str) -> NoReturn:
    error = TypeError(sentence)
    errors.annotate(error)
    raise error
