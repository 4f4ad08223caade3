"""The addresses in a page: its images, its links, its feeds; absolute, each once, in its order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from webloom.domain.errors import UrlRefused
from webloom.parsing.html_tree.elements import Elements
from webloom.parsing.pages.page import FeedLink
from webloom.parsing.pages.page_text import one_line
from webloom.parsing.text_decoding import media_type
from webloom.parsing.web_url import MAX_URL_BYTES, join, normalise

_MAX_ADDRESSES: Final = 5000
_NOT_AN_ADDRESS: Final = re.compile(r"\s*(?:#|$|(?!https?:)[a-z][a-z0-9+.-]*:)", re.IGNORECASE)
_SAFE: Final = r"A-Za-z0-9\-_~!$&'()*+,;=:@/."
_ESCAPE: Final = "%[89A-F][0-9A-F]"  # of a letter that is not ASCII
# What is below the root, normal already, as in most links within a site.
_USUAL_PATH: Final = re.compile(
    rf"/(?!/)[{_SAFE}]*(?:{_ESCAPE}[{_SAFE}]*)*"
    rf"(?:\?[{_SAFE}?]*(?:{_ESCAPE}[{_SAFE}?]*)*)?"
)
_BESIDE: Final = re.compile(r"(?:\./)?([A-Za-z0-9_][A-Za-z0-9\-_~/.]*(?:\?[^\s#\\]*)?)")
_IGNORED_IN_URL: Final = str.maketrans("", "", "\t\n\r")
_LAZY: Final = ("data-src", "data-lazy-src", "data-original", "data-lazy", "data-image")
_SIZE: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)[wxh](?:,(.*))?")
_MAX_FEEDS: Final = 20
_MAX_FEED_LINKS: Final = 10
_MAX_FEED_TITLE: Final = 200
_MAX_SRCSET: Final = 20_000
_FEED_TYPES: Final = frozenset(
    ("application/rss+xml", "application/atom+xml", "application/feed+json", "text/xml")
)


class Base:
    """The base of a page's relative addresses. Caches those that are slow to resolve."""

    def __init__(self, tree: LexborHTMLParser, url: str) -> None:
        try:
            self._url = normalise(url)
        except UrlRefused:  # a file on disk, say: only absolute addresses can be read then
            self._url = ""
        self._root = _root_of(self._url)
        self._known: dict[str, str | None] = {}
        head = tree.head
        base = head.css_first("base[href]") if head is not None else None
        if base is not None and (address := self.absolute(base.attrs.sget("href"))):
            self._url, self._root = address, _root_of(address)
            self._known.clear()

    def absolute(self, address: str) -> str | None:
        """None for anything but a web address: a fragment, a script, data, garbage."""
        path = address.removeprefix(self._root)
        if _USUAL_PATH.fullmatch(path) and "/." not in path and self._root:
            address = self._root + path
            return address if len(address) <= MAX_URL_BYTES else None
        if address not in self._known:
            self._known[address] = self._absolute(address)
        return self._known[address]

    def _absolute(self, address: str) -> str | None:
        if _NOT_AN_ADDRESS.match(address):
            return None
        if self._url and (beside := _BESIDE.fullmatch(address)):  # in the same folder, or below it
            return self.absolute(self._url.partition("?")[0].rpartition("/")[0] + "/" + beside[1])
        try:
            address = address.translate(_IGNORED_IN_URL)
            if address.startswith(("https://", "http://")) and "#" not in address:
                return normalise(address)
            return join(self._url, address) if self._url else normalise(address)
        except UrlRefused:
            return None


def links_in(source: Elements | Iterable[LexborNode], base: Base) -> list[str]:
    addresses = dict.fromkeys([link.attrs.sget("href") for link in _found(source, "a", "area")])
    return _each_once(map(base.absolute, addresses))


def images_in(source: Elements | Iterable[LexborNode], base: Base) -> list[str]:
    """Of an image in several sizes, the largest."""
    return _each_once([_image(image.attributes, base) for image in _found(source, "img")])


def linked_of(elements: Elements, base: Base) -> tuple[str | None, list[str]]:
    """The page's canonical address, if it declares one, and those of its feeds."""
    canonical: str | None = None
    feeds: dict[str, None] = {}
    for link in elements.of("link")[:_MAX_ADDRESSES]:
        attributes = link.attributes
        if "href" not in attributes:
            continue
        relations = (attributes.get("rel") or "").lower().split()
        if "canonical" in relations:
            canonical = canonical or base.absolute(attributes.get("href") or "")
        elif "alternate" in relations and (address := _feed(attributes, base)):
            feeds[address] = None
    return canonical, list(feeds)[:_MAX_FEEDS]


def feed_links_of(elements: Elements, base: Base) -> list[FeedLink]:
    """The feeds of `linked_of` with their titles."""
    found: dict[str, FeedLink] = {}
    for link in elements.of("link")[:_MAX_ADDRESSES]:
        attributes = link.attributes
        if "alternate" in (attributes.get("rel") or "").lower().split():
            address = _feed(attributes, base)
            if address and address not in found:
                title = one_line((attributes.get("title") or "")[:_MAX_FEED_TITLE])
                found[address] = FeedLink(url=address, title=title or None)
    return list(found.values())[:_MAX_FEED_LINKS]


def _feed(attributes: dict[str, str | None], base: Base) -> str | None:
    is_feed = media_type(attributes.get("type")) in _FEED_TYPES
    return base.absolute(attributes.get("href") or "") if is_feed else None


def _found(source: Elements | Iterable[LexborNode], *tags: str) -> Iterable[LexborNode]:
    """In a whole page, or below some of its nodes."""
    if isinstance(source, Elements):
        return source.of(*tags)[:_MAX_ADDRESSES]
    return chain.from_iterable(node.css(", ".join(tags))[:_MAX_ADDRESSES] for node in source)


def _each_once(addresses: Iterable[str | None]) -> list[str]:
    return list(filter(None, dict.fromkeys(addresses)))[:_MAX_ADDRESSES]


def _root_of(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])


def _image(attributes: dict[str, str | None], base: Base) -> str | None:
    for name in ("srcset", "data-srcset"):
        if (sizes := attributes.get(name)) and (address := base.absolute(_largest(sizes))):
            return address
    for name in (*_LAZY, "src"):
        if (source := attributes.get(name)) and (address := base.absolute(source)):
            return address
    return None


def _largest(sizes: str) -> str:
    """Of `srcset`: addresses, each with its width or density after it, or with neither."""
    best, largest, address = "", 0.0, ""
    for word in sizes[:_MAX_SRCSET].split():
        size = _SIZE.fullmatch(word)
        if size is None:
            address = word.removesuffix(",")
            best = best or address
            continue
        if float(size[1]) > largest:
            best, largest = address, float(size[1])
        address = size[2] or ""
    return best
