"""Carry out an import run: the producer's side.

    claim -> download to the spool -> read in batches -> publish each, waiting while the queue is
    full -> wait until the ledger has all of them -> close vanished postings -> finish

Meanwhile another task renews the claim, records the progress and checks for a cancellation. If a
process dies, the run is claimed again: the same file yields the same batches, published ones are
not published again, and the store recognises those delivered twice.

With `complete_batches` the file is read twice, because workers of other programs need the number of
batches in the first message. They keep no ledger: they count into the run and end it, which the
producer accepts (domain/third_party.py).
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from webloom.application.imports.obtain_feed import Obtained, ObtainFeed
from webloom.application.imports.publish_batches import PublishBatches
from webloom.application.retrying import retry_until_available, when_resources_allow
from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import FeedUnreadable, FetchFailed, Unavailable
from webloom.domain.feed import LastFetch, failures_after, next_run
from webloom.domain.import_run import (
    IMPORT_QUEUE,
    NOTHING,
    ImportRun,
    Phase,
    RunStatus,
    merged_failures,
)
from webloom.domain.import_transitions import Ending
from webloom.domain.third_party import UNCOUNTED, at_end
from webloom.jitter import jitter
from webloom.ports.broker import Broker
from webloom.ports.clock import Clock
from webloom.ports.feed_reader import FeedReader, ReadBatch, ReadOptions, SeenKeys
from webloom.ports.import_runs import Claim
from webloom.ports.imports import Imports

log = logging.getLogger(__name__)
run_ends = log.getChild("end")

REPORT_SECONDS = 0.25
LAST_REPORT_SECONDS = 0.1  # once everything is queued
IDLE_REPORT_SECONDS = 1.0
STALL_SECONDS = 30.0  # with an empty queue and no progress: batches were lost
BUSY_STALL_FACTOR = 10  # of that limit while messages wait, which may belong to other runs
MOST_RESCUES = 3
THIRD_PARTY_END_SECONDS = 10.0  # for a worker of another program that has counted the last batch
KEYS_AT_ONCE = 5000

CANCELLED = "cancelled"
BROKEN_OFF = "the feed breaks off before its end: what could be read of it is stored"
CHANGED = (
    "the process that read the feed died, and the feed has changed since: what was read is stored, "
    "the rest is left to the next run"
)
LOST = "some batches were lost on the queue and could not be stored"


def _ignore(batch: ReadBatch) -> None:
    """It was counted before."""


class _Lost(Exception):
    """Another producer has the run."""


class _End(NamedTuple):
    error: str | None = None
    next_run_at: datetime | None = None  # None: by the schedule
    retry_after: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunImport:
    store: Imports
    broker: Broker
    obtain: ObtainFeed
    reader: FeedReader
    clock: Clock
    max_feed: int
    usual_minutes: float
    lease: float
    is_restoring: Callable[[], Awaitable[bool]]  # then there is none to claim
    complete_batches: bool = False  # for workers of other programs
    stall: float = STALL_SECONDS
    third_party_end: float = THIRD_PARTY_END_SECONDS

    async def claim(
        self, owner: str, *, run_id: str | None = None, busy_hosts: Collection[str] = ()
    ) -> Claim | None:
        """A run that no producer holds, or the given one; None: there is none."""
        claim = await self.store.runs.claim(
            owner, lease=self.lease, run_id=run_id, busy_hosts=busy_hosts
        )
        if claim is not None and await self.is_restoring():  # later than the claim, to see its note
            await self.store.runs.give_up(claim)
            return None
        return claim

    async def __call__(
        self, claim: Claim, on_change: Callable[[ImportRun], None] = lambda run: None
    ) -> ImportRun | None:
        """The run at its end; None: another producer has it now. When cancelled, releases the run,
        to be resumed by the next producer that claims it."""
        try:
            return await _Production(self, claim, on_change).carry_out()
        except _Lost:
            log.warning("a run was taken over", extra={"run_id": claim.run.run_id})
            return None


class _Production:
    """One run, held by this producer."""

    def __init__(
        self, using: RunImport, claim: Claim, on_change: Callable[[ImportRun], None]
    ) -> None:
        self._use = using
        self._claim = claim
        self._on_change = on_change
        self._run = claim.run  # as last read from the store
        self._before = claim.run.reading  # what an earlier producer of this run has done
        self._reading = replace(
            self._before, phase=Phase.FETCHING, failures=[], all_published=False
        )
        self._obtained: Obtained | None = None
        self._is_whole = False
        self._is_adopted = False  # postings that other programs have stored
        self._reported = asyncio.Event()  # and so `_run` is fresh
        self._all_is_queued = asyncio.Event()

    async def carry_out(self) -> ImportRun:
        if self._run.cancel_requested:
            return await self._finish(_End(CANCELLED))
        work = asyncio.create_task(self._work())
        report = asyncio.create_task(self._report())
        try:
            await asyncio.wait({work, report}, return_when=asyncio.FIRST_COMPLETED)
            first = work if work.done() else report
        except asyncio.CancelledError:
            await cancel_and_wait(work, report)
            await self._give_back()
            raise
        await cancel_and_wait(work, report)
        return await self._finish(self._end_of(first))

    def _end_of(self, task: asyncio.Task[_End]) -> _End:
        error = task.exception()
        if error is None:
            return task.result()
        if isinstance(error, _Lost):
            raise error
        log.error("an import failed", exc_info=error, extra={"run_id": self._run.run_id})
        return _End(f"unexpected {type(error).__name__}: {error}")

    async def _work(self) -> _End:
        end = await self._import()
        await self._adopt_postings()
        return end

    async def _import(self) -> _End:
        if self._is_ended:  # after its last producer died: everything it published is stored
            published = self._before.batches or self._before.published
            self._reading = replace(self._before, published=published, all_published=True)
            return _End()
        try:
            self._obtained = obtained = await when_resources_allow(
                lambda: self._use.obtain(self._claim)
            )
            self._reading = replace(
                self._reading,
                content_hash=obtained.fetched.content_hash,
                bytes_total=obtained.bytes,
                is_unmodified=obtained.is_unmodified,
            )
            if obtained.is_unmodified:
                if self._before.content_hash is None:  # no producer of this run has published any
                    self._reading = replace(self._reading, all_published=True)
                return _End()
            if self._before.content_hash not in (None, obtained.fetched.content_hash):
                await self._wait_for_earlier_batches()
                return _End(CHANGED, next_run_at=self._use.clock.now())
            await self._record_reading()
            await self._publish_all(obtained)
            return _End(await self._store_all(obtained) or await self._close_missing(obtained))
        except FetchFailed as failure:
            if self._before.published:
                await self._wait_for_earlier_batches()
            return _End(failure.reason, retry_after=failure.retry_after)
        except FeedUnreadable as unreadable:
            self._reading = replace(self._reading, all_published=True)
            await self._wait_for_ledger()
            return _End(str(unreadable))

    async def _record_reading(self) -> None:
        """Before the first batch is published: all batches of a run come from one body, and the
        next producer of the run must know which. Raises _Lost."""
        note = self._use.store.runs.note_reading
        run = await retry_until_available(lambda: note(self._claim, self._reading))
        if run is None:
            raise _Lost
        self._run = run

    async def _wait_for_earlier_batches(self) -> None:
        """Of an earlier producer, whose work can't be resumed."""
        self._reading = replace(self._before, all_published=True)
        await self._wait_for_ledger()

    def _options(self, obtained: Obtained, known: Path | None = None) -> ReadOptions:
        config = self._claim.feed.config
        return ReadOptions(
            source_url=config.url,
            source_name=config.name,
            format=config.format,
            mapping=config.mapping,
            batch_size=self._run.batch_size,
            content_type=obtained.content_type,
            max_bytes=self._use.max_feed,
            known=known,
        )

    async def _publish_all(self, obtained: Obtained) -> None:
        self._reading = replace(self._reading, phase=Phase.READING)
        known, on_read = self._use.obtain.known(self._claim), self._note
        if self._use.complete_batches:
            await when_resources_allow(lambda: self._count_batches(obtained, known))
            await self._find_what_was_published()
            known, on_read = None, _ignore
        await when_resources_allow(
            lambda: self._publish(
                obtained,
                lambda index: index >= self._reading.published,
                known=known,
                on_read=on_read,
                on_published=self._note_published,
            )
        )
        self._reading = replace(self._reading, phase=Phase.STORING, all_published=True)
        self._all_is_queued.set()

    async def _publish(
        self,
        obtained: Obtained,
        wanted: Callable[[int], bool],
        *,
        known: Path | None = None,
        on_read: Callable[[ReadBatch], None] = _ignore,
        on_published: Callable[[], None] = lambda: None,
    ) -> None:
        async with self._use.reader.read(obtained.path, self._options(obtained, known)) as batches:
            await PublishBatches(broker=self._use.broker)(
                self._run,
                batches,
                wanted=wanted,
                total=self._reading.batches,
                on_read=on_read,
                on_published=on_published,
            )

    async def _count_batches(self, obtained: Obtained, known: Path | None) -> None:
        """And everything that the producer counts: a worker that counts the last batch decides by
        these numbers how the run ends."""
        total = 0
        options = replace(self._options(obtained, known), counts_only=True)
        async with self._use.reader.read(obtained.path, options) as batches:
            async for batch in batches:
                self._note(batch)
                total += batch.count > 0
        self._reading = replace(self._reading, batches=total)
        await self._record_reading()

    async def _find_what_was_published(self) -> None:
        """An earlier producer may have died before it could record its last batches, and a worker
        of another program would count them twice. Once the queue is empty, everything published is
        counted."""
        if self._before.content_hash is None:
            return  # this is the first producer
        since = self._use.clock.steady()
        while self._use.clock.steady() - since < self._use.stall and await self._waiting():
            await self._next_report()
        await self._record_reading()
        published = max(self._before.published, self._run.processed_batches)
        self._reading = replace(self._reading, published=published)

    def _note(self, batch: ReadBatch) -> None:
        self._is_whole = batch.is_whole
        self._reading = replace(
            self._reading,
            fetched=max(batch.fetched, self._before.fetched),
            duplicates=batch.duplicates,
            failed=batch.failed,
            failures=merged_failures(self._reading.failures, batch.failures),
            failure_reasons=batch.failure_reasons,
            repairs=batch.repairs,
            bytes_read=batch.bytes_read,
            format=batch.format,
        )

    def _note_published(self) -> None:
        self._reading = replace(self._reading, published=self._reading.published + 1)

    async def _store_all(self, obtained: Obtained) -> str | None:
        """Wait for the workers; batches that the queue lost are published again."""
        rescues = 0
        while rescues <= MOST_RESCUES:
            is_idle = await self._wait_for_ledger(self._use.stall * BUSY_STALL_FACTOR)
            if self._is_shared:
                if self._is_counted:
                    await self._wait_for_their_end()
                    return None
                if is_idle:
                    return UNCOUNTED
                continue  # which batches are stored is unknown: sending all would count twice
            rescues += is_idle
            missing = await retry_until_available(
                lambda: self._use.store.postings.missing_batches(
                    self._run.run_id, published=self._reading.published
                )
            )
            if not missing:
                return None
            log.warning(
                "batches of an import were lost and are published again",
                extra={"run_id": self._run.run_id, "batches": len(missing)},
            )
            await when_resources_allow(partial(self._publish, obtained, set(missing).__contains__))
        return LOST

    @property
    def _is_ended(self) -> bool:
        """By a worker of another program; Webloom's own leave that to the producer."""
        return self._run.status is not RunStatus.RUNNING

    @property
    def _is_shared(self) -> bool:
        return self._is_ended or self._run.third_party != NOTHING

    @property
    def _is_counted(self) -> bool:
        return self._is_ended or self._run.processed_batches >= self._reading.published

    async def _wait_for_their_end(self) -> None:
        """The worker that counts the last batch ends the run a moment later, if at all."""
        since = self._use.clock.steady()
        while not self._is_ended and self._use.clock.steady() - since < self._use.third_party_end:
            await self._next_report()

    async def _waiting(self) -> int:
        """Messages on the queue, which may belong to other runs."""
        depth = await retry_until_available(lambda: self._use.broker.depth(IMPORT_QUEUE))
        return depth.ready + depth.delayed + (depth.in_flight or 0)

    async def _next_report(self) -> None:
        self._reported.clear()
        await self._reported.wait()

    async def _adopt_postings(self) -> None:
        if self._is_adopted:
            return
        adopt = self._use.store.postings.adopt
        adopted = await retry_until_available(lambda: adopt(self._claim, is_shared=self._is_shared))
        if adopted:
            extra = {"run_id": self._run.run_id, "postings": adopted}
            log.info("adopted postings that another program stored", extra=extra)
        self._is_adopted = True

    async def _wait_for_ledger(self, limit: float = math.inf) -> bool:
        """Until every batch has its row, or there is neither progress nor a message on the queue.
        False: messages wait, and there was no progress for `limit` seconds."""
        seen, since, checked = -1, 0.0, 0.0
        while not self._is_counted:
            now = self._use.clock.steady()
            if self._run.processed_batches != seen:
                seen, since, checked = self._run.processed_batches, now, now
            elif now - checked > self._use.stall:
                checked = now
                if not await self._waiting():
                    return True
                if now - since > limit:
                    return False
            await self._next_report()
        return True

    async def _close_missing(self, obtained: Obtained) -> str | None:
        if not self._is_whole:
            return BROKEN_OFF
        if not self._claim.feed.config.close_missing:
            return None
        if failed := self._foreseen(None).counts.failed:
            return (
                "postings that are no longer in the feed were not closed, "
                f"as {failed} of its records could not be imported"
            )
        await self._adopt_postings()  # which may have to be closed
        self._reading = replace(self._reading, phase=Phase.CLOSING)
        seen = await when_resources_allow(lambda: self._seen_keys(obtained))
        postings, after = self._use.store.postings, ""
        while keys := await retry_until_available(
            partial(postings.open_keys, self._run.source_url, after=after, limit=KEYS_AT_ONCE)
        ):
            if gone := [key for key in keys if key not in seen]:
                await retry_until_available(partial(postings.close, self._claim, gone))
            after = keys[-1]
        return None

    async def _seen_keys(self, obtained: Obtained) -> SeenKeys:
        return self._use.reader.seen_keys(obtained.path)

    async def _report(self) -> _End:
        """Renew the claim and record the progress, until the run is cancelled. Raises _Lost."""
        renewed = self._use.clock.steady()
        while True:
            run: ImportRun | None = self._run
            try:
                if self._use.clock.steady() - renewed > self._use.lease / 3:
                    await self._use.store.runs.renew(self._claim, lease=self._use.lease)
                    renewed = self._use.clock.steady()
                run = await self._use.store.runs.note_reading(self._claim, self._reading)
            except Unavailable as error:
                log.warning("cannot record the progress of an import", extra={"error": str(error)})
            if run is None:
                raise _Lost
            is_idle = run == self._run
            self._run = run
            if run.cancel_requested:
                return _End(CANCELLED)
            self._on_change(run)
            self._reported.set()
            self._all_is_queued.clear()
            pause = LAST_REPORT_SECONDS if self._reading.all_published else REPORT_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE_REPORT_SECONDS if is_idle else pause):
                    await self._all_is_queued.wait()

    async def _finish(self, end: _End) -> ImportRun:
        status = self._foreseen(end.error).status
        feed = self._claim.feed
        usual = next_run(
            feed.config,
            now=self._use.clock.now(),
            usual_minutes=self._use.usual_minutes,
            failures=failures_after(feed.failures, status, is_cancelled=self._run.cancel_requested),
            jitter=jitter(),
            retry_after=end.retry_after,
        )
        fetched = None if self._obtained is None else self._obtained.fetched
        ending = Ending(
            error=end.error,
            next_run_at=end.next_run_at if usual is not None and end.next_run_at else usual,
            last_fetch=fetched and (fetched if status is RunStatus.COMPLETED else LastFetch()),
        )
        reading = replace(self._reading, phase=Phase.FINISHED)
        run = await retry_until_available(
            lambda: self._use.store.runs.finish(self._claim, reading, ending)
        )
        if run is None:
            raise _Lost
        self._on_change(run)
        if self._is_shared:
            await self._use.obtain.forget(self._claim)
        elif self._is_whole and run.status is RunStatus.COMPLETED and self._obtained is not None:
            await self._use.obtain.keep(self._claim, self._use.reader.learnt(self._obtained.path))
        await self._use.obtain.clear(run.run_id)
        run_ends.log(
            logging.WARNING if run.status is RunStatus.FAILED else logging.INFO,
            "an import has ended",
            extra={
                "source_url": run.source_url,
                "run_id": run.run_id,
                "status": run.status,
                **{name: number for name, number in run.counts._asdict().items() if number},
                **({} if run.error is None else {"error": run.error}),
            },
        )
        return run

    def _foreseen(self, error: str | None) -> ImportRun:
        """The run as the store will end it, if nothing more is counted."""
        return at_end(replace(self._run, reading=self._reading), error)

    async def _give_back(self) -> None:
        try:
            await self._use.store.runs.note_reading(self._claim, self._reading)
            await self._use.store.runs.give_up(self._claim)
        except Unavailable as error:  # then the lease runs out
            log.warning("cannot release a run", extra={"error": str(error)})
