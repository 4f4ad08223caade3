"""A page as it is read, kept and sent to `storage-agent`."""

from __future__ import annotations

from typing import Any

import msgspec

from webloom.domain.page import Classification
from webloom.domain.price import Availability, Price


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
