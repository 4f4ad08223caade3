"""How much a JSON document may contain, counted before it is decoded.

A decoder makes an object of each value: 16 MB of `[{},{},…]` become 500 MB. So the brackets and
commas outside strings are counted first, and counting stops at the limit. Whether the document is
valid is for the decoder to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEEPEST = 64  # levels of objects and arrays. Decoders differ in where they give up, by version
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_TOKENS = re.compile(_STRING + rb"|(,)|([\[{](?:\s*+[\]}])?)|([\]}])", re.DOTALL)
_COMMA, _OPENED = 1, 2  # groups; a string is in none


class JsonTooLarge(ValueError):
    """Its text says what there is too much of, such as "more than 1,000 events"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonLimits:
    values: int  # objects, arrays, texts, numbers and so on, at all levels
    depth: int | None = DEEPEST  # None: only a decoder of known types reads it, which has its own
    items: int | None = None  # of an array; None: as many as there may be values
    called: str = "items"  # what such an array lists
    items_level: int = 1  # how deep such an array is: 1 is the document itself, 2 a field of it
    counts_fields: bool = False  # of objects, up to that level, as items too


def refuse_too_large(document: bytes, limits: JsonLimits) -> None:
    """Raises JsonTooLarge. The work is bounded by the limits, whatever the document contains."""
    opened = document.count(b"[") + document.count(b"{")
    commas = document.count(b",")
    if (
        (limits.depth is None or opened <= limits.depth)
        and (limits.items is None or commas < limits.items)
        and opened + commas < limits.values
    ):
        return  # most documents. What is inside strings counts here, too
    _count(document, limits)


def _count(document: bytes, limits: JsonLimits) -> None:
    """Values are the document itself, one behind each comma, and the first of each container."""
    level, values, strings = 0, 1, 0
    items = [0] * (limits.items_level + 1)  # in the array that is open at each level; 0: no array
    for token in _TOKENS.finditer(document):
        kind = token.lastindex
        if kind == _COMMA:
            values += 1
            if level <= limits.items_level and items[level]:
                items[level] += 1
                if limits.items is not None and items[level] > limits.items:
                    raise JsonTooLarge(f"more than {limits.items:,} {limits.called}")
        elif kind == _OPENED:
            if level == limits.depth:
                raise JsonTooLarge(f"objects or arrays nested more than {limits.depth} levels deep")
            if token.end() - token.start() > 1:  # empty, and closed again
                continue
            level += 1
            values += 1
            if level <= limits.items_level:
                items[level] = int(limits.counts_fields or document[token.start()] == 0x5B)
        elif kind is None:
            strings += 1  # without commas between them nothing else would count them
        else:
            level = max(0, level - 1)
        if values > limits.values or strings > 2 * limits.values:
            raise JsonTooLarge(f"more than {limits.values:,} values")
