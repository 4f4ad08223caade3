"""Start a run of a feed. The producer that claims it carries it out."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from webloom.application.started import Started, started
from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun
from webloom.domain.import_transitions import NewRun
from webloom.ports.clock import Clock
from webloom.ports.imports import Imports

MOST_AT_ONCE = 100  # feeds started by one poll


@dataclass(frozen=True, kw_only=True, slots=True)
class StartImport:
    store: Imports
    clock: Clock
    batch_size: int
    concurrency: int
    is_restoring: Callable[[], Awaitable[bool]]  # then no feed is due

    async def __call__(
        self,
        feed_id: str,
        trigger: str,
        *,
        retry_of: str | None = None,
        owner: str | None = None,
        lease: float = 0.0,
        due: datetime | None = None,
    ) -> Started[ImportRun] | None:
        """With an owner, that producer holds the run at once. None: there is no such feed, or it is
        not due by `due` (another scheduler was faster)."""
        run_id = uuid.uuid4().hex
        run = await self.store.runs.start(
            feed_id,
            NewRun(
                run_id=run_id,
                trigger=trigger,
                batch_size=self.batch_size,
                concurrency=self.concurrency,
                retry_of=retry_of,
                owner=owner,
                lease=lease,
                due=due,
            ),
        )
        return started(run, run_id)

    async def all_enabled(self) -> list[tuple[Feed, Started[ImportRun]]]:
        """Every feed that is not paused."""
        return await self._start(
            [feed for feed in await self.store.feeds.all() if feed.config.enabled], "manual"
        )

    async def due(self) -> list[tuple[Feed, Started[ImportRun]]]:
        """Every due feed. One that missed several runs runs once."""
        now = self.clock.now()
        feeds = await self.store.feeds.due(now, limit=MOST_AT_ONCE)
        if feeds and await self.is_restoring():  # looked at after the feeds, which it may have put
            return []
        return await self._start(feeds, "schedule", due=now)

    async def _start(
        self, feeds: list[Feed], trigger: str, *, due: datetime | None = None
    ) -> list[tuple[Feed, Started[ImportRun]]]:
        runs = []
        for feed in feeds:
            if (each := await self(feed.feed_id, trigger, due=due)) is not None:
                runs.append((feed, each))
        return runs
