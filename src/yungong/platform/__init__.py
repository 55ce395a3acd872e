"""The platform's objects as the package sees them; nothing outside this package imports JavaScript.

It converts values, names the platform's calls and holds no policy: what is allowed, what a
failure means and in which words it is told is decided by its callers. Nothing here is looked up at
import, because a deployed Worker is snapshotted after its top level has run and a JavaScript object in a
global makes that snapshot fail.
"""

from .clock import Timer, now_ms
from .environment import Environment, is_response, unwrap
from .failures import ERRORS, Rejected, awaitable, error_text, is_too_big, is_too_deep, is_too_long
from .judge import boxed_text, has_null_number, is_surely_json, text_utf8
from .promises import Promise
from .queues import Batch, send, send_batch, send_boxed
from .runtime import DurableObjectBase, PlatformError, WorkerBase
from .storage import MAX_LIST_LIMIT, Storage, alarm_info, get_alarm
from .values import (
    count_nulls,
    is_array,
    is_object,
    member_names,
    parse,
    parse_utf8,
    stringify,
)

__all__ = [
    "ERRORS",
    "MAX_LIST_LIMIT",
    "Batch",
    "DurableObjectBase",
    "Environment",
    "PlatformError",
    "Promise",
    "Rejected",
    "Storage",
    "Timer",
    "WorkerBase",
    "alarm_info",
    "awaitable",
    "boxed_text",
    "count_nulls",
    "error_text",
    "get_alarm",
    "has_null_number",
    "is_array",
    "is_object",
    "is_response",
    "is_surely_json",
    "is_too_big",
    "is_too_deep",
    "is_too_long",
    "member_names",
    "now_ms",
    "parse",
    "parse_utf8",
    "send",
    "send_batch",
    "send_boxed",
    "stringify",
    "text_utf8",
    "unwrap",
]
