"""What wrangler prints, made readable for somebody who writes Python."""

from __future__ import annotations

import re
from collections import Counter

CONTROL_PATH = "/yungong-local"
"""Where the host itself is asked; only for this log: the header decides."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NOISE = re.compile(
    # The lists of modules and bindings; and the word that all is ready, which comes before Python's.
    r"^(?:[┌├└│].*|Attaching additional modules:|Your Worker has access to .*|Binding +Resource +Mode *"
    r"|env\.\S+ \(.* local .*|.*Connection status updated|.*Ready on http.*|Using secrets defined in .*"
    # The note on service bindings, which is always there; and what the host itself was asked.
    rf"|Service bindings, Durable Object bindings, .*|.*POST {re.escape(CONTROL_PATH)} .*)\n",
    re.MULTILINE,
)
# An error ends with two empty lines: what the application prints after it is another record.
_RECORD = re.compile(r"^(?=✘ \[|▲ \[|\[wrangler:)|(?<=\n\n\n)", re.MULTILINE)
_STACK = re.compile(r" Error\n\n?((?: +at .*\n)+)")
_PYODIDE = re.compile(r"^.*(?:wasm://|/pyodide\.asm\.mjs:).*\n", re.MULTILINE)


def readable(text: str) -> str:
    """Return a log without colours, wrangler's tables and repetitions.

    Wrangler prints what an event raised twice, with JavaScript's stack and without: the second is left out,
    and of the stack what runs in Pyodide.
    """
    kept = []
    told: Counter[str] = Counter()
    for record in _RECORD.split(_NOISE.sub("", _COLOUR.sub("", text))):
        stack = _STACK.search(record)
        raised = record[: stack.start() if stack else None].rstrip()
        if not record.startswith("✘ [ERROR] Uncaught "):
            kept.append(record)
        elif stack is not None:
            told[raised] += 1
            kept += raised, "\n", _PYODIDE.sub("", stack[1]), record[stack.end() :]
        elif told[raised]:
            told[raised] -= 1
        else:
            kept.append(record)
    return "".join(kept)
