"""What a worker makes of a check: over fakes of the ports, without a site or a process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contracts.fake_clock import NOON, FakeClock
from webloom.application.host_turns import HostTurns
from webloom.application.watch import check_page
from webloom.application.watch.check_page import MOST_DEATHS, CheckPage, PageCheck
from webloom.domain.errors import FetchFailed, PageUnreadable, QueueFull
from webloom.domain.feed import LastFetch
from webloom.domain.page import CHECK_QUEUE, STORAGE_QUEUE, Classification, PageType, Selection
from webloom.domain.politeness import HostLimits
from webloom.domain.price import Availability, Price, PriceSource
from webloom.domain.retry import RetryPolicy
from webloom.domain.schedule import Schedule
from webloom.domain.watch import Outcome, Thresholds, Watch, WatchConfig
from webloom.parsing.diffs.pages import whole_page_diff
from webloom.parsing.pages.page import PageReading, ParsedPage
from webloom.ports.broker import Message
from webloom.ports.fetcher import Downloaded
from webloom.ports.page_reader import PageOrder, PageRead
from webloom.ports.page_store import Checked, StoredPage, Validators

URL = "https://shop.test/1"
CHECK = PageCheck(run_id="run", job_id="job", url=URL)
KNOWN = Validators(etag='"1"', last_modified="Mon", body_hash="old")
PAGE = StoredPage(
    job_id="job",
    url=URL,
    title="Loom",
    text="one\ntwo",
    metadata={},
    images=[],
    links=[],
    classification={},
    version=4,
    snapshot_hash="old",
    last_updated=1,
    price=Decimal(100),
    currency="EUR",
    availability="in_stock",
    validators=KNOWN,
)


class Watches:
    def __init__(self) -> None:
        config = WatchConfig(name="Shop", urls=[URL], schedule=Schedule(every_minutes=60))
        self.watch: Watch | None = Watch(
            watch_id="job", config=config, created_at=NOON, updated_at=NOON, next_run_at=None
        )
        self.open = True

    async def find_watch(self, watch_id: str) -> Watch | None:
        return self.watch

    async def is_open(self, run_id: str, url: str) -> bool:
        return self.open

    def decide(self, **changes: Any) -> None:
        assert self.watch is not None
        self.watch = replace(self.watch, config=replace(self.watch.config, **changes))


class Pages:
    def __init__(self) -> None:
        self.page: StoredPage | None = PAGE
        self.checked: list[Checked] = []

    async def find_page(self, job_id: str, url: str) -> StoredPage | None:
        return self.page

    async def note_checked(self, checked: Checked) -> None:
        self.checked.append(checked)


class Broker:
    def __init__(self) -> None:
        self.published: list[tuple[str, Any, float]] = []
        self.refusals = 0  # for want of room

    async def publish(self, queue: str, message: Message, *, delay: float = 0.0) -> str:
        if self.refusals:
            self.refusals -= 1
            raise QueueFull(queue, 1)
        self.published.append((queue, msgspec.json.decode(message.body), delay))
        return message.id


class Site:
    """A Downloader."""

    def __init__(self) -> None:
        self.answer: Downloaded | FetchFailed = Downloaded(
            status_code=200, final_url=URL, bytes=3, sha256="new", etag='"2"'
        )
        self.asked: list[LastFetch] = []

    async def download(self, url: str, into: Path, *, known: LastFetch) -> Downloaded:
        self.asked.append(known)
        await asyncio.to_thread(into.write_bytes, b"...")
        if isinstance(self.answer, FetchFailed):
            raise self.answer
        return self.answer


class Reader:
    def __init__(self) -> None:
        self.orders: list[PageOrder] = []
        self.failure: PageUnreadable | None = None
        self.text = "one\nthree"
        self.type = PageType.PRODUCT
        self.price: Price | None = price("100")
        self.availability = Availability.IN_STOCK
        self.hash = "new"

    async def read(self, order: PageOrder) -> PageRead:
        self.orders.append(order)
        if self.failure is not None:
            raise self.failure
        parsed = ParsedPage(title="Loom", text=self.text)
        reading = PageReading(
            parsed=parsed,
            classification=Classification(type=self.type, confidence=0.9, reasons=["a reason"]),
            price=self.price,
            availability=self.availability,
            snapshot_hash=self.hash,
        )
        diff = None if order.previous is None else whole_page_diff(order.previous, parsed)
        return PageRead(reading=reading, diff=diff)


class Delivered:
    def __init__(self, body: bytes, *, attempt: int = 1, redelivered: bool = False) -> None:
        self.message_id = "m"
        self.body = body
        self.attempt = attempt
        self.redelivered = redelivered
        self.settled: list[str] = []

    async def ack(self) -> None:
        self.settled.append("ack")

    async def retry(self, after: float = 0.0) -> None:
        self.settled.append("retry")

    async def bury(self, reason: str) -> None:
        self.settled.append(reason)


def price(amount: str, *, reduced_from: str | None = None, currency: str | None = "EUR") -> Price:
    return Price(
        current=Decimal(amount),
        list=None if reduced_from is None else Decimal(reduced_from),
        currency=currency,
        source=PriceSource.JSON_LD,
    )


@dataclass
class World:
    spool: Path
    watches: Watches = field(default_factory=Watches)
    pages: Pages = field(default_factory=Pages)
    broker: Broker = field(default_factory=Broker)
    site: Site = field(default_factory=Site)
    reader: Reader = field(default_factory=Reader)
    turns: HostTurns = field(default_factory=lambda: HostTurns(HostLimits(concurrency=1, delay=0)))

    async def check(self, check: PageCheck = CHECK, **delivery: Any) -> Delivered:
        return await self.serve(msgspec.json.encode(check), **delivery)

    async def serve(self, body: bytes, **options: Any) -> Delivered:
        delivery = Delivered(body, **options)
        serve: Any = CheckPage
        await serve(
            watches=self.watches,
            pages=self.pages,
            broker=self.broker,
            storage_queue=STORAGE_QUEUE,
            downloader=self.site,
            reader=self.reader,
            turns=self.turns,
            retries=RetryPolicy(first_delay=10),
            clock=FakeClock(),
            spool=self.spool,
        )(delivery)
        assert list(self.spool.glob("*")) == [], "what was fetched is gone"
        return delivery

    async def event(self) -> Mapping[str, Any]:
        """What the check sends to the storage agent."""
        delivery = await self.check()
        assert delivery.settled == ["ack"]
        [(queue, event, delay)] = self.broker.published
        assert (queue, delay, self.pages.checked) == (STORAGE_QUEUE, 0.0, [])
        return dict(event)

    async def noted(self, **delivery: Any) -> Checked:
        """What the check notes of the page."""
        settled = (await self.check(**delivery)).settled
        assert (settled, self.broker.published) == (["ack"], [])
        [checked] = self.pages.checked
        return checked


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(spool=tmp_path / "spool")


# Unchanged.


async def test_a_304_is_noted_and_the_page_is_not_read(world: World) -> None:
    world.site.answer = Downloaded(status_code=304, final_url=URL)
    checked = await world.noted()
    assert (checked.outcome, checked.validators, checked.at) == (Outcome.UNCHANGED, None, NOON)
    assert world.reader.orders == []
    assert world.site.asked == [LastFetch(etag='"1"', last_modified="Mon")]


async def test_the_same_bytes_are_not_read(world: World) -> None:
    world.site.answer = Downloaded(status_code=200, final_url=URL, sha256="old", etag='"9"')
    checked = await world.noted()
    assert checked.outcome is Outcome.UNCHANGED
    assert checked.validators == Validators(etag='"9"', body_hash="old")
    assert world.reader.orders == []


async def test_the_same_content_in_other_bytes_is_no_change(world: World) -> None:
    world.reader.hash = "old"
    checked = await world.noted()
    assert checked.outcome is Outcome.UNCHANGED
    assert checked.validators == Validators(etag='"2"', body_hash="new")


async def test_a_page_without_content_is_asked_for_without_conditions(world: World) -> None:
    world.pages.page = replace(PAGE, version=None)
    await world.event()
    assert world.site.asked == [LastFetch()]


# Changed.


async def test_a_change_is_sent_with_what_differs(world: World) -> None:
    world.watches.decide(selection=Selection(keep=["main"]))
    world.reader.price = price("95.50")
    event = await world.event()
    assert (event["jobId"], event["runId"], event["url"]) == ("job", "run", URL)
    assert (event["version"], event["snapshotHash"]) == (5, "new")
    assert event["parsed"]["text"] == "one\nthree"
    assert event["price"] == {
        "current": 95.5, "previous": 100, "changePercent": -4.5, "currency": "EUR", "list": None,
    }  # fmt: skip
    assert event["diff"]["textChanged"] is True
    assert event["diff"]["price"] == {"previous": 100, "current": 95.5}
    assert event["alerts"] == ["the price fell by 4.5 % to 95.50 EUR"]
    assert event["validators"] == {"etag": '"2"', "bodyHash": "new"}
    assert event["ts"] == int(NOON.timestamp() * 1000)
    [order] = world.reader.orders
    assert order.selection == Selection(keep=["main"])


async def test_the_first_version_is_no_change(world: World) -> None:
    world.pages.page = None
    event = await world.event()
    assert (event["version"], event["alerts"]) == (1, [])
    assert event["diff"] == {"textChanged": False}


async def test_thresholds_look_at_what_is_new(world: World) -> None:
    world.watches.decide(thresholds=Thresholds(text_contains=["ONE", "Three"]))
    assert (await world.event())["alerts"] == ['text was added that contains "Three"']


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (price("100", reduced_from="120"), {"list": {"previous": None, "current": 120}}),
        (price("100", currency="USD"), {"currency": {"previous": "EUR", "current": "USD"}}),
    ],
    ids=["a list price", "another currency"],
)
async def test_a_price_that_differs_in_anything_is_a_change(
    world: World, now: Price, told: dict[str, Any]
) -> None:
    world.reader.text = PAGE.text or ""
    world.reader.price = now
    event = await world.event()
    assert event["diff"]["textChanged"] is False
    assert event["diff"]["price"] == {"previous": 100, "current": 100} | told


async def test_a_price_that_goes_and_comes_back_is_a_change_each_time(world: World) -> None:
    world.reader.text = PAGE.text or ""
    world.reader.price = None
    event = await world.event()
    assert event["price"] is None
    assert event["diff"]["price"]["current"] is None
    world.broker.published.clear()
    world.reader.price = price("100")  # the store has the last price that there was
    event = await world.event()
    assert event["diff"]["price"] == {"previous": None, "current": 100}


async def test_another_selection_is_no_change_but_a_price_is(world: World) -> None:
    """The validators of the page are forgotten when the selection is edited."""
    world.pages.page = replace(PAGE, validators=Validators())
    event = await world.event()
    assert (event["diff"], event["alerts"]) == ({"textChanged": False}, [])
    world.broker.published.clear()
    world.reader.price = price("90")
    world.reader.availability = Availability.OUT_OF_STOCK
    event = await world.event()
    assert event["diff"] == {
        "textChanged": False,
        "price": {"previous": 100, "current": 90},
        "availability": {"previous": "in_stock", "current": "out_of_stock"},
    }
    assert event["alerts"] == ["the price fell by 10 % to 90 EUR", "it is out of stock now"]


async def test_a_full_queue_of_the_agent_is_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.broker.refusals = 2
    monkeypatch.setattr(check_page, "FULL_PAUSE", 0.0)
    assert (await world.event())["version"] == 5


# Failed.

FINAL = [
    (Downloaded(status_code=403, final_url=URL), "the server answered 403: it refuses us"),
    (Downloaded(status_code=401, final_url=URL), "the server answered 401: it asks for a login"),
    (Downloaded(status_code=404, final_url=URL), "the server answered 404"),
    (FetchFailed(reason="it is private", retryable=False), "it is private"),
]


@pytest.mark.parametrize(("answer", "reason"), FINAL, ids=[reason for _, reason in FINAL])
async def test_a_refusal_is_noted_at_once(
    world: World, answer: Downloaded | FetchFailed, reason: str
) -> None:
    world.site.answer = answer
    checked = await world.noted()
    assert (checked.outcome, checked.error, checked.validators) == (Outcome.FAILED, reason, None)
    assert world.reader.orders == []


@pytest.mark.parametrize(
    ("kind", "what"), [(PageType.BLOCKED, "a wall"), (PageType.ERROR, "an error")]
)
async def test_a_wall_that_says_200_is_a_failure(world: World, kind: PageType, what: str) -> None:
    world.reader.type = kind
    checked = await world.noted()
    assert checked.outcome is Outcome.FAILED
    assert checked.error == f"{what} was served instead of the page: a reason"


async def test_a_page_that_can_not_be_read_is_a_failure(world: World) -> None:
    world.reader.failure = PageUnreadable("it took longer than 20 s to read")
    assert (await world.noted()).error == "it took longer than 20 s to read"


async def test_what_may_pass_is_tried_three_times_however_often_it_was_put_off(
    world: World,
) -> None:
    world.site.answer = Downloaded(status_code=503, final_url=URL)
    check = CHECK
    for failed in (1, 2):
        # The delivery's number grows when a host is busy, too.
        assert (await world.check(check, attempt=40)).settled == ["ack"]
        queue, again, delay = world.broker.published.pop()
        assert (queue, again["failed"], again["url"]) == (CHECK_QUEUE, failed, URL)
        assert delay >= 10
        check = msgspec.convert(again, PageCheck)
    await world.check(check)
    assert world.broker.published == []
    [checked] = world.pages.checked
    assert (checked.outcome, checked.error) == (Outcome.FAILED, "the server answered 503")


async def test_a_host_that_asks_for_a_pause_is_left_alone(world: World) -> None:
    world.site.answer = Downloaded(status_code=429, final_url=URL, retry_after=500.0)
    await world.check()
    [(_, again, delay)] = world.broker.published
    assert (again["failed"], delay) == (1, 500)
    world.broker.published.clear()
    await world.check()
    [(_, again, delay)] = world.broker.published
    assert again["failed"] == 0, "it was not asked"
    assert delay > 100
    assert len(world.site.asked) == 1


async def test_a_check_that_can_not_be_put_off_by_a_new_message_is_given_back(world: World) -> None:
    world.broker.refusals = 1
    world.site.answer = Downloaded(status_code=503, final_url=URL)
    assert (await world.check()).settled == ["retry"]


async def test_workers_that_die_of_a_check_are_counted_and_put_offs_are_not(world: World) -> None:
    world.site.answer = Downloaded(status_code=503, final_url=URL)
    await world.check(attempt=3, redelivered=True)
    [(_, again, _)] = world.broker.published
    assert again["deaths"] == 2
    world.broker.published.clear()
    deadly = msgspec.structs.replace(CHECK, deaths=MOST_DEATHS - 1)
    delivery = await world.check(deadly, attempt=2, redelivered=True)
    assert delivery.settled == ["ack"]
    [checked] = world.pages.checked
    assert checked.error == f"its worker died {MOST_DEATHS} times"
    assert len(world.site.asked) == 1


# Not to be checked.


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b'{"runId":"r","jobId":"j","url":"no url"}',
     b'{"runId":"r","jobId":"j","url":"HTTPS://shop.test/1"}', b"\xff"],
)  # fmt: skip
async def test_what_is_no_check_is_buried(world: World, body: bytes) -> None:
    [reason] = (await world.serve(body)).settled
    assert reason.startswith("not a check of a page: ")


async def test_a_page_that_its_run_knows_of_is_not_asked_for_again(world: World) -> None:
    world.watches.open = False
    assert (await world.check()).settled == ["ack"]
    world.watches.open, world.watches.watch = True, None
    assert (await world.check()).settled == ["ack"]
    assert (world.site.asked, world.pages.checked, world.broker.published) == ([], [], [])
