"""A producer with a real store, queue and reader; only the web is made up."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pymongo import AsyncMongoClient

from fakes.web import Answer, FakeWeb
from servers.mongod import MongoServer
from timeouts import TIMEOUT_SECONDS
from webloom.application.imports.clear_spool import PAGE_SECONDS
from webloom.application.imports.run_import import CANCELLED, RunImport
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.bootstrap.use_cases import open_run_import
from webloom.domain.errors import FetchFailed, StoreUnavailable
from webloom.domain.feed import Feed, LastFetch
from webloom.domain.import_run import (
    IMPORT_QUEUE,
    Counts,
    ImportRun,
    Phase,
    Reading,
    RunStatus,
)
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.third_party import UNCOUNTED
from webloom.entrypoints.worker import serve_batches
from webloom.ports.broker import Message
from webloom.ports.fetcher import Downloaded
from webloom.ports.import_runs import Claim
from webloom.settings import load_settings

URL = "http://127.0.0.1:8000/jobs.xml"


def item(number: int, text: str = "") -> str:
    return (
        f"<item><guid>{number}</guid><title>Job {number}</title>"
        f"<description>{text}x</description></item>"
    )


def rss(items: list[str]) -> str:
    return f"<rss><channel><title>F</title>{''.join(items)}</channel></rss>"


class Web(FakeWeb):
    """Of one feed, whose server ignores conditions."""

    def __init__(self) -> None:
        super().__init__(policy=NetworkPolicy.parse(["127.0.0.1"]))
        self.body = rss([item(number) for number in range(100)])
        self.failures: list[FetchFailed | int] = []  # before it answers

    async def download(self, url: str, into: Path, *, known: LastFetch) -> Downloaded:
        failure = self.failures.pop(0) if self.failures else None
        if isinstance(failure, FetchFailed):
            self.pages[url] = failure
        elif failure is not None:
            asks_for = {"Retry-After": "7200"} if failure == 503 else {}
            self.pages[url] = Answer(status=failure, headers=asks_for)
        else:
            self.pages[url] = Answer(headers={"ETag": '"e"'}, body=self.body.encode())
        return await super().download(url, into, known=LastFetch())


@dataclass(kw_only=True)
class Room:
    services: Services
    run_import: RunImport
    web: Web

    async def claim(self, **settings: Any) -> Claim:
        feed, _ = await self.services.manage_feeds.add(URL, "F", **settings)
        started = await self.services.start_import(feed.feed_id, "manual")
        assert started is not None
        claim = await self.services.imports.runs.claim(
            "producer", lease=60, run_id=started.run.run_id
        )
        assert claim is not None
        return claim

    async def run(self, **settings: Any) -> ImportRun:
        run = await self.run_import(await self.claim(**settings))
        assert run is not None
        return run

    async def feed(self) -> Feed:
        [feed] = await self.services.imports.feeds.all()
        return feed


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with _room(tmp_path) as made:
        stop = asyncio.Event()
        worker = asyncio.create_task(serve_batches(made.services, stop))
        yield made
        stop.set()
        await worker


@asynccontextmanager
async def _room(folder: Path, **more: str) -> AsyncIterator[Room]:
    settings = load_settings(
        {
            "WEBLOOM_DATA_DIR": str(folder),
            "WEBLOOM_ALLOW_ADDRESSES": "127.0.0.1",
            "WEBLOOM_BATCH_SIZE": "10",
            "WEBLOOM_RETRY_DELAY": "0",
            **more,
        }
    )
    web = Web()
    async with open_services(settings) as services, open_run_import(services) as usual:
        obtain = replace(usual.obtain, downloader=web)
        yield Room(services=services, run_import=replace(usual, obtain=obtain, stall=0.5), web=web)


async def until(look: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not await look():  # noqa: ASYNC110 - there is no event for what another process sees
            await asyncio.sleep(0.02)


async def test_nothing_starts_until_a_restore_has_ended(room: Room) -> None:
    """What it has put is due, or in progress, before all that belongs to it is there."""
    start, whole = room.services.start_import, room.services.whole
    feed, _ = await room.services.manage_feeds.add(URL, "F")
    await whole.note("restore", "{}")
    assert await start.due() == []
    assert await start(feed.feed_id, "manual") is not None
    assert await room.run_import.claim("producer") is None
    await whole.note("restore", None)
    assert await room.run_import.claim("another") is not None


async def test_the_second_import_reads_only_what_has_changed(room: Room) -> None:
    assert (await room.run()).counts == Counts(new=100)
    [known] = (room.services.settings.spool / "known").iterdir()
    assert known.name == (await room.feed()).feed_id
    room.web.body = rss([item(number, "new " if number == 5 else "") for number in range(1, 101)])
    run = await room.run()
    assert (run.status, run.counts) == (
        RunStatus.COMPLETED,
        Counts(new=1, updated=1, unchanged=98),
    )
    assert [path.name for path in room.services.settings.spool.iterdir()] == ["known"]


async def test_what_is_known_and_is_gone_from_the_store_is_sent_whole(room: Room) -> None:
    """As after a backup was put back: the hint is wrong, the counters are not."""
    first = await room.claim()
    assert await room.run_import(first) is not None
    keys = await room.services.imports.postings.open_keys(URL, after="", limit=3)
    feed, _ = await room.services.manage_feeds.add(URL, "F")
    started = await room.services.start_import(feed.feed_id, "manual")
    assert started is not None
    claim = await room.services.imports.runs.claim("p", lease=60, run_id=started.run.run_id)
    assert claim is not None
    await room.services.imports.postings.close(claim, keys)  # behind the producer's back
    room.web.body += " "  # so that it is read at all
    run = await room.run_import(claim)
    assert run is not None
    assert (run.status, run.counts) == (RunStatus.COMPLETED, Counts(updated=3, unchanged=97))
    assert await room.services.imports.postings.count() == (100, 0)


async def test_batches_that_the_queue_has_lost_are_sent_again(tmp_path: Path) -> None:
    async with _room(tmp_path) as room:
        claim = await room.claim()
        running = asyncio.create_task(room.run_import(claim))

        async def is_queued() -> bool:
            run = await room.services.imports.listed_runs.find(claim.run.run_id)
            return run is not None and run.reading.all_published

        await until(is_queued)
        async with room.services.broker.deliveries(IMPORT_QUEUE, 10) as deliveries:
            for _ in range(10):
                await (await anext(deliveries)).ack()  # and nothing is stored
        stop = asyncio.Event()
        worker = asyncio.create_task(serve_batches(room.services, stop))
        run = await running
        stop.set()
        await worker
        assert run is not None
        assert (run.status, run.counts) == (RunStatus.COMPLETED, Counts(new=100))


async def is_published(room: Room, run_id: str) -> bool:
    run = await room.services.imports.listed_runs.find(run_id)
    return run is not None and run.reading.all_published


@asynccontextmanager
async def being_served(room: Room) -> AsyncIterator[None]:
    stop = asyncio.Event()
    worker = asyncio.create_task(serve_batches(room.services, stop))
    yield
    stop.set()
    await worker


async def taken(room: Room, batches: int) -> list[dict[str, Any]]:
    """Takes the messages, and stores nothing."""
    messages = []
    async with room.services.broker.deliveries(IMPORT_QUEUE, batches) as deliveries:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            for _ in range(batches):
                delivery = await anext(deliveries)
                messages.append(msgspec.json.decode(delivery.body))
                await delivery.ack()
    return sorted(messages, key=lambda message: message["batchIndex"])


COMPLETE = {"WEBLOOM_COMPLETE_BATCHES": "true"}


async def test_complete_batches_have_every_posting_and_the_number_of_all(tmp_path: Path) -> None:
    """Also of records that the last import knows."""
    async with _room(tmp_path, **COMPLETE) as room:
        async with being_served(room):
            assert (await room.run()).counts == Counts(new=100)
        room.web.body = rss([item(number) for number in range(95)] + ["<item/>", item(3), item(4)])
        claim = await room.claim()
        running = asyncio.create_task(room.run_import(claim))
        messages = await taken(room, 10)
        assert [len(message["jobs"]) for message in messages] == [10] * 9 + [5]
        ids = [job["externalId"] for message in messages for job in message["jobs"]]
        assert ids == [str(number) for number in range(95)]
        for index, message in enumerate(messages):
            assert message.keys() == {"runId", "sourceUrl", "batchIndex", "totalBatches", "jobs"}
            assert (message["runId"], message["sourceUrl"]) == (claim.run.run_id, URL)
            assert (message["batchIndex"], message["totalBatches"]) == (index, 10)
        async with being_served(room):  # which are sent again, because they were not stored
            run = await running
        assert run is not None
        assert run.counts == Counts(unchanged=95, duplicate=2, failed=1)
        assert (run.total_batches, run.processed_batches) == (10, 10)


async def test_all_that_the_producer_counts_is_there_before_the_first_complete_batch(
    tmp_path: Path,
) -> None:
    """A worker that finds the last batch counted decides by it how the run ends."""
    async with _room(tmp_path, **COMPLETE, WEBLOOM_IMPORT_QUEUE_LIMIT="1") as room:
        room.web.body = rss([*(item(number) for number in range(30)), "<item/>", item(3)])
        claim = await room.claim()
        running = asyncio.create_task(room.run_import(claim))
        [first] = await taken(room, 1)
        assert (first["batchIndex"], first["totalBatches"]) == (0, 3)
        run = await room.services.imports.listed_runs.find(claim.run.run_id)
        assert run is not None
        assert (run.total_batches, run.reading.fetched) == (3, 32)
        assert (run.counts, len(run.failures)) == (Counts(duplicate=1, failed=1), 1)
        await room.services.imports.runs.cancel(claim.run.run_id)
        await running


async def test_a_producer_that_takes_over_publishes_the_same_complete_batches(
    tmp_path: Path,
) -> None:
    async with _room(tmp_path, **COMPLETE, WEBLOOM_IMPORT_QUEUE_LIMIT="3") as room:
        claim = await room.claim()
        running = asyncio.create_task(room.run_import(claim))

        async def is_full() -> bool:
            return (await room.services.broker.depth(IMPORT_QUEUE)).ready == 3

        await until(is_full)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        again = await room.services.imports.runs.claim("next", lease=60)
        assert again is not None
        running = asyncio.create_task(room.run_import(again))
        messages = await taken(room, 10)
        assert [message["batchIndex"] for message in messages] == list(range(10))
        assert {message["totalBatches"] for message in messages} == {10}
        async with being_served(room):
            run = await running
        assert run is not None
        assert (run.counts, run.total_batches) == (Counts(new=100), 10)


async def test_a_feed_without_a_record_ends_at_once_with_complete_batches(tmp_path: Path) -> None:
    async with _room(tmp_path, **COMPLETE) as room:
        room.web.body = rss([])
        run = await room.run()
        assert (run.status, run.counts, run.total_batches) == (RunStatus.COMPLETED, Counts(), 0)


@pytest.mark.parametrize("counted", [4, 10], ids=["some batches", "all batches"])
async def test_batches_that_others_count_are_not_sent_again_and_the_run_ends(
    tmp_path: Path, mongod: MongoServer, counted: int
) -> None:
    """Their worker counts and does not end the run, or it has lost the rest."""
    name = f"run-import-{uuid.uuid4().hex[:8]}"
    stored = {"WEBLOOM_STORE": mongod.url, "WEBLOOM_MONGODB_DATABASE": name}
    async with _room(tmp_path, **COMPLETE, **stored) as room:
        claim = await room.claim(enabled=True)
        running = asyncio.create_task(replace(room.run_import, third_party_end=0.1)(claim))
        await until(lambda: is_published(room, claim.run.run_id))
        async with AsyncMongoClient[dict[str, Any]](mongod.url) as client:
            counters = {"newJobs": 10 * counted, "meta.processedBatches": counted}
            logs = client[name].import_logs
            await logs.update_one({"runId": claim.run.run_id}, {"$inc": counters})
        await taken(room, 10)  # after that, as a worker does: a queue that is empty is noticed
        run = await running
        assert run is not None
        assert (await room.services.broker.depth(IMPORT_QUEUE)).ready == 0
        assert (run.counts, run.reading.fetched) == (Counts(new=10 * counted), 100)
        assert (run.status, run.error) == (
            (RunStatus.COMPLETED, None)
            if counted == 10
            else (
                RunStatus.PARTIAL,
                f"{UNCOUNTED}; the workers of another program counted 40 records of 100",
            )
        )
        feed = await room.feed()
        assert (feed.active_run_id, feed.last_run_id) == (None, run.run_id)
        assert feed.next_run_at is not None
        assert run.finished_at is not None
        assert feed.next_run_at > run.finished_at


async def test_a_cancelled_run_ends_soon_and_counts_what_was_not_stored(tmp_path: Path) -> None:
    async with _room(tmp_path) as room:  # the queue has no worker
        claim = await room.claim()
        running = asyncio.create_task(room.run_import(claim))

        async def is_read() -> bool:
            run = await room.services.imports.listed_runs.find(claim.run.run_id)
            return run is not None and run.reading.phase is Phase.STORING

        await until(is_read)
        await room.services.imports.runs.cancel(claim.run.run_id)
        run = await running
        assert run is not None
        assert (run.status, run.error, run.counts) == (
            RunStatus.FAILED,
            CANCELLED,
            Counts(failed=100),
        )
        stop = asyncio.Event()
        worker = asyncio.create_task(serve_batches(room.services, stop))

        async def is_empty() -> bool:
            depth = await room.services.broker.depth(IMPORT_QUEUE)
            return not depth.ready + (depth.in_flight or 0)

        await until(is_empty)
        stop.set()
        await worker
        assert await room.services.imports.postings.count() == (0, 0), "late batches are dropped"


async def test_a_stopped_producer_gives_the_run_back_at_once(tmp_path: Path) -> None:
    async with _room(tmp_path) as room:
        claim = await room.claim()
        running = asyncio.create_task(room.run_import(claim))

        async def is_read() -> bool:
            run = await room.services.imports.listed_runs.find(claim.run.run_id)
            return run is not None and run.reading.all_published

        await until(is_read)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        taken = await room.services.imports.runs.claim("next", lease=60)
        assert taken is not None
        assert taken.token > claim.token
        stop = asyncio.Event()
        worker = asyncio.create_task(serve_batches(room.services, stop))
        run = await room.run_import(taken)
        stop.set()
        await worker
        assert run is not None
        assert run.counts == Counts(new=100)
        assert len(room.web.requested) == 1, "the file in the spool is read on"


@pytest.mark.parametrize("status", [429, 502])
async def test_a_server_that_stumbles_once_is_asked_again(room: Room, status: int) -> None:
    room.web.failures = [status]
    assert (await room.run()).counts == Counts(new=100)


async def test_what_stays_away_fails_and_waits_as_long_as_it_asks_for(room: Room) -> None:
    room.web.failures = [503, 503]
    run = await room.run()
    assert (run.status, run.error) == (RunStatus.FAILED, "the server answered 503")
    feed = await room.feed()
    assert feed.failures == 1
    assert feed.next_run_at is not None
    assert run.finished_at is not None
    assert (feed.next_run_at - run.finished_at).total_seconds() >= 7190
    room.web.failures = [FetchFailed(reason="no way", retryable=False)]
    assert (await room.run()).error == "no way"
    assert (await room.feed()).failures == 2
    assert (await room.run()).status is RunStatus.COMPLETED
    assert (await room.feed()).failures == 0


async def test_what_an_unfinished_import_knows_spares_nothing(room: Room) -> None:
    """The conditions of the next fetch are only those of an import that stored everything."""
    room.web.body = rss([item(1), "<item><guid>2</guid></item>"])
    assert (await room.run()).status is RunStatus.PARTIAL
    assert (await room.feed()).last_fetch == LastFetch()
    assert (await room.run()).counts == Counts(unchanged=1, failed=1)
    room.web.body = rss([item(1)])
    assert (await room.run()).status is RunStatus.COMPLETED
    assert (await room.feed()).last_fetch.etag == '"e"'
    unchanged = await room.run()
    assert unchanged.reading.is_unmodified
    assert unchanged.total_batches == 0  # none is waited for


async def test_a_store_that_is_away_is_waited_for(room: Room) -> None:
    claim = await room.claim()
    imports = room.services.imports
    runs, postings = Flaky(imports.runs), Flaky(imports.postings)
    store = replace(imports, runs=runs, postings=postings)
    run = await replace(room.run_import, store=store)(claim)
    assert run is not None
    assert (run.status, run.counts) == (RunStatus.COMPLETED, Counts(new=100))
    assert runs.refused + postings.refused >= 3


class Flaky:
    """A store whose verbs fail at the first call."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._called: set[str] = set()
        self.refused = 0

    def __getattr__(self, verb: str) -> Any:
        method = getattr(self._store, verb)

        async def call(*arguments: Any, **options: Any) -> Any:
            if verb not in self._called:
                self._called.add(verb)
                self.refused += 1
                raise StoreUnavailable("not now")
            return await method(*arguments, **options)

        return call


async def test_the_store_knows_the_body_before_a_batch_of_it_is_on_the_queue(room: Room) -> None:
    """Else a producer that takes the run over could publish another body under the same numbers."""
    seen: list[str] = []
    store, broker = room.services.imports, room.services.broker

    async def note_reading(claim: Claim, reading: Reading) -> ImportRun | None:
        run = await store.runs.note_reading(claim, reading)
        seen.append("noted" if reading.content_hash else "begun")
        return run

    async def publish(queue: str, message: Message, *, delay: float = 0.0) -> str:
        seen.append("published")
        return await broker.publish(queue, message, delay=delay)

    watched = replace(
        room.run_import,
        store=replace(store, runs=Instead(store.runs, note_reading=note_reading)),
        broker=Instead(broker, publish=publish),
    )
    assert await watched(await room.claim()) is not None
    assert "noted" in seen[: seen.index("published")]


class Instead:
    """A port with some verbs replaced."""

    def __init__(self, port: Any, **verbs: Any) -> None:
        self._port = port
        self.__dict__.update(verbs)

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._port, verb)


class LooksAround(Web):
    """Notes what else is in the spool when it downloads."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    async def download(self, url: str, into: Path, *, known: LastFetch) -> Downloaded:
        self.seen = names(into.parent)
        return await super().download(url, into, known=known)


async def test_parts_that_killed_producers_of_the_run_have_left_take_no_room(room: Room) -> None:
    claim, web = await room.claim(), LooksAround()
    spool = room.services.settings.spool
    spool.mkdir()
    for name in (f"{claim.run.run_id}.{claim.token - 1}.part", "another.1.part"):
        (spool / name).write_bytes(b"half of a feed")
    obtain = replace(room.run_import.obtain, downloader=web)
    run = await replace(room.run_import, obtain=obtain)(claim)
    assert run is not None
    assert run.status is RunStatus.COMPLETED
    assert web.seen == ["another.1.part"]


async def test_a_part_that_nobody_writes_to_is_removed_though_its_run_goes_on(room: Room) -> None:
    claim = await room.claim()
    settings = room.services.settings
    settings.spool.mkdir()
    old, fresh = (settings.spool / f"{claim.run.run_id}.{token}.part" for token in (1, 2))
    for part in (old, fresh):
        part.touch()
    past = time.time() - settings.feed_timeout - PAGE_SECONDS - 1
    os.utime(old, (past, past))
    assert await room.services.clear_spool() == 1
    assert names(settings.spool) == [fresh.name]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
