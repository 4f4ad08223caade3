"""A batch of a run that has ended comes again on MongoDB, and its first worker is still alive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import AsyncMock

import pytest

from contracts.import_samples import (
    all_read,
    apply,
    batch,
    begin,
    end,
    import_all,
    posting,
    postings,
    run_now,
    stored,
)
from contracts.mongodb_backend import postings_of, runs_of
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.imports import mongodb_imports
from webloom.domain.errors import StoreUnavailable
from webloom.domain.import_run import Counts, ImportRun, RunStatus
from webloom.ports.import_runs import Claim
from webloom.ports.imports import Imports

JOBS = [posting("old", "changed"), *postings("same", "new", "newer")]
FETCHED = 6
PART = Counts(new=2)
ALL = Counts(new=2, updated=1, unchanged=1)


@pytest.fixture
async def store(mongodb: MongoDatabase) -> Imports:
    made = mongodb_imports(mongodb)
    await import_all(made, [posting("old"), posting("same")])
    return made


@pytest.fixture
async def claim(store: Imports) -> Claim:
    return await begin(store)


@asynccontextmanager
async def half_way(
    store: Imports, monkeypatch: pytest.MonkeyPatch, claim: Claim, *, fails: bool = False
) -> AsyncIterator[asyncio.Task[Counts | None]]:
    """The worker has inserted what is new. It changes what differs when the block has ended, though
    it may get the reply that this has failed."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    real = postings_of(store)._writes._change

    async def change(*values: Any) -> Any:
        monkeypatch.setattr(postings_of(store)._writes, "_change", real)
        reached.set()
        await go_on.wait()
        changed = await real(*values)
        if fails:
            raise StoreUnavailable("no answer")
        return changed

    monkeypatch.setattr(postings_of(store)._writes, "_change", change)
    worker = asyncio.ensure_future(store.postings.apply_batch(batch(claim.run.run_id, 0, JOBS)))
    await reached.wait()
    await end(store, claim, all_read(FETCHED, 2), error="cancelled")
    yield worker
    go_on.set()
    await asyncio.wait({worker})


async def comes_again(store: Imports, claim: Claim) -> ImportRun:
    assert await store.postings.apply_batch(batch(claim.run.run_id, 0, JOBS)) is None
    return await run_now(store, claim.run.run_id)


def never_stored(counts: Counts) -> Counts:
    return counts._replace(failed=FETCHED - counts.total)


async def test_what_the_first_worker_stores_afterwards_is_counted(
    store: Imports, monkeypatch: pytest.MonkeyPatch, claim: Claim
) -> None:
    async with half_way(store, monkeypatch, claim) as worker:
        for _ in range(2):
            run = await comes_again(store, claim)
            assert (run.counts, run.processed_batches) == (never_stored(PART), 1)
    assert worker.result() == ALL
    for run in (await run_now(store, claim.run.run_id), await comes_again(store, claim)):
        assert (run.counts, run.processed_batches) == (never_stored(ALL), 1)
        assert run.reading.fetched == run.counts.total


async def test_a_write_whose_reply_was_lost_is_counted(
    store: Imports, monkeypatch: pytest.MonkeyPatch, claim: Claim
) -> None:
    async with half_way(store, monkeypatch, claim, fails=True) as worker:
        await comes_again(store, claim)
    assert isinstance(worker.exception(), StoreUnavailable)
    run = await comes_again(store, claim)  # as the worker itself does
    assert (run.counts, run.processed_batches) == (never_stored(Counts(new=2, updated=1)), 1)


async def test_who_counts_by_an_older_row_does_not_undo_a_later_count(
    store: Imports, monkeypatch: pytest.MonkeyPatch, claim: Claim
) -> None:
    counting, go_on = asyncio.Event(), asyncio.Event()
    ledger = runs_of(store)._ledger
    real = ledger.sums

    async def sums(run_id: str) -> Any:
        monkeypatch.setattr(ledger, "sums", real)
        result = await real(run_id)
        counting.set()
        await go_on.wait()
        return result

    async with half_way(store, monkeypatch, claim):
        await comes_again(store, claim)
        with monkeypatch.context() as patched:  # a worker that began before the run has ended
            patched.setattr(
                postings_of(store)._writes._looking, "ask", AsyncMock(return_value=True)
            )
            await postings_of(store)._writes.apply(JOBS[:1], batch(claim.run.run_id, 0, []).mark)
        monkeypatch.setattr(ledger, "sums", sums)
        other = asyncio.ensure_future(comes_again(store, claim))
        await counting.wait()
    go_on.set()
    run = await other
    assert (run.counts, run.processed_batches) == (never_stored(ALL), 1)


async def test_a_row_of_a_running_import_never_gives_way(store: Imports, claim: Claim) -> None:
    assert await apply(store, claim, 0, postings("new")) == Counts(new=1)
    assert await apply(store, claim, 0, JOBS) == Counts(new=1)


async def test_a_count_stands_whose_rows_are_gone(
    store: Imports, mongodb: MongoDatabase, claim: Claim
) -> None:
    """As they are when they are old, or the run was copied here; its message comes once more."""
    assert await apply(store, claim, 0, JOBS) == ALL
    ended = await end(store, claim, all_read(len(JOBS), 1))
    await mongodb.import_batches.delete_many({})
    assert await comes_again(store, claim) == ended
    feed = await store.feeds.find(ended.feed_id)
    assert feed is not None
    assert feed.last_status is ended.status is RunStatus.COMPLETED


async def test_what_a_later_run_has_stored_is_not_undone(
    store: Imports, monkeypatch: pytest.MonkeyPatch, claim: Claim
) -> None:
    async with half_way(store, monkeypatch, claim) as worker:
        later = await import_all(store, [posting("old", "newest"), *JOBS[1:]])
    assert (await stored(store, "old")).changed_by.run_id == later.run_id
    assert worker.result() == Counts(new=2, unchanged=1)
    run = await run_now(store, claim.run.run_id)
    assert run.counts == never_stored(Counts(new=2, unchanged=1))


async def test_a_worker_that_reads_after_a_later_run_has_stored_undoes_nothing(
    store: Imports, monkeypatch: pytest.MonkeyPatch, claim: Claim
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    real = postings_of(store)._writes.judge_known

    async def judge_known(*values: Any) -> Any:
        monkeypatch.setattr(postings_of(store)._writes, "judge_known", real)
        begun.set()
        await go_on.wait()
        return await real(*values)

    monkeypatch.setattr(postings_of(store)._writes, "judge_known", judge_known)
    worker = asyncio.ensure_future(store.postings.apply_batch(batch(claim.run.run_id, 0, JOBS)))
    await begun.wait()
    await end(store, claim, all_read(FETCHED, 2), error="cancelled")
    later = await import_all(store, [posting("old", "newest"), *JOBS[1:]])
    go_on.set()
    assert await worker == Counts(unchanged=3)
    assert (await stored(store, "old")).changed_by.run_id == later.run_id
