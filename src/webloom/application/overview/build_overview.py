"""What is going on in this installation, found out once for all who ask.

heartbeats, stores ----> Sampler: what was done in each minute --+
brokers ----> LookAtQueues: how deep and how quick they are -----+--> BuildOverview --> Overview
stores ----> StoredCounts: how much there is, what fails --------+    (troubles decides
                                                                      what is told)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from webloom.application.overview import sampler_counts as counted
from webloom.application.overview.caching import SingleFlight, probe
from webloom.application.overview.exhausted import exhausted
from webloom.application.overview.queue_states import LookAtQueues, QueueStates
from webloom.application.overview.room_for_feeds import no_room_for_feeds
from webloom.application.overview.sampler import Sampler
from webloom.application.overview.serving import unserved
from webloom.application.overview.snapshot import Down, QueueState, Snapshot
from webloom.application.overview.stored_counts import StoredCounts
from webloom.application.overview.troubles import Trouble, troubles
from webloom.domain.import_run import IMPORT_QUEUE, ImportRun
from webloom.domain.inventory import METADATA_QUEUE, Status
from webloom.domain.page import CHECK_QUEUE
from webloom.ports.clock import Clock
from webloom.ports.connection import Connected
from webloom.ports.heartbeats import ALIVE_SECONDS, Heartbeat, Heartbeats
from webloom.ports.imports import Imports
from webloom.ports.page_store import ChangeFilter, ChangeLog, PageStore
from webloom.ports.room import Room

SHARED_SECONDS = 1.0
SHOWN_CHANGES = 10
TOLD_CHANGES = ("textChanged", "price", "availability")
MOST_RUNNING = 100
WORKING = frozenset({"worker", "scheduler"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Minute:
    at: datetime  # its beginning
    done: int
    failed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Pipeline:
    queued: int | None  # messages that wait, delayed ones too; None: the broker does not answer
    in_flight: int | None  # None: the broker does not tell
    stored: int
    minutes: list[Minute]  # the last 60 that are known, the oldest first; the last one is going on

    @property
    def done_last_hour(self) -> int:
        return sum(minute.done for minute in self.minutes)

    @property
    def failed_last_hour(self) -> int:
        return sum(minute.failed for minute in self.minutes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Overview:
    at: datetime
    counted_since: datetime  # what was done before is not in the minutes
    inventory: Pipeline
    imports: Pipeline
    watch: Pipeline
    feeds: int
    watches: int
    running: list[ImportRun]  # the latest started first
    changes: list[ChangeLog]  # the latest, without the text that differs
    troubles: list[Trouble]


class BuildOverview:
    def __init__(
        self,
        *,
        sampler: Sampler,
        look_at_queues: LookAtQueues,
        stored: StoredCounts,
        heartbeats: Heartbeats,
        own_beat: Callable[[], Heartbeat],
        imports: Imports,
        pages: PageStore,
        clock: Clock,
        store_link: Connected,
        room: Room,
        storage_queue: str,
    ) -> None:
        self.sampler = sampler
        self._stored = stored
        self._heartbeats = heartbeats
        self._own_beat = own_beat
        self._imports = imports
        self._pages = pages
        self._clock = clock
        self._store_link = store_link
        self._room = room
        self._storage_queue = storage_queue
        self._queues = SingleFlight(look_at_queues.__call__, SHARED_SECONDS)
        self._overview = SingleFlight(self._compose, SHARED_SECONDS)
        self._running: list[ImportRun] = []  # when they were last known
        self._changes: list[ChangeLog] = []

    async def overview(self) -> Overview:
        """At most a second old. What can't be found out now is as it was last known."""
        return await self._overview.get()

    async def queues(self) -> list[QueueState]:
        """At most a second old."""
        return (await self._queues.get()).queues

    async def record_counts(self) -> dict[Status, int]:
        """A few seconds old; older where counting takes long."""
        counts = await self._stored.records()
        return {status: counts.get(status, 0) for status in Status}

    async def _compose(self) -> Overview:
        (
            (seen, problem),
            (running, _),
            (changes, _),
            (is_full, _),
            queues,
            stored,
        ) = await asyncio.gather(
            probe(self._heartbeats.seen(ALIVE_SECONDS)),
            probe(self._imports.runs.changed(None, limit=MOST_RUNNING)),
            probe(self._pages.change_logs(ChangeFilter(), limit=SHOWN_CHANGES)),
            probe(self._pages.is_full()),
            self._queues.get(),
            self._stored.get(),
        )
        if running is not None:
            self._running = sorted(running, key=lambda run: run.started_at, reverse=True)
        if changes is not None:
            self._changes = [_short(change) for change in changes[0]]
        beats = [each.heartbeat for each in seen or []]
        roles = frozenset(beat.role for beat in beats)
        if problem is None and not roles >= WORKING:  # or they live, and can't say so
            _, problem = await probe(self._heartbeats.beat(self._own_beat()))
        full = self._room.full
        snapshot = Snapshot(
            down=[*self._store_down(None if full else problem), *queues.down],
            full=full,
            roles=None if problem or full else roles,  # or they live, and can't write it down
            waiting=stored.waiting,
            queues=queues.queues,
            unserved=unserved([queue.name for queue in queues.queues], beats),
            is_full=bool(is_full),
            exhausted=exhausted(beats),
            imports_wait=no_room_for_feeds(beats),
            failing_feeds=stored.feeds.failing,
            failing_watches=stored.watches.failing,
            failed_pages=stored.failed_pages.count,
            are_more_failed_pages=stored.failed_pages.are_more,
        )
        return Overview(
            at=self._clock.now(),
            counted_since=self.sampler.counts.since,
            inventory=self._inventory(queues, beats, sum(stored.records.values())),
            imports=self._pipeline(counted.IMPORTS, [queues.of(IMPORT_QUEUE)], stored.postings),
            watch=self._pipeline(
                counted.WATCH,
                [queues.of(CHECK_QUEUE), queues.of(self._storage_queue)],
                stored.pages,
            ),
            feeds=len(stored.feeds.all),
            watches=stored.watches.counts.all,
            running=self._running,
            changes=self._changes,
            troubles=troubles(snapshot),
        )

    def _store_down(self, problem: str | None) -> list[Down]:
        if problem is None:
            return []
        link = self._store_link.connection()
        return [Down(name="store", kind=link.kind, address=link.address, reason=problem)]

    def _inventory(self, queues: QueueStates, beats: list[Heartbeat], stored: int) -> Pipeline:
        """Workers say themselves what they fetch, where the broker does not."""
        pipeline = self._pipeline(counted.INVENTORY, [queues.of(METADATA_QUEUE)], stored)
        if pipeline.in_flight is None and pipeline.queued is not None:
            return replace(pipeline, in_flight=sum(beat.in_flight for beat in beats))
        return pipeline

    def _pipeline(self, name: str, queues: list[QueueState], stored: int) -> Pipeline:
        now, counts = self._clock.now(), self.sampler.counts
        done = counts.minutes((name, counted.DONE), now)
        failed = counts.minutes((name, counted.FAILED), now)
        return Pipeline(
            queued=_sum([each for queue in queues for each in (queue.ready, queue.delayed)]),
            in_flight=_sum([queue.in_flight for queue in queues]),
            stored=stored,
            minutes=[
                Minute(at=at, done=well, failed=badly)
                for (at, well), (_, badly) in zip(done, failed, strict=True)
            ],
        )


def _short(change: ChangeLog) -> ChangeLog:
    """Without the text of its diff, which can be long."""
    told = {name: change.changes[name] for name in TOLD_CHANGES if name in change.changes}
    return replace(change, changes=told)


def _sum(counts: list[int | None]) -> int | None:
    """None: one of them is not known."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
