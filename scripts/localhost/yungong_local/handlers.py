"""Which events a Worker's classes handle: workerd asks a class when it starts, before Python can be asked.

What stands here is read from the sources, following base classes by their names. It is a guess, right for
classes that are written down as usual; when Python has started the host compares it with the classes
themselves, and starts the Worker once more where it was wrong.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

WORKER_HANDLERS = ("fetch", "queue", "scheduled", "email", "tail")
OBJECT_HANDLERS = ("fetch", "alarm", "webSocketMessage", "webSocketClose", "webSocketError")

Handlers = dict[str, list[str]]
"""The handlers of each class."""


def expected(files: Iterable[Path], objects: Iterable[str]) -> Handlers:
    """The handlers of ``Default`` and of the Durable Object classes `objects`, as the sources have them."""
    texts = [path.read_text("utf-8", "replace") for path in files if path.suffix == ".py"]
    known: dict[str, set[str]] = {}
    found = {"Default": [name for name in WORKER_HANDLERS if name in _methods("Default", texts, known)]}
    for class_name in objects:
        found[class_name] = [name for name in OBJECT_HANDLERS if name in _methods(class_name, texts, known)]
    return found


def main_module(handlers: Mapping[str, list[str]], javascript: str | None) -> str:
    """The ES module that workerd starts: an export for each class that the JavaScript has not itself."""
    own = javascript_classes(javascript)
    lines = ['import { durableObjectClass, workerClass } from "./host.mjs";']
    for class_name, names in sorted(handlers.items()):
        if class_name == "Default":
            lines.append(f'export default workerClass("Default", {names});')
        elif class_name not in own:
            lines.append(f'export const {class_name} = durableObjectClass("{class_name}", {names});')
    if javascript:
        lines.append('export * from "./javascript.mjs";')
    return "\n".join(lines) + "\n"


def javascript_classes(javascript: str | None) -> set[str]:
    """The classes that a JavaScript module exports itself."""
    return set(re.findall(r"^export class (\w+)", javascript or "", re.MULTILINE))


def _methods(class_name: str, texts: list[str], known: dict[str, set[str]]) -> set[str]:
    if class_name in known:
        return known[class_name]
    methods = known[class_name] = set()
    definition = re.compile(rf"^\s*class {re.escape(class_name)}\b", re.MULTILINE)
    for text in texts:
        if not definition.search(text):
            continue
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue  # Python tells it, with its place
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name == class_name:
                methods |= {
                    part.name
                    for part in node.body
                    if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
                }
                for base in node.bases:
                    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
                    methods |= _methods(name, texts, known)
    return methods
