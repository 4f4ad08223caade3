"""The text of one record -> its elements, whatever is wrong with it.

Most records are flat and well-formed, and are read by one regular expression. What that does not
account for in full goes to `tree`, which knows how feeds are broken.

The records of a feed are mostly alike. Tags that came often enough in the same order become an
expression of their own, which takes a record apart in one step.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from webloom.parsing.feeds.element import Element, LaidOut
from webloom.parsing.feeds.memo import Frequent
from webloom.parsing.feeds.repairs import BAD_TAG
from webloom.parsing.feeds.tags import ATTRIBUTES, NAME, START, Tags
from webloom.parsing.feeds.tree import CDATA, Tree

# An element without elements in it; or, last, anything else that is not blank.
_FLAT = re.compile(
    rf"<({NAME})({ATTRIBUTES})\s*+(?:/>"
    r"|>([^<]*+)(?:(<!\[CDATA\[(?:[^\]]++|\](?!\]>))*+)\]\]>([^<]*+))?</\1\s*+>)"
    r"|(\S)"
)
_TEXT = r"([^<]*+)"
_SECTION = r"<!\[CDATA\[((?:[^\]]++|\](?!\]>))*+)\]\]>"
_RECORDS_TO_LEARN_FROM = 20
_MOST_LAYOUTS = 3
_MOST_FIELDS = 50  # of a layout
_LONGEST_COMPARED = 20_000  # characters of a record

_Shape = tuple[tuple[str, str, bool], ...]  # names and attributes as written; is it CDATA?


class _Plain(NamedTuple):
    """The tags of a record without attributes."""

    start: str
    end: str
    name: str
    prefix: str


class _Layout:
    """Of records with the same tags, each with text or one section of CDATA in it."""

    def __init__(self, plain: _Plain, shape: _Shape, tags: Tags) -> None:
        self._plain = plain
        self._fields = [(*tags.names[name], source) for name, source, _ in shape]
        self._tags = tags
        self.are_sections = [is_cdata for _, _, is_cdata in shape]
        self.sections = [at for at, (_, _, is_cdata) in enumerate(shape) if is_cdata]
        elements = [
            rf"<{re.escape(name + source)}>{_SECTION if is_cdata else _TEXT}</{re.escape(name)}>"
            for name, source, is_cdata in shape
        ]
        parts = [re.escape(plain.start), *elements, re.escape(plain.end)]
        self.whole = re.compile(r"\s*+".join(parts))

    def element(self, texts: list[str]) -> Element:
        record = Element(self._plain.name, self._plain.prefix)
        for (name, prefix, source), text in zip(self._fields, texts, strict=True):
            child = Element(name, prefix, text)
            if source:
                child.attributes = self._tags.attributes(source)
            record.children.append(child)
        return record


class Tokenizer:
    """Reads the records of one feed."""

    def __init__(self, tags: Tags) -> None:
        self._tags = tags
        self._fields: set[str] = set()  # names of the records' own children
        self._to_learn_from = _RECORDS_TO_LEARN_FROM
        self._plain: _Plain | None = None
        self._layouts: list[_Layout] = []
        self._shapes = Frequent()

    def parse(self, text: str) -> Element | LaidOut:
        """`text` begins with the record's start tag; its end tag may be missing."""
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        plain = self._plain
        if plain is not None and text.startswith(plain.start) and text.endswith(plain.end):
            for layout in self._layouts:
                if (laid_out := self._read_as(layout, text)) is not None:
                    return laid_out
            record = Element(plain.name, plain.prefix)
            if self._read_flat(record, text[len(plain.start) : -len(plain.end)], text):
                return record
        start = START.match(text)
        if start is None:
            self._tags.repairs.note(BAD_TAG)
            text = f"<{text[1:].lstrip()}"
            if (start := START.match(text)) is None:
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

    def _read_as(self, layout: _Layout, text: str) -> LaidOut | None:
        """None: it is not like that, and nothing was done."""
        found = layout.whole.fullmatch(text)
        if found is None or text.count("]]>") != len(layout.sections):
            return None
        texts = found.groups()
        for at in layout.sections:
            if CDATA in texts[at]:
                return None
        resolve = self._tags.resolve
        resolved = [
            text if is_section or "&" not in text else resolve(text)
            for is_section, text in zip(layout.are_sections, texts, strict=True)
        ]
        return LaidOut(layout, resolved, layout.element)

    def _compare(self, tokens: list[tuple[str, ...]]) -> None:
        """Of a record that no layout fits: is it one of many?"""
        if len(tokens) > _MOST_FIELDS or self._plain is None or len(self._layouts) == _MOST_LAYOUTS:
            return
        tags = self._tags
        shape = tuple((name, source, bool(cdata)) for name, source, _, cdata, _, _ in tokens)
        if self._shapes.came_often(shape) and all(
            name in tags.names and (not source or tags.knows(source)) for name, source, _ in shape
        ):
            self._layouts.append(_Layout(self._plain, shape, tags))

    def _read_flat(self, record: Element, inner: str, text: str) -> bool:
        """False: there is more to it, and nothing was done."""
        children: list[Element] = []
        to_resolve: list[tuple[Element, str, str, str]] = []
        to_read: list[tuple[Element, str]] = []
        sections = 0
        names = self._tags.names
        tokens = _FLAT.findall(inner)
        for name, attributes, before, cdata, after, other in tokens:
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
        if self._shapes.left and len(inner) <= _LONGEST_COMPARED:
            self._compare(tokens)
        resolve = self._tags.resolve
        for child, before, cdata, after in to_resolve:
            child.text = resolve(before)
            if cdata or after:
                child.text += cdata + (resolve(after) if after else "")
        for child, attributes in to_read:
            child.attributes = self._tags.attributes(attributes)
        record.children = children
        return True
