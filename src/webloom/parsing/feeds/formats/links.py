from __future__ import annotations

from webloom.parsing.feeds.element import Record
from webloom.parsing.feeds.urls import joined

_PAGES = ("", "text/html", "application/xhtml+xml")


def alternate(record: Record) -> str | None:
    """The page that an Atom link of the record leads to: rel is alternate, or there is none."""
    best: str | None = None
    for link in record.all("link"):
        href = link.attributes.get("href", "").strip()
        rel = link.attributes.get("rel", "alternate").strip().lower()
        if not href or rel not in ("", "alternate"):
            continue
        href = joined(link.attributes.get("xml:base", "").strip(), href)
        kind = link.attributes.get("type", "").partition(";")[0].strip().lower()
        if kind in _PAGES:
            return href
        best = best or href
    return best
