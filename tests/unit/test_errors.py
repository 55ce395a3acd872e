"""The two errors, and what catches them."""

import pytest

from yungong import HostAbort, YuyanError, 宿主中止, 豫言异常
from yungong.errors import reason


def test_the_english_names_are_the_same_classes() -> None:
    assert (YuyanError, HostAbort) == (豫言异常, 宿主中止)


def test_an_application_s_except_exception_catches_a_violation_alone() -> None:
    assert issubclass(豫言异常, Exception)
    assert not issubclass(宿主中止, Exception)


def test_neither_error_is_caught_in_place_of_the_other() -> None:
    assert not issubclass(宿主中止, 豫言异常)
    assert not issubclass(豫言异常, 宿主中止)


@pytest.mark.parametrize("error", [豫言异常, 宿主中止])
def test_the_text_of_an_error_is_its_reason_and_nothing_else(error: type[BaseException]) -> None:
    assert str(error("键为空")) == "键为空"


@pytest.mark.parametrize("spoken", ["", None, ValueError("in str")])
def test_the_reason_of_an_error_that_cannot_say_it_is_its_type(spoken: object) -> None:
    class Dumb(Exception):
        def __str__(self) -> str:
            if isinstance(spoken, BaseException):
                raise spoken
            return spoken  # type: ignore[return-value]

    assert reason(Dumb()) == "Dumb"
    assert reason(ValueError("said")) == "said"
