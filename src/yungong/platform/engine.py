"""The JavaScript functions that the package calls."""

from __future__ import annotations

from functools import cache

from .runtime import jsnull


class _Engine:
    """The JavaScript functions that the package calls, looked up once at first use."""

    __slots__ = (
        "array_from",
        "array_of",
        "array_type",
        "clear_timeout",
        "compatibility_flags",
        "decoding_of",
        "encode",
        "entries",
        "filter",
        "flat",
        "flat_map",
        "group",
        "is_array",
        "is_extensible",
        "is_null",
        "keys",
        "map",
        "parse",
        "regexp",
        "set",
        "set_timeout",
        "shift",
        "some",
        "string_object",
        "stringify",
        "stringifying_of",
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
        self.array_from = js.Array.from_
        self.array_of = js.Array.of
        self.array_type = type(js.Array.of())
        self.string_object = js.String.new
        # As functions of the object that they are called on, these can be called back by one another.
        unbound, array = js.Function.prototype.call, js.Array.prototype
        self.filter = unbound.bind(array.filter)
        self.flat = unbound.bind(array.flat)
        self.flat_map = unbound.bind(array.flatMap)
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
        self.stringifying_of = bind.bind(js.JSON.stringify, js.JSON)
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
