"""OPML: the list of feeds that feed readers give to each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from itertools import islice
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from webloom.domain.errors import FeedUnreadable
from webloom.domain.tags import LONGEST_TAG, first_tags
from webloom.domain.tags import MOST_TAGS as MOST_TAGS_OF_ONE

MOST_FEEDS = 10_000
MOST_AMPERSANDS = 50 * MOST_FEEDS
MOST_BARE_AMPERSANDS = 2 * MOST_FEEDS
MOST_TAGS = 50 * MOST_FEEDS
MOST_LEVELS = 1000
MOST_ATTRIBUTES = 20_000
MOST_CATEGORIES = 5 * MOST_TAGS_OF_ONE  # of a feed that are looked at
LONGEST_CATEGORY = 2 * MOST_TAGS_OF_ONE * LONGEST_TAG

_LONG_TAG = re.compile(rb"<[^<]{65536,}")  # with the text behind it
_BARE_AMPERSAND = re.compile(rb"&(?!#?[A-Za-z0-9]{1,32};)")  # as in many a hand-written URL
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


PAGE_URLS = ("htmlurl", "url")


class Outline(NamedTuple):
    url: str  # as it is written
    name: str  # the URL, where there is none
    tags: tuple[str, ...] = ()


def read_opml(content: bytes, attributes: Sequence[str] = ("xmlurl",)) -> list[Outline]:
    """The feeds of all outlines, however nested, in order; one URL once. `attributes` may hold the
    URL, the first that is there.

    Raises FeedUnreadable with a sentence for the person who gave it.
    """
    return list(_found_in(content, attributes).outlines.values())


def read_feeds_and_count_pages(content: bytes) -> tuple[list[Outline], int]:
    """The second: outlines that have a page and no feed. Raises FeedUnreadable."""
    found = _found_in(content, ("xmlurl",))
    return list(found.outlines.values()), len(found.pages - found.outlines.keys())


def _found_in(content: bytes, attributes: Sequence[str]) -> _Found:
    _refuse_floods(content)
    found = _Found(attributes)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = found.refuse_dtd
    parser.StartElementHandler = found.begin
    parser.EndElementHandler = found.end
    try:
        parser.Parse(_with_ampersands(content.lstrip()), True)
    except expat.ExpatError as error:
        if not found.is_opml:
            raise FeedUnreadable("this is not OPML: it is not XML") from error
        problem = expat.errors.messages.get(error.code, "not XML")
        raise FeedUnreadable(f"the OPML is broken in line {error.lineno}: {problem}") from error
    except (LookupError, ValueError) as error:  # an unknown encoding
        raise FeedUnreadable(f"the OPML can't be read: {str(error)[:200]}") from error
    return found


def write_opml(feeds: Iterable[Outline], *, title: str, created: datetime) -> bytes:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<opml version="2.0">',
        f"<head><title>{escape(_clean(title))}</title>"
        f"<dateCreated>{format_datetime(created)}</dateCreated></head>",
        "<body>",
    ]
    for feed in feeds:
        name, url = quoteattr(_clean(feed.name)), quoteattr(_clean(feed.url))
        category = quoteattr(_clean(",".join(feed.tags)))
        tags = f" category={category}" if feed.tags else ""
        lines.append(f'<outline type="rss" text={name} title={name} xmlUrl={url}{tags}/>')
    return "\n".join([*lines, "</body>", "</opml>", ""]).encode()


class _Found:
    def __init__(self, attributes: Sequence[str]) -> None:
        self._attributes = attributes
        self._folders: list[tuple[str, ...]] = []  # of each level: the names of those around it
        self.is_opml = False
        self.outlines: dict[str, Outline] = {}
        self.pages: set[str] = set()  # of outlines without such a URL

    def refuse_dtd(self, *_: object) -> None:
        raise FeedUnreadable("the OPML has a DTD, which is refused: take the DOCTYPE out of it")

    def end(self, _: str) -> None:
        self._folders.pop()

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        folders = self._folders[-1] if self._folders else ()
        self._folders.append(folders)
        if len(self._folders) > MOST_LEVELS:
            raise FeedUnreadable(f"the OPML is nested more than {MOST_LEVELS:,} levels deep")
        if not self.is_opml:
            if name.lower() != "opml":
                raise FeedUnreadable(f"this is not OPML: it begins with <{name[:40]}>")
            self.is_opml = True
        if name.lower() != "outline":
            return
        given = {key.lower(): value.strip() for key, value in attributes.items()}
        url = _first(given, self._attributes)
        if not url and (page := _first(given, PAGE_URLS)):
            self.pages.add(page)
        title = given.get("title") or given.get("text")
        if not url and title and len(folders) < MOST_TAGS_OF_ONE:
            self._folders[-1] = (*folders, title[:LONGEST_CATEGORY])
        if not url or url in self.outlines:
            return
        if len(self.outlines) == MOST_FEEDS:
            raise FeedUnreadable(f"the OPML has more than {MOST_FEEDS:,} feeds: split it")
        name = " ".join((title or url).split())
        tags = _tags_in(given.get("category", ""), folders)
        self.outlines[url] = Outline(url, name, tags)


def _first(given: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((given[name] for name in names if given.get(name)), None)


def _tags_in(category: str, folders: Iterable[str]) -> tuple[str, ...]:
    """OPML separates categories by commas, and their levels by slashes. Feed readers have folders
    instead. What can't be a tag is left out."""
    pieces = category[:LONGEST_CATEGORY].split(",", MOST_CATEGORIES)[:MOST_CATEGORIES]
    names = (" ".join(name.replace(",", " ").split()) for name in folders)
    return tuple(first_tags((*(each.strip().strip("/") for each in pieces), *names)))


def _refuse_floods(content: bytes) -> None:
    """Input that is small to send, but takes minutes or a hundred times its size in memory to
    parse; counted before it is parsed."""
    if content.count(b"<") > MOST_TAGS:
        raise FeedUnreadable(f"the OPML has more than {MOST_TAGS:,} tags: split it")
    if content.count(b"&") > MOST_AMPERSANDS:
        raise FeedUnreadable(f"the OPML has more than {MOST_AMPERSANDS:,} ampersands: split it")
    bare = islice(_BARE_AMPERSAND.finditer(content), MOST_BARE_AMPERSANDS, None)
    if next(bare, None) is not None:
        raise FeedUnreadable(
            f"the OPML has more than {MOST_BARE_AMPERSANDS:,} ampersands that are not written as "
            "&amp;"
        )
    if any(tag[0].count(b"=") > MOST_ATTRIBUTES for tag in _LONG_TAG.finditer(content)):
        raise FeedUnreadable(f"the OPML has a tag of more than {MOST_ATTRIBUTES:,} attributes")


def _with_ampersands(content: bytes) -> bytes:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):  # UTF-16: an ampersand is another pair of bytes
        return content
    return _BARE_AMPERSAND.sub(b"&amp;", content)


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
