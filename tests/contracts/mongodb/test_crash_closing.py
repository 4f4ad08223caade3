"""A producer closes postings on MongoDB, is held up or dies at any step, and others go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from contracts.dying import Killed
from contracts.import_samples import (
    LEASE,
    add_feed,
    all_read,
    apply,
    batch,
    begin,
    claimed,
    end,
    import_all,
    key_of,
    postings,
    started,
    stored,
)
from contracts.mongodb_backend import postings_of, runs_of
from fakes.clock import FakeClock
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.imports import mongodb_imports
from webloom.domain.import_run import Counts
from webloom.ports.imports import Imports

MOST_STEPS = 10
GONE = key_of("gone")
BOTH = postings("gone", "kept")

Then = Callable[[], Awaitable[None]]


class Steps:
    """Of one process: at one of its calls of the server something happens first."""

    def __init__(self, left: int, then: Then) -> None:
        self._left = left
        self._then = then

    async def step(self) -> None:
        self._left -= 1
        if self._left == 0:
            await self._then()

    @property
    def has_happened(self) -> bool:
        return self._left <= 0


class Stepping:
    def __init__(self, real: Any, steps: Steps) -> None:
        self._real = real
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._real, name)

        async def call(*values: Any, **options: Any) -> Any:
            await self._steps.step()
            return await verb(*values, **options)

        return call


def process(database: MongoDatabase, steps: Steps) -> Imports:
    store = mongodb_imports(database)
    runs, opened = runs_of(store), cast(Any, postings_of(store)._open)
    runs._documents = Stepping(runs._documents, steps)
    opened._jobs = Stepping(database.jobs, steps)
    return store


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "whole"])
async def test_a_producer_that_lost_its_run_closes_nothing_that_a_later_run_has_found(
    mongodb: MongoDatabase, clock: FakeClock, is_known: bool
) -> None:
    """Another one takes the run over, ends it without closing anything, and the next run finds the
    posting as it was: all that while the first one waits for an answer."""
    others = mongodb_imports(mongodb)
    await import_all(others, BOTH)
    counted = set()
    for step in range(1, MOST_STEPS):
        run = await started(others)
        claim = await claimed(others, "first", run.run_id)

        async def go_on() -> None:
            clock.advance(LEASE + 1)
            await end(others, await claimed(others, "second"), all_read(1, 0), error="changed")
            following = await begin(others)
            known = [(each.dedupe_key, each.content_hash) for each in BOTH]
            as_known = batch(following.run.run_id, 0, [], known=known)
            counts = await others.postings.apply_batch(as_known) if is_known else None
            counted.add(counts or await apply(others, following, 0, BOTH))
            await end(others, following, all_read(len(BOTH), 1))

        steps = Steps(step, go_on)
        await process(mongodb, steps).postings.close(claim, [GONE])
        if not steps.has_happened:
            break
        assert (await stored(others, "gone")).closed_by is None, f"at step {step}"
        assert await mongodb.jobs.find_one({"closingBy": {"$exists": True}}) is None
    else:
        raise AssertionError("the steps do not end")
    assert counted == {Counts(unchanged=2), Counts(unchanged=1, updated=1)}


async def test_what_a_producer_was_closing_when_it_died_is_closed_by_the_next(
    mongodb: MongoDatabase, clock: FakeClock
) -> None:
    others = mongodb_imports(mongodb)
    await add_feed(others)

    async def die() -> None:
        raise Killed

    for step in range(1, MOST_STEPS):
        await import_all(others, BOTH)
        run = await started(others)
        claim = await claimed(others, "first", run.run_id)
        steps = Steps(step, die)
        try:
            await process(mongodb, steps).postings.close(claim, [GONE])
        except Killed:
            clock.advance(LEASE + 1)
            claim = await claimed(others, "second", run.run_id)
            await others.postings.close(claim, [GONE])
        ended = await end(others, claim, all_read(0, 0))
        assert ended.closed_jobs == 1, f"at step {step}"
        assert (await stored(others, "gone")).closed_by == run.run_id
        if not steps.has_happened:
            break
    else:
        raise AssertionError("the steps do not end")


@pytest.mark.parametrize("is_undone", [True, False], ids=["undone", "left"])
async def test_a_mark_that_comes_late_keeps_nobody_from_closing(
    mongodb: MongoDatabase, clock: FakeClock, is_undone: bool
) -> None:
    """Of a producer that has lost its run, to one that closes the same postings."""
    others = mongodb_imports(mongodb)
    await add_feed(others)

    async def mark() -> None:
        await postings_of(others)._open.mark([GONE], "of the first")
        if is_undone:
            await postings_of(others)._open.unmark([GONE], "of the first")

    for step in range(1, MOST_STEPS):
        await import_all(others, BOTH)
        claim = await claimed(others, "second", (await started(others)).run_id)
        steps = Steps(step, mark)
        await process(mongodb, steps).postings.close(claim, [GONE])
        ended = await end(others, claim, all_read(0, 0))
        assert ended.closed_jobs == 1, f"at step {step}"
        if not steps.has_happened:
            break
    else:
        raise AssertionError("the steps do not end")
