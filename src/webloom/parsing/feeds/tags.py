"""Tags of a feed: their names, prefixes and attributes."""

from __future__ import annotations

import re
from collections.abc import Collection

from webloom.parsing.feeds.element import Element
from webloom.parsing.feeds.entities import References
from webloom.parsing.feeds.repairs import BAD_TAG, UNDECLARED_PREFIX, Repairs

NAME = r"[^\W\d][\w.:-]*+"
ATTRIBUTES = r"""(?:\s++[^\s=<>"'/]++\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'))*+"""
START = re.compile(
    rf"<({NAME})(?:({ATTRIBUTES})\s*+(/?)>"  # 1 name, 2 attributes, 3 is empty
    r"""|((?:\s++[\w.:-]++\s*+=\s*+(?:"[^"]*+"|'[^']*+'))++\s*+/?)>"""  # 4: with < in them
    r"|([\s/\"'][^<>]*+)>)"  # 5: in any disorder
)
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++)))?""")
_MOST_CACHED = 2000
_LONGEST_CACHED = 80


class Tags:
    """Of one feed. `prefixes` are those that are declared outside the records."""

    def __init__(self, repairs: Repairs, references: References, prefixes: Collection[str]) -> None:
        self.repairs = repairs
        self.resolve = references.resolve
        self.names: dict[str, tuple[str, str]] = {}  # as written: local name and prefix
        self._prefixes = {"", "xml", "xmlns", *prefixes}
        self._attributes: dict[str, dict[str, str]] = {}

    def element(self, start: re.Match[str], record: str) -> tuple[Element, bool]:
        """Of a match of START, and whether it is empty."""
        attributes, is_empty = start[2], bool(start[3])
        if attributes is None:
            self.repairs.note(BAD_TAG)
            attributes = start[4] or start[5]
            is_empty = attributes.endswith("/")
            attributes = attributes.removesuffix("/")
        local, prefix = self.names.get(start[1]) or self.split(start[1], record)
        element = Element(local, prefix)
        if attributes:
            element.attributes = self.attributes(attributes)
        return element, is_empty

    def split(self, name: str, record: str) -> tuple[str, str]:
        prefix, colon, local = name.lower().partition(":")
        if not colon:
            prefix, local = "", prefix
        if prefix not in self._prefixes:
            if f"xmlns:{prefix}=" in record.lower():  # declared within the record, and only there
                return local, prefix
            self._prefixes.add(prefix)
            self.repairs.note(UNDECLARED_PREFIX)
        if len(self.names) < _MOST_CACHED and len(name) < _LONGEST_CACHED:
            self.names[name] = (local, prefix)
        return local, prefix

    def knows(self, attributes: str) -> bool:
        """Whether they were read before, and nothing was wrong with them."""
        return attributes in self._attributes

    def attributes(self, source: str) -> dict[str, str]:
        known = self._attributes.get(source)
        if known is not None:
            return dict(known)
        attributes: dict[str, str] = {}
        needs_repair = "&" in source
        for found in _ATTRIBUTE.finditer(source):
            name = found[1].lower()
            if name in attributes:
                self.repairs.note(BAD_TAG)
                needs_repair = True
                continue
            value = (found[2] or found[3] or found[4] or "").replace("\n", " ").replace("\t", " ")
            attributes[name] = self.resolve(value) if "&" in value else value
        # Repairs are counted each time, so what needs one is read each time.
        if (
            not needs_repair
            and len(source) < _LONGEST_CACHED
            and len(self._attributes) < _MOST_CACHED
        ):
            self._attributes[source] = dict(attributes)
        return attributes
