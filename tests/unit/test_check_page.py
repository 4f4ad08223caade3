"""What a worker makes of a check, over the embedded backend and a web in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes.clock import NOON, FakeClock
from fakes.page_reader import InProcessPageReader
from fakes.web import Answer, FakeWeb
from unit.deliveries import LEASE, Deliver, RecordedDelivery
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.pages import SqlitePages
from webloom.adapters.sqlite.watch_runs import SqliteWatchRuns
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.application.host_turns import HostTurns
from webloom.application.watch import check_page
from webloom.application.watch.check_page import MOST_DEATHS, CheckPage, PageCheck
from webloom.domain.errors import FetchFailed, QueueFull
from webloom.domain.feed import LastFetch
from webloom.domain.page import CHECK_QUEUE, STORAGE_QUEUE, Selection
from webloom.domain.page_check import Checked, Validators
from webloom.domain.politeness import HostLimits
from webloom.domain.retention import Retention
from webloom.domain.retry import fetch_backoff
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import milliseconds_of
from webloom.domain.watch import Outcome, Thresholds, Watch, WatchConfig
from webloom.domain.watch_run import NewRun, NextRun
from webloom.parsing.storage_event import event_of
from webloom.ports.broker import Message
from webloom.ports.pages import StoredPage

URL = "https://shop.test/1"
CHECK = PageCheck(run_id="run", watch_id="job", url=URL)


def product(
    *lines: str,
    price: str | None = "100",
    reduced_from: str | None = None,
    currency: str = "EUR",
    stock: str = "InStock",
    etag: str = '"2"',
    **headers: str,
) -> Answer:
    offer: dict[str, Any] = {
        "@type": "Offer",
        "priceCurrency": currency,
        "availability": f"https://schema.org/{stock}",
    }
    if price is not None:
        offer["price"] = price
    if reduced_from is not None:
        listed = {"@type": "PriceSpecification", "priceType": "ListPrice", "price": reduced_from}
        offer["priceSpecification"] = listed
    data = msgspec.json.encode({"@type": "Product", "name": "Loom", "offers": offer}).decode()
    text = "".join(f"<p>{line}</p>" for line in lines)
    html = (
        f"<!doctype html><html lang=en><title>Loom</title><main><h1>Loom</h1>{text}</main>"
        f"<script type='application/ld+json'>{data}</script>"
    )
    return Answer(headers={"Content-Type": "text/html", "ETag": etag} | headers, body=html.encode())


def sha256(answer: Answer) -> str:
    return hashlib.sha256(answer.body).hexdigest()


BEFORE = product("one", "two", etag='"1"', **{"Last-Modified": "Mon"})
KNOWN = Validators(etag='"1"', last_modified="Mon", body_hash=sha256(BEFORE))
NOW = product("one", "three")


class Broker(SqliteBroker):
    """Notes what is published, and may have no room."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, limits={}, lease=LEASE)
        self.published: list[tuple[str, Any, float]] = []
        self.refusals = 0  # for want of room

    async def publish(self, queue: str, message: Message, *, delay: float = 0.0) -> str:
        if self.refusals:
            self.refusals -= 1
            raise QueueFull(queue, 1)
        self.published.append((queue, msgspec.json.decode(message.body), delay))
        return await super().publish(queue, message, delay=delay)


class World:
    """A watch of one page, and its run."""

    def __init__(self, database: Database, clock: FakeClock, deliver: Deliver, spool: Path) -> None:
        self.clock = clock
        self.watches = SqliteWatches(database, retention=Retention())
        self.runs = SqliteWatchRuns(database, retention=Retention())
        self.pages = SqlitePages(database, retention=Retention(), budget=1 << 40)
        self.broker = Broker(database)
        self.web = FakeWeb()
        self.reader = InProcessPageReader()
        self.turns = HostTurns(HostLimits(concurrency=1, delay=0))
        self._deliver = deliver
        self._spool = spool

    async def begin(self, **decided: Any) -> None:
        config = WatchConfig(name="Shop", urls=[URL], schedule=Schedule(every_minutes=60))
        await self.watches.add_watch("job", replace(config, **decided), next_run_at=None)
        await self.next_run()

    async def know(self, **decided: Any) -> None:
        """A first version is stored, and another run has begun."""
        await self.begin(**decided)
        self.serve(BEFORE)
        await self.store(await self.event())
        self.web.requested.clear()
        self.web.conditions.clear()
        self.reader.orders.clear()
        self.serve(NOW)

    async def next_run(self) -> None:
        """One that is there ends before; time passes."""
        watch = await self.watch()
        if watch.active_run_id is not None:
            await self.runs.finish_run(watch.active_run_id, NextRun(None, None))
        self.clock.advance(60)
        self.run_id = f"run at {self.clock.now()}"
        new = NewRun(run_id=self.run_id, trigger="manual")
        assert await self.runs.start_run("job", new) is not None

    async def watch(self) -> Watch:
        watch = await self.watches.find_watch("job")
        assert watch is not None
        return watch

    async def decide(self, **changes: Any) -> None:
        config = replace((await self.watch()).config, **changes)
        await self.watches.edit_watch("job", config, next_run_at=None)

    def serve(self, answer: Answer | FetchFailed) -> None:
        self.web.pages[URL] = answer

    async def check(self, check: PageCheck = CHECK, **delivery: Any) -> RecordedDelivery:
        check = msgspec.structs.replace(check, run_id=self.run_id)
        return await self.handle(msgspec.json.encode(check), **delivery)

    async def handle(self, body: bytes, **options: Any) -> RecordedDelivery:
        delivery = await self._deliver(body, **options)
        await CheckPage(
            watches=self.watches,
            runs=self.runs,
            pages=self.pages,
            broker=self.broker,
            storage_queue=STORAGE_QUEUE,
            downloader=self.web,
            reader=self.reader,
            turns=self.turns,
            retries=fetch_backoff(10),
            clock=self.clock,
            spool=self._spool,
        )(delivery)
        assert list(self._spool.glob("*")) == [], "what was fetched is gone"
        return delivery

    async def event(self) -> Mapping[str, Any]:
        """What the check sends to the storage agent."""
        checked = await self.page()
        delivery = await self.check()
        assert delivery.settled == [("ack", None)]
        [(queue, event, delay)] = self.broker.published
        assert (queue, delay) == (STORAGE_QUEUE, 0.0)
        assert await self.page() == checked, "nothing is noted of the page"
        self.broker.published.clear()
        return dict(event)

    async def store(self, event: Mapping[str, Any]) -> None:
        """As the agent does; the next run begins."""
        body = msgspec.json.encode(event)
        await self.pages.store_event(event_of(body, received=self.clock.now()))
        await self.next_run()

    async def page(self) -> StoredPage | None:
        return await self.pages.find_page("job", URL)

    async def noted(self, **delivery: Any) -> StoredPage:
        """What is known of the page after a check that had nothing to send."""
        settled = (await self.check(**delivery)).settled
        assert (settled, self.broker.published) == ([("ack", None)], [])
        page = await self.page()
        assert page is not None
        assert page.last_checked == self.clock.now()
        assert not await self.runs.is_open(self.run_id, URL), "the run knows of it"
        return page


@pytest.fixture
def new_world(database: Database, clock: FakeClock, deliver: Deliver, tmp_path: Path) -> World:
    """Without a watch."""
    return World(database, clock, deliver, tmp_path / "spool")


@pytest.fixture
async def world(new_world: World) -> World:
    """With a page that is known."""
    await new_world.know()
    return new_world


# Unchanged.


async def test_a_304_is_noted_and_the_page_is_not_read(world: World) -> None:
    world.serve(BEFORE)
    page = await world.noted()
    assert (page.last_outcome, page.validators) == (Outcome.UNCHANGED, KNOWN)
    assert world.reader.orders == []
    assert world.web.conditions == [LastFetch(etag='"1"', last_modified="Mon")]


async def test_the_same_bytes_are_not_read(world: World) -> None:
    world.serve(Answer(headers={"ETag": '"9"'}, body=BEFORE.body))
    page = await world.noted()
    assert page.last_outcome is Outcome.UNCHANGED
    assert page.validators == Validators(etag='"9"', body_hash=sha256(BEFORE))
    assert world.reader.orders == []


async def test_the_same_content_in_other_bytes_is_not_a_change(world: World) -> None:
    other = Answer(headers=NOW.headers, body=BEFORE.body + b"<!-- -->")
    world.serve(other)
    page = await world.noted()
    assert page.last_outcome is Outcome.UNCHANGED
    assert page.validators == Validators(etag='"2"', body_hash=sha256(other))
    assert len(world.reader.orders) == 1


async def test_a_page_without_content_is_asked_for_without_conditions(new_world: World) -> None:
    world = new_world
    await world.begin()
    await world.pages.note_checked(
        Checked(
            watch_id="job",
            url=URL,
            run_id=world.run_id,
            at=NOON,
            outcome=Outcome.UNCHANGED,
            validators=KNOWN,
        )
    )
    page = await world.page()
    assert page is not None
    assert (page.version, page.validators) == (None, KNOWN)
    await world.next_run()
    world.serve(NOW)
    await world.event()
    assert world.web.conditions == [LastFetch()]


# Changed.


async def test_a_change_is_sent_with_what_differs(new_world: World) -> None:
    world = new_world
    await world.know(selection=Selection(keep=["main"]))
    after = product("one", "three", price="95.50")
    world.serve(after)
    event = await world.event()
    assert (event["jobId"], event["runId"], event["url"]) == ("job", world.run_id, URL)
    assert event["version"] == 2
    page = await world.page()
    assert page is not None
    assert event["snapshotHash"] != page.snapshot_hash
    assert event["parsed"]["text"] == "Loom\none\nthree"
    assert event["price"] == {
        "current": 95.5, "previous": 100, "changePercent": -4.5, "currency": "EUR", "list": None,
    }  # fmt: skip
    assert event["diff"]["textChanged"] is True
    assert event["diff"]["price"] == {"previous": 100, "current": 95.5}
    assert event["reasons"] == [
        {"kind": "price", "previous": 100, "current": 95.5, "currency": "EUR",
         "changePercent": -4.5, "below": None},
    ]  # fmt: skip
    assert event["alerts"] == ["the price fell by 4.5 % to 95.50 EUR"]
    assert event["validators"] == {"etag": '"2"', "bodyHash": sha256(after)}
    assert event["ts"] == milliseconds_of(world.clock.now())
    [order] = world.reader.orders
    assert order.selection == Selection(keep=["main"])


async def test_the_first_version_is_not_a_change(new_world: World) -> None:
    await new_world.begin()
    new_world.serve(NOW)
    event = await new_world.event()
    assert (event["version"], event["alerts"]) == (1, [])
    assert event["diff"] == {"textChanged": False}


async def test_thresholds_look_at_what_is_new(world: World) -> None:
    await world.decide(thresholds=Thresholds(text_contains=["ONE", "Three"]))
    assert (await world.event())["alerts"] == ['text was added that contains "Three"']


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (
            product("one", "two", reduced_from="120"),
            {"list": {"previous": None, "current": 120}},
        ),
        (
            product("one", "two", currency="USD"),
            {"currency": {"previous": "EUR", "current": "USD"}},
        ),
    ],
    ids=["a list price", "another currency"],
)
async def test_a_price_that_differs_in_anything_is_a_change(
    world: World, now: Answer, expected: dict[str, Any]
) -> None:
    world.serve(now)
    event = await world.event()
    assert event["diff"]["textChanged"] is False
    assert event["diff"]["price"] == {"previous": 100, "current": 100} | expected


async def test_a_price_that_goes_and_comes_back_is_a_change_each_time(world: World) -> None:
    world.serve(product("one", "two", price=None))
    event = await world.event()
    assert event["price"] is None
    assert event["diff"]["price"]["current"] is None
    await world.store(event)
    world.serve(product("one", "two", etag='"3"'))  # the store has the last price that there was
    event = await world.event()
    assert event["diff"]["price"] == {"previous": None, "current": 100}


async def test_another_selection_is_not_a_change_but_a_price_is(world: World) -> None:
    await world.decide(selection=Selection(keep=["main"]))
    event = await world.event()
    assert (event["diff"], event["alerts"]) == ({"textChanged": False}, [])
    assert world.web.conditions == [LastFetch()]
    world.serve(product("one", "three", price="90", stock="OutOfStock"))
    event = await world.event()
    assert event["diff"] == {
        "textChanged": False,
        "price": {"previous": 100, "current": 90},
        "availability": {"previous": "in_stock", "current": "out_of_stock"},
    }
    assert event["alerts"] == ["the price fell by 10 % to 90.00 EUR", "it is out of stock now"]


async def test_a_full_queue_of_the_agent_is_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.broker.refusals = 2
    monkeypatch.setattr(check_page, "FULL_PAUSE", 0.0)
    assert (await world.event())["version"] == 2


# Failed.

FINAL: list[tuple[Answer | FetchFailed, str]] = [
    (Answer(status=403), "the server answered 403: it refuses the request"),
    (Answer(status=401), "the server answered 401: it asks for a login"),
    (Answer(status=404), "the server answered 404"),
    (FetchFailed(reason="it is private", retryable=False), "it is private"),
]


@pytest.mark.parametrize(("answer", "reason"), FINAL, ids=[reason for _, reason in FINAL])
async def test_a_refusal_is_noted_at_once(
    world: World, answer: Answer | FetchFailed, reason: str
) -> None:
    world.serve(answer)
    page = await world.noted()
    assert (page.last_outcome, page.last_error, page.validators) == (Outcome.FAILED, reason, KNOWN)
    assert world.reader.orders == []


WALLS = [
    ("Access denied", "a wall was served instead of the page: a small page that says"),
    ("404 Not found", "an error was served instead of the page: the title says"),
]


@pytest.mark.parametrize(("title", "reason"), WALLS, ids=[title for title, _ in WALLS])
async def test_a_wall_that_says_200_is_a_failure(world: World, title: str, reason: str) -> None:
    world.serve(Answer(body=f"<title>{title}</title><h1>{title}</h1>".encode()))
    page = await world.noted()
    assert page.last_outcome is Outcome.FAILED
    assert (page.last_error or "").startswith(reason)


async def test_a_page_that_can_not_be_read_is_a_failure(world: World) -> None:
    png = b"\x89PNG\r\n\x1a\n\x00\x00"
    world.serve(Answer(headers={"Content-Type": "image/png"}, body=png))
    page = await world.noted()
    assert page.last_error == "what was fetched is not text; the site calls it image/png"


async def test_what_may_pass_is_tried_three_times_however_often_it_was_put_off(
    world: World,
) -> None:
    world.serve(Answer(status=503))
    check = CHECK
    for failed in (1, 2):
        # The delivery's number grows when a host is busy, too.
        assert (await world.check(check, attempt=40)).settled == [("ack", None)]
        queue, again, delay = world.broker.published.pop()
        assert (queue, again["failed"], again["url"]) == (CHECK_QUEUE, failed, URL)
        assert delay >= 10
        check = msgspec.convert(again, PageCheck)
    page = await world.noted(check=check)
    assert (page.last_outcome, page.last_error) == (Outcome.FAILED, "the server answered 503")


async def test_a_host_that_asks_for_a_pause_is_left_alone(world: World) -> None:
    world.serve(Answer(status=429, headers={"Retry-After": "500"}))
    await world.check()
    [(_, again, delay)] = world.broker.published
    assert (again["failed"], delay) == (1, 500)
    world.broker.published.clear()
    await world.check()
    [(_, again, delay)] = world.broker.published
    assert again["failed"] == 0, "it was not asked"
    assert delay > 100
    assert len(world.web.requested) == 1


async def test_a_check_that_can_not_be_put_off_by_a_new_message_is_given_back(world: World) -> None:
    world.broker.refusals = 1
    world.serve(Answer(status=503))
    [(verb, _)] = (await world.check()).settled
    assert verb == "retry"


async def test_workers_that_die_of_a_check_are_counted_and_put_offs_are_not(world: World) -> None:
    world.serve(Answer(status=503))
    await world.check(attempt=3, redelivered=True)
    [(_, again, _)] = world.broker.published
    assert again["deaths"] == 2
    world.broker.published.clear()
    deadly = msgspec.structs.replace(CHECK, deaths=MOST_DEATHS - 1)
    page = await world.noted(check=deadly, attempt=2, redelivered=True)
    assert page.last_error == f"its worker died {MOST_DEATHS} times"
    assert len(world.web.requested) == 1


# Not to be checked.


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b'{"runId":"r","jobId":"j","url":"no url"}',
     b'{"runId":"r","jobId":"j","url":"HTTPS://shop.test/1"}', b"\xff"],
)  # fmt: skip
async def test_an_invalid_check_is_buried(world: World, body: bytes) -> None:
    [(verb, reason)] = (await world.handle(body)).settled
    assert verb == "dead_letter"
    assert str(reason).startswith("not a check of a page: ")


async def test_a_page_that_its_run_knows_of_is_not_asked_for_again(world: World) -> None:
    world.serve(BEFORE)
    known = await world.noted()
    world.web.requested.clear()
    assert (await world.check()).settled == [("ack", None)]
    over = msgspec.structs.replace(CHECK, run_id=world.run_id)
    await world.next_run()
    assert (await world.handle(msgspec.json.encode(over))).settled == [("ack", None)]
    assert await world.watches.remove_watch("job")
    assert (await world.check()).settled == [("ack", None)]
    assert (world.web.requested, world.broker.published) == ([], [])
    assert await world.page() == known


async def test_a_page_of_scripts_alone_fails_whether_or_not_it_is_known(world: World) -> None:
    body = b'<title>Shop</title><div id=root>Loading</div><script src="/app.js"></script>'
    only_scripts = Answer(headers={"Content-Type": "text/html", "ETag": '"3"'}, body=body)
    reason = "its text appears only with JavaScript, which Webloom does not run"
    world.serve(only_scripts)
    page = await world.noted()
    assert (page.last_outcome, page.last_error) == (Outcome.FAILED, reason)
    await world.next_run()
    world.serve(NOW)
    event = await world.event()
    empty = {"parsed": {**event["parsed"], "text": ""}}  # as earlier versions stored such a page
    validators = {"etag": '"3"', "bodyHash": sha256(only_scripts)}
    await world.store({**event, **empty, "validators": validators})
    world.serve(only_scripts)
    page = await world.noted()
    assert (page.last_outcome, page.last_error) == (Outcome.FAILED, reason)
    assert world.web.conditions[-1] == LastFetch(), "so that it is read"
