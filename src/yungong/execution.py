"""What a deployment grants: permits for queue bindings and time limits, read from two `[vars]`.

`PERMITS` names the bindings that an application may use, by interface. `EXECUTION_CONFIG` has the shape
of the specifications' 执行配置.json: the time limit of each event kind in milliseconds. Both are checked
whole when a Worker or a Durable Object starts, so that a slip in wrangler.toml shows at once.
"""

import json
from functools import lru_cache
from typing import Any, NamedTuple

from .kinds import EXCLUSIVE, KINDS

DEFAULT_LIMIT_MS = 30_000
DEFAULT_EXCLUSIVE_LIMIT_MS = 25_000
MAX_LIMIT_MS = 900_000
MAX_EXCLUSIVE_LIMIT_MS = 30_000
# The platform resets an object whose transaction runs for 30 s: what is configured beyond ends here.
LAST_EXCLUSIVE_MS = 29_500

_LIMITS = "事件时限毫秒"
_DEFAULT = "默认"


class Execution(NamedTuple):
    """The permits and time limits of one deployment."""

    queues: frozenset[str]
    limits_ms: dict[str, int]

    def limit_ms(self, kind: str) -> int:
        """Return the time limit of an event of `kind` in milliseconds."""
        if kind in EXCLUSIVE:
            return min(self.limits_ms.get(kind, DEFAULT_EXCLUSIVE_LIMIT_MS), LAST_EXCLUSIVE_MS)
        return self.limits_ms.get(kind, self.limits_ms.get(_DEFAULT, DEFAULT_LIMIT_MS))


@lru_cache(maxsize=4)
def read_execution(permits: str | None, config: str | None) -> Execution:
    """Read the two variables, given as JSON text, or None where a deployment leaves one out.

    Raises:
        ValueError: a variable is not what it must be; the sentence names the variable and the member.
    """
    return Execution(_read_permits(permits), _read_limits(config))


def _read_permits(text: str | None) -> frozenset[str]:
    permits = _read_object("PERMITS", text)
    for name in permits:
        if name != "QUEUE":
            raise ValueError(f"PERMITS has the member {name!r}; only 'QUEUE' is known")
    queues = permits.get("QUEUE", [])
    if not isinstance(queues, list) or not all(isinstance(name, str) and name for name in queues):
        raise ValueError(f"PERMITS.QUEUE must be a list of binding names, not {queues!r}")
    return frozenset(queues)


def _read_limits(text: str | None) -> dict[str, int]:
    config = _read_object("EXECUTION_CONFIG", text)
    for name in config:
        if name != _LIMITS:
            raise ValueError(f"EXECUTION_CONFIG has the member {name!r}; only {_LIMITS!r} is known")
    limits = config.get(_LIMITS, {})
    if not isinstance(limits, dict):
        raise ValueError(f"EXECUTION_CONFIG.{_LIMITS} must be an object, not {limits!r}")
    for kind, limit in limits.items():
        if kind != _DEFAULT and kind not in EXCLUSIVE and kind not in KINDS:
            known = ", ".join((_DEFAULT, *KINDS))
            raise ValueError(
                f"EXECUTION_CONFIG.{_LIMITS} names the unknown event kind {kind!r}; there are {known}"
            )
        highest = MAX_EXCLUSIVE_LIMIT_MS if kind in EXCLUSIVE else MAX_LIMIT_MS
        if type(limit) is not int or not 1 <= limit <= highest:
            raise ValueError(
                f"EXECUTION_CONFIG.{_LIMITS}.{kind} must be an integer from 1 to {highest}, not {limit!r}"
            )
    return limits


def _read_object(name: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{name} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be a JSON object, not {value!r}")
    return value
