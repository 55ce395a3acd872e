"""The platform's objects as the package sees them; nothing outside this package imports JavaScript.

It converts values, names the platform's calls and holds no policy: what is allowed, what a
failure means and in which words it is told is decided by its callers. Nothing here is looked up at
import, because a deployed Worker is snapshotted after its top level has run and a JavaScript object in a
global makes that snapshot fail.
"""

from .clock import Timer, now_ms
from .environment import Environment, unwrap
from .failures import ERRORS, Rejected, error_text, is_too_deep, is_too_long, settled
from .promises import Promise
from .queues import Batch, send, send_batch
from .runtime import DurableObjectBase, PlatformError, WorkerBase
from .storage import MAX_LIST_LIMIT, Storage, alarm_info, get_alarm
from .values import (
    NULL,
    count_nulls,
    is_array,
    matches,
    member_names,
    parse,
    parse_utf8,
    short_text,
    stringify,
    text_of,
    to_python,
    utf8,
)

__all__ = [
    "ERRORS",
    "MAX_LIST_LIMIT",
    "NULL",
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
    "count_nulls",
    "error_text",
    "get_alarm",
    "is_array",
    "is_too_deep",
    "is_too_long",
    "matches",
    "member_names",
    "now_ms",
    "parse",
    "parse_utf8",
    "send",
    "send_batch",
    "settled",
    "short_text",
    "stringify",
    "text_of",
    "to_python",
    "unwrap",
    "utf8",
]
