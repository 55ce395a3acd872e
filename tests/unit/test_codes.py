"""Each refusal of the package has a code and a note that tells what to do."""

from __future__ import annotations

import ast
import asyncio
import re
from pathlib import Path

import pytest

import yungong
from yungong.codes import CODES, UNLISTED, code_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "yungong"
RAISING = {"豫言异常", "abort", "fail", "fault", "宿主中止"}


def sentences() -> list[tuple[str, str]]:
    """Return every sentence that the package raises, what it fills in left as x, and where it stands."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        module = __import__(f"yungong.{path.stem}", fromlist=["x"]) if path.parent == PACKAGE else None
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in RAISING and (text := told(node.args[0], module)):
                found.append((text, f"{path.name}:{node.lineno}"))
    return found


def told(node: ast.expr, module: object) -> str:
    """Return the text of an expression; nothing for one that only hands on another's words."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            text = "".join(told(part, module) or "x" for part in parts)
            return "" if text.startswith("x：") else text
        case ast.FormattedValue(value=value) | ast.BinOp(left=value):
            return told(value, module)
        case ast.Name(id=name) | ast.Attribute(attr=name) if name.isupper():
            for owner in (module, yungong.alarm, yungong.events, __import__("yungong.keyvalue").keyvalue):
                if isinstance(constant := getattr(owner, name, None), str):
                    return constant
    return ""


def test_every_sentence_that_the_package_raises_has_a_code() -> None:
    found = sentences()
    assert len(found) > 70
    assert [(text, place) for text, place in found if code_of(text) is None] == []


def test_every_code_is_raised() -> None:
    raised = {code.name for text, _ in sentences() if (code := code_of(text))}
    assert {code.name for code in CODES} - raised == set()


def test_a_code_does_not_come_from_words_that_a_sentence_quotes() -> None:
    assert code_name('键 "SQLITE_TOOBIG" 的值不是 JSON 值') == "stored-not-json"
    assert code_name('列举选项含未知的成员 "SQLITE_TOOBIG"') == "list-options"
    assert code_name("值超过平台存储单元的上限：string or blob too big: SQLITE_TOOBIG") == "value-size"


def code_name(text: str) -> str | None:
    code = code_of(text)
    return None if code is None else code.name


def test_codes_are_english_words_and_told_once() -> None:
    names = [code.name for code in CODES]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z]+(-[a-z]+)*", name)] == []


def test_the_documentation_lists_every_code_with_its_advice() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", (ROOT / "docs" / "errors.md").read_text("utf-8"), re.M)
    assert rows == [(code.name, code.advice) for code in CODES]


def test_an_error_has_a_code_and_a_note_and_keeps_its_sentence() -> None:
    with pytest.raises(yungong.YuyanError) as caught:
        asyncio.run(yungong.store_put("k", "1"))
    assert (str(caught.value), caught.value.code) == ("当前事件不属于持久对象", "wrong-event")
    assert caught.value.__notes__[0].startswith(
        "store_put('k', …) (写入持久仓键值) outside of any event: call it in"
    )


def test_a_type_error_names_the_function_by_both_names() -> None:
    with pytest.raises(TypeError) as caught:
        asyncio.run(yungong.store_put("k", 1))  # type: ignore[arg-type]
    assert caught.value.__notes__ == ["store_put('k', …) (写入持久仓键值) outside of any event"]


def test_an_application_s_own_error_has_no_note() -> None:
    error = yungong.YuyanError("mine")
    assert (error.code, getattr(error, "__notes__", [])) == (UNLISTED, [])
