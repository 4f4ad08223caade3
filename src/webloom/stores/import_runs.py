from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, Protocol

from webloom.domain import import_transitions as transitions
from webloom.domain.import_run import ImportRun, Reading, RunStatus
from webloom.domain.import_transitions import (
    End,
    Ending,
    FeedState,
    NewRun,
    Note,
    Renew,
    RunHead,
    RunState,
    Settle,
    Stale,
    Sums,
    Take,
    choice,
    is_held,
    may_have_batches,
    misses_batches,
    removed_feed,
)
from webloom.domain.storage_event import milliseconds_of, moment_of
from webloom.parsing.web_url import host_of
from webloom.ports.import_runs import Claim, RunFilter, RunPlace
from webloom.stores.primitives import Documents, Pairs


class ActiveFeed(NamedTuple):
    feed_id: str
    run_id: str  # its active run's
    fetch_url: str


class RunLedger(Protocol):
    async def sums(self, run_id: str) -> Sums: ...

    async def at_end(self, run_id: str) -> tuple[Sums, int]:
        """And how many postings the run has closed."""

    async def release(self, run_id: str) -> None:
        """The run is settled: its rows are no longer needed."""


class StoredImportRuns(ABC):
    """The port `ImportRuns`, and of `ListedRuns` what is no query; a backend adds those."""

    def __init__(
        self,
        documents: Documents[RunState],
        ledger: RunLedger,
        feeds: Documents[FeedState],
        starting: Pairs[FeedState, RunState],
        ending: Pairs[RunState, FeedState],
    ) -> None:
        self._documents = documents
        self._ledger = ledger
        self._feeds = feeds
        self._starting = starting
        self._ending = ending

    @abstractmethod
    def _now(self) -> float:
        """On the timeline."""

    @abstractmethod
    async def _active(self) -> tuple[list[ActiveFeed], list[RunHead]]:
        """Feeds with an active run, and then, not earlier, the runs that are running: with the
        hosts of their sources, in the order in which they were started."""

    @abstractmethod
    async def _scan(
        self, chosen: RunFilter, without: Collection[str], *, limit: int, oldest_first: bool
    ) -> list[ImportRun]: ...

    async def start(self, feed_id: str, new: NewRun) -> ImportRun | None:
        def second(feed: FeedState | None) -> str | None:
            return _active_run(feed) or (None if feed is None else new.run_id)

        while True:
            outcome = await self._starting.change(transitions.start, feed_id, new, second=second)
            if not isinstance(outcome, Stale):
                break
            if outcome.run_id is not None:
                await self.settle(outcome.run_id, is_abandoned=True)
        if outcome is not None and outcome.run_id == new.run_id:
            return outcome
        # This start may have been made before, and its run is over.
        return await self.find(new.run_id) or outcome

    async def claim(
        self,
        owner: str,
        *,
        lease: float,
        run_id: str | None = None,
        busy_hosts: Collection[str] = (),
    ) -> Claim | None:
        if run_id is not None and (claim := await self._claim(run_id, owner, lease)) is not None:
            return claim
        wanted = choice(
            await self._heads(),
            owner=owner,
            now=self._now(),
            run_id=run_id,
            busy_hosts=busy_hosts,
        )
        for each in wanted:
            if (claim := await self._claim(each, owner, lease)) is not None:
                return claim
        return None

    async def _claim(self, run_id: str, owner: str, lease: float) -> Claim | None:
        run, feed = await self._ending.change(
            transitions.claim, run_id, Take(owner, lease), second=_feed_of
        )
        if run is None:
            return None
        if feed is not None:
            return Claim(run=run.run, feed=feed.feed, token=run.token)
        shown = await self.cancel(run_id) or run.run
        return Claim(run=shown, feed=removed_feed(shown), token=run.token)

    async def _heads(self) -> list[RunHead]:
        """Of all runs that can be claimed. Half-written pairs are completed on the way."""
        feeds, running = await self._active()
        hosts = {feed.run_id: host_of(feed.fetch_url) for feed in feeds}
        known = {run.run_id for run in running}
        for feed in feeds:
            if feed.run_id not in known and (run := await self._repaired(feed.feed_id)) is not None:
                running.append(run)
        return [run._replace(host=hosts.get(run.run_id, run.host)) for run in running]

    async def _repaired(self, feed_id: str) -> RunHead | None:
        """The active run of a feed, unless it is closed: then the feed becomes free."""
        state = await self._starting.change(transitions.complete, feed_id, None, second=_active_run)
        if state is None:
            return None
        run = state.run
        if state.is_closed:
            await self.settle(run.run_id)
            return None
        return RunHead(run.run_id, state.lease, run.cancel_requested, host_of(run.source_url))

    async def renew(self, claim: Claim, *, lease: float) -> bool:
        return await self._renewed(claim, lease)

    async def give_up(self, claim: Claim) -> None:
        await self._renewed(claim, None)

    async def _renewed(self, claim: Claim, lease: float | None) -> bool:
        event = claim.run.run_id, Renew(claim.token, lease)
        [is_valid] = await self._documents.change(transitions.renew, [event], durable=False)
        return is_valid

    async def is_held(self, claim: Claim) -> bool:
        run_id = claim.run.run_id
        return is_held((await self._documents.read([run_id])).get(run_id), claim.token)

    async def note_reading(self, claim: Claim, reading: Reading) -> ImportRun | None:
        run_id = claim.run.run_id
        sums = await self._ledger.sums(run_id) if may_have_batches(reading) else Sums()
        event = Note(claim.token, reading, sums)
        [run] = await self._documents.change(transitions.note, [(run_id, event)], durable=False)
        return run

    async def finish(self, claim: Claim, reading: Reading, ending: Ending) -> ImportRun | None:
        run_id = claim.run.run_id
        sums, closed_jobs = await self._ledger.at_end(run_id)
        end = End(claim.token, reading, ending, sums, closed_jobs)
        run = await self._ending.change(transitions.end, run_id, end, second=_feed_of)
        return await self.settle(run_id) if run is not None and misses_batches(run) else run

    async def settle(self, run_id: str, *, is_abandoned: bool = False) -> ImportRun | None:
        """Count the batches that came while a run ended, or later, and free its feed. The run as it
        is then. May be repeated."""
        run = await self.find(run_id)
        if run is None or run.status is RunStatus.RUNNING:
            return run
        sums = await self._ledger.sums(run_id) if misses_batches(run) else None
        event = Settle(sums, is_abandoned)
        after = await self._ending.change(transitions.settle, run_id, event, second=_feed_of)
        await self._ledger.release(run_id)
        return after

    async def cancel(self, run_id: str) -> ImportRun | None:
        [run] = await self._documents.change(transitions.cancel, [(run_id, None)])
        return run

    async def find(self, run_id: str) -> ImportRun | None:
        state = (await self._documents.read([run_id])).get(run_id)
        return None if state is None else state.run

    async def scan(
        self, chosen: RunFilter, place: RunPlace | None, *, limit: int, oldest_first: bool = False
    ) -> tuple[list[ImportRun], RunPlace | None]:
        without: Collection[str] = ()
        if place is not None:
            without = place.run_ids
            chosen = (
                replace(chosen, since=place.at) if oldest_first else replace(chosen, until=place.at)
            )
        runs = await self._scan(chosen, without, limit=limit, oldest_first=oldest_first)
        return runs, _place_behind(runs, place) if len(runs) == limit else None


def _place_behind(runs: Sequence[ImportRun], before: RunPlace | None) -> RunPlace:
    at = _in_milliseconds(runs[-1].started_at)
    together = frozenset(run.run_id for run in runs if _in_milliseconds(run.started_at) == at)
    if before is not None and before.at == at:
        together |= before.run_ids
    return RunPlace(at, together)


def _in_milliseconds(moment: datetime) -> datetime:
    """As the stores compare it."""
    return moment_of(milliseconds_of(moment))


def _active_run(feed: FeedState | None) -> str | None:
    return None if feed is None else feed.feed.active_run_id


def _feed_of(run: RunState | None) -> str | None:
    return None if run is None else run.run.feed_id
