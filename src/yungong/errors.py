"""The two errors of the interfaces, told apart by what an application may do with them.

`豫言异常` is what the specifications call a violation, an exceeded limit or a refusal: an application
can catch it and go on. `宿主中止` is what they call a fault of the host or the platform: the event is
over, and because it derives from BaseException an `except Exception` does not hold it up. Swallowing it
all the same does not help: the event remembers it and fails with it.

An argument of the wrong Python type is neither: it is a TypeError.
"""

__all__ = ["HostAbort", "YuyanError", "宿主中止", "豫言异常"]


class 豫言异常(Exception):
    """A violation, an exceeded limit or a refusal, with its reason in Chinese. It can be caught."""


class 宿主中止(BaseException):
    """The host ended the current event: a platform fault, a deployment error or a time limit."""


YuyanError = 豫言异常
HostAbort = 宿主中止


def reason(error: BaseException) -> str:
    """Return an error's own text, or the name of its type where it has none or cannot say it."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__
