"""What only MongoDB's listing does by itself: words, and the work for one page."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from contracts.inventory_samples import complete, request
from contracts.mongodb_backend import NAMES, empty, measured_once
from contracts.test_store_listing import pages, urls
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from webloom.adapters.mongodb.client import MongoDatabase, open_mongodb
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.adapters.mongodb.record_listing import MOST_SCANNED
from webloom.adapters.mongodb.words import MOST_WORDS, Phrase, words_of
from webloom.domain.inventory import RecordFilter, Status
from webloom.domain.request_state import NotedRequest

SITE = "http://a.example/"


@pytest.fixture
async def database(
    mongod: MongoServer, clock: FakeClock, patient: None
) -> AsyncIterator[MongoDatabase]:
    async with open_mongodb(mongod.url, clock, database="listing", names=NAMES) as opened:
        measured_once(opened)
        await empty(opened)
        yield opened


@pytest.fixture
def store(database: MongoDatabase) -> MongoInventoryStore:
    return MongoInventoryStore(database)


async def note_all(store: MongoInventoryStore, wanted: list[str]) -> None:
    await store.note_requests([NotedRequest(request=request(url=url), token=0) for url in wanted])


WORDS = [
    ("http://Site.Example/Path-1_2?q=3", ["http", "site", "example", "path", "1", "2", "q", "3"]),
    ("Ärger in der Straße", ["arger", "in", "der", "strasse"]),
    ("A\u0308B caf\u00e9 nai\u0308ve", ["ab", "cafe", "naive"]),
    ("ΑΒΓ 東京 ٣٤", ["αβγ", "東京", "٣٤"]),
    ("%C3%A4", ["c3", "a4"]),
    ("", []),
    ("-_./", []),
]


@pytest.mark.parametrize(("text", "words"), WORDS, ids=[ascii(row[0])[:20] for row in WORDS])
def test_words_are_letters_and_digits_without_case_and_accents(text: str, words: list[str]) -> None:
    assert words_of(text) == words


PHRASES = [
    ("a b", True, "in a row"),
    ("b c*", True, "the last one cut"),
    ("b ca*", True, "the last one cut short"),
    ("c*", True, "one beginning"),
    ("b a", False, "in another order"),
    ("a cat", False, "with a gap"),
    ("a b ca", False, "the last one cut without a star"),
    ("a b cat d", False, "more than there are"),
    ("cat* a", False, "a star in the middle is none"),
]


@pytest.mark.parametrize(("text", "found", "reason"), PHRASES, ids=[row[2] for row in PHRASES])
def test_a_phrase_is_words_in_a_row(text: str, found: bool, reason: str) -> None:
    assert Phrase.parse(text).is_in("/a/a/b/cat") is found


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
    store: MongoInventoryStore, database: MongoDatabase
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
    store: MongoInventoryStore, database: MongoDatabase
) -> None:
    """No filter makes the server sort or look through the collection."""
    await note_all(store, [f"{SITE}page/{n}" for n in range(50)])
    await database.records.database.command("profile", 2)
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
        await store.count_by_status()
    finally:
        await database.records.database.command("profile", 0)
    profile = database.records.database["system.profile"]
    seen = await profile.find({"ns": database.records.full_name, "op": "query"}).to_list()
    await profile.drop()
    assert len(seen) > 10
    for query in seen:
        assert "COLLSCAN" not in query["planSummary"], query["command"]
        assert not query.get("hasSortStage"), query["command"]
