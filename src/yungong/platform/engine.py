"""The JavaScript functions that the package calls."""

from __future__ import annotations

from functools import cache
from typing import Any

from .runtime import jsnull


class _Engine:
    """The JavaScript functions that the package calls, looked up once at first use."""

    __slots__ = (
        "apply",
        "array_from",
        "array_json",
        "array_of",
        "boxing",
        "clear_timeout",
        "compatibility_flags",
        "date_json",
        "decoding_of",
        "encode",
        "entries",
        "filter",
        "flat",
        "flat_map",
        "group",
        "held",
        "held_boxed",
        "hold",
        "includes",
        "is_array",
        "is_extensible",
        "is_null",
        "keys",
        "map",
        "no_json",
        "parse",
        "regexp",
        "set",
        "set_date_json",
        "set_timeout",
        "shift",
        "some",
        "stringify",
        "tag",
        "text",
        "time_of",
        "uint8_array",
        "values",
        "with_resolvers",
    )

    def __init__(self) -> None:
        import js

        self.parse = js.JSON.parse
        self.stringify = js.JSON.stringify
        self.apply = js.Reflect.apply
        self.array_from = js.Array.from_
        self.array_of = js.Array.of
        # As functions of the object that they are called on, these can be called back by one another.
        unbound, array = js.Function.prototype.call, js.Array.prototype
        self.filter = unbound.bind(array.filter)
        self.flat = unbound.bind(array.flat)
        self.flat_map = unbound.bind(array.flatMap)
        self.includes = unbound.bind(array.includes)
        self.map = unbound.bind(array.map)
        self.shift = unbound.bind(array.shift)
        self.some = unbound.bind(array.some)
        self.tag = unbound.bind(js.Object.prototype.toString)
        self.group = js.Object.groupBy
        self.regexp = js.RegExp.new
        self.set = js.Set.new
        self.uint8_array = js.Uint8Array.new
        encoder = js.TextEncoder.new()
        self.encode = encoder.encode.bind(encoder)
        # A BOM must reach JSON.parse, which refuses it.
        decoder = js.TextDecoder.new("utf-8", js.JSON.parse('{"ignoreBOM":true}'))
        bind = js.Function.prototype.bind
        self.decoding_of = bind.bind(decoder.decode, decoder)
        # What an object is read as where JavaScript wants a string: the JSON text of what is held.
        holder = js.Array.of(None)
        self.hold = js.Reflect.set.bind(None, holder, 0)
        stringify: Any = js.JSON.stringify
        held: Any = js.Array.of()
        held.toString = stringify.bind(js.JSON, holder)
        self.boxing = unbound.bind(js.Object)
        held_boxed: Any = js.Array.of()
        held_boxed.toString = stringify.bind(js.JSON, holder, self.boxing)
        self.held, self.held_boxed = held, held_boxed
        date = js.Date.prototype
        self.date_json = js.Object.getOwnPropertyDescriptor.bind(None, date, "toJSON")
        self.set_date_json = js.Reflect.defineProperty.bind(None, date, "toJSON")
        self.array_json = js.Object.getOwnPropertyDescriptor(js.Array, "of")
        self.no_json = js.JSON.parse('{"value":null}')
        self.is_array = js.Array.isArray
        self.is_extensible = js.Object.isExtensible
        self.is_null = getattr(js.Object, "is").bind(None, jsnull)
        self.entries = js.Object.entries
        self.keys = js.Object.keys
        self.values = js.Object.values
        self.text = js.String
        self.time_of = unbound.bind(js.Date.prototype.getTime)
        self.set_timeout = js.setTimeout
        self.clear_timeout = js.clearTimeout
        self.compatibility_flags = js.Cloudflare.compatibilityFlags
        self.with_resolvers = js.Promise.withResolvers.bind(js.Promise)


@cache
def engine() -> _Engine:
    """Return the JavaScript functions."""
    return _Engine()
