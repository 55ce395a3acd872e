"""What the runtime brings: the SDK's base classes, and Pyodide's side of JavaScript.

Plain CPython has none of it: there the names exist all the same, so that `import yungong` works.
"""

from __future__ import annotations

import sys
from asyncio import Future
from typing import Any

__all__ = [
    "DurableObjectBase",
    "FetchResponse",
    "JsProxy",
    "PlatformError",
    "PyodideFuture",
    "WorkerBase",
    "create_once_callable",
    "create_proxy",
    "jsnull",
    "to_js",
]

if sys.platform == "emscripten":
    import workers
    from pyodide.ffi import JsException, JsProxy, create_once_callable, create_proxy, jsnull, to_js
    from pyodide.webloop import PyodideFuture

    PlatformError = JsException
    DurableObjectBase = workers.DurableObject
    WorkerBase = workers.WorkerEntrypoint
    FetchResponse = workers.FetchResponse
else:

    class PlatformError(Exception):
        """What a call of the platform raises."""

    class PyodideFuture(Future[Any]):
        """What a call that returns a promise gives."""

    class FetchResponse:
        """The SDK's responses, those that an application makes and those that it was given."""

    JsProxy = DurableObjectBase = WorkerBase = object
    jsnull = create_once_callable = create_proxy = to_js = None
