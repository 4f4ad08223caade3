"""Feed formats, one file each, and how one is chosen."""

from __future__ import annotations

from typing import Final

from webloom.domain.errors import FeedUnreadable
from webloom.domain.feed import AUTO
from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats import (
    adzuna,
    atom,
    careerjet,
    generic,
    indeed,
    jobfront,
    jobrapido,
    json_feed,
    linkedin,
    personio,
    remotive,
    rss,
    we_work_remotely,
    whatjobs,
    wp_job_manager,
    ziprecruiter,
)
from webloom.parsing.feeds.formats.format import Format

_ALL: Final = (
    rss.FORMAT,
    atom.FORMAT,
    json_feed.FORMAT,
    wp_job_manager.FORMAT,
    we_work_remotely.FORMAT,
    indeed.FORMAT,
    ziprecruiter.FORMAT,
    linkedin.FORMAT,
    adzuna.FORMAT,
    remotive.FORMAT,
    personio.FORMAT,
    careerjet.FORMAT,
    jobrapido.FORMAT,
    whatjobs.FORMAT,
    jobfront.FORMAT,
    generic.FORMAT,
)
BY_NAME: Final = {each.name: each for each in _ALL}
FORMATS: Final = {each.name: each.about for each in _ALL}  # what a person can choose

_NO_FEEDS: Final = {
    "html": "This is a web page, not a feed; look on the page for the feed's address.",
    "opml": "This is a list of feeds (OPML), not a feed; import the list instead.",
    "urlset": "This is a sitemap, not a feed.",
    "sitemapindex": "This is a sitemap, not a feed.",
    "svg": "This is an image, not a feed.",
    "error": "The server answered with an error document, not a feed.",
}


def check_format(name: str) -> None:
    """Raises ValueError with a sentence for the person who chose it."""
    if name != AUTO and name not in BY_NAME:
        raise ValueError(f"Unknown feed format {name!r}; choose {AUTO}, {', '.join(BY_NAME)}")


def detect(head: Head, wanted: str) -> Format:
    """`wanted` is auto or a format's name. Raises FeedUnreadable."""
    if wanted != AUTO:
        try:
            check_format(wanted)
        except ValueError as error:
            raise FeedUnreadable(str(error)) from None
        chosen = BY_NAME[wanted]
        return (generic.fitted(head) or chosen) if chosen is generic.FORMAT else chosen
    if head.root in _NO_FEEDS:
        raise FeedUnreadable(_NO_FEEDS[head.root])
    best = max(_ALL, key=lambda each: each.certainty(head))
    if best.certainty(head) > 0:
        return best
    fitted = generic.fitted(head)
    if fitted is None:
        raise FeedUnreadable(
            f"This XML does not look like a feed: nothing under its root {head.root!r} repeats and "
            "has a title; choose its format, or map its fields."
        )
    return fitted


__all__ = ["BY_NAME", "FORMATS", "Format", "check_format", "detect"]
