"""The InventoryStore's contract: the pages of a listing."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from contracts.adapters import Inventory, Processes
from contracts.inventory_samples import begin, complete, later, note, request
from contracts.search_examples import EXAMPLES, TEXT, results
from webloom.domain.errors import BadCursor
from webloom.domain.inventory import Failed, Record, RecordFilter, RecordPage, Status
from webloom.domain.listing import Count, counted_to
from webloom.domain.request_state import NotedRequest

Stores = Processes[Inventory]
HOSTS = ("a.example", "b.example")
WORDS = ("alpha", "alphabet", "beta")
MOST_PAGES = 1000


async def make(store: Inventory, url: str, status: Status) -> None:
    if status is Status.PENDING:
        await note(store, request(url=url))
    elif status is Status.IN_PROGRESS:
        await begin(store, request(url=url), lease=1e6)
    elif status is Status.COMPLETED:
        await complete(store, url)
    elif status is Status.FAILED_PERMANENT:
        await complete(store, url, Failed(reason="404", retry_count=0))
    else:
        await store.finish_attempt(await begin(store, request(url=url)), later(1e6))


async def pages(
    store: Inventory,
    chosen: RecordFilter,
    limit: int,
    *,
    oldest_first: bool = False,
    most_counted: int | None = None,
) -> AsyncIterator[RecordPage]:
    cursor = None
    for _ in range(MOST_PAGES):
        page = await store.page_of_records(
            chosen,
            limit=limit,
            cursor=cursor,
            oldest_first=oldest_first,
            most_counted=most_counted,
        )
        assert len(page.records) <= limit
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return
    pytest.fail("the pages do not end")


async def listing(store: Inventory, chosen: RecordFilter, limit: int = 7) -> list[Record]:
    return [record async for page in pages(store, chosen, limit) for record in page.records]


async def urls(store: Inventory, chosen: RecordFilter, limit: int = 7) -> list[str]:
    return [record.url for record in await listing(store, chosen, limit)]


async def urls_oldest_first(store: Inventory, chosen: RecordFilter, limit: int) -> list[str]:
    found = pages(store, chosen, limit, oldest_first=True)
    return [record.url async for page in found for record in page.records]


async def test_an_empty_inventory_has_one_empty_page(store: Inventory) -> None:
    for chosen in (RecordFilter(), RecordFilter(text="a"), RecordFilter(status=Status.PENDING)):
        page = await store.page_of_records(chosen, limit=10)
        assert page == RecordPage(records=[], next_cursor=None)


@dataclass(frozen=True)
class Known:
    """A record as the test made it, to choose from by plain Python."""

    url: str
    host: str
    word: str
    status: Status
    created_at: datetime

    def is_chosen(self, chosen: RecordFilter) -> bool:
        return (
            chosen.status in (None, self.status)
            and chosen.host in (None, self.host)
            and (chosen.text is None or self.word.startswith(chosen.text.strip("*")))
            and (chosen.created_from is None or self.created_at >= chosen.created_from)
            and (chosen.created_to is None or self.created_at < chosen.created_to)
        )


async def test_every_combination_of_filters_lists_exactly_what_it_should(stores: Stores) -> None:
    async with stores.open() as store:
        known = []
        for round_ in range(2):
            for host, word, status in product(HOSTS, WORDS, Status):
                url = f"http://{host}/{word}/{status.lower()}/{round_}"
                await make(store, url, status)
                known.append(Known(url, host, word, status, stores.clock.now()))
                if len(known) % 4 == 0:  # so that several share a moment
                    await stores.pass_time(0.001)
        newest_first = list(reversed(known))
        moments: list[datetime | None] = [None, known[10].created_at, known[40].created_at]
        checked = 0
        for status_, host_, text, since, until in product(
            [None, *Status], [None, *HOSTS, "c.example"], [None, "alpha", "bet*"], moments, moments
        ):
            chosen = RecordFilter(
                status=status_, host=host_, text=text, created_from=since, created_to=until
            )
            expected = [each.url for each in newest_first if each.is_chosen(chosen)]
            assert await urls(store, chosen, limit=9) == expected, chosen
            assert await urls_oldest_first(store, chosen, limit=9) == expected[::-1], chosen
            count = await store.count_chosen(chosen, most=30)
            assert count == counted_to(30, len(expected)), chosen
            async for page in pages(store, chosen, 9, most_counted=30):
                assert page.total in (None, count), chosen
            checked += 1
        assert checked == 6 * 4 * 3 * 3 * 3


async def test_a_listed_record_is_the_found_one_without_its_source(store: Inventory) -> None:
    await complete(store, "http://a.example/")
    [listed] = await listing(store, RecordFilter())
    assert listed == await store.find("http://a.example/", most=0)
    assert listed.metadata.headers


async def test_a_page_holds_as_many_as_asked_for_and_the_last_has_no_cursor(
    store: Inventory,
) -> None:
    for n in range(6):
        await note(store, request(url=f"http://a.example/{n}"))
    sizes = {
        limit: [len(page.records) async for page in pages(store, RecordFilter(), limit)]
        for limit in (1, 2, 4, 6, 7)
    }
    assert sizes == {1: [1] * 6, 2: [2, 2, 2], 4: [4, 2], 6: [6], 7: [6]}


@pytest.mark.parametrize(
    "chosen",
    [
        RecordFilter(),
        RecordFilter(status=Status.PENDING),
        RecordFilter(host="a.example"),
        RecordFilter(text="page"),
    ],
    ids=["all", "by status", "by host", "by text"],
)
async def test_records_that_come_and_go_between_pages_shift_nobody(
    stores: Stores, chosen: RecordFilter
) -> None:
    async with stores.open() as store:

        async def add(name: str) -> str:
            url = f"http://a.example/page/{name}"
            await note(store, request(url=url))
            return url

        expected = []
        for n in range(40):
            expected.append(await add(str(n)))
            if n % 3 == 0:
                await stores.pass_time(0.5)
        await complete(store, "http://a.example/page/gone")
        seen: list[str] = []
        turn = 0
        async for page in pages(store, chosen, 3):
            seen += [record.url for record in page.records]
            await add(f"added {turn}")  # at the same moment as the newest, then later
            if turn % 2:
                await stores.pass_time(1)
            if turn == 1:
                assert await store.forget("http://a.example/page/gone")
            turn += 1
        seen = [url for url in seen if not url.endswith("gone")]
        assert seen == list(reversed(expected))


async def test_a_clock_that_jumped_back_does_not_break_the_pages(stores: Stores) -> None:
    async with stores.open() as store:
        for n in range(30):
            await note(store, request(url=f"http://a.example/page/{n}"))
            stores.clock.jump_wall(-60 if n % 2 else 61)
        for chosen in (RecordFilter(), RecordFilter(text="page"), RecordFilter(host="a.example")):
            listed = await urls(store, chosen, limit=4)
            assert sorted(listed) == sorted(f"http://a.example/page/{n}" for n in range(30))
            assert await urls_oldest_first(store, chosen, limit=4) == listed[::-1]


TEXTS = [
    ("alpha", True, "a whole word"),
    ("ALPHA", True, "in capitals"),
    ("alp*", True, "the beginning of a word, with a star"),
    ("alp", True, "without it, too"),
    ('"alp"', False, "in quotes, words are whole"),
    ("lpha", False, "the end of a word"),
    ("site.example", True, "words of the host"),
    ("site.example/alpha/be*", True, "a piece of the URL, its last word cut"),
    ("alpha beta", True, "words in a row"),
    ("http://site.example/alpha/beta?q=gamma", True, "the whole URL"),
    ("gamma", True, "a word of the query"),
    ("alpha delta", False, "a word that is not there"),
    ('"alpha"', True, "in quotes"),
    ("alpha OR delta", False, "OR is a word like any other"),
    ("alpha NOT beta", False, "so is NOT"),
    ("-alpha", True, "a minus is not an operator"),
    ("url:alpha", False, "nor is a colon: url is a word that is not there"),
]


@pytest.mark.parametrize(("text", "matches", "reason"), TEXTS, ids=[row[2] for row in TEXTS])
async def test_text_is_found_by_the_words_of_the_url(
    store: Inventory, text: str, matches: bool, reason: str
) -> None:
    await note(store, request(url="http://site.example/alpha/beta?q=gamma"))
    assert len(await urls(store, RecordFilter(text=text))) == matches


async def test_the_beginnings_of_words_find_a_record(store: Inventory) -> None:
    await note(store, request(url=f"http://a.example/{TEXT}"))
    await note(store, request(url="http://b.example/"))

    async def is_found(query: str) -> bool:
        return f"http://a.example/{TEXT}" in await urls(store, RecordFilter(text=query))

    assert await results(EXAMPLES, is_found) == EXAMPLES


HOSTILE = [
    "", " ", "*", "**", " *", "a *", '"', '"*', '""', "'", '" OR *', '" OR 1 --', "NEAR(",
    "NEAR(a b, 2)", "a AND", "(", ")", "{a b}: c", "^", "^a", "a*b", "a + b", "-", ":", "url:",
    "\\", "%", "_", "\0", "a\0b",
    "\ud800", "ä\u0301", "\U0001f600", "a" * 5000, "a " * 500, '"' * 99,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=[repr(text[:20]) for text in HOSTILE])
async def test_no_text_breaks_the_search(store: Inventory, text: str) -> None:
    await note(store, request(url="http://site.example/a/b"))
    page = await store.page_of_records(RecordFilter(text=text), limit=10)
    assert len(page.records) <= 1


@pytest.mark.parametrize("host", ["a.example' OR '1'='1", "", "A.EXAMPLE", "a.exampl", "\0"])
async def test_a_host_is_matched_as_a_whole_and_as_it_is(store: Inventory, host: str) -> None:
    await note(store, request(url="http://a.example/"))
    assert await urls(store, RecordFilter(host=host)) == []


async def test_a_period_can_begin_before_there_were_computers(store: Inventory) -> None:
    await note(store, request(url="http://a.example/"))
    early, late = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
    for text in (None, "example"):
        between = RecordFilter(text=text, created_from=early, created_to=late)
        assert len(await urls(store, between)) == 1
        assert await urls(store, RecordFilter(text=text, created_to=early)) == []
        assert await urls(store, RecordFilter(text=text, created_from=late)) == []
        reverse = RecordFilter(text=text, created_from=late, created_to=early)
        assert await urls(store, reverse) == []


@pytest.mark.parametrize("milliseconds", range(0, 1000, 37))
async def test_a_period_ends_at_the_millisecond(stores: Stores, milliseconds: int) -> None:
    async with stores.open() as store:
        stores.clock.jump_wall(milliseconds / 1000)
        await note(store, request(url="http://a.example/"))
        record = await store.find("http://a.example/")
        assert record is not None
        moment, tick = record.created_at, timedelta(milliseconds=1)
        assert len(await urls(store, RecordFilter(created_from=moment))) == 1
        assert await urls(store, RecordFilter(created_to=moment)) == []
        assert len(await urls(store, RecordFilter(created_to=moment + tick))) == 1
        assert await urls(store, RecordFilter(created_from=moment + tick)) == []


async def test_a_text_that_thousands_match_is_paged_through_with_a_rare_filter(
    store: Inventory,
) -> None:
    """Pages may come up short, the listing does not."""
    await complete(store, "http://a.example/page/rare")
    for start in range(0, 4500, 500):
        noted = [request(url=f"http://a.example/page/{start + n}") for n in range(500)]
        await store.note_requests([NotedRequest(request=each, token=0) for each in noted])
    chosen = RecordFilter(text="page", status=Status.COMPLETED)
    assert await urls(store, chosen, limit=10) == ["http://a.example/page/rare"]
    assert await urls_oldest_first(store, chosen, limit=10) == ["http://a.example/page/rare"]
    count = await store.count_chosen(chosen, most=10_000)
    assert count == Count(0, is_exact=False), "there are more to look at than a page may"
    everything = await urls(store, RecordFilter(text="page"), limit=200)
    assert len(everything) == len(set(everything)) == 4501


def encoded(raw: str) -> str:
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


GARBAGE = [
    "", "x", "not a cursor", "é", "\0", "\ud800", "....", "====", "a" * 5000,
    encoded("1"), encoded("1.2.3"), encoded("g.h"), encoded("-1.5"), encoded("1.-5"),
    encoded("ffffffffffffffffffff.1"), encoded("1.ffffffffffffffffffff"), encoded("' OR 1.1"),
]  # fmt: skip


@pytest.mark.parametrize("cursor", GARBAGE, ids=[ascii(cursor[:20]) for cursor in GARBAGE])
@pytest.mark.parametrize("text", [None, "a"], ids=["listing", "search"])
async def test_a_cursor_that_the_store_did_not_hand_out_is_refused(
    store: Inventory, cursor: str, text: str | None
) -> None:
    for oldest_first in (False, True):
        with pytest.raises(BadCursor):
            await store.page_of_records(
                RecordFilter(text=text), limit=10, cursor=cursor, oldest_first=oldest_first
            )


@pytest.mark.parametrize("text", [None, "a"], ids=["listing", "search"])
async def test_a_cursor_of_the_other_direction_is_refused(
    store: Inventory, text: str | None
) -> None:
    for n in range(3):
        await note(store, request(url=f"http://a.example/{n}"))
    chosen = RecordFilter(text=text)
    for oldest_first in (False, True):
        page = await store.page_of_records(chosen, limit=1, oldest_first=oldest_first)
        with pytest.raises(BadCursor):
            await store.page_of_records(
                chosen, limit=1, cursor=page.next_cursor, oldest_first=not oldest_first
            )
