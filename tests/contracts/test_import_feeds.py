"""The ImportStore's contract: feeds, and when each is due."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from contracts.adapters import ImportProcesses
from contracts.import_samples import (
    MAY,
    SOURCE,
    add_feed,
    all_read,
    apply,
    begin,
    claimed,
    config,
    end,
    feed_now,
    later,
    new_run,
    postings,
    source,
    started,
)
from webloom.domain.feed import Feed, LastFetch, UrlTaken
from webloom.domain.import_run import Phase, Reading, RunStatus
from webloom.ports.imports import Imports

FETCH = LastFetch(etag='W/"ä"', last_modified="Sun, 01 Mar 2026 12:00:00 GMT", content_hash="ab")


async def test_a_feed_is_stored_as_it_was_given(import_store: Imports) -> None:
    given = config(
        "näme",
        format="indeed",
        interval_minutes=7.5,
        enabled=False,
        mapping={"title": "job.name", "$odd": "a/b@c", "": "é"},
        close_missing=True,
    )
    feed, is_new = await import_store.feeds.add("some id", given, next_run_at=MAY)
    assert is_new
    assert feed == Feed(
        feed_id="some id",
        config=given,
        created_at=feed.created_at,
        updated_at=feed.created_at,
        next_run_at=MAY,
    )
    assert await import_store.feeds.find("some id") == feed
    assert await import_store.feeds.at_url(given.url) == feed
    assert await import_store.feeds.all() == [feed]


async def test_an_unknown_feed_is_none(import_store: Imports) -> None:
    assert await import_store.feeds.find("unknown") is None
    assert await import_store.feeds.at_url(SOURCE) is None
    assert await import_store.feeds.all() == []
    assert await import_store.feeds.edit("unknown", config(), next_run_at=None) is None
    assert await import_store.feeds.remove("unknown") is False
    assert await import_store.runs.start("unknown", new_run()) is None


async def test_a_url_that_is_known_stays_as_it_is(import_store: Imports) -> None:
    feed = await add_feed(import_store, interval_minutes=5, due=MAY)
    other = config(name="another name", url=feed.config.url)
    assert await import_store.feeds.add("another id", other, next_run_at=None) == (feed, False)
    assert await import_store.feeds.all() == [feed]


async def test_of_many_who_add_a_url_at_once_one_makes_the_feed(imports: ImportProcesses) -> None:
    async with imports.open() as one, imports.open() as two:
        answers = await asyncio.gather(
            *((one, two)[n % 2].feeds.add(f"id {n}", config(), next_run_at=None) for n in range(20))
        )
        assert sum(is_new for _, is_new in answers) == 1
        assert len({feed.feed_id for feed, _ in answers}) == 1


async def test_feeds_are_listed_by_name(import_store: Imports) -> None:
    for name in ("c", "a", "b"):
        await add_feed(import_store, name)
    assert [feed.config.name for feed in await import_store.feeds.all()] == ["a", "b", "c"]


async def test_an_edit_replaces_what_a_person_decides(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        feed = await add_feed(store, due=MAY)
        await imports.pass_time(5)
        new = config(name="new name", url=feed.config.url, format="rss", mapping={"title": "t"})
        edited = await store.feeds.edit(feed.feed_id, new, next_run_at=later(60))
        assert isinstance(edited, Feed)
        assert (edited.config, edited.next_run_at) == (new, later(60))
        assert edited.created_at == feed.created_at
        assert edited.updated_at > feed.updated_at
        assert await store.feeds.find(feed.feed_id) == edited


async def test_the_url_of_a_feed_cannot_change(import_store: Imports) -> None:
    feed = await add_feed(import_store)
    edited = await import_store.feeds.edit(feed.feed_id, config("other"), next_run_at=None)
    assert isinstance(edited, Feed)
    assert (edited.config.url, edited.config.name) == (feed.config.url, "other")
    assert await import_store.feeds.at_url(source("other")) is None


# A feed that has moved.

NEW_PLACE = "http://new.example/feed.xml"


async def moved(store: Imports, feed: Feed, url: str | None) -> Feed | UrlTaken | None:
    wanted = replace(feed.config, moved_to=url)
    return await store.feeds.edit(feed.feed_id, wanted, next_run_at=MAY)


async def test_a_feed_that_has_moved_is_the_same_feed(import_store: Imports) -> None:
    feed = await add_feed(import_store)
    edited = await moved(import_store, feed, NEW_PLACE)
    assert isinstance(edited, Feed)
    assert (edited.feed_id, edited.config.url) == (feed.feed_id, SOURCE)
    assert edited.config.fetch_url == NEW_PLACE
    assert await import_store.feeds.at_url(NEW_PLACE) == edited
    assert await import_store.feeds.at_url(SOURCE) == edited
    claim = await begin(import_store)
    assert (claim.run.source_url, claim.feed.config.fetch_url) == (SOURCE, NEW_PLACE)


async def test_a_feed_can_move_again_and_back(import_store: Imports) -> None:
    feed = await add_feed(import_store)
    for url in (NEW_PLACE, source("third")):
        edited = await moved(import_store, feed, url)
        assert isinstance(edited, Feed)
        assert edited.config.fetch_url == url
    assert await import_store.feeds.at_url(NEW_PLACE) is None
    for back in (SOURCE, None):
        edited = await moved(import_store, feed, back)
        assert isinstance(edited, Feed)
        assert edited.config == feed.config
    assert await import_store.feeds.at_url(source("third")) is None


async def test_a_feed_does_not_move_to_the_url_of_another(import_store: Imports) -> None:
    feed = await add_feed(import_store)
    there = await add_feed(import_store, "there")
    gone = await moved(import_store, await add_feed(import_store, "gone"), NEW_PLACE)
    assert isinstance(gone, Feed)
    assert await moved(import_store, feed, there.config.url) == UrlTaken(by=there)
    assert await moved(import_store, feed, gone.config.url) == UrlTaken(by=gone)
    assert await moved(import_store, feed, NEW_PLACE) == UrlTaken(by=gone)
    assert await import_store.feeds.find(feed.feed_id) == feed


async def test_the_url_that_a_feed_has_moved_to_is_no_new_feed(import_store: Imports) -> None:
    feed = await moved(import_store, await add_feed(import_store), NEW_PLACE)
    given = config("again", url=NEW_PLACE)
    assert await import_store.feeds.add("another id", given, next_run_at=None) == (feed, False)
    assert await import_store.feeds.all() == [feed]


async def test_of_many_that_move_to_one_url_at_once_one_does(imports: ImportProcesses) -> None:
    async with imports.open() as one, imports.open() as two:
        feeds = [await add_feed(one, f"feed-{n}") for n in range(10)]
        answers = await asyncio.gather(
            *(moved((one, two)[n % 2], feed, NEW_PLACE) for n, feed in enumerate(feeds))
        )
        [winner] = [each for each in answers if isinstance(each, Feed)]
        taken = [each for each in answers if isinstance(each, UrlTaken)]
        assert [each.by.feed_id for each in taken] == [winner.feed_id] * 9


async def test_an_edit_forgets_what_an_earlier_fetch_left(import_store: Imports) -> None:
    claim = await begin(import_store)
    await end(import_store, claim, all_read(0, 0), last_fetch=FETCH)
    assert (await feed_now(import_store)).last_fetch == FETCH
    edited = await import_store.feeds.edit(claim.feed.feed_id, config(), next_run_at=None)
    assert isinstance(edited, Feed)
    assert edited.last_fetch == LastFetch()
    assert edited.last_run_id == claim.run.run_id


async def test_a_run_that_began_before_an_edit_does_not_undo_it(imports: ImportProcesses) -> None:
    """It read the feed in the old way, and knows nothing of a pause."""
    async with imports.open() as store:
        claim = await begin(store)
        await imports.pass_time(1)
        paused = config(enabled=False, mapping={"title": "t"})
        await store.feeds.edit(claim.feed.feed_id, paused, next_run_at=None)
        await imports.pass_time(1)
        await end(store, claim, all_read(0, 0), last_fetch=FETCH, next_run_at=MAY)
        feed = await feed_now(store)
        assert (feed.config, feed.next_run_at, feed.last_fetch) == (paused, None, LastFetch())
        assert (feed.active_run_id, feed.last_status) == (None, RunStatus.COMPLETED)


async def test_a_removed_feed_leaves_its_runs_and_postings(import_store: Imports) -> None:
    claim = await begin(import_store)
    await apply(import_store, claim, 0, postings("a"))
    await end(import_store, claim, all_read(1, 1))
    assert await import_store.feeds.remove(claim.feed.feed_id)
    assert not await import_store.feeds.remove(claim.feed.feed_id)
    assert await import_store.feeds.find(claim.feed.feed_id) is None
    assert await import_store.feeds.at_url(SOURCE) is None
    assert await import_store.listed_runs.find(claim.run.run_id) is not None
    page = await import_store.listed_runs.changed(None, limit=10)
    assert page == []
    assert (await import_store.postings.open_keys(SOURCE, after="", limit=10)) != []
    feed, is_new = await import_store.feeds.add("other id", config(), next_run_at=None)
    assert (feed.feed_id, is_new) == ("other id", True)


async def test_a_run_of_a_feed_that_is_removed_is_asked_to_end_and_can_be_ended(
    imports: ImportProcesses,
) -> None:
    async with imports.open() as store:
        feed = await add_feed(store)
        run = await started(store)
        first = await claimed(store, "one")
        assert await store.feeds.remove(feed.feed_id)
        noted = await store.runs.note_reading(first, Reading(phase=Phase.READING))
        assert noted is not None
        assert noted.cancel_requested
        await imports.pass_time(16)
        claim = await claimed(store, "two")  # the first one has died
        assert claim.run.run_id == run.run_id
        assert (claim.feed.feed_id, claim.feed.config.url) == (feed.feed_id, feed.config.url)
        ended = await end(store, claim, all_read(0, 0), error="its feed was removed")
        assert ended.status is RunStatus.FAILED
        assert await store.feeds.find(feed.feed_id) is None


async def test_the_longest_overdue_feed_comes_first(import_store: Imports) -> None:
    for name, seconds in (("b", -5), ("a", -60), ("now", 0), ("later", 0.001), ("c", -10)):
        await add_feed(import_store, name, due=later(seconds))
    await add_feed(import_store, "never")
    due = await import_store.feeds.due(MAY, limit=10)
    assert [feed.config.name for feed in due] == ["a", "c", "b", "now"]
    due = await import_store.feeds.due(MAY, limit=2)
    assert [feed.config.name for feed in due] == ["a", "c"]
    assert await import_store.feeds.due(MAY - timedelta(days=1), limit=10) == []


async def test_a_feed_with_an_active_run_is_not_due(import_store: Imports) -> None:
    await add_feed(import_store, due=MAY)
    await started(import_store)
    assert await import_store.feeds.due(later(60), limit=10) == []
    await end(import_store, await claimed(import_store), all_read(0, 0), next_run_at=later(50))
    assert await import_store.feeds.due(later(49), limit=10) == []
    [feed] = await import_store.feeds.due(later(60), limit=10)
    assert feed.next_run_at == later(50)


async def test_a_feed_remembers_how_its_last_run_ended(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        for failures in (1, 2):
            claim = await begin(store)
            assert (await feed_now(store)).active_run_id == claim.run.run_id
            await end(store, claim, all_read(0, 0), error="no answer", next_run_at=MAY)
            feed = await feed_now(store)
            assert (feed.active_run_id, feed.last_run_id) == (None, claim.run.run_id)
            assert (feed.last_status, feed.last_error) == (RunStatus.FAILED, "no answer")
            assert (feed.failures, feed.next_run_at) == (failures, MAY)
            assert feed.last_run_at is not None
        claim = await begin(store)
        await end(store, claim, all_read(0, 0), last_fetch=FETCH)
        feed = await feed_now(store)
        assert (feed.last_status, feed.last_error, feed.failures) == (RunStatus.COMPLETED, None, 0)
        assert (feed.last_fetch, feed.next_run_at) == (FETCH, None)


async def test_what_a_fetch_left_stays_until_another_replaces_it(import_store: Imports) -> None:
    await end(import_store, await begin(import_store), all_read(0, 0), last_fetch=FETCH)
    await end(import_store, await begin(import_store), all_read(0, 0), error="no answer")
    assert (await feed_now(import_store)).last_fetch == FETCH
    await end(import_store, await begin(import_store), all_read(0, 0), last_fetch=LastFetch())
    assert (await feed_now(import_store)).last_fetch == LastFetch()


@pytest.mark.parametrize("moment", [MAY, MAY.replace(year=9998), MAY.replace(year=1971)], ids=str)
async def test_any_time_can_be_the_next(import_store: Imports, moment: datetime) -> None:
    await add_feed(import_store, due=moment)
    assert (await feed_now(import_store)).next_run_at == moment
