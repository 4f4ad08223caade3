"""A feed's record as its markup has it, before it is interpreted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import msgspec


class Element(msgspec.Struct, gc=False):  # made by the million, and never part of a cycle
    """Names are lower case, as some boards write theirs in any case. A prefix is kept as it is
    written: its URI is each site's own."""

    name: str  # without its prefix
    prefix: str = ""  # lower case too
    text: str = ""  # its own character data: entities resolved once, CDATA as it stands
    attributes: dict[str, str] = {}  # qualified lower-case names
    children: list[Element] = []
    markup: str | None = None  # what stands inside, where there are children

    def all(self, name: str, prefix: str | None = None) -> Iterator[Element]:
        for child in self.children:
            if child.name == name and (prefix is None or child.prefix == prefix):
                yield child

    def first(self, name: str, prefix: str | None = None) -> Element | None:
        return next(self.all(name, prefix), None)


class LaidOut(msgspec.Struct, gc=False):
    """A record with the same tags as many others. Its elements are built on first use, which is
    rare: `layout`, shared by all of these records, is enough to map their texts."""

    layout: object
    texts: list[str]  # of its elements
    make: Callable[[list[str]], Element]
    made: Element | None = None

    def _made(self) -> Element:
        if self.made is None:
            self.made = self.make(self.texts)
        return self.made

    @property
    def name(self) -> str:
        return self._made().name

    @property
    def prefix(self) -> str:
        return self._made().prefix

    @property
    def text(self) -> str:
        return ""

    @property
    def attributes(self) -> dict[str, str]:
        return {}

    @property
    def children(self) -> list[Element]:
        return self._made().children

    def all(self, name: str, prefix: str | None = None) -> Iterator[Element]:
        return self._made().all(name, prefix)

    def first(self, name: str, prefix: str | None = None) -> Element | None:
        return self._made().first(name, prefix)


Record = Element | LaidOut


@dataclass
class Head:
    """The beginning of a feed: enough to recognise its format.

    A feed in JSON has the root "json"; its names are the keys of its first object and of its first
    record, in lower case, and its elements are the plain values beside the records.
    """

    root: str  # lower case, without its prefix
    namespaces: dict[str, str]  # by prefix, "" for the default one
    # Of the elements that begin in the first 64 KB, in order, root first; lower case, with their
    # prefix ("job_listing:company") where they have one.
    names: list[str]
    # Elements outside the records with text only, of the same stretch (title, link, lang, ...), by
    # lower-case name with prefix: children of the root or of its `channel`.
    elements: dict[str, str] = field(default_factory=dict)
    base: str = ""  # of relative links, where the feed declares one; may be relative itself
    month_first: bool | None = None  # by dates that can be read in one way only
    # Lower-case names by local name of their element.
    attributes: dict[str, set[str]] = field(default_factory=dict)

    @cached_property
    def local_names(self) -> frozenset[str]:
        """Names without their prefixes; asked for when all are read."""
        return frozenset(name.rpartition(":")[2] for name in self.names)
