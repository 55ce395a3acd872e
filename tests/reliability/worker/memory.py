"""How much Python has in use, as its allocator and its table of JavaScript objects know it."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Any

_MALLINFO_BYTES = 40  # ten ints, of which the eighth (uordblks) is the number of bytes in use
_MALLINFO_IN_USE = 7


def in_use() -> dict[str, int]:
    """Return the bytes that are allocated and the number of JavaScript's objects that are held."""
    gc.collect()
    module: Any = import_module("pyodide_js")._module
    address = module._malloc(_MALLINFO_BYTES)
    module._mallinfo(address)
    python_bytes = module.HEAP32[address // 4 + _MALLINFO_IN_USE]
    module._free(address)
    return {"python_bytes": python_bytes, "references": module._hiwire_num_refs()}
