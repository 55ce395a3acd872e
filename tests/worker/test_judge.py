"""What may come out: the quick tests on the text decide as a full walk of the value does."""

import json

from .conftest import Serve

JUDGE = """
from pyodide.ffi import to_js
from yungong import jsontext, platform

app = App()


def object_of(**members):
    return js.Object.fromEntries(to_js(list(members.items())))


def hole():
    array = js.JSON.parse("[1, 2, 3]")
    js.Reflect.deleteProperty(array, "1")
    return array


def error(cls, **members):
    made = cls.new("message")
    for name, value in members.items():
        setattr(made, name, value)
    return made


def named(array, **members):
    for name, value in members.items():
        setattr(array, name, value)
    return array


def cyclic_aside():
    array = js.JSON.parse("[{}]")
    return named(array, me=array)


def without_stack(made):
    js.Reflect.deleteProperty(made, "stack")
    return made


KINDS = {
    "date": lambda: js.Date.new(0),
    "far date": lambda: js.Date.new(8.64e15),
    "early date": lambda: js.Date.new(-8.64e15),
    "invalid date": lambda: js.Date.new(float("nan")),
    "map": lambda: js.Map.new(to_js([["a", 1]])),
    "empty map": lambda: js.Map.new(),
    "set": lambda: js.Set.new(to_js([1])),
    "regexp": lambda: js.RegExp.new("a", "g"),
    "error": lambda: error(js.Error),
    "type error": lambda: error(js.TypeError),
    "error with a cause": lambda: error(js.Error, cause=1),
    "error without a stack": lambda: without_stack(error(js.Error)),
    "dom exception": lambda: js.DOMException.new("message", "AbortError"),
    "array buffer": lambda: js.ArrayBuffer.new(3),
    "empty bytes": lambda: js.Uint8Array.new(0),
    "bytes": lambda: js.Uint8Array.of(1, 2),
    "floats": lambda: js.Float64Array.of(1.5),
    "data view": lambda: js.DataView.new(js.ArrayBuffer.new(2)),
    "blob": lambda: js.Blob.new(to_js(["x"])),
    "headers": lambda: js.Headers.new(),
    "boxed nan": lambda: js.Object.new(float("nan")),
    "boxed number": lambda: js.Object.new(5),
    "boxed string": lambda: js.Object.new("s"),
    "boxed boolean": lambda: js.Object.new(True),
    "undefined": lambda: None,
    "hole": hole,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("-inf"),
    "minus zero": lambda: -0.0,
    "null": lambda: js.JSON.parse("null"),
    "object": lambda: js.JSON.parse("{}"),
    "array": lambda: js.JSON.parse("[]"),
    "like bytes": lambda: js.JSON.parse('{"0":1}'),
    "like an error": lambda: js.JSON.parse('{"stack":"s","message":"m"}'),
    "like a dom exception": lambda: js.JSON.parse('{"code":20,"name":"AbortError"}'),
    "like a date": lambda: "1970-01-01T00:00:00.000Z",
    "like null": lambda: "null",
    "undefined member": lambda: object_of(a=1, b=None),
    "constructor": lambda: js.JSON.parse('{"constructor":null}'),
    "array with a cycle among its names": cyclic_aside,
    "text": lambda: "x",
    "number": lambda: 1.5,
    "long": lambda: "中" * 5000,
}
PLACES = {
    "alone": lambda it: it,
    "in an array": lambda it: js.Array.of(1, it),
    "in an object": lambda it: object_of(a=it),
    "deep": lambda it: object_of(a=js.Array.of(js.JSON.parse("null"), object_of(b=js.Array.of(it, "{}")))),
    "beside a date's text": lambda it: js.Array.of("1970-01-01T00:00:00.000Z", it),
    "beside a null that has a name": lambda it: named(js.Array.of(it), a=js.JSON.parse("null")),
    "beside a member that is null": lambda it: object_of(a=js.JSON.parse("null"), b=it),
    "in an object of an array, long": lambda it: js.Array.of(object_of(y="y" * 3000, a=it)),
    "beside a null and long": lambda it: object_of(y="y" * 3000, a=js.JSON.parse("null"), b=object_of(c=it)),
    "in a long array": lambda it: js.Array.of("y" * 3000, it, -0.0),
    "among many": lambda it: js.Array.of(*["y"] * 100, it, js.JSON.parse("[null]")),
    "deep among many": lambda it: js.Array.of(*[js.JSON.parse("{}")] * 100, js.Array.of(object_of(a=it))),
    "beside texts that say null": lambda it: js.Array.of("null", object_of(null=it), '\\"null'),
}


def reads(value, in_utf8):
    jsontext._expects_long = in_utf8
    try:
        text = jsontext.outgoing(value, 33)
    except jsontext.Unreadable:
        return False
    assert text == js.JSON.stringify(value), text
    return True


def walks(boxed):
    try:
        text = js.JSON.stringify(boxed)
    except platform.PlatformError:
        return False
    return jsontext._has_only_its_nulls(boxed, text.encode())


@app.on("durable-fetch")
async def judge(request):
    from yungong import events
    storage = events.open_event().durable.storage
    rows = []
    for kind, make in KINDS.items():
        for place, put in PLACES.items():
            storage.put("k", put(make()))
            boxed = storage.boxed("k")
            verdicts = [reads(value, in_utf8) for value in (boxed, boxed[0]) for in_utf8 in (False, True)]
            rows.append([kind, place, *verdicts, walks(boxed)])
            assert js.Date.new(0).toJSON() == "1970-01-01T00:00:00.000Z", (kind, place)
    return Response(json.dumps(rows))


class DurableStore(DurableObject, app=app): ...
"""

OF_OBJECTS = {
    "in an object",
    "deep among many",
    "beside texts that say null",
    "beside a member that is null",
    "in an object of an array, long",
    "beside a null and long",
}
READABLE = {
    "boxed number",
    "boxed string",
    "boxed boolean",
    "minus zero",
    "null",
    "object",
    "array",
    "like bytes",
    "like an error",
    "like a dom exception",
    "like a date",
    "like null",
    "undefined member",
    "constructor",
    "array with a cycle among its names",
    "text",
    "number",
    "long",
}


def test_the_quick_tests_decide_as_the_full_walk_does(serve: Serve) -> None:
    rows = json.loads(serve(JUDGE))
    assert len(rows) == 43 * 13
    assert [row for row in rows if len(set(row[2:])) > 1] == []
    # An undefined member counts as absent, wherever else undefined is refused.
    expected = [
        [kind, place, kind in READABLE or (kind == "undefined" and place in OF_OBJECTS)]
        for kind, place, *_ in rows
    ]
    assert [row[:3] for row in rows] == expected
