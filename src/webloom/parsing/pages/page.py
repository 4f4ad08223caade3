"""A page as it is read, kept and sent to `storage-agent`."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from webloom.domain.page import Classification
from webloom.domain.price import Availability, Price


class Kind(StrEnum):
    HTML = "HTML"
    JSON = "JSON"
    XML = "XML"
    PLAIN = "plain text"


class FeedLink(msgspec.Struct, frozen=True, kw_only=True):
    """A feed that a page offers."""

    url: str
    title: str | None


class ParsedPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`metadata` has what the page says of itself, each only where it does: description,
    canonical, language, author, publishedAt, openGraph (name: value), jsonLd and microdata (lists
    of items), feeds (URLs), headings (texts)."""

    title: str | None = None
    text: str = ""  # what is selected, one block a line
    images: list[str] = []  # absolute URLs, each once, in the order of the page
    links: list[str] = []  # as images
    metadata: dict[str, Any] = {}


class PageReading(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    parsed: ParsedPage
    classification: Classification
    price: Price | None
    availability: Availability
    snapshot_hash: str  # of what a change is noticed by: text, price and availability
    kind: Kind = Kind.HTML
    feed_links: list[FeedLink] = []  # the first 10
    needs_javascript: str | None = None  # a sentence: why its text is not there
