"""What needs a person's attention, derived from a snapshot of the installation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Literal

from webloom.application.overview.liveness import missing_scheduler
from webloom.application.overview.snapshot import QueueState, Snapshot
from webloom.domain.feed import Feed
from webloom.domain.watch import Watch

MOST_OF_A_KIND = 10  # that are listed one by one
LONGEST_REASON = 300  # characters


class Kind(StrEnum):
    BACKEND_DOWN = auto()
    NO_WORKER = auto()
    NO_SCHEDULER = auto()
    QUEUE_UNSERVED = auto()
    DATABASE_FULL = auto()
    BUDGET_USED_UP = auto()
    RESOURCES_EXHAUSTED = auto()
    SPOOL_FULL = auto()
    QUEUE_FULL = auto()
    DEAD_LETTERS = auto()
    FEED_FAILS = auto()
    MORE_FEEDS_FAIL = auto()
    WATCH_FAILS = auto()
    MORE_WATCHES_FAIL = auto()
    PAGES_FAIL = auto()


_WARNINGS = frozenset(
    {
        Kind.QUEUE_FULL,
        Kind.DEAD_LETTERS,
        Kind.FEED_FAILS,
        Kind.MORE_FEEDS_FAIL,
        Kind.WATCH_FAILS,
        Kind.MORE_WATCHES_FAIL,
        Kind.PAGES_FAIL,
    }
)


@dataclass(frozen=True, slots=True)
class Trouble:
    kind: Kind
    what: str  # one sentence
    subject: str = ""  # the queue's name; the id of a run or a watch
    remedy: str = ""  # one sentence, where the cause itself says what to do

    @property
    def level(self) -> Literal["error", "warning"]:
        return "warning" if self.kind in _WARNINGS else "error"


def troubles(snapshot: Snapshot) -> list[Trouble]:
    """Errors first."""
    found = [
        *_of_storage(snapshot),
        *_of_processes(snapshot),
        *_of_queues(snapshot.queues),
        *_of_feeds(snapshot.failing_feeds),
        *_of_watches(snapshot.failing_watches),
    ]
    if snapshot.failed_pages:
        least = "At least " if snapshot.are_more_failed_pages else ""
        count = _several(snapshot.failed_pages, "watched page")
        found.append(
            Trouble(Kind.PAGES_FAIL, f"{least}{count} could not be checked the last time.")
        )
    return sorted(found, key=lambda trouble: trouble.level != "error")


def _of_storage(snapshot: Snapshot) -> Iterator[Trouble]:
    for each in snapshot.down:
        where = f"The {each.name} ({each.kind} at {each.address})"
        yield Trouble(Kind.BACKEND_DOWN, f"{where} can't be used: {each.reason}")
    if snapshot.full is not None:
        what, _, advice = snapshot.full.partition(": ")
        yield Trouble(
            Kind.DATABASE_FULL,
            f"The database is full, so nothing new is stored: {what}.",
            remedy=f"{advice[:1].upper()}{advice[1:]}.",
        )
    if snapshot.is_full:
        yield Trouble(
            Kind.BUDGET_USED_UP, "The storage is full: nothing new is stored of watched pages."
        )
    if snapshot.imports_wait is not None:
        yield Trouble(Kind.SPOOL_FULL, snapshot.imports_wait)


def _of_processes(snapshot: Snapshot) -> Iterator[Trouble]:
    """An unserved queue matters only if something waits there. Without any worker, that is the
    trouble."""
    roles = snapshot.roles
    if roles is not None and "worker" not in roles:
        yield Trouble(Kind.NO_WORKER, "No worker is alive: nothing that waits on a queue is done.")
    if roles is not None and "scheduler" not in roles:
        yield Trouble(
            Kind.NO_SCHEDULER,
            missing_scheduler(snapshot.waiting, roles)
            or "No scheduler is running: no import and no check of a watch begins or ends.",
        )
    if roles is not None and "worker" in roles:
        for queue in snapshot.queues:
            if queue.ready and queue.name in snapshot.unserved:
                waiting = _several(queue.ready, "message")
                what = f"No worker serves the queue {queue.name}; waiting there: {waiting}."
                yield Trouble(Kind.QUEUE_UNSERVED, what, queue.name)
    if snapshot.exhausted is not None:
        who, _, advice = snapshot.exhausted.rpartition(": ")
        yield Trouble(
            Kind.RESOURCES_EXHAUSTED,
            f"A process waits for resources of its machine: {who}.",
            remedy=f"{advice[:1].upper()}{advice[1:]}; what waits goes on by itself.",
        )


def _of_queues(queues: Sequence[QueueState]) -> Iterator[Trouble]:
    for queue in queues:
        name = queue.name
        if queue.ready is not None and queue.ready >= queue.limit:
            what = f"The queue {name} is full: {queue.ready} messages wait."
            yield Trouble(Kind.QUEUE_FULL, what, name)
        if queue.dead:
            what = f"The queue {name} has {_several(queue.dead, 'dead letter')}."
            yield Trouble(Kind.DEAD_LETTERS, what, name)


def _of_feeds(feeds: Sequence[Feed]) -> Iterator[Trouble]:
    for feed in feeds[:MOST_OF_A_KIND]:
        reason = _shortened(feed.last_error or "nothing of it could be stored")
        what = f"The last import of {feed.config.name} failed{_times(feed.failures)}: {reason}"
        yield Trouble(Kind.FEED_FAILS, what, feed.last_run_id or "")
    if (more := len(feeds) - MOST_OF_A_KIND) > 0:
        what = f"The last import of {_several(more, 'more feed')} failed."
        yield Trouble(Kind.MORE_FEEDS_FAIL, what)


def _of_watches(watches: Sequence[Watch]) -> Iterator[Trouble]:
    for watch in watches[:MOST_OF_A_KIND]:
        name, times = watch.config.name, _times(watch.failures)
        what = f"No page of the watch {name} could be checked{times}."
        yield Trouble(Kind.WATCH_FAILS, what, watch.watch_id)
    if (more := len(watches) - MOST_OF_A_KIND) > 0:
        what = f"Nor could any page of {_several(more, 'more watch', 'more watches')}."
        yield Trouble(Kind.MORE_WATCHES_FAIL, what)


def _times(failures: int) -> str:
    return f", for the {_ordinal(failures)} time in a row" if failures > 1 else ""


def _ordinal(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    end = "th" if 10 < number % 100 < 14 else ends.get(number % 10, "th")
    return f"{number}{end}"


def _several(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}…"
