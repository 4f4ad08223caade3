"""Batches that come twice, workers that share, producers that are stopped: nothing counts twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import pairwise

import pytest

from faults.conftest import MakeFleet
from faults.database import DatabaseFile
from faults.import_room import BigFeed, Havoc, ImportRoom
from faults.processes import eventually_async
from faults.site import Site
from faults.stack import MakeStack, Say
from faults.test_import_killed import make_room
from topologies import FEED_AND_WATCH_KINDS
from webloom.bootstrap.services import Services
from webloom.bootstrap.use_cases import open_run_import
from webloom.domain.feed import Feed
from webloom.domain.import_run import Counts, ImportRun, RunStatus
from webloom.ports.broker import Broker, DeadLetter, Delivery, Message, QueueDepth
from webloom.ports.import_runs import RunFilter


class Twice:
    """A broker on which everything is delivered twice."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def publish(self, queue: str, message: Message, *, delay: float = 0.0) -> str:
        again = replace(message, id=f"{message.id}-again")
        for each in random.sample([message, again], 2):
            await self._broker.publish(queue, each, delay=delay)
        return message.id

    async def publish_many(self, queue: str, messages: Sequence[Message]) -> list[str | None]:
        raise NotImplementedError

    def deliveries(
        self, queue: str, slots: int
    ) -> AbstractAsyncContextManager[AsyncIterator[Delivery]]:
        return self._broker.deliveries(queue, slots)

    async def depth(self, queue: str) -> QueueDepth:
        return await self._broker.depth(queue)

    async def dead_letters(
        self, queue: str, *, limit: int, after: str | None = None
    ) -> list[DeadLetter]:
        return await self._broker.dead_letters(queue, limit=limit, after=after)

    async def put_back(self, queue: str, message_id: str) -> bool:
        return await self._broker.put_back(queue, message_id)

    async def discard(self, queue: str, message_id: str) -> bool:
        return await self._broker.discard(queue, message_id)


@pytest.mark.parametrize("kind", FEED_AND_WATCH_KINDS)
async def test_every_batch_delivered_twice_changes_nothing(
    kind: str, site: Site, fleets: MakeFleet, stacks: MakeStack, say: Say
) -> None:
    room = await make_room(kind, site, fleets, stacks, batch_size=50, import_queue_limit=1000)
    feed = BigFeed(jobs=list(range(5000)))
    site.page = feed.page
    for _ in range(2):
        await room.fleet.start("worker")
    async with room.services() as services, open_run_import(services) as run_import:
        carry_out = replace(run_import, broker=Twice(services.broker))
        for edition, expected in enumerate(
            (Counts(new=5000), Counts(updated=50, unchanged=4950), Counts(unchanged=4950, new=10))
        ):
            feed.edition, feed.changed = edition, frozenset(range(0, 5000, 100) if edition else ())
            if edition == 2:
                feed.edition = 1
                feed.jobs = list(range(50, 5010))
            run_id = await room.start_run(services)
            claim = await services.imports.runs.claim("test", lease=15, run_id=run_id)
            assert claim is not None
            run = await carry_out(claim)
            assert run is not None
            say(f"{run.status}: {run.counts}")
            assert (run.status, run.counts) == (RunStatus.COMPLETED, expected)
            assert run.processed_batches == run.total_batches
        assert await services.imports.postings.count() == (5010, 0)
    room.fleet.check()


@pytest.mark.parametrize("kind", FEED_AND_WATCH_KINDS)
async def test_what_changed_and_what_vanished_is_counted_right_though_processes_are_killed(
    kind: str, site: Site, fleets: MakeFleet, stacks: MakeStack, rng: random.Random, say: Say
) -> None:
    room = await make_room(kind, site, fleets, stacks, lease=2, import_queue_limit=20)
    feed = BigFeed(jobs=list(range(30_000)))
    site.page = feed.page
    havoc = Havoc(room, rng)
    async with room.services() as services:
        await havoc.begin("scheduler", "worker")
        first = await room.start_run(services, close_missing=True)
        assert (await room.ended(services, first)).counts == Counts(new=30_000)
        feed.edition, feed.changed = 1, frozenset(range(0, 30_000, 100))
        feed.jobs = list(range(500, 31_000))  # 500 have vanished, five of those had changed
        run_id = await room.start_run(services)

        await havoc.rage(4, lambda: room.is_over(services, run_id))
        run = await room.ended(services, run_id)
        await havoc.settle()
        say(f"killed {havoc.killed}; {run.counts}, {run.closed_jobs} closed")
        assert run.status is RunStatus.COMPLETED, run.error
        assert run.closed_jobs == 500
        await room.check(services, run, feed, Counts(new=1000, updated=295, unchanged=29_205))
        assert await services.imports.postings.count() == (30_500, 500)
    room.fleet.check()


async def test_a_producer_that_stood_still_finds_its_run_taken_over(
    site: Site, fleets: MakeFleet, say: Say
) -> None:
    """And writes nothing more into it."""
    room = ImportRoom(fleet=fleets(site, lease=3, import_queue_limit=5), site=site)
    feed = BigFeed(jobs=list(range(40_000)))
    site.page = feed.page
    async with room.services() as services:
        first = await room.fleet.start("scheduler")
        worker = await room.fleet.start("worker")
        run_id = await room.start_run(services)
        await under_way(services, run_id)
        DatabaseFile(room.fleet.database).stop(first)
        second = await room.fleet.start("scheduler")
        run = await room.ended(services, run_id)
        first.go_on()
        await first.said("a run was taken over")
        assert await services.imports.listed_runs.find(run_id) == run
        await room.check(services, run, feed, Counts(new=40_000))
        for process in (first, second, worker):
            process.told_to_end = True
            os.kill(process.pid, signal.SIGTERM)
        for process in (first, second, worker):
            assert await process.ended() == 0, process.output[-2000:]
    room.fleet.check()


async def test_a_stopped_scheduler_gives_its_run_to_the_next_one(
    site: Site, fleets: MakeFleet
) -> None:
    room = ImportRoom(fleet=fleets(site, lease=600, import_queue_limit=5), site=site)
    feed = BigFeed(jobs=list(range(40_000)))
    site.page = feed.page
    async with room.services() as services:
        scheduler = await room.fleet.start("scheduler")
        await room.fleet.start("worker")
        run_id = await room.start_run(services)
        await under_way(services, run_id)
        scheduler.told_to_end = True
        os.kill(scheduler.pid, signal.SIGTERM)
        assert await scheduler.ended() == 0
        still = await services.imports.listed_runs.find(run_id)
        assert still is not None
        assert still.status is RunStatus.RUNNING
        await room.fleet.start("scheduler")
        run = await room.ended(services, run_id)
        await room.check(services, run, feed, Counts(new=40_000))
        assert site.requests == 1, "the file in the spool is read on"
    room.fleet.check()


async def test_a_run_whose_feed_changed_after_its_producer_died_is_closed_and_tried_again(
    site: Site, fleets: MakeFleet
) -> None:
    room = ImportRoom(fleet=fleets(site, lease=3, import_queue_limit=5), site=site)
    feed = BigFeed(jobs=list(range(40_000)))
    site.page = feed.page
    async with room.services() as services:
        scheduler = await room.fleet.start("scheduler")
        await room.fleet.start("worker")
        feed_id = (await services.manage_feeds.add(room.url, "Big"))[0].feed_id
        started = await services.start_import(feed_id, "manual")
        assert started is not None
        await under_way(services, started.run.run_id)
        scheduler.kill()
        [spooled] = (room.fleet.data / "spool").glob("*.feed")
        spooled.unlink()
        feed.jobs = list(range(1000, 41_000))
        await room.fleet.start("scheduler")
        run = await room.ended(services, started.run.run_id)
        assert run.status is RunStatus.PARTIAL
        assert "the feed has changed since" in (run.error or "")
        assert run.counts.total == run.reading.fetched

        async def next_one() -> ImportRun | None:
            found: Feed | None = await services.imports.feeds.find(feed_id)
            assert found is not None
            if found.last_run_id == run.run_id or found.active_run_id or not found.last_run_id:
                return None
            return await services.imports.listed_runs.find(found.last_run_id)

        after = await eventually_async(next_one, what="the next run ends")
        assert after is not None
        assert (after.status, after.trigger) == (RunStatus.COMPLETED, "schedule")
        assert after.counts.new + after.counts.unchanged == 40_000
    room.fleet.check()


async def test_two_schedulers_start_one_run_for_each_feed_that_is_due(
    site: Site, fleets: MakeFleet, rng: random.Random, say: Say
) -> None:
    """One of them is killed in the middle of its ticks, again and again."""
    room = ImportRoom(fleet=fleets(site, lease=3, data=None), site=site)
    room.fleet.settings["IMPORT_INTERVAL_MINUTES"] = "0.05"
    site.page = BigFeed(jobs=list(range(100))).page
    async with room.services() as services:
        for number in range(20):
            await services.manage_feeds.add(site.url(f"/feed/{number}"), f"Feed {number}")
        havoc = Havoc(room, rng)
        await room.fleet.start("scheduler")
        await havoc.begin("scheduler", "worker")
        for _ in range(6):
            await asyncio.sleep(rng.uniform(0.3, 1.0))
            await havoc.kill("scheduler")

        async def all_ran_often() -> bool:
            feeds = await services.imports.feeds.all()
            pages = [
                await services.imports.listed_runs.page(_of(feed.config.url), offset=0, limit=100)
                for feed in feeds
            ]
            running = [sum(run.status is RunStatus.RUNNING for run in page.runs) for page in pages]
            assert max(running) <= 1, "two runs of one feed"
            return min(page.total for page in pages) >= 3

        await eventually_async(all_ran_often, what="every feed has run three times")
        await havoc.settle()
        for feed in await services.imports.feeds.all():
            page = await services.imports.listed_runs.page(
                _of(feed.config.url), offset=0, limit=100
            )
            done = [run for run in page.runs if run.status is not RunStatus.RUNNING]
            assert {run.status for run in done} == {RunStatus.COMPLETED}
            spans = sorted((run.started_at, run.finished_at) for run in done if run.finished_at)
            for (_, end), (begin, _) in pairwise(spans):
                assert end <= begin, "one run at a time"
        say(f"{site.requests} fetches")
    room.fleet.check()


def _of(url: str) -> RunFilter:
    return RunFilter(source_url=url)


async def under_way(services: Services, run_id: str) -> None:
    async def look() -> bool:
        run = await services.imports.listed_runs.find(run_id)
        return run is not None and run.processed_batches > 10

    await eventually_async(look, what="it is under way")
