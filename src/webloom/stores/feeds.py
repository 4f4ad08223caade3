from __future__ import annotations

from datetime import datetime
from typing import Protocol

from webloom.domain.feed import Feed, FeedConfig, UrlTaken, decide_edit
from webloom.domain.import_transitions import FeedState, RunState, cancel, edited
from webloom.stores.primitives import Documents, Now


class FeedQueries(Protocol):
    """What the backend looks up, and the writes that its URLs have to be unique for."""

    def now(self) -> datetime: ...

    async def at(self, url: str) -> list[FeedState]:
        """The feed with that URL first, then those that have moved to it."""

    async def all(self) -> list[Feed]:
        """Sorted by name and URL."""

    async def due(self, now: datetime, *, limit: int) -> list[Feed]: ...

    async def insert(self, state: FeedState) -> bool:
        """False: there is a feed with its id or URL."""

    async def replace(self, before: FeedState, after: FeedState) -> bool:
        """Write an edit. False: the feed was edited meanwhile, or another one has its URL."""


class StoredFeeds:
    """The port `Feeds`."""

    def __init__(
        self,
        documents: Documents[FeedState],
        queries: FeedQueries,
        runs: Documents[RunState],
    ) -> None:
        self._documents = documents
        self._queries = queries
        self._runs = runs

    async def add(
        self, feed_id: str, config: FeedConfig, *, next_run_at: datetime | None
    ) -> tuple[Feed, bool]:
        now = self._queries.now()
        feed = Feed(
            feed_id=feed_id, config=config, created_at=now, updated_at=now, next_run_at=next_run_at
        )
        is_new = False
        while True:
            if at_url := await self._queries.at(config.url):
                return at_url[0].feed, is_new
            if (known := await self._state(feed_id)) is not None:
                return known.feed, False
            is_new = await self._queries.insert(FeedState(feed=feed))

    async def find(self, feed_id: str) -> Feed | None:
        state = await self._state(feed_id)
        return None if state is None else state.feed

    async def at_url(self, url: str) -> Feed | None:
        found = await self._queries.at(url)
        return found[0].feed if found else None

    async def all(self) -> list[Feed]:
        return await self._queries.all()

    async def edit(
        self, feed_id: str, config: FeedConfig, *, next_run_at: datetime | None
    ) -> Feed | UrlTaken | None:
        while True:
            state = await self._state(feed_id)
            if state is None:
                return None
            holders = await self._queries.at(config.fetch_url)
            decided = decide_edit(state.feed, config, [each.feed for each in holders])
            if isinstance(decided, UrlTaken):
                return decided
            after = edited(state, decided, next_run_at=next_run_at, now=self._queries.now())
            if await self._queries.replace(state, after):
                return await self.find(feed_id)

    async def remove(self, feed_id: str) -> bool:
        """If this process dies in between, the claim of a run without a feed asks it to end."""
        [removed] = await self._documents.change(_remove, [(feed_id, None)])
        if removed is None:
            return False
        if (run_id := removed.feed.active_run_id) is not None:
            await self._runs.change(cancel, [(run_id, None)])
        return True

    async def due(self, now: datetime, *, limit: int) -> list[Feed]:
        return await self._queries.due(now, limit=limit)

    async def _state(self, feed_id: str) -> FeedState | None:
        return (await self._documents.read([feed_id])).get(feed_id)


def _remove(
    feed: FeedState | None, event: None, now: Now
) -> tuple[FeedState | None, FeedState | None]:
    return None, feed
