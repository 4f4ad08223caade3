"""Which process holds a run of an import: leases, tokens and hosts that are busy."""

from __future__ import annotations

import asyncio

from contracts.adapters import ImportProcesses
from contracts.import_samples import (
    LEASE,
    add_feed,
    all_read,
    apply,
    begin,
    claimed,
    config,
    end,
    feed_now,
    postings,
    reading,
    run_now,
    started,
    stored,
)
from webloom.domain.feed import Feed, FeedConfig
from webloom.domain.import_run import (
    RunStatus,
)
from webloom.domain.import_transitions import Ending
from webloom.ports.import_runs import Claim
from webloom.ports.imports import Imports


async def test_one_producer_at_a_time_holds_a_run(imports: ImportProcesses) -> None:
    async with imports.open() as one, imports.open() as two:
        await add_feed(one)
        run = await started(one)
        claims = await asyncio.gather(
            *((one, two)[n % 2].runs.claim(f"producer {n}", lease=LEASE) for n in range(20))
        )
        [claim] = [each for each in claims if each is not None]
        assert claim.run.run_id == run.run_id
        for run_id in (None, run.run_id, "unknown"):
            assert await two.runs.claim("another", lease=LEASE, run_id=run_id) is None


async def test_each_of_two_runs_can_be_claimed_by_name(import_store: Imports) -> None:
    for name in ("feed", "other"):
        await add_feed(import_store, name)
    first, second = await started(import_store, "feed"), await started(import_store, "other")
    claim = await claimed(import_store, run_id=second.run_id)
    assert claim.run.run_id == second.run_id
    assert claim.feed.feed_id == "id of other"
    other = await import_store.runs.claim("another", lease=LEASE)
    assert other is not None
    assert other.run.run_id == first.run_id


async def test_runs_of_a_busy_host_are_left_to_wait(import_store: Imports) -> None:
    """Also those of a feed that has moved there, and not those of one that has moved away."""
    away = {"moved_to": "http://away.example:8080/feed.xml"}
    for name, moved_to in (
        ("busy", None),
        ("moved", "https://busy.example:8443/new.xml"),
        ("busy.more", None),
        ("other", None),
    ):
        await add_feed(import_store, name, moved_to=moved_to)
        await started(import_store, name)
    first = await claimed_beside(import_store, "one", "busy.example")
    assert first.feed.feed_id == "id of busy.more"
    await import_store.feeds.edit("id of other", config("other", **away), next_run_at=None)
    assert (
        await import_store.runs.claim(
            "two", lease=LEASE, busy_hosts=["busy.example", "away.example"]
        )
        is None
    )
    second = await claimed_beside(import_store, "two", "busy.example", "other.example")
    assert second.feed.feed_id == "id of other"
    again = await claimed_beside(import_store, "two", "busy.example", "away.example")
    assert again == second, "a claim that stands is given again, whatever its host"
    rest = [
        await claimed_beside(import_store, owner, "away.example") for owner in ("three", "four")
    ]
    assert {each.feed.feed_id for each in rest} == {"id of busy", "id of moved"}


async def test_a_run_of_a_busy_host_can_be_named_and_can_be_cancelled(
    import_store: Imports,
) -> None:
    for name in ("one", "two"):
        await add_feed(import_store, name, moved_to=f"http://busy.example/{name}")
    named, cancelled = await started(import_store, "one"), await started(import_store, "two")
    claim = await import_store.runs.claim(
        "a", lease=LEASE, run_id=named.run_id, busy_hosts=["busy.example"]
    )
    assert claim is not None
    assert await import_store.runs.claim("b", lease=LEASE, busy_hosts=["busy.example"]) is None
    await import_store.runs.cancel(cancelled.run_id)
    ending = await claimed_beside(import_store, "b", "busy.example")
    assert (ending.run.run_id, ending.run.cancel_requested) == (cancelled.run_id, True)


async def claimed_beside(store: Imports, owner: str, *busy: str) -> Claim:
    claim = await store.runs.claim(owner, lease=LEASE, busy_hosts=busy)
    assert claim is not None
    return claim


async def test_the_owners_own_claim_is_given_again(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        await add_feed(store)
        run = await started(store)
        claim = await claimed(store, lease=10)
        await imports.pass_time(9)
        again = await claimed(store, run_id=run.run_id, lease=10)
        assert again.token == claim.token
        await imports.pass_time(9)
        assert await store.runs.claim("other", lease=10) is None


async def test_the_first_claim_has_token_1_and_one_after_an_expired_lease_a_higher_one(
    imports: ImportProcesses,
) -> None:
    """Also for the same owner: it may have been away for long."""
    async with imports.open() as store:
        await add_feed(store)
        run = await started(store)
        assert not await store.runs.renew(
            Claim(run=run, feed=await feed_now(store), token=0), lease=10
        )
        first = await claimed(store, lease=10)
        await imports.pass_time(11)
        second = await claimed(store, lease=10)
        assert (first.token, second.token) == (1, 2)
        assert await store.runs.note_reading(first, reading(fetched=1)) is None
        assert await store.runs.note_reading(second, reading(fetched=1)) is not None


async def test_a_claim_shows_what_is_known_of_a_removed_feed(import_store: Imports) -> None:
    feed = await add_feed(import_store, enabled=True, interval_minutes=5.0)
    run = await started(import_store)
    assert await import_store.feeds.remove(feed.feed_id)
    claim = await claimed(import_store)
    assert (claim.run.run_id, claim.run.cancel_requested) == (run.run_id, True)
    assert claim.feed == Feed(
        feed_id=feed.feed_id,
        config=FeedConfig(url=feed.config.url, name=feed.config.name, enabled=False),
        created_at=run.started_at,
        updated_at=run.started_at,
        next_run_at=None,
    )
    ended = await end(import_store, claim, all_read(0, 0), error="cancelled")
    assert ended.status is RunStatus.FAILED


async def test_a_renewed_claim_stands_and_one_that_ran_out_goes_to_the_next(
    imports: ImportProcesses,
) -> None:
    async with imports.open() as one, imports.open() as two:
        await add_feed(one)
        run = await started(one)
        tokens = []
        for turn in range(4):
            store, owner = (one, two)[turn % 2], f"owner {turn % 2}"
            claim = await claimed(store, owner, lease=10)
            tokens.append(claim.token)
            await imports.pass_time(9)
            assert await store.runs.renew(claim, lease=10)
            await imports.pass_time(9)
            assert await one.runs.claim("third", lease=10, run_id=run.run_id) is None
            await imports.pass_time(2)
        assert tokens == sorted(set(tokens))


async def test_a_jump_of_the_wall_clock_moves_no_lease(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        await add_feed(store)
        await started(store)
        await claimed(store, lease=10)
        imports.clock.jump_wall(3600)
        assert await store.runs.claim("other", lease=10) is None


async def test_a_run_that_is_given_up_can_be_claimed_at_once(import_store: Imports) -> None:
    await add_feed(import_store)
    await started(import_store)
    claim = await claimed(import_store, "one")
    await import_store.runs.give_up(claim)
    other = await claimed(import_store, "two")
    assert other.token > claim.token
    await import_store.runs.give_up(claim)
    assert await import_store.runs.claim("three", lease=LEASE) is None
    assert await import_store.runs.renew(other, lease=LEASE)


async def test_a_claim_that_no_longer_stands_changes_nothing(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        await add_feed(store)
        run = await started(store)
        stale = await claimed(store, "one")
        await apply(store, stale, 0, postings("a"))
        await imports.pass_time(LEASE + 1)
        claim = await claimed(store, "two")
        await store.runs.note_reading(claim, reading(fetched=5))
        before, feed = await run_now(store, run.run_id), await feed_now(store)

        await imports.pass_time(1)
        assert not await store.runs.renew(stale, lease=LEASE)
        assert await store.runs.note_reading(stale, reading(fetched=9)) is None
        assert await store.runs.finish(stale, all_read(9, 1), Ending(error="no")) is None
        await store.postings.close(stale, [postings("a")[0].dedupe_key])

        assert await run_now(store, run.run_id) == before
        assert await feed_now(store) == feed
        assert (await stored(store, "a")).closed_at is None
        assert await store.runs.renew(claim, lease=LEASE)


async def test_a_claim_that_ran_out_still_stands_until_somebody_takes_the_run(
    imports: ImportProcesses,
) -> None:
    async with imports.open() as store:
        await add_feed(store)
        await started(store)
        claim = await claimed(store, lease=5)
        await imports.pass_time(60)
        assert await store.runs.note_reading(claim, reading(fetched=1)) is not None
        assert await store.runs.renew(claim, lease=5)
        assert await store.runs.claim("other", lease=5) is None


async def test_a_run_that_has_ended_is_nobodys(import_store: Imports) -> None:
    claim = await begin(import_store)
    ended = await end(import_store, claim, all_read(0, 0))
    assert not await import_store.runs.renew(claim, lease=LEASE)
    await import_store.runs.give_up(claim)
    for run_id in (None, claim.run.run_id):
        assert await import_store.runs.claim("producer", lease=LEASE, run_id=run_id) is None
    assert await run_now(import_store, claim.run.run_id) == ended
