from __future__ import annotations

from webloom.parsing.feeds.element import Element


def alternate(record: Element) -> str | None:
    """The page that an Atom link of the record leads to: rel is alternate, or there is none."""
    best: str | None = None
    for link in record.all("link"):
        href = link.attributes.get("href", "").strip()
        rel = link.attributes.get("rel", "alternate").strip().lower()
        if not href or rel not in ("", "alternate"):
            continue
        if link.attributes.get("type", "text/html") in ("text/html", "application/xhtml+xml"):
            return href
        best = best or href
    return best
