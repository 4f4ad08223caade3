"""A record of a feed as its markup has it, before anybody asks what it means."""

from __future__ import annotations

from collections.abc import Iterator


class Element:
    """Names are lower case, as some boards write theirs in any case. A prefix is kept as it is
    written: its URI is each site's own."""

    __slots__ = ("attributes", "children", "markup", "name", "prefix", "text")

    def __init__(self, name: str, prefix: str = "") -> None:
        self.name = name  # without its prefix
        self.prefix = prefix
        self.attributes: dict[str, str] = {}  # qualified lower-case names
        self.children: list[Element] = []
        self.text = ""  # its own character data: entities resolved once, CDATA as it stands
        self.markup: str | None = None  # what stands inside, where there are children

    def all(self, name: str, prefix: str | None = None) -> Iterator[Element]:
        for child in self.children:
            if child.name == name and (prefix is None or child.prefix == prefix):
                yield child

    def first(self, name: str, prefix: str | None = None) -> Element | None:
        return next(self.all(name, prefix), None)


class Head:
    """The beginning of a feed: enough to recognise its format."""

    __slots__ = ("elements", "names", "namespaces", "root")

    def __init__(self, root: str, namespaces: dict[str, str], names: list[str]) -> None:
        self.root = root  # lower case, without its prefix
        self.namespaces = namespaces  # by prefix, "" for the default one
        self.names = names  # of the elements that begin in the first 64 KB, in order, root first
        # Elements outside the records with text only, of the same stretch (title, link, lang, ...)
        self.elements: dict[str, str] = {}
