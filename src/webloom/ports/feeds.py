from __future__ import annotations

from datetime import datetime
from typing import Protocol

from webloom.domain.feed import Feed, FeedConfig, UrlTaken
from webloom.domain.listing import BY_NAME, EVERYTHING, Count, ListFilter, Order
from webloom.domain.tags import TagCount


class Feeds(Protocol):
    """Where postings come from. Every write is idempotent and atomic for its feed.

    All verbs raise StoreUnavailable when the store can't be reached; nothing was changed then, or
    the same call can be made again.
    """

    async def add(
        self, feed_id: str, config: FeedConfig, *, next_run_at: datetime | None
    ) -> tuple[Feed, bool]:
        """The feed of that URL, and whether it is new. A feed that exists stays as it is; so does
        one that has moved to that URL."""

    async def find(self, feed_id: str) -> Feed | None: ...

    async def at_url(self, url: str) -> Feed | None:
        """By its normalised URL, or by the one that it has moved to."""

    async def all(self) -> list[Feed]:
        """Sorted by name."""

    async def page(
        self,
        chosen: ListFilter = EVERYTHING,
        *,
        limit: int,
        cursor: str | None = None,
        order: Order = BY_NAME,
    ) -> tuple[list[Feed], str | None]:
        """With the cursor of the next page in the same order. Raises BadCursor."""

    async def count_chosen(self, chosen: ListFilter, *, most: int) -> Count:
        """How many a filter finds; counting stops behind `most`."""

    async def tags(self) -> list[TagCount]:
        """As `counted_tags` has them."""

    async def edit(
        self,
        feed_id: str,
        config: FeedConfig,
        *,
        next_run_at: datetime | None,
        instead_of: FeedConfig | None = None,
    ) -> Feed | UrlTaken | None:
        """Replace what a person decides, as `decide_edit` says: its URL stays, and no other feed
        has the URL that it has moved to. Unless only its tags change, ETag, date and hash of the
        last fetch are removed, so that the next one reads the whole feed. None: unknown. With
        `instead_of`, raises EditOvertaken if what a person decides is something else by now."""

    async def remove(self, feed_id: str) -> bool:
        """Its runs and postings stay; a run in progress is asked to end. False: unknown."""

    async def due(self, now: datetime, *, limit: int) -> list[Feed]:
        """Feeds that are due and have no active run, the longest overdue first."""
