"""A record of a feed as its markup has it, before anybody asks what it means."""

from __future__ import annotations

from collections.abc import Iterator

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
    layout: object = None  # of a record: the same one for all that have the same tags

    def all(self, name: str, prefix: str | None = None) -> Iterator[Element]:
        for child in self.children:
            if child.name == name and (prefix is None or child.prefix == prefix):
                yield child

    def first(self, name: str, prefix: str | None = None) -> Element | None:
        return next(self.all(name, prefix), None)


class Head:
    """The beginning of a feed: enough to recognise its format.

    A feed in JSON has the root "json"; its names are the keys of its first object and of its first
    record, in lower case, and its elements are the plain values beside the records.
    """

    __slots__ = ("attributes", "base", "elements", "names", "namespaces", "root")

    def __init__(self, root: str, namespaces: dict[str, str], names: list[str]) -> None:
        self.root = root  # lower case, without its prefix
        self.namespaces = namespaces  # by prefix, "" for the default one
        # Of the elements that begin in the first 64 KB, in order, root first; lower case, with
        # their prefix ("job_listing:company") where they have one.
        self.names = names
        # Elements outside the records with text only, of the same stretch (title, link, lang, ...),
        # by lower-case name with prefix: children of the root or of its `channel`.
        self.elements: dict[str, str] = {}
        # What relative links begin from, if the feed says it; it can be relative itself.
        self.base = ""
        self.attributes: dict[str, set[str]] = {}  # lower-case names by local name of their element
