from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime

from webloom.domain.errors import EditOvertaken
from webloom.domain.feed import Feed, FeedConfig, UrlTaken, decide_edit
from webloom.domain.import_transitions import FeedState, RunState, cancel, edited
from webloom.domain.listing import BY_NAME, EVERYTHING, Count, ListFilter, Order
from webloom.domain.tags import TagCount
from webloom.stores.primitives import Documents, Now, SortedItems


class StoredFeeds(ABC):
    """The port `Feeds`, without some queries, which a backend adds."""

    def __init__(
        self,
        documents: Documents[FeedState],
        runs: Documents[RunState],
        listed: SortedItems[FeedState],
    ) -> None:
        self._documents = documents
        self._runs = runs
        self._listed = listed

    @abstractmethod
    def _now(self) -> datetime: ...

    @abstractmethod
    async def _at(self, url: str) -> list[FeedState]:
        """The feed with that URL first, then those that have moved to it."""

    @abstractmethod
    async def insert(self, state: FeedState) -> bool:
        """False: there is a feed with its id or URL."""

    @abstractmethod
    async def replace(self, before: FeedState, after: FeedState) -> bool:
        """Write what an edit changes: a run may have changed the rest. False: the feed was edited
        meanwhile, or another one has its URL."""

    async def add(
        self, feed_id: str, config: FeedConfig, *, next_run_at: datetime | None
    ) -> tuple[Feed, bool]:
        now = self._now()
        feed = Feed(
            feed_id=feed_id, config=config, created_at=now, updated_at=now, next_run_at=next_run_at
        )
        is_new = False
        while True:
            if at_url := await self._at(config.url):
                return at_url[0].feed, is_new
            if (known := await self._state(feed_id)) is not None:
                return known.feed, False
            is_new = await self.insert(FeedState(feed=feed))

    async def find(self, feed_id: str) -> Feed | None:
        state = await self._state(feed_id)
        return None if state is None else state.feed

    async def at_url(self, url: str) -> Feed | None:
        found = await self._at(url)
        return found[0].feed if found else None

    async def page(
        self,
        chosen: ListFilter = EVERYTHING,
        *,
        limit: int,
        cursor: str | None = None,
        order: Order = BY_NAME,
    ) -> tuple[list[Feed], str | None]:
        found, following = await self._listed.page(chosen, order, limit=limit, cursor=cursor)
        return [each.feed for each in found], following

    async def count_chosen(self, chosen: ListFilter, *, most: int) -> Count:
        return await self._listed.count(chosen, most=most)

    async def tags(self) -> list[TagCount]:
        return await self._listed.tags()

    async def edit(
        self,
        feed_id: str,
        config: FeedConfig,
        *,
        next_run_at: datetime | None,
        instead_of: FeedConfig | None = None,
    ) -> Feed | UrlTaken | None:
        while True:
            state = await self._state(feed_id)
            if state is None:
                return None
            if instead_of not in (None, state.feed.config):
                raise EditOvertaken(f"{feed_id} was edited meanwhile")
            holders = await self._at(config.fetch_url)
            decided = decide_edit(state.feed, config, [each.feed for each in holders])
            if isinstance(decided, UrlTaken):
                return decided
            after = edited(state, decided, next_run_at=next_run_at, now=self._now())
            if await self.replace(state, after):
                return await self.find(feed_id)

    async def remove(self, feed_id: str) -> bool:
        """If this process dies in between, the claim of a run without a feed asks it to end."""
        [removed] = await self._documents.change(_remove, [(feed_id, None)])
        if removed is None:
            return False
        if (run_id := removed.feed.active_run_id) is not None:
            await self._runs.change(cancel, [(run_id, None)])
        return True

    async def _state(self, feed_id: str) -> FeedState | None:
        return (await self._documents.read([feed_id])).get(feed_id)


def _remove(
    feed: FeedState | None, event: None, now: Now
) -> tuple[FeedState | None, FeedState | None]:
    return None, feed
