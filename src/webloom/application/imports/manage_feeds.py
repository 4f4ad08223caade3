"""Add, edit, pause and remove feeds."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from webloom.domain.errors import FeedBusy, FeedExists, FeedRefused
from webloom.domain.feed import AUTO, Feed, FeedConfig, UrlTaken, next_run
from webloom.domain.schedule import LONGEST_MINUTES, SHORTEST_MINUTES
from webloom.jitter import jitter
from webloom.parsing.feeds.formats import FORMATS
from webloom.parsing.feeds.mapping import check_mapping
from webloom.ports.clock import Clock
from webloom.ports.feeds import Feeds

LONGEST_NAME = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class ManageFeeds:
    store: Feeds
    clock: Clock
    check: Callable[[str], str]  # a URL as given -> normalised; raises UrlRefused
    usual_minutes: float

    async def add(self, url: str, name: str | None = None, **settings: Any) -> tuple[Feed, bool]:
        """The feed of the URL, and whether it is new; an existing one stays unchanged.

        `settings` are fields of FeedConfig. The first scheduled run is one interval from now.
        Raises UrlRefused, FeedRefused, StoreUnavailable.
        """
        normal = self.check(url)
        config = FeedConfig(url=normal, name=(name or "").strip() or normal, **settings)
        refuse_bad(config)
        return await self.store.add(feed_id_of(normal), config, next_run_at=self._next_run(config))

    async def edit(self, feed_id: str, *, url: str | None = None, **changes: Any) -> Feed | None:
        """None: there is no such feed. With `url`, the same feed is fetched from there. Raises
        UrlRefused, FeedRefused, FeedExists, FeedBusy, StoreUnavailable."""
        feed = await self.store.find(feed_id)
        if feed is None:
            return None
        if url is not None:
            changes |= _moved(feed.config, self.check(url), changes)
        config = replace(feed.config, **changes)
        refuse_bad(config)
        if feed.active_run_id is not None and _reads_otherwise(feed.config, config):
            raise FeedBusy(
                f"{config.name} is being imported: wait until the run has ended, or cancel it, "
                "before its URL, format or mapping changes"
            )
        next_run_at = feed.next_run_at
        timing = ("enabled", "interval_minutes", "fetch_url")
        if any(getattr(config, name) != getattr(feed.config, name) for name in timing):
            next_run_at = self._next_run(config)
        edited = await self.store.edit(feed_id, config, next_run_at=next_run_at)
        if isinstance(edited, UrlTaken):
            raise FeedExists(feed_id=edited.by.feed_id, name=edited.by.config.name)
        return edited

    async def remove(self, feed_id: str) -> bool:
        """False: there is no such feed. Its runs and postings stay; a run in progress is cancelled.
        Raises StoreUnavailable."""
        return await self.store.remove(feed_id)

    def _next_run(self, config: FeedConfig) -> datetime | None:
        return next_run(
            config,
            now=self.clock.now(),
            usual_minutes=self.usual_minutes,
            failures=0,
            jitter=jitter(),
        )


def feed_id_of(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def refuse_bad(config: FeedConfig) -> None:
    """Raises FeedRefused."""
    if len(config.name) > LONGEST_NAME:
        raise FeedRefused(f"name: longer than {LONGEST_NAME} characters")
    if any(unicodedata.category(each) in ("Cc", "Cs") for each in config.name):
        raise FeedRefused("name: it contains a control character")
    if config.format != AUTO and config.format not in FORMATS:
        raise FeedRefused(
            f"format: {config.format[:40]!r} is not known; auto, or one of {', '.join(FORMATS)}"
        )
    minutes = config.interval_minutes
    if minutes is not None and not SHORTEST_MINUTES <= minutes <= LONGEST_MINUTES:
        raise FeedRefused(
            f"interval: {minutes:g} minutes; wants {SHORTEST_MINUTES:g} to {LONGEST_MINUTES:.0f}"
        )
    try:
        check_mapping(config.mapping)
    except ValueError as error:
        raise FeedRefused(f"mapping: {error}") from error


def _moved(config: FeedConfig, url: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """A feed that has its URL as its name gets the new URL as its name."""
    moved = {"moved_to": None if url == config.url else url}
    if config.name == config.fetch_url and "name" not in changes:
        moved["name"] = url[:LONGEST_NAME]
    return moved


def _reads_otherwise(one: FeedConfig, other: FeedConfig) -> bool:
    return (one.fetch_url, one.format, one.mapping) != (
        other.fetch_url,
        other.format,
        other.mapping,
    )
