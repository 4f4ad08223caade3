"""The text of one record -> its elements, whatever is wrong with it.

Most records are flat and well-formed, and are read by one regular expression. What that does not
account for in full goes to `tree`, which knows how feeds are broken.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from webloom.parsing.feeds.element import Element
from webloom.parsing.feeds.repairs import BAD_TAG
from webloom.parsing.feeds.tags import ATTRIBUTES, NAME, START, Tags
from webloom.parsing.feeds.tree import CDATA, Tree

# An element without elements in it; or, last, anything else that is not blank.
_FLAT = re.compile(
    rf"<({NAME})({ATTRIBUTES})\s*+(?:/>"
    r"|>([^<]*+)(?:(<!\[CDATA\[(?:[^\]]++|\](?!\]>))*+)\]\]>([^<]*+))?</\1\s*+>)"
    r"|(\S)"
)
_RECORDS_TO_LEARN_FROM = 20


class _Plain(NamedTuple):
    """The tags of a record without attributes."""

    start: str
    end: str
    name: str
    prefix: str


class Tokenizer:
    """Reads the records of one feed."""

    def __init__(self, tags: Tags) -> None:
        self._tags = tags
        self._fields: set[str] = set()  # names of the records' own children
        self._to_learn_from = _RECORDS_TO_LEARN_FROM
        self._plain: _Plain | None = None

    def parse(self, text: str) -> Element:
        """`text` begins with the record's start tag; its end tag may be missing."""
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        plain = self._plain
        if plain is not None and text.startswith(plain.start) and text.endswith(plain.end):
            record = Element(plain.name, plain.prefix)
            if self._read_flat(record, text[len(plain.start) : -len(plain.end)], text):
                return record
        start = START.match(text)
        if start is None:
            self._tags.repairs.note(BAD_TAG)
            return Element("")
        record, is_empty = self._tags.element(start, text)
        if is_empty:
            return record
        inner_end = text.rfind("</")
        if (
            text[inner_end + 2 :].rstrip("> \t\n") != start[1]
            or not self._read_flat(record, text[start.end() : inner_end], text)
        ):  # fmt: skip
            Tree(self._tags, record, start, self._fields).read()
        if self._to_learn_from:
            self._to_learn_from -= 1
            self._fields.update(child.name for child in record.children)
        elif plain is None and start[0] == f"<{start[1]}>":
            self._plain = _Plain(start[0], f"</{start[1]}>", record.name, record.prefix)
        return record

    def _read_flat(self, record: Element, inner: str, text: str) -> bool:
        """False: there is more to it, and nothing was done."""
        children: list[Element] = []
        to_resolve: list[tuple[Element, str, str, str]] = []
        to_read: list[tuple[Element, str]] = []
        sections = 0
        names = self._tags.names
        for name, attributes, before, cdata, after, other in _FLAT.findall(inner):
            if other:
                return False
            local, prefix = names.get(name) or self._tags.split(name, text)
            if cdata:
                sections += 1
                child = Element(local, prefix, before + cdata[9:] + after)
                if "&" in before or "&" in after:
                    to_resolve.append((child, before, cdata[9:], after))
            else:
                child = Element(local, prefix, before)
                if "&" in before:
                    to_resolve.append((child, before, "", ""))
            if attributes:
                to_read.append((child, attributes))
            children.append(child)
        if inner.count("]]>") != sections or (sections and inner.count(CDATA) != sections):
            return False
        resolve = self._tags.resolve
        for child, before, cdata, after in to_resolve:
            child.text = resolve(before)
            if cdata or after:
                child.text += cdata + (resolve(after) if after else "")
        for child, attributes in to_read:
            child.attributes = self._tags.attributes(attributes)
        record.children = children
        return True
