"""How a run of a watch starts and ends, and what that means for its watch.

A run and its watch are two documents, and a process may die after writing the first:

    start   the watch, with its run's id and start -> the run
    end     the run, with its watch's next due time -> the watch is free, and has counted the run

Each decision completes such a pair, so it can be repeated at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from webloom.domain.now import Now
from webloom.domain.page_check import Checked
from webloom.domain.storage_event import StorageEvent, moment_of, page_in_run
from webloom.domain.watch import (
    EVENTS,
    MOST_FAILURES,
    Begun,
    LastRun,
    Outcome,
    PageFailure,
    RunHead,
    RunStatus,
    Tally,
    Watch,
    WatchRun,
    status_at_end,
)

NOT_CHECKED = "it was not checked before the run ended"
NOT_READ = "it could not be read"  # of a failed check without a reason
LEDGER_KEPT = timedelta(days=2)  # longer than a run may take, or a message may wait

_NOTHING = Tally()
_BETTER = {Outcome.FAILED: 0, Outcome.UNCHANGED: 1, Outcome.CHANGED: 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRun:
    run_id: str
    trigger: str
    due: datetime | None = None  # start only if the watch is due by then


class NextRun(NamedTuple):
    """When a watch is due after a run, unless it was edited meanwhile."""

    at: datetime | None
    instead_of: datetime | None  # the value that the scheduler read


@dataclass(frozen=True, kw_only=True, slots=True)
class RunState:
    """A run as a store keeps it."""

    run: WatchRun
    unchecked: Sequence[str] = ()  # URLs without an outcome, when it starts or ends
    published_at: datetime | None = None  # when all its checks had been published
    last_event_at: datetime | None = None  # of a run of events
    next_run: NextRun | None = None  # of its watch, once it has ended
    expires_at: datetime | None = None
    carried: Tally = _NOTHING  # counted before it was loaded from a dump, which has no ledger


# Start


class Started(NamedTuple):
    run: WatchRun | None  # the active run of the watch; None: there is nothing to start
    is_freed: bool = False  # the active run had ended: start again


def active_run_id(watch: Watch | None) -> str | None:
    return None if watch is None else watch.active_run_id


def started(
    watch: Watch | None, active: RunState | None, new: NewRun, now: datetime
) -> tuple[Watch | None, RunState | None, Started]:
    """A run of the watch, unless one is active."""
    if watch is None or watch.is_external:
        return watch, active, Started(None)
    if watch.active_run_id is None:
        if active is not None:  # a repeated start, after its run has ended
            return watch, active, Started(active.run)
        if new.due is not None and (watch.next_run_at is None or watch.next_run_at > new.due):
            return watch, None, Started(None)
        begun = Begun(new.run_id, new.trigger, now)
        watch = replace(watch, active_run_id=new.run_id, begun=begun)
    watch, active = repaired(watch, active)
    if watch.active_run_id is None or active is None:
        return watch, active, Started(None, is_freed=True)
    return watch, active, Started(active.run)


def repaired(watch: Watch, active: RunState | None) -> tuple[Watch, RunState | None]:
    """The watch and its active run, completed if only the watch was written."""
    if watch.active_run_id is None:
        return watch, active
    if active is None and watch.begun is not None and watch.begun.run_id == watch.active_run_id:
        active = new_run(watch, watch.begun)
    return freed(watch, active), active


def new_run(watch: Watch, begun: Begun) -> RunState:
    return RunState(
        run=WatchRun(
            run_id=begun.run_id,
            watch_id=watch.watch_id,
            status=RunStatus.IN_PROGRESS,
            trigger=begun.trigger,
            started_at=begun.started_at,
            updated_at=begun.started_at,
            pages_total=len(watch.config.urls),
        ),
        unchecked=watch.config.urls,
    )


# End


def ended(
    state: RunState, *, now: datetime, next_run: NextRun | None, expires_at: datetime
) -> RunState:
    """Pages without an outcome count as failed. Unchanged unless it is in progress."""
    run, missed = state.run, state.unchecked
    if run.status is not RunStatus.IN_PROGRESS:
        return state
    tally = replace(
        run.tally,
        processed=run.tally.processed + len(missed),
        failed=run.tally.failed + len(missed),
    )
    failures = [PageFailure(url=url, reason=NOT_CHECKED) for url in missed[:MOST_FAILURES]]
    now = max(now, run.started_at)
    run = replace(
        run,
        status=status_at_end(tally),
        updated_at=max(run.updated_at, now),
        finished_at=now,
        tally=tally,
        failures=[*run.failures, *failures][:MOST_FAILURES],
    )
    return replace(state, run=run, unchecked=(), next_run=next_run, expires_at=expires_at)


def freed(watch: Watch, state: RunState | None) -> Watch:
    """The watch without its active run, which counts unless it is gone (None). Unchanged if another
    run is active, or this one is in progress. An edit made meanwhile stands."""
    if state is None:
        return replace(watch, active_run_id=None, begun=None)
    run = state.run
    if watch.active_run_id != run.run_id or run.status is RunStatus.IN_PROGRESS:
        return watch
    free = replace(watch, active_run_id=None, begun=None)
    if watch.last_run_id == run.run_id:  # already counted
        return free
    next_run_at = watch.next_run_at
    if state.next_run is not None and next_run_at == state.next_run.instead_of:
        next_run_at = state.next_run.at
    return replace(
        free,
        last_run_id=run.run_id,
        last_status=run.status,
        last_run_at=run.finished_at,
        failures=watch.failures + 1 if run.status is RunStatus.FAILED else 0,
        next_run_at=next_run_at if watch.config.enabled else None,
        metrics=watch.metrics.plus(run.tally.metrics),
    )


def removed(
    watch: Watch, active: RunState | None, *, now: datetime, expires_at: datetime
) -> RunState | None:
    """The ended run of a watch that is removed."""
    _, active = repaired(watch, active)
    if active is None:
        return None
    return ended(active, now=now, next_run=None, expires_at=expires_at)


# Count


class CountedPage(NamedTuple):
    """What a run counts: a page; the run of a day, an event."""

    run_id: str
    key: str  # a run counts each once
    outcome: PageOutcome
    error: str | None = None  # why its check failed
    event: StorageEvent | None = None  # of a run of events, which it may open or close
    is_of_events: bool = False  # its run: the watch counts along


def counting(
    watch_id: str, seen: StorageEvent | Checked, run: RunHead | None
) -> CountedPage | None:
    """What counts of a page of this watch; None: nothing. `run` is the one that it names. An event
    opens an unknown run. What arrives after the end counts only for runs of events, which arrive in
    any order."""
    if isinstance(seen, StorageEvent):
        if run is not None and run.watch_id != watch_id:
            seen, run = seen.without_run, None
    elif run is None or run.watch_id != watch_id:
        return None
    is_of_events = run is None or run.trigger == EVENTS
    if run is not None and not is_of_events and run.status is not RunStatus.IN_PROGRESS:
        return None
    if isinstance(seen, StorageEvent):
        event = seen.without_content if is_of_events else None
        outcome, key = PageOutcome.of_event(seen), seen.counted_as
        return CountedPage(seen.counting_run, key, outcome, None, event, is_of_events)
    error = (seen.error or NOT_READ) if seen.outcome is Outcome.FAILED else None
    key, outcome = page_in_run(seen.url), PageOutcome(seen.outcome)
    return CountedPage(seen.run_id, key, outcome, error, None, is_of_events)


def ledger_kept(keep: timedelta) -> timedelta:
    """Of a run of events after each event, for which the run is kept as well."""
    return max(LEDGER_KEPT, keep)


def ledger_until(state: RunState) -> datetime | None:
    """None: the run goes on."""
    if state.run.trigger == EVENTS:
        return state.expires_at
    return state.run.finished_at and state.run.finished_at + LEDGER_KEPT


class Counted(NamedTuple):
    """An event or a check of a run of events, which its ledger has."""

    event: StorageEvent | None  # None: a check
    tally: Tally  # the sums of the ledger
    keep: timedelta


def with_counts(state: RunState | None, counted: Counted, now: Now) -> tuple[RunState | None, None]:
    """A run of events and one more event, which opens it if it is the first, and may close it. What
    comes after the end counts, too: events come in any order. A late call may have an older sum."""
    event = counted.event
    if state is None:
        if event is None:
            return None, None
        state = _opened(event, now)
    run, last = state.run, state.last_event_at or state.run.started_at
    if run.trigger != EVENTS:
        return state, None
    status, first = run.status, run.started_at
    if event is not None:
        first, last = min(first, moment_of(event.ts)), max(last, moment_of(event.ts))
        if event.closes_run is not None and status is RunStatus.IN_PROGRESS:
            status = event.closes_run
    run = replace(
        run,
        status=status,
        started_at=first,
        updated_at=max(run.updated_at, now.wall),
        finished_at=None if status is RunStatus.IN_PROGRESS else last,
        tally=run.tally.grown(state.carried.plus(counted.tally)),
    )
    expires_at = now.expiry + ledger_kept(counted.keep)
    return replace(state, run=run, last_event_at=last, expires_at=expires_at), None


def _opened(event: StorageEvent, now: Now) -> RunState:
    run = WatchRun(
        run_id=event.counting_run,
        watch_id=event.watch_id,
        status=event.opening_status,
        trigger=EVENTS,
        started_at=moment_of(event.ts),
        updated_at=now.wall,
    )
    return RunState(run=run)


def closed(state: RunState, status: RunStatus | None = None) -> RunState:
    """A run of events, with the given status or the one that follows from its pages. Unchanged
    unless it is in progress."""
    run = state.run
    if run.status is not RunStatus.IN_PROGRESS or run.trigger != EVENTS:
        return state
    status = status or status_at_end(run.tally)
    return replace(state, run=replace(run, status=status, finished_at=state.last_event_at))


def last_run_noted(watch: Watch, state: RunState) -> Watch:
    """Unchanged unless it is external."""
    run = state.run
    if not watch.is_external or state.last_event_at is None:
        return watch
    known = None
    if watch.last_run_id and watch.last_status and watch.last_run_at:
        known = LastRun(watch.last_run_id, watch.last_status, watch.last_run_at)
    last = latest(known, LastRun(run.run_id, run.status, state.last_event_at))
    if last == known:
        return watch
    return replace(watch, last_run_id=last.run_id, last_status=last.status, last_run_at=last.at)


def latest(known: LastRun | None, run: LastRun) -> LastRun:
    """The last run of an external watch: the one with the latest event. It never reopens."""
    if known is None:
        return run
    if run.at < known.at:
        return known
    is_closed = known.run_id == run.run_id and known.status is not RunStatus.IN_PROGRESS
    return run._replace(status=known.status) if is_closed else run


# Pages


class PageOutcome(NamedTuple):
    """The outcome of one page in a run."""

    outcome: Outcome
    is_price_change: bool = False

    @classmethod
    def of_event(cls, event: StorageEvent) -> PageOutcome:
        outcome = Outcome.CHANGED if event.is_change else Outcome.UNCHANGED
        return cls(outcome, event.price is not None and event.price.is_change)

    @property
    def tally(self) -> Tally:
        return Tally(
            processed=1,
            failed=int(self.outcome is Outcome.FAILED),
            changes=int(self.outcome is Outcome.CHANGED),
            price_changes=int(self.is_price_change),
        )


class Entry(NamedTuple):
    """What a run's ledger has of a page from now on."""

    outcome: PageOutcome
    failure: PageFailure | None  # kept while its outcome is that it failed
    added: Tally  # to the counters of the run


def entered(
    known: PageOutcome | None, outcome: PageOutcome, failure: PageFailure | None
) -> Entry | None:
    """A page that is checked twice in a run counts once, with the better outcome. None: nothing
    changes."""
    if known is None:
        return Entry(outcome, failure, outcome.tally)
    new = PageOutcome(
        max(known.outcome, outcome.outcome, key=_BETTER.__getitem__),
        known.is_price_change or outcome.is_price_change,
    )
    if new == known:
        return None
    is_failed = new.outcome is Outcome.FAILED
    return Entry(new, failure if is_failed else None, new.tally.minus(known.tally))
