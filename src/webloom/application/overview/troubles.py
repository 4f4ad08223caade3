"""What needs a person's attention, and how bad it is: decided from the facts, and worded once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Literal

from webloom.application.overview.distinct_names import Named, distinct_names
from webloom.application.overview.facts import Facts, QueueState, Waiting, unserved
from webloom.domain.errors import Exhausted
from webloom.domain.feed import Feed
from webloom.domain.shown import shown_time
from webloom.domain.watch import Watch
from webloom.parsing.target_url import shown_target
from webloom.ports.heartbeats import Heartbeat

MOST_OF_A_KIND = 10  # that are listed one by one
LONGEST_REASON = 300  # characters


class Kind(StrEnum):
    BACKEND_DOWN = auto()
    NO_WORKER = auto()
    NO_SCHEDULER = auto()
    QUEUE_UNSERVED = auto()
    DATABASE_FULL = auto()
    BUDGET_USED_UP = auto()
    RESTORE_RUNNING = auto()
    RESTORE_UNFINISHED = auto()
    RESOURCES_EXHAUSTED = auto()
    SPOOL_FULL = auto()
    QUEUE_FULL = auto()
    DEAD_LETTERS = auto()
    FEED_FAILS = auto()
    MORE_FEEDS_FAIL = auto()
    TARGET_FAILS = auto()
    MORE_TARGETS_FAIL = auto()
    WATCH_FAILS = auto()
    MORE_WATCHES_FAIL = auto()
    PAGES_FAIL = auto()


_WARNINGS = frozenset(
    {
        Kind.RESTORE_RUNNING,
        Kind.QUEUE_FULL,
        Kind.DEAD_LETTERS,
        Kind.FEED_FAILS,
        Kind.MORE_FEEDS_FAIL,
        Kind.TARGET_FAILS,
        Kind.MORE_TARGETS_FAIL,
        Kind.WATCH_FAILS,
        Kind.MORE_WATCHES_FAIL,
        Kind.PAGES_FAIL,
    }
)


@dataclass(frozen=True, slots=True)
class Trouble:
    kind: Kind
    what: str  # one sentence, which no other trouble has
    subject: str = ""  # the queue's name; the id of a run or a watch
    remedy: str = ""  # one sentence, where the cause itself says what to do

    @property
    def level(self) -> Literal["error", "warning"]:
        return "warning" if self.kind in _WARNINGS else "error"


def troubles(facts: Facts) -> list[Trouble]:
    """Errors first."""
    found = [
        *_of_storage(facts),
        *_of_processes(facts),
        *_of_queues(facts.queues),
        *_of_feeds(facts.failing_feeds),
        *_of_watches(facts.failing_watches, facts.watch_errors),
        *_of_targets(facts),
    ]
    if facts.failed_pages:
        least = "At least " if facts.are_more_failed_pages else ""
        count = _several(facts.failed_pages, "watched page")
        found.append(
            Trouble(Kind.PAGES_FAIL, f"{least}{count} could not be checked the last time.")
        )
    return sorted(found, key=lambda trouble: trouble.level != "error")


def status(facts: Facts, *, needs_store: bool) -> Literal["ok", "degraded", "down"]:
    """`down`: no URL can be accepted. A missing scheduler matters once something waits for it."""
    is_store_down = facts.store.problem is not None or facts.full is not None
    if not facts.brokers[0].answers or (is_store_down and needs_store):
        return "down"
    errors = {each.kind for each in troubles(facts) if each.level == "error"}
    if facts.waiting == Waiting():
        errors.discard(Kind.NO_SCHEDULER)
    return "degraded" if errors else "ok"


def missing_scheduler(facts: Facts) -> str | None:
    """A sentence if something waits for a scheduler and none is alive."""
    roles, waiting = facts.roles, facts.waiting
    if roles is None or "scheduler" in roles or waiting == Waiting():
        return None
    names = [
        _several(count, *words)
        for count, *words in ((waiting.feeds, "feed"), (waiting.watches, "watch", "watches"))
        if count
    ]
    wait = "waits" if waiting.feeds + waiting.watches == 1 else "wait"
    return (
        f"No scheduler is running, and {' and '.join(names)} {wait} for one: "
        "imports and checks neither start nor finish."
    )


def exhausted(alive: Iterable[Heartbeat]) -> Exhausted | None:
    """Resources that processes wait for. The same shortage is listed once, however many processes
    report it."""
    reported = {beat.exhausted: beat for beat in alive if beat.exhausted}
    if not reported:
        return None
    what = [f"{beat.role} {beat.pid} on {beat.host}: {why}" for why, beat in reported.items()]
    remedies = [beat.remedy for beat in reported.values() if beat.remedy]
    return Exhausted("; ".join(what), "; ".join(remedies) or "see its log")


def no_room_for_feeds(alive: Iterable[Heartbeat]) -> str | None:
    """A sentence about the first process whose imports wait for disk space."""
    for beat in alive:
        if beat.imports_wait is not None:
            return f"Imports wait for room: on {beat.host}, {beat.imports_wait}."
    return None


def _of_storage(facts: Facts) -> Iterator[Trouble]:
    for each in (facts.store, *facts.brokers):
        if each.problem is not None and (each is not facts.store or facts.full is None):
            where = f"The {each.name} ({each.connection.kind} at {each.connection.address})"
            yield Trouble(Kind.BACKEND_DOWN, f"{where} can't be used: {each.problem}")
    if facts.full is not None:
        yield Trouble(
            Kind.DATABASE_FULL,
            f"The database is full, so nothing new is stored: {facts.full.what}.",
            remedy=f"{_capital(facts.full.remedy)}.",
        )
    if facts.is_full:
        yield Trouble(
            Kind.BUDGET_USED_UP, "The storage is full: nothing new is stored of watched pages."
        )
    if facts.restore is not None:
        what = f"The restore of a backup, begun at {shown_time(facts.restore.at)}, "
        if facts.is_restoring:
            what += "goes on: until it ends, nothing scheduled starts."
            yield Trouble(Kind.RESTORE_RUNNING, what)
        else:
            what += "has not ended: nothing scheduled starts."
            yield Trouble(Kind.RESTORE_UNFINISHED, what)
    if waiting := no_room_for_feeds(facts.alive):
        yield Trouble(Kind.SPOOL_FULL, waiting)


def _of_processes(facts: Facts) -> Iterator[Trouble]:
    """An unserved queue matters only if something waits there. Without any worker, that is the
    trouble."""
    roles = facts.roles
    if roles is not None and "worker" not in roles:
        yield Trouble(Kind.NO_WORKER, "No worker is alive: nothing that waits on a queue is done.")
    if roles is not None and "scheduler" not in roles:
        yield Trouble(
            Kind.NO_SCHEDULER,
            missing_scheduler(facts)
            or "No scheduler is running: imports and checks of watches neither start nor finish.",
        )
    if roles is not None and "worker" in roles:
        for queue in facts.queues:
            if queue.ready and unserved([queue.name], facts.alive):
                waiting = _several(queue.ready, "message")
                what = f"No worker serves the queue {queue.name}; waiting there: {waiting}."
                yield Trouble(Kind.QUEUE_UNSERVED, what, queue.name)
    if missing := exhausted(facts.alive):
        yield Trouble(
            Kind.RESOURCES_EXHAUSTED,
            f"A process waits for resources of its machine: {missing.what}.",
            remedy=_capital(f"{missing.remedy}; what waits continues by itself."),
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
    listed = feeds[:MOST_OF_A_KIND]
    names = distinct_names(
        [Named(each.config.name, each.config.fetch_url, each.feed_id) for each in listed]
    )
    for feed, name in zip(listed, names, strict=True):
        reason = _shortened(feed.last_error or "nothing of it could be stored")
        what = f"The last import of {name} failed{_times(feed.failures)}: {reason}"
        yield Trouble(Kind.FEED_FAILS, what, feed.last_run_id or "")
    if (more := len(feeds) - MOST_OF_A_KIND) > 0:
        what = f"The last import of {_several(more, 'more feed')} failed."
        yield Trouble(Kind.MORE_FEEDS_FAIL, what)


def _of_watches(watches: Sequence[Watch], errors: Mapping[str, str]) -> Iterator[Trouble]:
    listed = watches[:MOST_OF_A_KIND]
    for watch, name in zip(listed, distinct_names([*map(_named, listed)]), strict=True):
        reason = _shortened(errors.get(watch.last_run_id or "") or "the run gives no reason")
        what = f"No page of the watch {name} could be checked{_times(watch.failures)}: {reason}"
        yield Trouble(Kind.WATCH_FAILS, what, watch.watch_id)
    if (more := len(watches) - MOST_OF_A_KIND) > 0:
        what = f"Nor could any page of {_several(more, 'more watch', 'more watches')}."
        yield Trouble(Kind.MORE_WATCHES_FAIL, what)


def _of_targets(facts: Facts) -> Iterator[Trouble]:
    """Several of one watch that look alike without their secrets are one trouble."""
    latest = facts.failing_targets
    alike = Counter(
        (each.watch_id, shown_target(each.target_url), each.error)
        for each in latest[:MOST_OF_A_KIND]
    )
    known = [facts.notifying[each] for each, _, _ in alike if each in facts.notifying]
    names = dict(
        zip((each.watch_id for each in known), distinct_names([*map(_named, known)]), strict=True)
    )
    for (watch_id, target, error), count in alike.items():
        watch = f"the watch {names.get(watch_id) or f'{watch_id}, which was removed,'}"
        latest_of = "notification" if count == 1 else "notifications"
        to = target if count == 1 else f"{count} targets {target}"
        reason = _shortened(error or "it was not delivered")
        what = f"The latest {latest_of} of {watch} to {to} failed: {reason}"
        yield Trouble(Kind.TARGET_FAILS, what, watch_id)
    if (more := len(latest) - MOST_OF_A_KIND) > 0:
        least = "at least " if facts.are_more_failing_targets else ""
        what = f"The latest notification to {least}{_several(more, 'more target')} failed."
        yield Trouble(Kind.MORE_TARGETS_FAIL, what)


def _named(watch: Watch) -> Named:
    return Named(watch.config.name, next(iter(watch.config.urls), ""), watch.watch_id)


def _capital(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


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
