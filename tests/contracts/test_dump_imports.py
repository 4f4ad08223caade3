"""Feeds, runs and postings, loaded from each backend into each."""

from __future__ import annotations

import pytest

from contracts.adapters import Whole
from contracts.import_samples import (
    all_read,
    apply,
    claimed,
    config,
    end,
    feed_now,
    import_all,
    later,
    names_listed,
    posting,
    run_now,
    started,
    stored,
)
from contracts.whole_samples import PAIRS, WHOLE_POSTING, carry, furnish_imports
from fakes.clock import FakeClock
from webloom.domain.import_run import Counts, RunStatus
from webloom.ports.postings import PostingFilter

pytestmark = pytest.mark.usefixtures("patient")


@pytest.fixture
def clock(clock_of_today: FakeClock) -> FakeClock:
    return clock_of_today


@PAIRS
async def test_what_was_loaded_is_used_like_what_was_made_here(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_imports(source.imports, clock)
    await carry(source, target, clock)
    store = target.imports
    assert sorted(await names_listed(store)) == sorted(await names_listed(source.imports))
    assert await names_listed(store, PostingFilter(text="köln")) == ["whole"]
    assert await names_listed(store, PostingFilter(is_open=False)) == ["closed"]
    again = [WHOLE_POSTING, posting("changed", "again"), posting("closed"), posting("old", "new")]
    run = await import_all(store, [*again, posting("new")])
    assert run.counts == Counts(new=1, updated=2, unchanged=2)
    assert len(await names_listed(store, limit=50)) == 7
    assert (await feed_now(store)).last_run_id == run.run_id


@PAIRS
async def test_a_run_that_was_under_way_can_be_taken_up_at_once(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_imports(source.imports, clock)
    await carry(source, target, clock)
    claim = await claimed(target.imports, "another")
    assert claim.feed.config == config("running")
    half = posting("half", source_url="http://running.example/feed.xml")
    other = posting("other", source_url="http://running.example/feed.xml")
    assert await apply(target.imports, claim, 0, [half]) == Counts(new=1)
    assert await apply(target.imports, claim, 1, [other]) == Counts(new=1)
    run = await end(target.imports, claim, all_read(2, 2), next_run_at=later(5))
    assert (run.status, run.counts) == (RunStatus.COMPLETED, Counts(new=2))
    feed = await feed_now(target.imports, "running")
    assert (feed.active_run_id, feed.next_run_at) == (None, later(5))


@PAIRS
async def test_what_is_newer_here_stays(source: Whole, target: Whole, clock: FakeClock) -> None:
    await furnish_imports(source.imports, clock)
    await carry(source, target, clock)
    clock.advance(60)
    await import_all(target.imports, [posting("same", "newer")])
    here = await stored(target.imports, "same"), await feed_now(target.imports)
    verdicts = await carry(source, target, clock)
    assert all(verdict.holds for verdict in verdicts.values())
    assert (verdicts["jobs"].newer, verdicts["feeds"].newer) == (1, 1)
    assert (await stored(target.imports, "same"), await feed_now(target.imports)) == here


@PAIRS
async def test_what_is_older_here_is_replaced(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_imports(source.imports, clock)
    await carry(source, target, clock)
    clock.advance(60)
    changed = posting("same", title="Another", published_at=later(1e9))
    run = await import_all(source.imports, [changed])
    await carry(source, target, clock)
    assert await stored(target.imports, "same") == await stored(source.imports, "same")
    assert await names_listed(target.imports, PostingFilter(text="another")) == ["same"]
    assert (await names_listed(target.imports))[0] == "same"
    assert await run_now(target.imports, run.run_id) == run
    assert await feed_now(target.imports) == await feed_now(source.imports)


@PAIRS
async def test_a_run_that_the_target_has_started_stays_active(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_imports(source.imports, clock)
    await carry(source, target, clock)
    run = await started(target.imports, "never")
    assert all(verdict.holds for verdict in (await carry(source, target, clock)).values())
    assert (await feed_now(target.imports, "never")).active_run_id == run.run_id


@PAIRS
async def test_an_import_that_runs_keeps_its_feed_even_if_another_is_newer(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_imports(source.imports, clock)
    await carry(source, target, clock)
    run = await started(target.imports)
    claim = await claimed(target.imports, run_id=run.run_id)
    clock.advance(60)
    newer = await import_all(source.imports, [posting("same", "newer")])
    verdicts = await carry(source, target, clock)
    assert all(verdict.holds for verdict in verdicts.values())
    feed = await feed_now(target.imports)
    assert (feed.active_run_id, feed.last_run_id) == (run.run_id, newer.run_id)
    assert (await started(target.imports)).run_id == run.run_id
    await end(target.imports, claim, all_read(0, 0), next_run_at=later(5))
    feed = await feed_now(target.imports)
    assert (feed.active_run_id, feed.last_run_id) == (None, run.run_id)


@PAIRS
async def test_a_run_that_began_after_its_feed_was_read_is_tied_to_it(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    """As in a dump of a store without snapshots."""
    await furnish_imports(source.imports, clock)
    idle = await feed_now(source.imports, "never")
    run = await started(source.imports, "never")
    await target.whole.put_if_newer("feeds", [idle])
    await target.whole.put_if_newer("import_logs", [run])
    assert (await feed_now(target.imports, "never")).active_run_id == run.run_id
