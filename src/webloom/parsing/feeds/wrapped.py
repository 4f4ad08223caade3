"""A feed that is the text of another document -> the feed.

Some web services answer with `<string>&lt;jobs&gt;…`: XML or JSON as a program's text, which was
escaped, or put into CDATA, to stand in one element.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_LONGEST_REFERENCE = 8
_NAMED = {b"lt": b"<", b"gt": b">", b"amp": b"&", b"quot": b'"', b"apos": b"'"}
_REFERENCE = re.compile(rb"&(?:(lt|gt|amp|quot|apos)|#(\d{1,3})|#[xX]([0-9a-fA-F]{1,2}));")
_TAG = rb"<[A-Za-z_][\w.:-]*+(?:\s[^<>]*+)?(?<!/)>\s*+"
_LESS = rb"&(?:lt|#60|#x3c);"
_ROOT = rb"\?xml\s|(?:rss|feed|rdf:rdf|source|jobs)(?:\s|>|&gt;)"
# In the root alone, whatever it is; further down only what can't be a field of a record.
_WRAPPER = re.compile(
    rb"\s*+(?:<\?xml[^<>]*+>\s*+)?(?:"
    rb"%(tag)b(?:(?=%(less)b[?!A-Za-z])|(?=[\[{]\s*+(?:[\[{\"]|&quot;))|(<!\[CDATA\[)\s*+(?=[<\[{]))"
    rb"|(?:%(tag)b){2,8}(?:(?=%(less)b(?:%(root)b))|(<!\[CDATA\[)\s*+(?=<(?:%(root)b))))"
    % {b"tag": _TAG, b"less": _LESS, b"root": _ROOT},
    re.IGNORECASE,
)

Read = Callable[[int], bytes]


def unwrapped(head: bytes, read: Read) -> tuple[bytes, Read] | None:
    """Its beginning, and what reads on behind that; None: it is not such a document."""
    wrapper = _WRAPPER.match(head)
    if wrapper is None:
        return None
    inner = head[wrapper.end() :].lstrip()
    if wrapper[1] or wrapper[2]:
        return inner, read
    unescaper = _Unescaper(read)
    return unescaper.unescape(inner), unescaper.read


class _Unescaper:
    def __init__(self, read: Read) -> None:
        self._read = read
        self._cut = b""  # the beginning of a reference, perhaps

    def read(self, size: int) -> bytes:
        while piece := self._read(size):
            if unescaped := self.unescape(piece):
                return unescaped
        cut, self._cut = self._cut, b""
        return cut

    def unescape(self, piece: bytes) -> bytes:
        piece = self._cut + piece
        end = piece.rfind(b"&", -_LONGEST_REFERENCE)
        if end < 0 or b";" in piece[end:]:
            end = len(piece)
        self._cut = piece[end:]
        return _REFERENCE.sub(_character, piece[:end])


def _character(found: re.Match[bytes]) -> bytes:
    """Of ASCII; the others mean the same within the feed."""
    named, decimal, hexadecimal = found.groups()
    if named:
        return _NAMED[named]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return bytes([code]) if 32 <= code < 128 or code in (9, 10, 13) else found[0]
