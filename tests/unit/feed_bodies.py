"""Feeds for tests as bytes, the records read from them, and the work that this takes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from types import FrameType
from typing import Any

from webloom.parsing import feeds
from webloom.parsing.feeds.element import Element, LaidOut, Record
from webloom.parsing.feeds.records import Records, Unreadable
from webloom.parsing.feeds.unpacking import Unpacked

DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>\n'
OPENING = (
    b'<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">\n<channel>\n'
    b"<title>Jobs</title>\n<link>https://jobs.example/</link>\n"
)
CLOSING = b"</channel>\n</rss>\n"
_PARSER = str(Path(feeds.__file__).parent)


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
    """How many times the work the larger one takes. Work is counted in lines of the parser that
    run, so that it is the same on every machine."""
    read(small)  # what is compiled once is not counted
    return lines_run(lambda: read(large)) / lines_run(lambda: read(small))


def lines_run(action: Callable[[], object]) -> int:
    count = 0

    def line(_frame: FrameType, event: str, _value: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def call(frame: FrameType, _event: str, _value: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(_PARSER) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        action()
    finally:
        sys.settrace(before)
    return count
