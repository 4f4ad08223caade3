"""Addresses in feeds."""

from __future__ import annotations

from urllib.parse import urljoin

from webloom.parsing.feeds.element import Record
from webloom.parsing.text_decoding import media_type

_PAGES = ("", "text/html", "application/xhtml+xml")


def joined(base: str, url: str) -> str:
    """Relative as long as both are."""
    try:
        return urljoin(base, url)
    except ValueError:  # a broken address, such as http://[
        return base


def alternate(record: Record) -> str | None:
    """The page that an Atom link of the record leads to: rel is alternate, or there is none."""
    best: str | None = None
    for link in record.all("link"):
        href = link.attributes.get("href", "").strip()
        rel = link.attributes.get("rel", "alternate").strip().lower()
        if not href or rel not in ("", "alternate"):
            continue
        href = joined(link.attributes.get("xml:base", "").strip(), href)
        if media_type(link.attributes.get("type")) in _PAGES:
            return href
        best = best or href
    return best
