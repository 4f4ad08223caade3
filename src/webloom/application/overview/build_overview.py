"""What is going on in this installation, built once for all concurrent callers.

heartbeats, stores ----> Sampler: what was done in each minute --+
stores, brokers ----> GatherFacts: what answers, and how --------+--> BuildOverview --> Overview
stores ----> StoredCounts: how much is stored, what fails -------+    (troubles.py decides
                                                                      what needs attention)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from webloom.application.overview import sampler_counts as counted
from webloom.application.overview.caching import SingleFlight, probe
from webloom.application.overview.facts import Facts, QueueState
from webloom.application.overview.gather_facts import Brokers, GatherFacts
from webloom.application.overview.sampler import Sampler
from webloom.application.overview.stored_counts import StoredCounts
from webloom.application.overview.troubles import Trouble, troubles
from webloom.domain.import_run import IMPORT_QUEUE, ImportRun
from webloom.domain.inventory import METADATA_QUEUE, Status
from webloom.domain.page import CHECK_QUEUE
from webloom.ports.clock import Clock
from webloom.ports.heartbeats import Heartbeat
from webloom.ports.imports import Imports
from webloom.ports.page_history import ChangeFilter, ChangeLog, PageHistory

SHARED_SECONDS = 1.0
RATE_MINUTES = 5
SHOWN_CHANGES = 10
SHOWN_FIELDS = ("textChanged", "price", "availability")
MOST_RUNNING = 100
WORKING = frozenset({"worker", "scheduler"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Minute:
    at: datetime  # its start
    done: int
    failed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Pipeline:
    queued: int | None  # ready and delayed messages; None: the broker does not answer
    in_flight: int | None  # None: the broker can't say
    stored: int
    minutes: list[Minute]  # the last 60 that are known, oldest first; the last is in progress

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
    running: list[ImportRun]  # latest start first
    changes: list[ChangeLog]  # the latest, without their text diffs
    troubles: list[Trouble]


@dataclass(kw_only=True, slots=True)
class BuildOverview:
    sampler: Sampler
    read_brokers: SingleFlight[Brokers]
    gather_facts: GatherFacts
    stored: StoredCounts
    own_beat: Callable[[], Heartbeat]
    imports: Imports
    page_history: PageHistory
    clock: Clock
    storage_queue: str
    _overview: SingleFlight[Overview] = field(init=False)
    _running: list[ImportRun] = field(init=False, default_factory=list)  # as last known
    _changes: list[ChangeLog] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._overview = SingleFlight(self._compose, SHARED_SECONDS)

    async def overview(self) -> Overview:
        """At most a second old. What can't be queried now is as it was last known."""
        return await self._overview.get()

    async def queues(self) -> list[QueueState]:
        """At most a second old."""
        now, counts = self.clock.now(), self.sampler.counts
        return [
            replace(
                queue,
                handled=[count for _, count in counts.minutes((counted.HANDLED, queue.name), now)],
                handled_per_minute=counts.rate((counted.HANDLED, queue.name), now, RATE_MINUTES),
            )
            for queue in (await self.read_brokers.get()).queues
        ]

    async def record_counts(self) -> dict[Status, int]:
        """A few seconds old; older where counting takes long."""
        counts = await self.stored.records()
        return {status: counts.get(status, 0) for status in Status}

    async def _compose(self) -> Overview:
        (running, _), (changes, _), facts, stored = await asyncio.gather(
            probe(self.imports.listed_runs.changed(None, limit=MOST_RUNNING)),
            probe(self.page_history.change_logs(ChangeFilter(), limit=SHOWN_CHANGES)),
            self.gather_facts(),
            self.stored.get(),
        )
        if running is not None:
            self._running = sorted(running, key=lambda run: run.started_at, reverse=True)
        if changes is not None:
            self._changes = [_short(change) for change in changes[0]]
        if facts.roles is not None and not facts.roles >= WORKING:  # alive but unable to write?
            facts = await self.gather_facts.after_writing(self.own_beat(), facts)
        facts = replace(
            facts,
            failing_feeds=[feed for feed in stored.feeds if feed.failures],
            failing_watches=stored.watches.failing,
            watch_errors=stored.watches.errors,
            failing_targets=stored.failing_targets.found,
            are_more_failing_targets=stored.failing_targets.are_more,
            notifying=stored.failing_targets.watches,
            failed_pages=len(stored.failed_pages.found),
            are_more_failed_pages=stored.failed_pages.are_more,
        )
        return Overview(
            at=self.clock.now(),
            counted_since=self.sampler.counts.since,
            inventory=self._inventory(facts, sum(stored.records.values())),
            imports=self._pipeline(counted.IMPORTS, facts, [IMPORT_QUEUE], stored.postings),
            watch=self._pipeline(
                counted.WATCH, facts, [CHECK_QUEUE, self.storage_queue], stored.pages
            ),
            feeds=len(stored.feeds),
            watches=stored.watches.counts.all,
            running=self._running,
            changes=self._changes,
            troubles=troubles(facts),
        )

    def _inventory(self, facts: Facts, stored: int) -> Pipeline:
        """Where the broker can't count what is in flight, the workers' own counts are summed."""
        pipeline = self._pipeline(counted.INVENTORY, facts, [METADATA_QUEUE], stored)
        if pipeline.in_flight is None and pipeline.queued is not None:
            return replace(pipeline, in_flight=sum(beat.in_flight for beat in facts.alive))
        return pipeline

    def _pipeline(self, name: str, facts: Facts, names: list[str], stored: int) -> Pipeline:
        now, counts = self.clock.now(), self.sampler.counts
        queues = [queue for queue in facts.queues if queue.name in names]
        done = counts.minutes((name, counted.DONE), now)
        failed = counts.minutes((name, counted.FAILED), now)
        return Pipeline(
            queued=_sum([each for queue in queues for each in (queue.ready, queue.delayed)]),
            in_flight=_sum([queue.in_flight for queue in queues]),
            stored=stored,
            minutes=[
                Minute(at=at, done=succeeded, failed=failures)
                for (at, succeeded), (_, failures) in zip(done, failed, strict=True)
            ],
        )


def _short(change: ChangeLog) -> ChangeLog:
    """Without its text diff, which can be long."""
    shown = {name: change.changes[name] for name in SHOWN_FIELDS if name in change.changes}
    return replace(change, changes=shown)


def _sum(counts: list[int | None]) -> int | None:
    """None if one of them is unknown."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
