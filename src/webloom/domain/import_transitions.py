"""How an import run and its feed change: decide(state, event, now) -> new state, answer.

A feed and its active run are two documents, and a process may die between the two writes:

    start    the feed, with its run's initial state -> the run
    end      the run, with what its end means for the feed -> late batches are counted
             -> the feed is free

If only the first document was written, every function completes the pair.

A run belongs to the producer that holds its lease. Writes with an older fencing token are ignored.
Workers of other programs may set the status of a run (`third_party`). It is closed only after its
producer has ended it for Webloom too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import lt
from typing import NamedTuple

from webloom.domain import lease as leases
from webloom.domain.feed import Feed, FeedConfig, LastFetch, failures_after
from webloom.domain.import_run import (
    NOTHING,
    OTHER_REASONS,
    Counts,
    Failure,
    ImportRun,
    Phase,
    Reading,
    RunStatus,
    Tally,
    balanced,
    merged_failures,
    merged_reasons,
    status_at_end,
)
from webloom.domain.lease import Lease
from webloom.domain.now import Now
from webloom.domain.third_party import at_end
from webloom.domain.third_party import counted as counted_with_others

NOT_HANDLED = "its batch could not be handled"
_NONE = Counts()


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRun:
    run_id: str
    trigger: str
    batch_size: int
    concurrency: int
    retry_of: str | None = None
    owner: str | None = None  # a producer that claims the run as it starts, for `lease` seconds
    lease: float = 0.0
    due: datetime | None = None  # start it only if the feed is due by then


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How a run ended, and what that means for its feed."""

    error: str | None = None
    next_run_at: datetime | None = None
    last_fetch: LastFetch | None = None  # None: the feed keeps what it had


@dataclass(frozen=True, kw_only=True, slots=True)
class RunState:
    run: ImportRun
    started: float  # on the timeline
    lease: Lease | None = None  # None: never claimed
    revision: int | None = None  # of the feed when the run started
    is_closed: bool = False  # Webloom has ended it
    ending: Ending | None = None  # of a closed run, if known
    noted: Tally = NOTHING  # `run.third_party` at the last write

    @property
    def token(self) -> int:
        return 0 if self.lease is None else self.lease.token


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedState:
    feed: Feed
    revision: int = 0  # grows with every edit
    begun: RunState | None = None  # the active run's initial state, until it is stored


@dataclass(frozen=True, kw_only=True, slots=True)
class Sums:
    """Of the ledger of one run."""

    counts: Counts = _NONE
    batches: int = 0
    failures: list[Failure] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)


class RunHead(NamedTuple):
    """What decides whether a run is claimed."""

    run_id: str
    lease: Lease | None
    cancel_requested: bool
    host: str  # of its feed


class Stale(NamedTuple):
    """The feed's active run has ended, or does not exist."""

    run_id: str | None  # to be settled; None: the feed is free now


MaybeRun = RunState | None
MaybeFeed = FeedState | None


# Start


def start(
    feed: MaybeFeed, run: MaybeRun, new: NewRun, now: Now
) -> tuple[MaybeFeed, MaybeRun, ImportRun | Stale | None]:
    """`run` is the feed's active run, or else one with the id of the new run."""
    if feed is None:
        return None, run, None
    if feed.feed.active_run_id is None:
        if run is not None:  # a repeated call
            return feed, run, run.run
        if new.due is not None and not _is_due(feed.feed, new.due):
            return feed, None, None
        begun = _new_run(feed, new, now)
        named = replace(feed.feed, active_run_id=new.run_id)
        return replace(feed, feed=named, begun=begun), begun, begun.run
    feed, run = _completed(feed, run)
    if run is None:
        return feed, None, Stale(None)
    if run.run.status is not RunStatus.RUNNING:
        return feed, run, Stale(run.run.run_id)
    return feed, run, run.run


def complete(
    feed: MaybeFeed, run: MaybeRun, event: None, now: Now
) -> tuple[MaybeFeed, MaybeRun, MaybeRun]:
    """The active run of a feed, which is stored if it is missing. If its initial state is unknown,
    the feed becomes free."""
    if feed is not None:
        feed, run = _completed(feed, run)
    return feed, run, run


def _completed(feed: FeedState, run: MaybeRun) -> tuple[FeedState, MaybeRun]:
    active = feed.feed.active_run_id
    if run is not None or active is None:
        return feed, run
    if feed.begun is not None and feed.begun.run.run_id == active:
        return feed, feed.begun
    return replace(feed, feed=replace(feed.feed, active_run_id=None), begun=None), None


def edited(
    state: FeedState, config: FeedConfig, *, next_run_at: datetime | None, now: datetime
) -> FeedState:
    """`config` comes from `decide_edit`. The next fetch is unconditional, unless only tags are
    others."""
    before = state.feed.config
    are_only_tags = config != before and replace(config, tags=before.tags) == before
    feed = replace(
        state.feed,
        config=config,
        next_run_at=next_run_at,
        updated_at=now,
        last_fetch=state.feed.last_fetch if are_only_tags else LastFetch(),
    )
    return replace(state, feed=feed, revision=state.revision + 1)


def _is_due(feed: Feed, now: datetime) -> bool:
    return feed.next_run_at is not None and feed.next_run_at <= now


def _new_run(feed: FeedState, new: NewRun, now: Now) -> RunState:
    run = ImportRun(
        run_id=new.run_id,
        feed_id=feed.feed.feed_id,
        source_url=feed.feed.config.url,
        source_name=feed.feed.config.name,
        status=RunStatus.RUNNING,
        trigger=new.trigger,
        started_at=now.wall,
        updated_at=now.expiry,
        batch_size=new.batch_size,
        concurrency=new.concurrency,
        reading=Reading(phase=Phase.WAITING),
        counts=Counts(),
        retry_of=new.retry_of,
    )
    lease = None
    if new.owner is not None:
        until = now.timeline + new.lease
        lease = leases.acquired(None, new.owner, now=now.timeline, until=until)
    return RunState(run=run, started=now.timeline, lease=lease, revision=feed.revision)


# Claims


def choice(
    heads: Iterable[RunHead],
    *,
    owner: str,
    now: float,
    run_id: str | None = None,
    busy_hosts: Collection[str] = (),
) -> list[str]:
    """Runs to claim, in order of preference. `heads` are in the order of their start."""
    own, free = [], []
    for head in heads:
        if run_id not in (None, head.run_id):
            continue
        if head.lease is not None and head.lease.until > now:
            if head.lease.owner == owner:
                own.append(head.run_id)
        elif run_id is not None or head.cancel_requested or head.host not in busy_hosts:
            free.append(head.run_id)
    return own + free


class Take(NamedTuple):
    owner: str
    lease: float


def claim(
    run: MaybeRun, feed: MaybeFeed, take: Take, now: Now
) -> tuple[MaybeRun, MaybeFeed, tuple[MaybeRun, MaybeFeed]]:
    """The answer is the claimed run, with its feed; None: another holds it, or it ended."""
    if run is None or run.is_closed:
        return run, feed, (None, feed)
    until = now.timeline + take.lease
    lease = leases.acquired(run.lease, take.owner, now=now.timeline, until=until)
    if lease is None:
        return run, feed, (None, feed)
    run = replace(run, lease=lease)
    return run, feed, (run, feed)


class Renew(NamedTuple):
    token: int
    lease: float | None  # None: the producer releases the run


def renew(run: MaybeRun, event: Renew, now: Now) -> tuple[MaybeRun, bool]:
    if run is None or run.lease is None or not is_held(run, event.token):
        return run, False
    until = 0.0 if event.lease is None else now.timeline + event.lease
    return replace(run, lease=run.lease._replace(until=until)), True


def is_held(run: MaybeRun, token: int) -> bool:
    """Also after the lease has expired, until another producer claims the run."""
    return run is not None and not run.is_closed and run.token == token


def removed_feed(run: ImportRun) -> Feed:
    """What stands for a removed feed in a claim."""
    return Feed(
        feed_id=run.feed_id,
        config=FeedConfig(url=run.source_url, name=run.source_name, enabled=False),
        created_at=run.started_at,
        updated_at=run.started_at,
        next_run_at=None,
    )


# Progress


class Note(NamedTuple):
    token: int
    reading: Reading
    sums: Sums


def note(run: MaybeRun, event: Note, now: Now) -> tuple[MaybeRun, ImportRun | None]:
    if run is None or not is_held(run, event.token):
        return run, None
    new = counted(run.run, event.reading, event.sums)
    if new == run.run and new.third_party == run.noted:
        return run, run.run
    return _updated(run, new, now)


def may_have_batches(reading: Reading) -> bool:
    """No batch of a run is published before its feed is fetched and the body's hash recorded."""
    return reading.phase is not Phase.FETCHING or reading.content_hash is not None


def cancel(run: MaybeRun, event: None, now: Now) -> tuple[MaybeRun, ImportRun | None]:
    if run is None:
        return None, None
    if run.run.status is not RunStatus.RUNNING or run.run.cancel_requested:
        return run, run.run
    return _updated(run, replace(run.run, cancel_requested=True), now)


def counted(run: ImportRun, reading: Reading, sums: Sums) -> ImportRun:
    """With the producer's counts, the ledger's sums, and what other programs counted."""
    producer = Counts(duplicate=reading.duplicates, failed=reading.failed)
    own = replace(
        run,
        reading=reading,
        counts=producer.plus(sums.counts),
        processed_batches=sums.batches,
        failures=merged_failures(reading.failures, sums.failures),
        failure_reasons=merged_reasons(reading.failure_reasons, sums.reasons),
    )
    return counted_with_others(run, own)


def _updated(run: RunState, new: ImportRun, now: Now) -> tuple[RunState, ImportRun]:
    new = replace(new, updated_at=max(run.run.updated_at, now.expiry))
    return replace(run, run=new, noted=new.third_party), new


# End


class End(NamedTuple):
    token: int
    reading: Reading
    ending: Ending
    sums: Sums
    closed_jobs: int  # postings that the run closed


def end(
    run: MaybeRun, feed: MaybeFeed, event: End, now: Now
) -> tuple[MaybeRun, MaybeFeed, ImportRun | None]:
    """The run ends. Its feed becomes free with it, unless batches are missing: then `settle` counts
    them first. Repeating it changes nothing."""
    if run is None or (not run.is_closed and run.token != event.token):
        return run, feed, None
    if not run.is_closed:
        run = _ended(run, event, now)
    if feed is not None and not misses_batches(run.run):
        feed = _after_run(feed, run)
    return run, feed, run.run


def _ended(run: RunState, event: End, now: Now) -> RunState:
    before = run.run
    took = round((now.timeline - run.started) * 1000)
    read = replace(event.reading, phase=Phase.FINISHED)
    after = replace(
        at_end(counted(before, read, event.sums), event.ending.error),
        closed_jobs=event.closed_jobs,
        finished_at=before.finished_at or now.wall,
        duration_ms=took if before.duration_ms is None else before.duration_ms,
    )
    run, _ = _updated(run, after, now)
    lease = run.lease and leases.released(run.lease, run.lease.owner)
    return replace(run, lease=lease, is_closed=True, ending=event.ending)


def misses_batches(run: ImportRun) -> bool:
    """Whether a batch may have arrived while the end of the run was written. None has if the run
    ended before it recorded the hash of the feed's body (`may_have_batches`)."""
    reading = run.reading
    if reading.content_hash is None and reading.published == 0:
        return False
    return not reading.all_published or run.processed_batches < reading.published


class Settle(NamedTuple):
    sums: Sums | None  # after the end; None: no batch is late
    # Free the feed although the producer has not closed a run that another program ended.
    is_abandoned: bool = False


def settle(
    run: MaybeRun, feed: MaybeFeed, event: Settle, now: Now
) -> tuple[MaybeRun, MaybeFeed, ImportRun | None]:
    """After the end of a run: counts late batches and frees its feed."""
    if run is None or run.run.status is RunStatus.RUNNING:
        return run, feed, None if run is None else run.run
    if event.sums is not None:
        run = _recounted(run, event.sums, now)
    if feed is not None and (event.is_abandoned or run.is_closed):
        feed = _after_run(feed, run)
    return run, feed, run.run


def _recounted(run: RunState, sums: Sums, now: Now) -> RunState:
    old = run.run
    new = balanced(counted(old, old.reading, sums))
    if _has_lost_rows(old, new):
        return run
    if (new.processed_batches, new.counts) == (old.processed_batches, old.counts):
        return run
    status = status_at_end(new.counts, error=new.error)
    if new.third_party != NOTHING:  # the program that ended it decided
        status = old.status
    return _updated(run, replace(new, status=status), now)[0]


def _has_lost_rows(old: ImportRun, new: ImportRun) -> bool:
    """The rows of ended runs expire."""
    before, after = (run.counts._replace(failed=0) for run in (old, new))
    return new.processed_batches < old.processed_batches or any(map(lt, after, before))


def _after_run(state: FeedState, run: RunState) -> FeedState:
    """The feed after its run. An edit made during the run stands."""
    feed, after = state.feed, run.run
    if feed.active_run_id != after.run_id:
        if feed.last_run_id != after.run_id:
            return state
        return replace(state, feed=replace(feed, last_status=after.status))
    next_run_at, last_fetch = feed.next_run_at, feed.last_fetch
    if run.ending is not None and run.revision == state.revision:
        next_run_at = run.ending.next_run_at
        last_fetch = run.ending.last_fetch or last_fetch
    failures = failures_after(feed.failures, after.status, is_cancelled=after.cancel_requested)
    freed = replace(
        feed,
        active_run_id=None,
        last_run_id=after.run_id,
        last_status=after.status,
        last_error=after.error,
        last_run_at=after.finished_at,
        failures=failures,
        next_run_at=next_run_at,
        last_fetch=last_fetch,
    )
    return replace(state, feed=freed, begun=None)


# The ledger


def reasons_of(failures: Sequence[Failure], failed: int) -> dict[str, int]:
    """Counts by reason. More records may have failed than `failures` lists."""
    reasons = merged_reasons({}, Counter(each.reason for each in failures))
    if rest := failed - len(failures):
        last = failures[-1].reason if failures else NOT_HANDLED
        reasons = merged_reasons(reasons, {last: rest})
    return reasons


def reasons_of_run(most_frequent: Mapping[str, int], failed: int) -> dict[str, int]:
    """By reason, of at most MOST_REASONS; what failed for others is counted together."""
    reasons = dict(most_frequent)
    rest = failed - sum(reasons.values())
    return merged_reasons(reasons, {OTHER_REASONS: rest}) if rest else reasons
