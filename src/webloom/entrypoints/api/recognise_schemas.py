"""Requests and responses of POST /api/recognise."""

from __future__ import annotations

from typing import Literal

import msgspec

from webloom.application.recognise_address import FeedFound, PageFound, Recognised, Unreadable
from webloom.domain.feed import Feed
from webloom.domain.inventory import Status
from webloom.domain.page import Classification
from webloom.entrypoints.api.admin_schemas import PostingPreview, PreviewPrice, preview_price
from webloom.entrypoints.api.formats import Address
from webloom.entrypoints.api.import_schemas import FormatName
from webloom.entrypoints.api.schemas import filled
from webloom.parsing.pages.page import Kind

SAMPLE = 5  # postings of a feed


class RecogniseBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An address as a person types or pastes it."""

    address: Address


class KnownFeed(msgspec.Struct, kw_only=True, rename="camel"):
    feed_id: str
    name: str


class KnownWatch(msgspec.Struct, kw_only=True, rename="camel"):
    watch_id: str = msgspec.field(name="jobId")
    name: str


class KnownAddress(msgspec.Struct, kw_only=True):
    """What Webloom has of the address already, before and after redirects."""

    feed: KnownFeed | None
    watches: list[KnownWatch]  # that have checked it; the first 10
    record: Status | None  # of the inventory


class OfferedFeed(msgspec.Struct, kw_only=True):
    """A feed that a page links."""

    url: str
    title: str | None
    known: KnownFeed | None


class RecognisedFeed(msgspec.Struct, kw_only=True, rename="camel"):
    format: FormatName
    items: int  # that were read
    is_whole: bool  # it was read to its end
    failed: int  # items that would not become postings
    sample: list[PostingPreview]  # the first 5


class RecognisedPage(msgspec.Struct, kw_only=True, rename="camel"):
    """What a watch would see; a text that is not HTML too."""

    feeds: list[OfferedFeed]  # the first 10
    price: PreviewPrice | None
    availability: str
    classification: Classification
    needs_javascript: str | None  # a sentence: the text of this page appears only with JavaScript


class RecognisedAddress(msgspec.Struct, kw_only=True, rename="camel"):
    """What was found at an address; nothing is stored."""

    kind: Literal["feed", "page", "other"]
    url: str  # that it was served at, after redirects
    status_code: int
    title: str | None  # fit to be a name: one line, 200 characters at most
    feed: RecognisedFeed | None
    page: RecognisedPage | None
    problem: str | None  # why a check would fail, or why it can't be read
    known: KnownAddress


def recognised_response(recognised: Recognised) -> RecognisedAddress:
    kind: Literal["feed", "page", "other"] = "other"
    feed, page, problem = None, None, None
    match recognised.found:
        case FeedFound() as found:
            kind, feed = "feed", _feed(found)
        case PageFound() as found:
            kind = "page" if found.seen.reading.kind is Kind.HTML else "other"
            page, problem = _page(found), found.seen.problem
        case Unreadable(reason=reason):
            problem = reason
    known = recognised.known
    return RecognisedAddress(
        kind=kind,
        url=recognised.url,
        status_code=recognised.status_code,
        title=recognised.title,
        feed=feed,
        page=page,
        problem=problem,
        known=KnownAddress(
            feed=_known_feed(known.feed),
            watches=[
                KnownWatch(watch_id=each.watch_id, name=each.config.name) for each in known.watches
            ],
            record=known.record,
        ),
    )


def _feed(found: FeedFound) -> RecognisedFeed:
    sample = found.seen.postings[:SAMPLE]
    return filled(
        RecognisedFeed,
        found.last,
        items=found.last.fetched,
        sample=msgspec.convert(sample, list[PostingPreview], from_attributes=True),
    )


def _page(found: PageFound) -> RecognisedPage:
    reading = found.seen.reading
    return filled(
        RecognisedPage,
        reading,
        feeds=[
            OfferedFeed(url=link.url, title=link.title, known=_known_feed(feed))
            for link, feed in found.feeds
        ],
        price=preview_price(reading.price),
    )


def _known_feed(feed: Feed | None) -> KnownFeed | None:
    return None if feed is None else KnownFeed(feed_id=feed.feed_id, name=feed.config.name)
