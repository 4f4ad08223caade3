"""Responses of watched pages.

Pages, versions, change logs and prices have the names of the messages on `storage-agent`; times
that are numbers there are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from webloom.diffs.pages import PageDiff
from webloom.domain.price import Availability
from webloom.domain.price_history import PriceCurve, PriceRecord, PriceSummary
from webloom.domain.watch import Outcome
from webloom.entrypoints.api.schemas import CountedPage, Page, Problem, filled
from webloom.entrypoints.api.watch_schemas import Amount
from webloom.parsing.reasons import plain_reasons
from webloom.ports.page_history import ChangeLog, Version
from webloom.ports.page_storage import Usage
from webloom.ports.pages import StoredPage
from webloom.ports.room import DatabaseSize


class PageResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """The latest that is known of a page."""

    watch_id: str = msgspec.field(name="jobId")
    url: str
    title: str | None
    price: Amount | None
    list_price: Amount | None
    currency: str | None
    availability: str | None
    classification: Mapping[str, Any] | None
    version: int | None
    snapshot_hash: str | None
    last_updated: int | None
    last_checked: datetime | None
    last_outcome: Outcome | None
    last_error: str | None
    # The content, only with jobId and url.
    text: str | msgspec.UnsetType | None = msgspec.UNSET
    metadata: Mapping[str, Any] | msgspec.UnsetType | None = msgspec.UNSET
    images: list[Any] | msgspec.UnsetType = msgspec.UNSET
    links: list[Any] | msgspec.UnsetType = msgspec.UNSET


class PagesPage(CountedPage[PageResponse]):
    """Pages, the latest updated first. With jobId and url: that one, with its content."""


class VersionResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """A version of a page."""

    watch_id: str = msgspec.field(name="jobId")
    url: str
    version: int
    snapshot_hash: str
    created_at: int
    bytes: int  # that it takes in the store
    expire_at: datetime | None  # null: it is the newest, and kept for good


class VersionDetail(VersionResponse, kw_only=True, rename="camel"):
    """A version with its content."""

    parsed: Mapping[str, Any]


class VersionsPage(Page[VersionResponse]):
    """Versions of a page, the newest first."""


class BothVersions(msgspec.Struct, kw_only=True):
    previous: int
    current: int


class PriceReason(msgspec.Struct, kw_only=True, rename="camel", tag_field="kind", tag="price"):
    """The price moved, or went below a limit."""

    previous: Amount | None  # null: there is none to compare with
    current: Amount
    currency: str | None
    change_percent: Amount | None
    below: Amount | None  # the limit of the watch, if the price went below it


class AvailabilityReason(msgspec.Struct, kw_only=True, tag_field="kind", tag="availability"):
    """The availability changed."""

    previous: Availability | None
    current: Availability


class TextReason(msgspec.Struct, kw_only=True, tag_field="kind", tag="text"):
    """Text was added that contains phrases of the watch."""

    phrases: list[str]


class PageReason(msgspec.Struct, kw_only=True, tag_field="kind", tag="page"):
    """Something else of the page changed."""


Reason = PriceReason | AvailabilityReason | TextReason | PageReason


class ChangeResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """What changed from one version to the next."""

    watch_id: str = msgspec.field(name="jobId")
    url: str
    changes: Mapping[str, Any]
    version: BothVersions
    timestamp: int
    run_id: str | None
    reasons: list[Reason]  # to notify people, as data; empty where their sender gave texts only
    alerts: list[str]  # the reasons in English, or the texts


class ChangesPage(Page[ChangeResponse]):
    """Changes, the latest first."""


class PriceResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """A price at one moment."""

    watch_id: str = msgspec.field(name="jobId")
    url: str
    price: Amount
    currency: str | None
    change_percent: Amount | None
    timestamp: int
    version: int | None


class PriceStatistics(msgspec.Struct, kw_only=True, rename="camel"):
    """Of the prices that are kept, in the latest currency."""

    records: int
    currency: str | None
    minimum: Amount
    maximum: Amount
    median: Amount
    last: PriceResponse
    last_change: PriceResponse | None
    lowest_90_days: PriceResponse  # the lowest price in force in the last 90 days


class PricesPage(Page[PriceResponse], kw_only=True):
    """Prices of a page, the latest first."""

    summary: PriceStatistics | None  # on the first page


class PricePoint(msgspec.Struct, kw_only=True, rename="camel"):
    """A price, in force until the next point."""

    timestamp: int
    price: Amount
    version: int | None


class PriceCurveResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """The prices of a page over time, in the latest currency."""

    currency: str | None
    records: int  # since the given time
    points: list[PricePoint]  # changes only, the oldest first
    is_thinned: bool


class VersionDiff(msgspec.Struct, kw_only=True, rename="camel"):
    """How two versions of a page differ."""

    watch_id: str = msgspec.field(name="jobId")
    url: str
    version: BothVersions
    diff: PageDiff


class EventsAccepted(msgspec.Struct, kw_only=True):
    """Events that are on the queue."""

    accepted: int


class EventsNotAccepted(Problem, kw_only=True, rename="camel"):
    """The queue is full: those that are not accepted have to be sent again."""

    accepted: int
    not_accepted: list[int]  # their places in what was sent, from 0


class CollectionUsage(msgspec.Struct, kw_only=True, rename="camel"):
    collection: str
    items: int
    bytes: int
    superseded_items: int
    superseded_bytes: int


class CollectionInDatabase(msgspec.Struct, kw_only=True, rename="camel"):
    name: str
    bytes: int
    is_ours: bool  # false: another program's


class DatabaseUsage(msgspec.Struct, kw_only=True, rename="camel"):
    """What the whole database takes."""

    bytes: int
    limit: int | None  # WEBLOOM_DATABASE_LIMIT
    full: str | None  # what is full and what to do about it
    collections: list[CollectionInDatabase]  # the largest first


class StorageResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """What the watched pages take, of what they may, and what the whole database does."""

    budget: int
    bytes: int
    superseded_bytes: int  # that pruning would free
    full: bool
    collections: list[CollectionUsage]
    database: DatabaseUsage


_CONTENT = ("text", "metadata", "images", "links")


def page_response(page: StoredPage) -> PageResponse:
    fields = (name for name in PageResponse.__struct_fields__ if name not in _CONTENT)
    return PageResponse(**{name: getattr(page, name) for name in fields})


def page_detail(page: StoredPage) -> PageResponse:
    """With its content."""
    content = {name: getattr(page, name) for name in _CONTENT}
    return msgspec.structs.replace(page_response(page), **content)


def version_response(version: Version) -> VersionResponse:
    return filled(VersionResponse, version, expire_at=version.expires_at)


def change_response(change: ChangeLog) -> ChangeResponse:
    both = BothVersions(previous=change.previous, current=change.current)
    return filled(
        ChangeResponse,
        change,
        version=both,
        reasons=msgspec.convert(plain_reasons(change.reasons), list[Reason]),
        alerts=change.sentences,
    )


def price_response(record: PriceRecord) -> PriceResponse:
    return filled(PriceResponse, record)


def price_statistics(summary: PriceSummary) -> PriceStatistics:
    change = summary.last_change
    return filled(
        PriceStatistics,
        summary,
        last=price_response(summary.last),
        last_change=None if change is None else price_response(change),
        lowest_90_days=price_response(summary.recent_minimum),
    )


def price_curve_response(curve: PriceCurve) -> PriceCurveResponse:
    return filled(
        PriceCurveResponse, curve, points=[filled(PricePoint, each) for each in curve.points]
    )


def storage_response(
    usage: list[Usage], size: DatabaseSize, *, budget: int, is_full: bool
) -> StorageResponse:
    return StorageResponse(
        budget=budget,
        bytes=sum(each.bytes for each in usage),
        superseded_bytes=sum(each.superseded_bytes for each in usage),
        full=is_full,
        collections=[filled(CollectionUsage, each) for each in usage],
        database=filled(
            DatabaseUsage,
            size,
            full=None if size.full is None else str(size.full),
            collections=[filled(CollectionInDatabase, each) for each in size.collections],
        ),
    )
