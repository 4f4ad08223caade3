"""Stores and queues that earlier versions have left are opened without a manual step."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from contracts.import_samples import all_read, key_of
from contracts.inventory_samples import COMPLETED, request
from contracts.previous.load import (
    COMMITS,
    fixture,
    load_bullmq,
    load_mongodb,
    load_rabbitmq,
    load_sqlite,
    seen,
)
from contracts.previous.stores import Stores, mongodb_stores, sqlite_stores
from contracts.previous.view import view
from contracts.watch_samples import url
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer
from timeouts import TIMEOUT_SECONDS
from unit.deliveries import LEASE, Deliver
from webloom.adapters.bullmq.broker import open_bullmq
from webloom.adapters.rabbitmq.broker import open_rabbitmq
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.system_clock import SystemClock
from webloom.application.imports.store_batch import StoreBatch
from webloom.application.watch.check_page import PageCheck
from webloom.application.watch.store_event import StoreEvent
from webloom.domain.import_run import Counts, RunStatus
from webloom.domain.import_transitions import Ending
from webloom.domain.inventory import Attempt, FetchRequest
from webloom.domain.listing import ListFilter
from webloom.domain.page_check import Checked
from webloom.domain.watch import Outcome
from webloom.domain.watch import RunStatus as WatchRunStatus
from webloom.domain.watch_run import NextRun
from webloom.ports.broker import Broker, Delivery
from webloom.ports.import_runs import Claim
from webloom.ports.inbox import InboxFilter
from webloom.ports.postings import PostingFilter

LATER = datetime(2026, 6, 1, tzinfo=UTC)
STALLED = 1.0  # seconds until a delivery whose consumer died is found
Queued = dict[str, dict[str, bytes]]  # bodies by queue and id


@pytest.fixture(params=COMMITS)
def commit(request: pytest.FixtureRequest) -> str:
    """The version that has left them."""
    return str(request.param)


@pytest.fixture(params=["sqlite", "mongodb"])
async def opened(
    request: pytest.FixtureRequest, commit: str, tmp_path: Path, patient: None
) -> AsyncIterator[tuple[str, Stores]]:
    if request.param == "sqlite":
        async with sqlite_stores(load_sqlite(commit, tmp_path), SystemClock()) as stores:
            yield "sqlite", stores
        return
    server: MongoServer = request.getfixturevalue("mongod")
    await asyncio.to_thread(load_mongodb, commit, server.url)
    async with mongodb_stores(server.url, SystemClock()) as stores:
        yield "mongodb", stores


async def test_stores_of_earlier_versions_are_opened_and_their_runs_end_once(
    opened: tuple[str, Stores], commit: str, tmp_path: Path
) -> None:
    """One test: to load a database takes longer than all that is done with it."""
    name, stores = opened
    assert missing(seen(commit, name), await view(stores)) == []
    assert await stores.inbox.entries(InboxFilter(), now=LATER, limit=9) == ([], None)
    for watch in (await stores.watches.watches(limit=200))[0]:
        found, _ = await stores.watches.watches(ListFilter(text=watch.config.name), limit=200)
        assert watch in found
    for feed in await stores.imports.feeds.all():
        chosen = ListFilter(text=feed.config.url)
        assert feed in (await stores.imports.feeds.page(chosen, limit=200))[0]
    clock, work = FakeClock(), queued_work(commit)
    async with open_database(tmp_path / "queues.db", clock) as database:
        broker = SqliteBroker(database, limits={}, lease=LEASE)
        deliver = Deliver(broker, clock)
        await fetch(stores, work)
        await import_the_rest(stores, work, deliver)
        await end_runs_without_work(stores)
        await check_the_rest(stores, work, deliver, broker)
    await send_what_waits(stores)
    assert await stores.lock.acquire("scheduler", "a new process", 60.0) == 2
    assert await stores.heartbeats.seen(20.0) == []


def missing(before: Any, now: Any, path: str = "") -> list[str]:
    """Where what was seen before differs. There may be more now."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            each
            for name, value in before.items()
            for each in (
                missing(value, now[name], f"{path}/{name}") if name in now else [f"{path}/{name}"]
            )
        ]
    return [] if before == now else [f"{path}: {before!r} became {now!r}"]


async def fetch(stores: Stores, work: Queued) -> None:
    """A request that waits, and an attempt whose worker died."""
    [body] = work["metadata_queue"].values()
    waiting = msgspec.json.decode(body, type=FetchRequest)
    for wanted, number in ((waiting, 1), (request("begun", url=waiting.url[:-7] + "begun"), 2)):
        attempt = await stores.inventory.begin_attempt(wanted, lease=60.0)
        assert isinstance(attempt, Attempt)
        assert attempt.number == number
        assert await stores.inventory.finish_attempt(attempt, COMPLETED)
        assert not await stores.inventory.finish_attempt(attempt, COMPLETED)


async def import_the_rest(stores: Stores, work: Queued, deliver: Deliver) -> None:
    store = stores.imports
    claim = await claimed(stores, "import in progress")
    died = Claim(run=claim.run, feed=claim.feed, token=claim.token - 1)
    assert await store.postings.missing_batches("import in progress", published=3) == [1, 2]
    for body in work["import-feed"].values():
        for _ in range(2):  # a message may come twice
            delivery = await deliver(body)
            await StoreBatch(store=store.postings)(delivery)
            assert delivery.settled == [("ack", None)]
    read = all_read(6, 3, format="rss")
    assert await store.runs.note_reading(died, read) is None
    assert await store.runs.finish(died, read, Ending(error="too late")) is None
    ended = await store.runs.finish(claim, read, Ending(next_run_at=LATER))
    assert ended is not None
    assert ended.status is RunStatus.COMPLETED
    assert (ended.counts, ended.processed_batches) == (Counts(new=3, updated=2, unchanged=1), 3)
    assert await store.runs.finish(claim, read, Ending()) == ended
    feed = await store.feeds.find(ended.feed_id)
    assert feed is not None
    assert (feed.active_run_id, feed.last_run_id) == (None, ended.run_id)
    assert (feed.next_run_at, feed.last_status) == (LATER, RunStatus.COMPLETED)
    closed = await store.postings.find(key_of("d"))
    assert closed is not None
    assert closed.closed_by is not None
    page = await store.postings.page(PostingFilter(is_open=True), limit=100)
    assert sorted(each.posting.external_id or "" for each in page.postings) == list("abcefg")


async def end_runs_without_work(stores: Stores) -> None:
    """An unclaimed one, and one whose feed was removed."""
    store = stores.imports
    for run_id, is_cancelled in (("import waiting", False), ("import of a removed feed", True)):
        claim = await claimed(stores, run_id)
        assert claim.run.cancel_requested == is_cancelled
        assert await store.runs.finish(claim, all_read(0, 0), Ending()) is not None
    assert await store.runs.claim("producer", lease=60.0) is None
    assert [feed for feed in await store.feeds.all() if feed.active_run_id is not None] == []


async def claimed(stores: Stores, run_id: str) -> Claim:
    claim = await stores.imports.runs.claim("a new producer", lease=60.0, run_id=run_id)
    assert claim is not None
    return claim


async def check_the_rest(stores: Stores, work: Queued, deliver: Deliver, broker: Broker) -> None:
    run_id = "watch run in progress"
    [body] = work["watch-pages"].values()
    check = msgspec.json.decode(body, type=PageCheck)
    assert await stores.watch_runs.unchecked(run_id) == [url("b"), url("c")]
    store_event = StoreEvent(
        store=stores.pages,
        watches=stores.watches,
        runs=stores.watch_runs,
        broker=broker,
        queue="storage-agent",
        clock=SystemClock(),
    )
    for body in work["storage-agent"].values():
        for _ in range(2):
            delivery = await deliver(body)
            await store_event(delivery)
            assert delivery.settled == [("ack", None)]
    checked = Checked(
        watch_id=check.watch_id,
        url=check.url,
        run_id=check.run_id,
        at=LATER,
        outcome=Outcome.UNCHANGED,
    )
    for _ in range(2):
        await stores.pages.note_checked(checked)
    watch = await stores.watches.find_watch("id of shop")
    assert watch is not None
    for _ in range(2):
        next_run = NextRun(LATER + timedelta(days=1), watch.next_run_at)
        ended = await stores.watch_runs.finish_run(run_id, next_run)
        assert ended is not None
        assert ended.status is WatchRunStatus.COMPLETED
        tally = ended.tally
        assert (tally.processed, tally.failed, tally.changes) == (3, 0, 2)
    after = await stores.watches.find_watch("id of shop")
    assert after is not None
    assert (after.active_run_id, after.last_run_id) == (None, run_id)
    assert after.metrics.pages_processed == watch.metrics.pages_processed + 3
    versions = await stores.history.versions("id of shop", url("b"), limit=10)
    assert [each.version for each in versions] == [3, 2, 1]


async def send_what_waits(stores: Stores) -> None:
    due = await stores.notifications.due(LATER, limit=10)
    assert {each.notification_id for each in due} == {"notice to send", "notice failed"}
    await stores.notifications.note_sent([each.notification_id for each in due], LATER)
    assert await stores.notifications.due(LATER, limit=10) == []
    assert await stores.alerts.assign_batch("id of shop", "watch run in progress", "new") == ["new"]
    batches = await stores.alerts.assign_batch("id of shop", "watch run that ended", "another")
    assert batches == ["a batch"]


# Queues


class OpenQueues(Protocol):
    def __call__(
        self, commit: str, folder: Path, server: Any
    ) -> AbstractAsyncContextManager[Broker]: ...


@asynccontextmanager
async def sqlite_queues(commit: str, folder: Path, server: None) -> AsyncIterator[Broker]:
    async with open_database(load_sqlite(commit, folder), SystemClock()) as database:
        yield SqliteBroker(database, limits={}, lease=60.0)


@asynccontextmanager
async def bullmq_queues(commit: str, folder: Path, server: RedisServer) -> AsyncIterator[Broker]:
    await load_bullmq(commit, server.url)
    async with open_bullmq(server.url, SystemClock(), limits={}, lease=STALLED) as broker:
        yield broker


@asynccontextmanager
async def rabbitmq_queues(commit: str, folder: Path, server: RabbitServer) -> AsyncIterator[Broker]:
    await load_rabbitmq(commit, server.url)
    async with open_rabbitmq(server.url, SystemClock(), limits={}) as broker:
        yield broker


@pytest.mark.parametrize(
    ("open_queues", "server", "prefix", "comes_again"),
    [
        (sqlite_queues, None, "", True),
        (bullmq_queues, "redis_server", "previous.", True),
        (rabbitmq_queues, "rabbitmq", "previous.", False),
    ],
    ids=["sqlite", "bullmq", "rabbitmq"],
)
async def test_messages_of_earlier_versions_are_delivered(
    request: pytest.FixtureRequest,
    commit: str,
    tmp_path: Path,
    patient: None,
    open_queues: OpenQueues,
    server: str | None,
    prefix: str,
    comes_again: bool,
) -> None:
    """`comes_again`: the queue holds a message whose consumer died, and one that was given back."""
    at = None if server is None else request.getfixturevalue(server)
    others = {"late": 1, "taken": 2, "again": 2} if comes_again else {"late": 1, "taken": 1}
    async with open_queues(commit, tmp_path, at) as broker:
        for name, waiting in queued_work(commit).items():
            queue = prefix + name
            extra = others if name == "metadata_queue" else {}
            found = await taken(broker, queue, len(waiting) + len(extra))
            assert {each: found[each].body for each in waiting} == waiting
            assert {each: found[each].attempt for each in extra} == extra
            if extra:
                assert found["taken"].redelivered == comes_again
                [dead] = await broker.dead_letters(queue, limit=10)
                assert (dead.id, dead.reason) == ("dead", "nobody can fetch it")
                assert await broker.put_back(queue, "dead")
                found |= await taken(broker, queue, 1)
            for delivery in found.values():
                await delivery.ack()
            depth = await broker.depth(queue)
            assert (depth.ready, depth.delayed, depth.dead) == (0, 0, 0)


async def taken(broker: Broker, queue: str, number: int) -> dict[str, Delivery]:
    found: dict[str, Delivery] = {}
    async with asyncio.timeout(TIMEOUT_SECONDS), broker.deliveries(queue, number) as deliveries:
        while len(found) < number:
            delivery = await anext(deliveries)
            found[delivery.message_id] = delivery
    return found


def queued_work(commit: str) -> Queued:
    """What is left to do for what is in progress in the stores."""
    return {
        queue: {name: body.encode() for name, body in messages.items()}
        for queue, messages in json.loads(fixture(commit, "work.json")).items()
    }
