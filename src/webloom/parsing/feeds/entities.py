"""References in character data -> what they stand for, once and exactly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.entities import html5

from webloom.parsing.feeds.repairs import (
    BAD_REFERENCE,
    BARE_AMPERSAND,
    HTML_ENTITY,
    UNKNOWN_ENTITY,
    Repairs,
)

# Every ampersand that does not begin one of XML's own five. Only a name that ends in a semicolon is
# one: `?a=1&copy=2` is a URL. The commonest count before a blank as well.
_OTHERS = re.compile(
    r"&(?!(?:lt|gt|amp|quot|apos);)"
    r"(?:#([0-9]{1,20});|#[xX]([0-9a-fA-F]{1,16});|([A-Za-z][A-Za-z0-9._-]{0,40});"
    r"|(amp|lt|gt|quot|nbsp)(?=\s|$))?"
)


class References:
    """`declared` are entities of the document's own; `any_declared`: it names a DTD elsewhere, so
    that HTML's entities are not a defect."""

    def __init__(
        self,
        repairs: Repairs,
        declared: Mapping[str, str] | None = None,
        any_declared: bool = False,
    ) -> None:
        self._repairs = repairs
        self._declared = declared or {}
        self._any_declared = any_declared
        self._has_halves = False  # of characters, as UTF-16 writes them: &#55357;&#56960;

    def resolve(self, text: str) -> str:
        """`text` has an ampersand."""
        text = _OTHERS.sub(self._escaped, text)
        if self._has_halves:
            self._has_halves = False
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
        return (
            text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", '"')
            .replace("&apos;", "'")
            .replace("&amp;", "&")
        )

    def _escaped(self, found: re.Match[str]) -> str:
        """What a reference stands for, with `&` still escaped."""
        decimal, hexadecimal, name, unended = found.groups()
        if unended is not None:
            self._repairs.note(BAD_REFERENCE)
            return "\u00a0" if unended == "nbsp" else f"&{unended};"
        if name is not None:
            return self._named(name)
        if decimal is None and hexadecimal is None:
            self._repairs.note(BARE_AMPERSAND)
            return "&amp;"
        code = int(decimal) if decimal else int(hexadecimal, 16)
        if 0xD800 <= code < 0xE000:
            self._repairs.note(BAD_REFERENCE)
            self._has_halves = True
            return chr(code)
        character = _character(code)
        if not character:
            self._repairs.note(BAD_REFERENCE)
        return "&amp;" if character == "&" else character

    def _named(self, name: str) -> str:
        value = self._declared.get(name)
        if value is None:
            value = html5.get(name + ";")
            if value is None:
                self._repairs.note(UNKNOWN_ENTITY)
                return f"&amp;{name};"
            if not self._any_declared:
                self._repairs.note(HTML_ENTITY)
        return value.replace("&", "&amp;")


def _character(code: int) -> str:
    """Those from 128 to 159 are meant as windows-1252, as in browsers. "" for no character."""
    if 128 <= code < 160:
        return bytes([code]).decode("cp1252", "ignore")
    if code < 32 and code not in (9, 10, 13):
        return ""
    if code in (0xFFFE, 0xFFFF) or code > 0x10FFFF:
        return ""
    return chr(code)
