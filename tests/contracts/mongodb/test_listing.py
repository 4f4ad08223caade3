"""What only MongoDB's listing does by itself: words, and the work for one page."""

from __future__ import annotations

import pytest

from contracts.inventory_samples import complete, request
from contracts.test_store_listing import pages, urls, urls_oldest_first
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.adapters.mongodb.words import MOST_WORDS
from webloom.domain.inventory import RecordFilter, Status
from webloom.domain.listing import MOST_SCANNED
from webloom.domain.request_state import NotedRequest

SITE = "http://a.example/"


async def note_all(store: MongoInventoryStore, wanted: list[str]) -> None:
    await store.note_requests([NotedRequest(request=request(url=url), token=0) for url in wanted])


@pytest.mark.parametrize("many", [MOST_WORDS, MOST_WORDS + 1, 3 * MOST_WORDS])
async def test_a_beginning_is_found_however_many_words_have_it(
    store: MongoInventoryStore, many: int
) -> None:
    expected = [f"{SITE}word{number}/x" for number in range(many)]
    await note_all(store, [each for url in expected for each in (url, url.replace("word", "war"))])
    assert await urls(store, RecordFilter(text="wor*"), limit=40) == expected[::-1]
    assert await urls(store, RecordFilter(text="wor*", host="b.example"), limit=40) == []
    assert await urls(store, RecordFilter(text="word1*", host="a.example"), limit=40) == [
        url for url in reversed(expected) if url.startswith(f"{SITE}word1")
    ]


async def test_the_work_for_a_page_is_bounded(
    store: MongoInventoryStore, mongodb: MongoDatabase
) -> None:
    """Short pages, and each says where to go on."""
    count = 2 * MOST_SCANNED + 10
    for start in range(0, count, 500):
        await note_all(store, [f"{SITE}page/{n}" for n in range(start, min(start + 500, count))])
    for chosen in (
        RecordFilter(status=Status.IN_PROGRESS),
        RecordFilter(text="page", host="nowhere"),
        RecordFilter(text="a.example page nothing*"),
        RecordFilter(text="page", status=Status.COMPLETED),
    ):
        sizes = [len(page.records) async for page in pages(store, chosen, 10)]
        assert sizes == [0, 0, 0], chosen
    await complete(store, f"{SITE}page/5")
    chosen = RecordFilter(text="page", status=Status.COMPLETED)
    assert await urls(store, chosen) == [f"{SITE}page/5"]


async def test_every_page_is_read_along_an_index(
    store: MongoInventoryStore, mongodb: MongoDatabase
) -> None:
    """No filter makes the server sort or look through the collection."""
    await note_all(store, [f"{SITE}page/{n}" for n in range(50)])
    await mongodb.records.database.command("profile", 2)
    try:
        for chosen in (
            RecordFilter(),
            RecordFilter(host="a.example"),
            RecordFilter(status=Status.COMPLETED),
            RecordFilter(status=Status.PENDING, host="a.example"),
            RecordFilter(text="page"),
            RecordFilter(text="pag*"),
            RecordFilter(text="a.example page", status=Status.PENDING),
        ):
            await urls(store, chosen)
            await urls_oldest_first(store, chosen, limit=7)
        await store.count_by_status()
    finally:
        await mongodb.records.database.command("profile", 0)
    profile = mongodb.records.database["system.profile"]
    seen = await profile.find({"ns": mongodb.records.full_name, "op": "query"}).to_list()
    await profile.drop()
    assert len(seen) > 10
    for query in seen:
        assert "COLLSCAN" not in query["planSummary"], query["command"]
        assert not query.get("hasSortStage"), query["command"]
