"""Imports on MongoDB, where two deaths meet: a run is ended, and a process dies that knew more."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from contracts.dying import Killed
from contracts.import_samples import (
    all_read,
    apply,
    batch,
    begin,
    end,
    feed_now,
    import_all,
    posting,
    postings,
    run_now,
    started,
)
from contracts.mongodb_backend import postings_of, runs_of
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.imports import mongodb_imports
from webloom.domain.import_run import Counts, RunStatus
from webloom.domain.import_transitions import Ending
from webloom.ports.imports import Imports

ENDING = Ending(error="cancelled", next_run_at=None)


@pytest.fixture
def store(mongodb: MongoDatabase) -> Imports:
    return mongodb_imports(mongodb)


@pytest.mark.parametrize("others", ["none", "start", "claim", "finish"])
async def test_a_row_that_the_end_of_its_run_has_missed_is_counted_though_the_producer_died(
    store: Imports, monkeypatch: pytest.MonkeyPatch, others: str
) -> None:
    """The worker still saw a running run, so that it left the counting to the producer; which may
    die as soon as the run has ended."""
    claim = await begin(store)
    pairs = runs_of(store)._ending
    real = pairs.change

    async def change(*values: Any, **named: Any) -> Any:
        monkeypatch.setattr(pairs, "change", real)
        assert await apply(store, claim, 0, postings("a", "b")) == Counts(new=2)
        ended = await real(*values, **named)
        if others != "none":
            raise Killed
        return ended

    monkeypatch.setattr(pairs, "change", change)
    with suppress(Killed):
        await store.runs.finish(claim, all_read(3, 2), ENDING)
    match others:
        case "start":
            await started(store)
        case "claim":
            assert await store.runs.claim("another", lease=5) is None
        case "finish":
            assert await store.runs.finish(claim, all_read(3, 2), ENDING) is not None
    run = await run_now(store, claim.run.run_id)
    assert (run.counts, run.processed_batches) == (Counts(new=2, failed=1), 1)
    assert (await feed_now(store)).last_status is RunStatus.PARTIAL


@pytest.mark.parametrize("verb", ["_insert", "_write_row"], ids=["postings", "row"])
async def test_a_batch_whose_run_ended_before_its_worker_died_is_counted_as_far_as_it_is_stored(
    store: Imports, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """The worker has found the run running, and dies when it has written the postings, or the row
    too; the run has ended meanwhile. The message comes again."""
    await import_all(store, [posting("old"), posting("same")])
    claim = await begin(store)
    jobs = [posting("old", "changed"), *postings("same", "new", "newer")]
    reached, go_on = asyncio.Event(), asyncio.Event()
    owner: Any = (
        postings_of(store)._writes if verb == "_insert" else postings_of(store)._writing_rows
    )
    name = verb if verb == "_insert" else "ask"
    real = getattr(owner, name)

    async def call(*values: Any) -> Any:
        monkeypatch.setattr(owner, name, real)
        reached.set()
        await go_on.wait()
        await real(*values)
        raise Killed

    monkeypatch.setattr(owner, name, call)
    dying = asyncio.ensure_future(apply(store, claim, 0, jobs))
    await reached.wait()
    await end(store, claim, all_read(6, 2), error="cancelled")
    go_on.set()
    with pytest.raises(Killed):
        await dying
    for _ in range(2):
        assert await store.postings.apply_batch(batch(claim.run.run_id, 0, jobs)) is None
        run = await run_now(store, claim.run.run_id)
        expected = Counts(new=2) if verb == "_insert" else Counts(new=2, updated=1, unchanged=1)
        assert run.counts == expected.plus(Counts(failed=6 - expected.total))
        assert run.processed_batches == 1
