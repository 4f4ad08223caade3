"""URLs are accepted, and recent answers repeated, while the store is down or hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fakes.clock import FakeClock
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.application.inventory.invalidate_url import InvalidateUrl
from webloom.application.inventory.look_up_url import Found, LookUpUrl
from webloom.application.inventory.recent_records import RecentRecords
from webloom.application.inventory.submit_url import SLICE, Accepted, NoRoom, Refused, SubmitUrl
from webloom.domain.errors import BackendRefused, StoreUnavailable, UrlRefused
from webloom.domain.inventory import (
    METADATA_QUEUE,
    Attempt,
    Completed,
    FetchRequest,
    Received,
    Record,
    Status,
)
from webloom.domain.request_state import NotedRequest, RequestState
from webloom.parsing.web_url import normalise

URL = "http://site.example/page"
TTL = 3600.0
PAGE = Received(
    status_code=200,
    headers={"content-type": "text/html"},
    cookies={},
    page_source="<p>hello</p>",
    final_url=URL,
    details={},
)


class Store(SqliteInventoryStore):
    """May be down, or hang."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.trouble: Exception | None = None
        self.hangs = False
        self.calls = 0

    async def _may_fail(self) -> None:
        self.calls += 1
        if self.hangs:
            await asyncio.Event().wait()
        if self.trouble is not None:
            raise self.trouble

    async def states(self, urls: Sequence[str]) -> list[RequestState | None]:
        await self._may_fail()
        return await super().states(urls)

    async def note_requests(self, noted: Sequence[NotedRequest]) -> None:
        await self._may_fail()
        await super().note_requests(noted)

    async def find(self, url: str, *, most: int | None = None) -> Record | None:
        await self._may_fail()
        return await super().find(url, most=most)

    async def forget(self, url: str) -> bool:
        await self._may_fail()
        return await super().forget(url)


class Inventory:
    def __init__(
        self, database: Database, clock: FakeClock, *, needs_store: bool = False, limit: int = 10**6
    ) -> None:
        self.store = Store(database)
        self.broker = SqliteBroker(database, limits={METADATA_QUEUE: limit}, lease=15)
        self.recent = RecentRecords(clock, most_bytes=1 << 20, seconds=TTL)
        self.submit = SubmitUrl(
            store=self.store,
            broker=self.broker,
            check=normalise,
            queue_limit=limit,
            needs_store=needs_store,
        )
        self.look_up = LookUpUrl(
            store=self.store, submit=self.submit, clock=clock, cache_ttl=TTL, recent=self.recent
        )
        self.invalidate = InvalidateUrl(store=self.store, recent=self.recent, check=normalise)

    async def fetched(self, url: str = URL, page: Received = PAGE) -> None:
        request = FetchRequest(url=url, request_id=f"of {url}")
        attempt = await self.store.begin_attempt(request, lease=15)
        assert isinstance(attempt, Attempt)
        assert await self.store.finish_attempt(attempt, Completed(received=page))

    async def waiting(self) -> int:
        return (await self.broker.depth(METADATA_QUEUE)).ready


@pytest.fixture
def inventory(database: Database, clock: FakeClock) -> Inventory:
    return Inventory(database, clock)


TROUBLES = [StoreUnavailable("it was killed"), BackendRefused("its password has changed"), None]
IDS = ["down", "refusing", "hanging"]


@pytest.mark.parametrize("trouble", TROUBLES, ids=IDS)
async def test_a_url_is_published_without_the_store(
    inventory: Inventory, trouble: Exception | None
) -> None:
    inventory.store.trouble, inventory.store.hangs = trouble, trouble is None
    accepted = await inventory.submit.one(URL)
    assert (accepted.url, accepted.status) == (URL, Status.PENDING)
    async with inventory.broker.deliveries(METADATA_QUEUE, 1) as deliveries:
        delivery = await anext(aiter(deliveries))
    assert delivery.message_id == accepted.request_id


async def test_a_store_that_fails_after_the_message_is_durable_takes_nothing_back(
    inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(noted: Sequence[NotedRequest]) -> None:
        raise StoreUnavailable("it was killed meanwhile")

    monkeypatch.setattr(inventory.store, "note_requests", fail)
    assert isinstance(await inventory.submit.one(URL), Accepted)
    assert await inventory.waiting() == 1


async def test_a_batch_waits_for_a_hanging_store_once(inventory: Inventory) -> None:
    inventory.store.hangs = True
    urls = [f"{URL}/{number}" for number in range(3 * SLICE)]
    answers = await inventory.submit.many([*urls, "no url"])
    assert [type(each) for each in answers] == [Accepted] * len(urls) + [Refused]
    assert await inventory.waiting() == len(urls)
    assert inventory.store.calls == 1


async def test_a_full_queue_refuses_without_the_store_too(
    database: Database, clock: FakeClock
) -> None:
    inventory = Inventory(database, clock, limit=1)
    inventory.store.trouble = TROUBLES[0]
    answers = await inventory.submit.many([f"{URL}/1", f"{URL}/2"])
    assert [type(each) for each in answers] == [Accepted, NoRoom]


async def test_nothing_is_accepted_without_a_store_that_is_the_queue(
    database: Database, clock: FakeClock
) -> None:
    inventory = Inventory(database, clock, needs_store=True)
    inventory.store.trouble = TROUBLES[0]
    with pytest.raises(StoreUnavailable):
        await inventory.submit.one(URL)
    assert await inventory.waiting() == 0


@pytest.mark.parametrize("trouble", TROUBLES, ids=IDS)
@pytest.mark.parametrize("with_source", [True, False])
async def test_a_recent_answer_is_repeated_as_stale(
    inventory: Inventory, trouble: Exception | None, with_source: bool
) -> None:
    await inventory.fetched()
    first = await inventory.look_up(URL, with_source=with_source)
    assert isinstance(first, Found)
    assert not first.stale
    inventory.store.trouble, inventory.store.hangs = trouble, trouble is None
    again = await inventory.look_up(URL, with_source=with_source)
    assert again == replace(first, stale=True)
    assert await inventory.waiting() == 0, "no refresh is asked for meanwhile"


async def test_what_was_not_answered_here_is_unknown_without_the_store(
    inventory: Inventory,
) -> None:
    await inventory.fetched()
    await inventory.look_up(URL, with_source=False)
    inventory.store.trouble = TROUBLES[0]
    with pytest.raises(StoreUnavailable):
        await inventory.look_up(URL, with_source=True)
    with pytest.raises(StoreUnavailable):
        await inventory.look_up(f"{URL}/another", with_source=False)
    with pytest.raises(UrlRefused):
        await inventory.look_up("no url", with_source=False)


async def test_a_source_that_is_known_outlives_a_look_up_without_it(inventory: Inventory) -> None:
    await inventory.fetched()
    await inventory.look_up(URL, with_source=True)
    await inventory.look_up(URL, with_source=False)
    inventory.store.trouble = TROUBLES[0]
    found = await inventory.look_up(URL, with_source=True)
    assert isinstance(found, Found)
    assert found.record.metadata.page_source == PAGE.page_source


async def test_a_recent_answer_is_as_old_as_the_cache_time_at_most(
    inventory: Inventory, clock: FakeClock
) -> None:
    await inventory.fetched()
    await inventory.look_up(URL, with_source=True)
    inventory.store.trouble = TROUBLES[0]
    clock.advance(TTL)
    assert isinstance(await inventory.look_up(URL, with_source=True), Found)
    clock.advance(1)
    with pytest.raises(StoreUnavailable):
        await inventory.look_up(URL, with_source=True)
    assert inventory.recent.bytes == 0


@pytest.mark.parametrize("is_down", [False, True], ids=["store up", "store down"])
async def test_what_is_invalidated_is_not_repeated(inventory: Inventory, is_down: bool) -> None:
    await inventory.fetched()
    await inventory.look_up(URL, with_source=True)
    if is_down:
        inventory.store.trouble = TROUBLES[0]
        with pytest.raises(StoreUnavailable):
            await inventory.invalidate(URL)
    else:
        assert await inventory.invalidate(URL)
        inventory.store.trouble = TROUBLES[0]
    with pytest.raises(StoreUnavailable):
        await inventory.look_up(URL, with_source=True)


async def test_what_another_process_has_removed_is_not_repeated(inventory: Inventory) -> None:
    await inventory.fetched()
    await inventory.look_up(URL, with_source=True)
    await inventory.store.forget(URL)
    assert await inventory.look_up(URL, with_source=True, only_look=True) is None
    assert inventory.recent.bytes == 0


async def test_the_cache_of_records_is_bounded_in_bytes(
    inventory: Inventory, clock: FakeClock
) -> None:
    sources = ["x" * 100_000, "€" * 100_000, "😀" * 100_000, "x" * 2_000_000]
    kept = {}
    for number, source in enumerate(20 * sources):
        url = f"{URL}/{number}"
        await inventory.fetched(url, replace(PAGE, page_source=source))
        found = await inventory.look_up(url, with_source=True)
        assert isinstance(found, Found)
        assert found.large_source == len(source.encode()), "not read yet"
        await inventory.look_up.with_large_source(found)
        assert inventory.recent.bytes <= 1 << 20
        kept[url] = source
    remembered = [url for url in kept if inventory.recent.get(url, with_source=True)]
    fitting = [url for url in kept if len(kept[url]) < 1 << 20]
    assert 3 <= len(remembered) <= 12
    assert remembered == fitting[-len(remembered) :], "what was looked up last"
