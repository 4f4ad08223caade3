"""Watches: pages that are checked on a schedule, and notifications about them.

On the wire a watch is called a job: its id is `jobId`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from operator import add, sub
from typing import NamedTuple

from webloom.domain.errors import WatchRefused
from webloom.domain.page import Selection
from webloom.domain.schedule import NextMatch, Schedule, next_due
from webloom.domain.search import searchable

MOST_FAILURES = 100  # that a run shows; all are counted
EVENTS = "events"  # the trigger of runs that consist of other programs' events


class RunStatus(StrEnum):
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    PARTIAL = "partial"  # some pages could not be checked
    FAILED = "failed"  # none could


class Outcome(StrEnum):
    """The result for one page of a run."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """Which changes cause notifications. Nothing set: all."""

    text_contains: list[str] = field(default_factory=list)  # in added text, case-insensitive
    price_below: Decimal | None = None
    price_change_percent: Decimal | None = None  # minimum, up or down


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Where notifications go: an Apprise URL, or a webhook."""

    url: str
    secret: str | None = None  # signs webhook requests
    digest_minutes: float | None = None  # length of a digest; None: send after each run


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchConfig:
    """What a person decides about a watch."""

    name: str
    urls: list[str]  # normalised, each once
    schedule: Schedule
    enabled: bool = True  # False: checked on demand only
    selection: Selection = field(default_factory=Selection)
    thresholds: Thresholds = field(default_factory=Thresholds)
    targets: list[Target] = field(default_factory=list)
    accepts_events: bool = False  # also from other programs, for its pages
    tags: list[str] = field(default_factory=list)  # as `checked_tags` makes them

    @property
    def searchable(self) -> str:
        return searchable([self.name, *self.tags, *self.urls])


@dataclass(frozen=True, kw_only=True, slots=True)
class Metrics:
    """Totals over the runs of a watch: those that have ended, and those of events. They only
    grow."""

    pages_processed: int = 0
    changes: int = 0
    price_changes: int = 0

    def plus(self, other: Metrics) -> Metrics:
        return Metrics(
            pages_processed=self.pages_processed + other.pages_processed,
            changes=self.changes + other.changes,
            price_changes=self.price_changes + other.price_changes,
        )


class Begun(NamedTuple):
    """How a run began."""

    run_id: str
    trigger: str
    started_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    watch_id: str
    config: WatchConfig
    created_at: datetime
    updated_at: datetime
    next_run_at: datetime | None  # None: not scheduled
    active_run_id: str | None = None
    last_run_id: str | None = None
    last_status: RunStatus | None = None
    last_run_at: datetime | None = None
    failures: int = 0  # failed runs in a row
    metrics: Metrics = field(default_factory=Metrics)
    is_external: bool = False  # another program checks its pages and sends events: no schedule
    # The active run, until it is known to be stored too.
    begun: Begun | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFailure:
    url: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """Counts each page of a run once."""

    processed: int = 0  # with any outcome
    failed: int = 0
    changes: int = 0
    price_changes: int = 0

    @classmethod
    def of(cls, values: Iterable[int]) -> Tally:
        processed, failed, changes, price_changes = values
        return cls(processed=processed, failed=failed, changes=changes, price_changes=price_changes)

    @property
    def values(self) -> tuple[int, int, int, int]:
        return self.processed, self.failed, self.changes, self.price_changes

    def minus(self, other: Tally) -> Tally:
        return Tally.of(map(sub, self.values, other.values))

    def plus(self, other: Tally) -> Tally:
        return Tally.of(map(add, self.values, other.values))

    def grown(self, other: Tally) -> Tally:
        """Counters only grow, except that of failures: a page may be read at last."""
        return replace(Tally.of(map(max, self.values, other.values)), failed=other.failed)

    @property
    def metrics(self) -> Metrics:
        return Metrics(
            pages_processed=self.processed, changes=self.changes, price_changes=self.price_changes
        )


class LastRun(NamedTuple):
    """Of an external watch."""

    run_id: str
    status: RunStatus
    at: datetime  # of its latest event


class RunHead(NamedTuple):
    """What decides whether a run counts a page."""

    watch_id: str
    trigger: str
    status: RunStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchRun:
    run_id: str
    watch_id: str
    status: RunStatus
    trigger: str  # schedule, manual, or events for what other programs send
    started_at: datetime
    updated_at: datetime
    finished_at: datetime | None = None
    pages_total: int | None = None  # None: a run of events
    tally: Tally = field(default_factory=Tally)
    failures: list[PageFailure] = field(default_factory=list)

    @property
    def head(self) -> RunHead:
        return RunHead(self.watch_id, self.trigger, self.status)

    @property
    def duration(self) -> timedelta:
        return max(timedelta(), (self.finished_at or self.updated_at) - self.started_at)


def external_config(watch_id: str) -> WatchConfig:
    """For a watch that is created by the first event of another program's job."""
    return WatchConfig(name=watch_id, urls=[], schedule=Schedule(every_minutes=60.0), enabled=False)


def edited(
    watch: Watch, config: WatchConfig, *, now: datetime, next_run_at: datetime | None
) -> Watch:
    """The time of the next run changes only with `enabled` or the schedule."""
    old = watch.config
    if (config.enabled, config.schedule) == (old.enabled, old.schedule):
        next_run_at = watch.next_run_at
    return replace(watch, config=config, updated_at=now, next_run_at=next_run_at)


def external_watch(watch_id: str, now: datetime, metrics: Metrics) -> Watch:
    return Watch(
        watch_id=watch_id,
        config=external_config(watch_id),
        created_at=now,
        updated_at=now,
        next_run_at=None,
        metrics=metrics,
        is_external=True,
    )


def refuse_external(watch: Watch) -> None:
    """Raises WatchRefused where Webloom does not check the pages of a watch."""
    if watch.is_external:
        raise WatchRefused(
            f"{watch.config.name[:200]}: another program checks the pages of this watch and sends "
            "events; Webloom has nothing to check"
        )


def status_at_end(tally: Tally) -> RunStatus:
    if tally.failed == 0:
        return RunStatus.COMPLETED
    return RunStatus.FAILED if tally.failed == tally.processed else RunStatus.PARTIAL


def next_run(
    config: WatchConfig, *, now: datetime, failures: int, jitter: float, next_match: NextMatch
) -> datetime | None:
    """When a watch is due after a run that ended now (`next_due`); None: it is paused."""
    if not config.enabled:
        return None
    interval = config.schedule.next_after(now, next_match) - now
    return next_due(now, interval, failures=failures, jitter=jitter)
