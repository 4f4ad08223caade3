"""The contract of Feeds: lists that are searched, filtered and sorted. As for watches, whose suite
has more."""

from __future__ import annotations

from contracts.adapters import ImportProcesses
from contracts.import_samples import (
    MAY,
    add_feed,
    begin,
    claimed,
    config,
    end,
    feed_now,
    reading,
    started,
)
from contracts.search_examples import ACCENTED, EXAMPLES, OF_ACCENTED, TEXT, results
from webloom.domain.feed import LastFetch
from webloom.domain.listing import EVERYTHING, Count, ListedState, ListFilter, Order, SortField
from webloom.domain.tags import TagCount
from webloom.ports.imports import Imports


async def ids(
    store: Imports, chosen: ListFilter = EVERYTHING, order: str = "name", limit: int = 2
) -> list[str]:
    found: list[str] = []
    cursor: str | None = None
    by = Order(SortField(order.removeprefix("-")), order.startswith("-"))
    while True:
        page, cursor = await store.feeds.page(chosen, limit=limit, cursor=cursor, order=by)
        assert len(page) <= limit
        found += [feed.feed_id.removeprefix("id of ") for feed in page]
        if cursor is None:
            return found


async def test_the_beginnings_of_words_find_a_feed_by_its_name_tags_and_urls(
    import_store: Imports,
) -> None:
    await add_feed(import_store, TEXT, url="http://a.example/")
    await add_feed(import_store, "by URL", url=f"http://b.example/{TEXT}")
    await add_feed(import_store, "moved", url="http://c.example/", moved_to=f"http://d/{TEXT}")
    await add_feed(import_store, "by tag", url="http://e.example/", tags=["other", TEXT])
    await add_feed(import_store, "accent", url="http://f.example/", tags=[ACCENTED])

    async def is_found(query: str) -> bool:
        chosen = ListFilter(text=query)
        found = await ids(import_store, chosen)
        assert await import_store.feeds.count_chosen(chosen, most=9) == Count(len(found))
        if found:
            assert {TEXT, "by URL", "moved", "by tag"} <= {*found}
        return bool(found)

    async def is_accent_found(query: str) -> bool:
        return await ids(import_store, ListFilter(text=query)) == ["accent"]

    assert await results(EXAMPLES, is_found) == EXAMPLES
    assert await results(OF_ACCENTED, is_accent_found) == OF_ACCENTED


async def test_tags_are_found_counted_and_changed(import_store: Imports) -> None:
    await add_feed(import_store, "a", tags=["Été", "on sale"])
    await add_feed(import_store, "b", tags=["été"])
    assert (await feed_now(import_store, "a")).config.tags == ["Été", "on sale"]
    assert await ids(import_store, ListFilter(tag="ÉTÉ")) == ["a", "b"]
    assert await ids(import_store, ListFilter(tag="sale")) == []
    expected = [TagCount(tag="on sale", count=1), TagCount(tag="Été", count=2)]
    assert await import_store.feeds.tags() == expected
    await import_store.feeds.edit("id of a", config("a", tags=["new"]), next_run_at=None)
    assert await ids(import_store, ListFilter(tag="été")) == ["b"]
    assert await ids(import_store, ListFilter(text="new")) == ["a"]


async def test_an_edit_of_tags_leaves_what_the_last_fetch_left(import_store: Imports) -> None:
    fetch = LastFetch(etag="e")
    await end(import_store, await begin(import_store), reading(), last_fetch=fetch)
    await import_store.feeds.edit("id of feed", config(tags=["x"]), next_run_at=None)
    assert (await feed_now(import_store)).last_fetch == fetch
    await import_store.feeds.edit(
        "id of feed", config(tags=["x"], format="indeed"), next_run_at=None
    )
    assert (await feed_now(import_store)).last_fetch == LastFetch()


async def test_feeds_are_sorted_and_filtered_by_their_state(
    imports: ImportProcesses,
) -> None:
    async with imports.open() as store:
        for name, due in (("b", MAY), ("c", None), ("a", MAY)):
            await add_feed(store, name, due=due, enabled=due is not None)
            await imports.pass_time(1)
        run = await started(store, "a")
        claim = await claimed(store, run_id=run.run_id)
        await end(store, claim, reading(), error="it is away", next_run_at=MAY)
        await imports.pass_time(1)
        await started(store, "b")
        assert await ids(store) == ["a", "b", "c"]
        assert await ids(store, order="-name") == ["c", "b", "a"]
        assert await ids(store, order="nextRunAt") == ["a", "b", "c"]
        assert await ids(store, order="-nextRunAt") == ["b", "a", "c"]
        assert await ids(store, order="createdAt") == ["b", "c", "a"]
        assert await ids(store, order="lastRunAt", limit=9) == ["a", "b", "c"]
        assert await ids(store, order="-failures") == ["a", "c", "b"]
        for state, expected in {
            ListedState.ENABLED: ["a", "b"],
            ListedState.PAUSED: ["c"],
            ListedState.FAILING: ["a"],
            ListedState.CHECKING: ["b"],
        }.items():
            assert await ids(store, ListFilter(state=state)) == expected
