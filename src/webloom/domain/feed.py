"""Feeds: where postings come from, and when each is due."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from webloom.domain.import_run import RunStatus
from webloom.domain.schedule import next_due
from webloom.domain.search import searchable

AUTO = "auto"


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedConfig:
    """What a person decides about a feed."""

    url: str  # normalised and unique. The keys of its postings are derived from it: never changes
    name: str
    format: str = AUTO  # or the name of a format
    interval_minutes: float | None = None  # None: IMPORT_INTERVAL_MINUTES
    enabled: bool = True  # False: imported on demand only
    mapping: dict[str, str] = field(default_factory=dict)  # field of a posting: path in the item
    close_missing: bool = False  # the feed lists every open posting: close all others
    moved_to: str | None = None  # normalised; where it is fetched now. None: from its URL
    tags: list[str] = field(default_factory=list)  # as `checked_tags` makes them

    @property
    def fetch_url(self) -> str:
        return self.moved_to or self.url

    @property
    def searchable(self) -> str:
        return searchable([self.name, *self.tags, self.fetch_url, self.url])


@dataclass(frozen=True, kw_only=True, slots=True)
class LastFetch:
    """What makes the next fetch conditional. Only of a completed import."""

    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None  # sha256 of the body


@dataclass(frozen=True, kw_only=True, slots=True)
class Feed:
    feed_id: str
    config: FeedConfig
    created_at: datetime
    updated_at: datetime
    next_run_at: datetime | None  # None: not scheduled
    active_run_id: str | None = None
    last_run_id: str | None = None
    last_status: RunStatus | None = None
    last_error: str | None = None
    last_run_at: datetime | None = None
    failures: int = 0  # failed runs in a row
    last_fetch: LastFetch = field(default_factory=LastFetch)


@dataclass(frozen=True, kw_only=True, slots=True)
class UrlTaken:
    """A URL belongs to another feed."""

    by: Feed


def decide_edit(
    feed: Feed, config: FeedConfig, holders: Iterable[Feed] = ()
) -> FeedConfig | UrlTaken:
    """The settings of a feed after an edit to `config`.

    Its own URL stays; it can be fetched from another one that no other feed has. `holders` are the
    feeds that have the URL to fetch as either of their two.
    """
    moved_to = None if config.moved_to == feed.config.url else config.moved_to
    config = replace(config, url=feed.config.url, moved_to=moved_to)
    if config.fetch_url != feed.config.fetch_url:
        for holder in holders:
            if holder.feed_id != feed.feed_id:
                return UrlTaken(by=holder)
    return config


def failures_after(before: int, status: RunStatus, *, is_cancelled: bool) -> int:
    """Failed runs in a row. A cancelled run says nothing about its feed."""
    if is_cancelled:
        return before
    return before + 1 if status is RunStatus.FAILED else 0


def next_run(
    config: FeedConfig,
    *,
    now: datetime,
    usual_minutes: float,
    failures: int,
    jitter: float,
    retry_after: float | None = None,
) -> datetime | None:
    """When a feed is due after a run that ended now (`next_due`); None: it is paused."""
    if not config.enabled:
        return None
    interval = timedelta(minutes=config.interval_minutes or usual_minutes)
    return next_due(now, interval, failures=failures, jitter=jitter, retry_after=retry_after)
