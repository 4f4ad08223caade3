"""Add, edit, pause and remove feeds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from webloom.application.editing import checking, due_after_edit, tags_after, until_in_time
from webloom.domain.errors import FeedBusy, FeedExists, FeedRefused
from webloom.domain.feed import AUTO, Feed, FeedConfig, UrlTaken, next_run
from webloom.domain.names import LONGEST_NAME, refuse_bad_name
from webloom.domain.schedule import LONGEST_MINUTES, SHORTEST_MINUTES
from webloom.domain.tags import checked_tags
from webloom.parsing.feeds.formats import FORMATS
from webloom.parsing.feeds.mapping import check_mapping
from webloom.ports.clock import Clock
from webloom.ports.feeds import Feeds


@dataclass(frozen=True, kw_only=True, slots=True)
class ManageFeeds:
    store: Feeds
    clock: Clock
    check: Callable[[str], str]  # a URL as given -> normalised; raises UrlRefused
    usual_minutes: float

    async def add(
        self, url: str, name: str | None = None, *, at_once: bool = False, **settings: Any
    ) -> tuple[Feed, bool]:
        """The feed of the URL, and whether it is new; an existing one stays unchanged.

        `settings` are fields of FeedConfig. The first scheduled run is one interval from now, or
        due `at_once`.
        Raises UrlRefused, FeedRefused, StoreUnavailable.
        """
        config = self.config(url, name, **settings)
        feed_id = feed_id_of(config.url)
        next_run_at = self._next_run(config)
        if at_once and next_run_at is not None:
            next_run_at = self.clock.now()
        return await self.store.add(feed_id, config, next_run_at=next_run_at)

    def config(self, url: str, name: str | None = None, **settings: Any) -> FeedConfig:
        """The checked settings of a new feed. Raises UrlRefused, FeedRefused."""
        normal = self.check(url)
        with checking("tags", FeedRefused):
            settings["tags"] = checked_tags(settings.get("tags", []))
        config = FeedConfig(url=normal, name=(name or "").strip() or normal, **settings)
        refuse_bad(config)
        return config

    async def known(self, config: FeedConfig) -> Feed | None:
        """The feed that `add` would find instead of adding one. Raises StoreUnavailable."""
        return await self.store.at_url(config.url) or await self.store.find(feed_id_of(config.url))

    @until_in_time
    async def edit(
        self,
        feed_id: str,
        *,
        url: str | None = None,
        next_run_at: datetime | None = None,
        **changes: Any,
    ) -> Feed | None:
        """None: there is no such feed. With `url`, the same feed is fetched from there. Where the
        next run moves, `next_run_at` is when it was due before, if that is to be restored. Raises
        UrlRefused, FeedRefused, FeedExists, FeedBusy, StoreUnavailable."""
        feed = await self.store.find(feed_id)
        if feed is None:
            return None
        if url is not None:
            changes |= _moved(feed.config, self.check(url), changes)
        if "tags" in changes:
            with checking("tags", FeedRefused):
                changes["tags"] = tags_after(changes["tags"], feed.config.tags)
        config = replace(feed.config, **changes)
        refuse_bad(config)
        if feed.active_run_id is not None and _reads_otherwise(feed.config, config):
            raise FeedBusy(
                f"{config.name} is being imported: wait until the run has ended, or cancel it, "
                "before its URL, format or mapping changes"
            )
        moved_to = feed.next_run_at
        timing = ("enabled", "interval_minutes", "fetch_url")
        if any(getattr(config, name) != getattr(feed.config, name) for name in timing):
            moved_to = self._next_run(config, before=next_run_at)
        edited = await self.store.edit(
            feed_id, config, next_run_at=moved_to, instead_of=feed.config
        )
        if isinstance(edited, UrlTaken):
            raise FeedExists(feed_id=edited.by.feed_id, name=edited.by.config.name)
        return edited

    async def remove(self, feed_id: str) -> bool:
        """False: there is no such feed. Its runs and postings stay; a run in progress is cancelled.
        Raises StoreUnavailable."""
        return await self.store.remove(feed_id)

    def _next_run(self, config: FeedConfig, before: datetime | None = None) -> datetime | None:
        due = partial(next_run, config, usual_minutes=self.usual_minutes)
        return due_after_edit(due, self.clock.now(), before=before)


def feed_id_of(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def refuse_bad(config: FeedConfig) -> None:
    """Raises FeedRefused."""
    with checking("name", FeedRefused):
        refuse_bad_name(config.name)
    if config.format != AUTO and config.format not in FORMATS:
        raise FeedRefused(
            f"format: {config.format[:40]!r} is not known; auto, or one of {', '.join(FORMATS)}"
        )
    minutes = config.interval_minutes
    if minutes is not None and not SHORTEST_MINUTES <= minutes <= LONGEST_MINUTES:
        raise FeedRefused(
            f"interval: {minutes:g} minutes; wants {SHORTEST_MINUTES:g} to {LONGEST_MINUTES:.0f}"
        )
    with checking("mapping", FeedRefused):
        check_mapping(config.mapping)


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
