"""Feeds for tests as bytes, the records read from them, and the work that this takes."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection

from steps import steps_of
from webloom.parsing.feeds.element import Element, LaidOut, Record
from webloom.parsing.feeds.records import Records
from webloom.parsing.feeds.scan import Unreadable
from webloom.parsing.feeds.unpacking import Unpacked

DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>\n'
OPENING = (
    b'<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">\n<channel>\n'
    b"<title>Jobs</title>\n<link>https://jobs.example/</link>\n"
)
CLOSING = b"</channel>\n</rss>\n"


class ReadRecords:
    """All records of a feed, those that could not be read, and the repairs."""

    def __init__(
        self,
        body: bytes,
        names: Collection[str] = ("item",),
        *,
        content_type: str | None = None,
        max_bytes: int = 1 << 30,
        largest: int = 1 << 24,
    ) -> None:
        source = Unpacked(io.BytesIO(body), max_bytes)
        self.records = Records(source, content_type=content_type, largest=largest)
        everything = list(self.records.read(names))
        self.items = [each for each in everything if isinstance(each, Element | LaidOut)]
        self.failures = [each for each in everything if isinstance(each, Unreadable)]
        self.repairs = dict(self.records.repairs)
        self.is_whole = self.records.is_whole

    def texts(self, name: str) -> list[str]:
        return [text_of(item, name) for item in self.items]


def text_of(item: Record, name: str) -> str:
    child = item.first(name)
    if child is None:
        return "(none)"
    return child.text if child.markup is None else child.markup


def item(number: int, *, title: bytes = b"", description: bytes = b"") -> bytes:
    title = title or b"Title %d" % number
    description = description or b"<![CDATA[<p>Text %d &amp; more</p>]]>" % number
    return (
        b"<item>\n<title>%b</title>\n<link>https://jobs.example/%d</link>\n"
        b"<dc:creator>Company %d</dc:creator>\n<description>%b</description>\n</item>\n"
        % (title, number, number, description)
    )


def feed(*items: bytes) -> bytes:
    return DECLARATION + OPENING + b"".join(items) + CLOSING


def feed_with(other: bytes, at: int = 50) -> bytes:
    """A hundred items, one of them another."""
    items = [item(number) for number in range(100)]
    items[at] = other
    return feed(*items)


def tree_of(element: Record) -> tuple[object, ...]:
    """As a value that can be compared."""
    return (
        element.prefix,
        element.name,
        element.attributes,
        element.text,
        element.markup if isinstance(element, Element) else None,
        [tree_of(child) for child in element.children],
    )


def growth(read: Callable[[bytes], object], small: bytes, large: bytes) -> float:
    """How many times as many steps the larger one takes."""
    read(large)  # compiles patterns, which is done once
    return steps_of(lambda: read(large)) / steps_of(lambda: read(small))
