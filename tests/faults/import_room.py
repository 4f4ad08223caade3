"""An installation that imports one large feed, and what must be true of it when all is over."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from e2e.running import SAYS_WHEN_READY
from faults.processes import Fleet, Process, eventually_async
from faults.site import Page, Site
from servers.private import PrivateServer
from webloom.application.retrying import retry_until_available
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.errors import Unavailable
from webloom.domain.import_run import Counts, ImportRun, RunStatus
from webloom.parsing.job_posting import dedupe_key
from webloom.settings import load_settings

PATH = "/jobs.xml"
Kill = Callable[[], Awaitable[str]]


@dataclass(kw_only=True)
class BigFeed:
    """Jobs with ids; some say something new, some are listed twice, some lack their title."""

    jobs: list[int]
    edition: int = 0
    changed: frozenset[int] = frozenset()  # in this edition
    twice: frozenset[int] = frozenset()
    untitled: frozenset[int] = frozenset()

    def page(self, path: str, which: int) -> Page:
        head = '<?xml version="1.0"?><rss version="2.0"><channel><title>Big</title>'
        listed = [*self.jobs, *sorted(self.twice)]
        return Page(body=head + "".join(map(self._item, listed)) + "</channel></rss>")

    def _item(self, job: int) -> str:
        edition = self.edition if job in self.changed else 0
        title = "" if job in self.untitled else f"<title>Weaver {job}</title>"
        return (
            f"<item><guid>{job}</guid>{title}<link>https://jobs.example/{job}</link>"
            f"<description>Number {job}, edition {edition}: looms &amp; shuttles.</description>"
            "<pubDate>Tue, 03 Mar 2026 10:00:00 GMT</pubDate></item>\n"
        )

    @property
    def good(self) -> set[int]:
        return set(self.jobs) - self.untitled


@dataclass(kw_only=True)
class ImportRoom:
    fleet: Fleet
    site: Site
    servers: dict[str, PrivateServer] = field(default_factory=dict)  # store, broker

    @property
    def url(self) -> str:
        return self.site.url(PATH)

    @asynccontextmanager
    async def services(self) -> AsyncIterator[Services]:
        """As one more process of this installation."""
        async with open_services(load_settings(self.fleet.settings)) as services:
            yield services

    async def start_run(self, services: Services, **settings: Any) -> str:
        """A busy machine may answer late, and is asked again."""
        feed, _ = await retry_until_available(
            lambda: services.manage_feeds.add(self.url, "Big", enabled=False, **settings)
        )
        started = await retry_until_available(lambda: services.start_import(feed.feed_id, "manual"))
        assert started is not None
        return started.run.run_id

    async def under_way(self, services: Services, run_id: str) -> None:
        """Wait until batches of it are stored."""

        async def look() -> bool:
            run = await retry_until_available(lambda: services.imports.listed_runs.find(run_id))
            return run is not None and run.processed_batches > 0

        await eventually_async(look, what="batches are stored")
        assert not await self.is_over(services, run_id), "the import was over too soon"

    async def is_over(self, services: Services, run_id: str) -> bool:
        """As far as the store answers, which may have been killed."""
        try:
            run = await services.imports.listed_runs.find(run_id)
        except Unavailable:
            return False
        return run is not None and run.status is not RunStatus.RUNNING

    async def ended(self, services: Services, run_id: str) -> ImportRun:
        try:
            await eventually_async(
                lambda: self.is_over(services, run_id), what="the run ends", seconds=600
            )  # the whole test has less, unless it marks its load as large
        except AssertionError as late:
            run = await services.imports.listed_runs.find(run_id)
            raise AssertionError(f"{late}: {run}") from None
        run = await services.imports.listed_runs.find(run_id)
        assert run is not None
        return run

    async def keys(self, services: Services) -> list[str]:
        """Of every open posting."""
        found: list[str] = []
        while page := await services.imports.postings.open_keys(
            self.url, after=found[-1] if found else "", limit=10_000
        ):
            found += page
        return found

    async def check(
        self, services: Services, run: ImportRun, feed: BigFeed, expected: Counts
    ) -> None:
        """Every counter is right, and every posting is there once."""
        assert run.counts == expected, run
        assert run.reading.fetched == expected.total == len(feed.jobs) + len(feed.twice)
        assert run.processed_batches == run.total_batches
        keys = await self.keys(services)
        assert len(keys) == len(set(keys)) == len(feed.good)
        assert set(keys) == {dedupe_key(self.url, str(job), None) for job in feed.good}


class Havoc:
    """Keeps processes running and kills one of them, or a server, at random moments."""

    def __init__(self, room: ImportRoom, rng: random.Random) -> None:
        self.killed: list[str] = []
        self._room = room
        self._rng = rng
        self._processes: dict[str, Process] = {}

    async def begin(self, *roles: str) -> None:
        for role in roles:
            self._processes[role] = await self._room.fleet.start(role)

    async def kill(self, victim: str) -> None:
        self.killed.append(victim)
        if victim in self._processes:
            self._processes[victim].kill()
            await asyncio.sleep(self._rng.uniform(0.0, 0.5))
            self._processes[victim] = self._room.fleet.launch(victim)
            return
        server = self._room.servers[victim]
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(self._rng.uniform(0.0, 0.5))
        await asyncio.to_thread(server.restart)

    async def rage(self, times: int, is_over: Callable[[], Awaitable[bool]]) -> None:
        """So often, as long as it is not over; each victim in turn, in a random order."""
        victims = [*self._processes, *self._room.servers]
        turns: list[str] = []
        for _ in range(times):
            await asyncio.sleep(self._rng.uniform(0.2, 0.8))
            if await is_over():
                return
            turns = turns or self._rng.sample(victims, len(victims))
            await self.kill(turns.pop())

    async def settle(self) -> None:
        for process in self._processes.values():
            await process.said(SAYS_WHEN_READY[process.role])
