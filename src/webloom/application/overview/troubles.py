"""What a person should see to, from what is known of an installation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Literal

from webloom.application.overview.missing_scheduler import Waiting, missing_scheduler
from webloom.application.overview.snapshot import Down, QueueState, Snapshot
from webloom.domain.feed import Feed
from webloom.domain.watch import Watch

MOST_OF_A_KIND = 10  # that are told one by one
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Trouble:
    level: Literal["error", "warning"]
    kind: Kind
    what: str  # one sentence
    subject: str = ""  # the queue's name; the id of a run or a watch
    remedy: str = ""  # what its cause says about it, one sentence


def troubles(snapshot: Snapshot) -> list[Trouble]:
    """The worst first."""
    found = [
        *_of_dependencies(snapshot.down),
        *_of_storage(snapshot),
        *_of_spool(snapshot),
        *_of_processes(snapshot.roles, snapshot.waiting),
        *_of_unserved(snapshot),
        *_of_resources(snapshot),
        *_of_queues(snapshot.queues),
        *_of_feeds(snapshot.failing_feeds),
        *_of_watches(snapshot.failing_watches),
        *_of_pages(snapshot),
    ]
    return sorted(found, key=lambda trouble: trouble.level != "error")


def _of_dependencies(down: Iterable[Down]) -> Iterator[Trouble]:
    for each in down:
        yield Trouble(
            level="error",
            kind=Kind.BACKEND_DOWN,
            what=f"The {each.name} ({each.kind} at {each.address}) can't be used: {each.reason}",
        )


def _of_processes(roles: frozenset[str] | None, waiting: Waiting) -> Iterator[Trouble]:
    if roles is None:
        return
    if "worker" not in roles:
        yield Trouble(
            level="error",
            kind=Kind.NO_WORKER,
            what="No worker is alive: nothing that waits on a queue is done.",
        )
    if "scheduler" not in roles:
        yield Trouble(
            level="error",
            kind=Kind.NO_SCHEDULER,
            what=missing_scheduler(waiting, roles)
            or "No scheduler is alive: no import and no check of a watch begins or ends.",
        )


def _of_unserved(snapshot: Snapshot) -> Iterator[Trouble]:
    """Of a queue that nobody uses, nobody needs to hear."""
    if snapshot.roles is None or "worker" not in snapshot.roles:  # then that is the trouble
        return
    for queue in snapshot.queues:
        if queue.ready and queue.name in snapshot.unserved:
            yield Trouble(
                level="error",
                kind=Kind.QUEUE_UNSERVED,
                what=f"No worker serves the queue {queue.name}; waiting there: "
                f"{_several(queue.ready, 'message')}.",
                subject=queue.name,
            )


def _of_storage(snapshot: Snapshot) -> Iterator[Trouble]:
    if snapshot.full is not None:
        what, _, advice = snapshot.full.partition(": ")
        yield Trouble(
            level="error",
            kind=Kind.DATABASE_FULL,
            what=f"The database is full, so that nothing new is stored: {what}.",
            remedy=f"{advice[:1].upper()}{advice[1:]}.",
        )
    if snapshot.is_full:
        yield Trouble(
            level="error",
            kind=Kind.BUDGET_USED_UP,
            what="The storage is full: nothing new is stored of watched pages.",
        )


def _of_resources(snapshot: Snapshot) -> Iterator[Trouble]:
    if snapshot.exhausted is not None:
        who, _, advice = snapshot.exhausted.rpartition(": ")
        yield Trouble(
            level="error",
            kind=Kind.RESOURCES_EXHAUSTED,
            what=f"A process waits for resources of its machine: {who}.",
            remedy=f"{advice[:1].upper()}{advice[1:]}; what waits goes on by itself.",
        )


def _of_spool(snapshot: Snapshot) -> Iterator[Trouble]:
    if snapshot.imports_wait is not None:
        yield Trouble(level="error", kind=Kind.SPOOL_FULL, what=snapshot.imports_wait)


def _of_queues(queues: Iterable[QueueState]) -> Iterator[Trouble]:
    for queue in queues:
        if queue.ready is not None and queue.ready >= queue.limit:
            yield Trouble(
                level="warning",
                kind=Kind.QUEUE_FULL,
                what=f"The queue {queue.name} is full: {queue.ready} messages wait.",
                subject=queue.name,
            )
        if queue.dead:
            yield Trouble(
                level="warning",
                kind=Kind.DEAD_LETTERS,
                what=f"The queue {queue.name} has {_several(queue.dead, 'dead letter')}.",
                subject=queue.name,
            )


def _of_feeds(feeds: Sequence[Feed]) -> Iterator[Trouble]:
    for feed in feeds[:MOST_OF_A_KIND]:
        reason = feed.last_error or "nothing of it could be stored"
        yield Trouble(
            level="warning",
            kind=Kind.FEED_FAILS,
            what=f"The last import of {feed.config.name} failed{_times(feed.failures)}: "
            f"{_shortened(reason)}",
            subject=feed.last_run_id or "",
        )
    if (more := len(feeds) - MOST_OF_A_KIND) > 0:
        yield Trouble(
            level="warning",
            kind=Kind.MORE_FEEDS_FAIL,
            what=f"The last import of {_several(more, 'more feed')} failed.",
        )


def _of_watches(watches: Sequence[Watch]) -> Iterator[Trouble]:
    for watch in watches[:MOST_OF_A_KIND]:
        yield Trouble(
            level="warning",
            kind=Kind.WATCH_FAILS,
            what=f"No page of the watch {watch.config.name} could be checked"
            f"{_times(watch.failures)}.",
            subject=watch.watch_id,
        )
    if (more := len(watches) - MOST_OF_A_KIND) > 0:
        yield Trouble(
            level="warning",
            kind=Kind.MORE_WATCHES_FAIL,
            what=f"Nor could any page of {_several(more, 'more watch', 'more watches')}.",
        )


def _of_pages(snapshot: Snapshot) -> Iterator[Trouble]:
    if snapshot.failed_pages:
        least = "At least " if snapshot.are_more_failed_pages else ""
        count = _several(snapshot.failed_pages, "watched page")
        yield Trouble(
            level="warning",
            kind=Kind.PAGES_FAIL,
            what=f"{least}{count} could not be checked the last time.",
        )


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
