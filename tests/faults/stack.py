"""An installation over real servers, and what must be true of it when all is over.

    stack = await stacks("mongodb+rabbitmq", site, lease=2)
    await stack.start("api")
    await stack.start("worker")
    async with client_of(stack.base) as client: ...
    await stack.ends_well(client)

Each has a database of its own and an empty broker. The servers can be killed and paused: they are
shared, and put right before the next stack.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import msgspec

from faults.client import Client
from faults.processes import Fleet, Process, eventually_async
from faults.site import Site
from servers.private import PrivateServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer
from webloom.adapters.rabbitmq.layout import Layout
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.errors import Unavailable
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import (
    MAX_ATTEMPTS,
    METADATA_QUEUE,
    FetchRequest,
    Record,
    RecordFilter,
    Status,
)
from webloom.domain.page import CHECK_QUEUE, STORAGE_QUEUE
from webloom.ports.broker import QueueDepth
from webloom.ports.pages import PageFilter
from webloom.ports.watch_run_listing import RunFilter as WatchRunFilter
from webloom.settings import load_settings

BOTH = ("mongodb+rabbitmq", "mongodb+bullmq")
Say = Callable[[str], None]
LOOKS_IN_A_ROW = 5
FIRST_TS = 1_712_345_678_910
_message = msgspec.json.Decoder(FetchRequest)


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What the store and the broker say."""

    records: list[Record]
    counts: dict[Status, int]
    depth: QueueDepth
    dead: set[str]  # URLs of dead letters

    @property
    def statuses(self) -> Counter[str]:
        return Counter(record.status.value for record in self.records)

    @property
    def attempts(self) -> Counter[int]:
        return Counter(record.processing.attempt_number for record in self.records)

    def of(self, url: str) -> Record:
        [found] = [record for record in self.records if record.url == url]
        return found

    def check(self, accepted: set[str]) -> None:
        """Accepted is a part of completed, failed for good and dead; nothing is left over."""
        urls = Counter(record.url for record in self.records)
        assert set(urls.values()) <= {1}, "a URL has one record"
        counted = {status.value: count for status, count in self.counts.items() if count}
        assert counted == self.statuses, "what is counted is what is there"
        final = {record.url for record in self.records if record.status.is_final}
        lost = accepted - final - self.dead
        assert not lost, f"{len(lost)} accepted and lost: {sorted(lost)[:5]}"
        assert len(final) == len(self.records), f"unfinished: {self.statuses}"
        assert max(self.attempts, default=0) <= MAX_ATTEMPTS
        depth = self.depth
        assert (depth.ready, depth.delayed, depth.in_flight or 0) == (0, 0, 0), depth


@dataclass(kw_only=True)
class Stack:
    kind: str
    fleet: Fleet
    site: Site
    store: PrivateServer | None  # None: the embedded database
    broker: RabbitServer | RedisServer | None  # None: the embedded database

    @property
    def base(self) -> str:
        return self.fleet.base

    async def start(self, role: str, *, port: int | None = None, **rigging: str) -> Process:
        return await self.fleet.start(role, port=port, **rigging)

    def servers(self, which: Literal["store", "broker"]) -> PrivateServer:
        server = self.store if which == "store" else self.broker
        assert server is not None
        return server

    @asynccontextmanager
    async def services(self) -> AsyncIterator[Services]:
        """As one more process of this installation."""
        async with open_services(load_settings(self.fleet.settings)) as services:
            yield services

    async def settled(self) -> None:
        """Wait until every request has its final answer and no message is left.

        RabbitMQ does not say how many are in flight, and a delayed message may pass a consumer on
        its way to the next queue: there several looks in a row must find none.
        """
        async with self.services() as services:
            empty_looks = 0

            async def look() -> bool:
                nonlocal empty_looks
                try:
                    counts = await services.records.count_by_status()
                    depth = await services.broker.depth(METADATA_QUEUE)
                except Unavailable:
                    return False
                waiting = depth.ready + depth.delayed + (depth.in_flight or 0)
                unfinished = sum(n for status, n in counts.items() if not status.is_final)
                empty_looks = 0 if waiting or unfinished else empty_looks + 1
                return empty_looks >= (LOOKS_IN_A_ROW if depth.in_flight is None else 1)

            try:
                await eventually_async(look, what="every request is answered")
            except AssertionError as late:
                truth = await self._truth(services)
                raise AssertionError(f"{late}: {truth.statuses}, {truth.depth}") from None

    async def truth(self) -> Truth:
        async with self.services() as services:
            return await self._truth(services)

    async def ends_well(self, client: Client) -> Truth:
        """Settled; every process ends on request; no process held a message in secret."""
        await self.settled()
        self.fleet.check()
        await self.shut_down()
        truth = await self.truth()
        truth.check(client.accepted)
        return truth

    async def shut_down(self) -> None:
        running = [process for process in self.fleet.processes if process.alive]
        for process in running:
            terminate(process)
        for process in running:
            assert await process.ended() == 0, process.output[-3000:]
        self.fleet.check()

    async def health(self, client: Client) -> tuple[int, dict[str, dict[str, Any]]]:
        """The status, and the dependencies by name."""
        status, health = await client.get("/health")
        return status, {each["name"]: each for each in health["dependencies"]}

    async def queue(self, client: Client) -> dict[str, Any]:
        """Once it is reported: a busy machine leaves out what it could not read in time."""

        async def look() -> dict[str, Any] | None:
            _, health = await client.get("/health")
            return {each["name"]: each for each in health["queues"]}.get(METADATA_QUEUE)

        queue = await eventually_async(look, what="/health tells the depth of the queue")
        assert queue is not None
        return queue

    def summary(self, truth: Truth, client: Client) -> str:
        """Duplicates are harmless and are counted."""
        fetches = Counter(len(times) for times in self.site.arrivals.values())
        return (
            f"answers {dict(client.answers)}; records {dict(truth.statuses)}; "
            f"attempts {dict(sorted(truth.attempts.items()))}; "
            f"fetches for one URL {dict(sorted(fetches.items()))}; dead {len(truth.dead)}"
        )

    async def _truth(self, services: Services) -> Truth:
        records, cursor = [], None
        while True:
            page = await services.records.page_of_records(RecordFilter(), limit=500, cursor=cursor)
            records += page.records
            cursor = page.next_cursor
            if cursor is None:
                break
        dead = await services.broker.dead_letters(METADATA_QUEUE, limit=1000)
        return Truth(
            records=records,
            counts=await services.records.count_by_status(),
            depth=await services.broker.depth(METADATA_QUEUE),
            dead={_message.decode(letter.body).url for letter in dead},
        )


class MakeStack(Protocol):
    async def __call__(self, kind: str, *sites: Site, **settings: object) -> Stack: ...


@dataclass(frozen=True, kw_only=True)
class Answer:
    sent_at: float  # monotonic
    seconds: float
    status: int | None


@dataclass(kw_only=True)
class Load:
    """Posts a new URL every so often, whatever becomes of the others. After the first ones it slows
    down: a busy machine has to serve them all before the time of the test is over."""

    client: Client
    site: Site
    per_second: float = 60.0
    most_at_full_rate: int = 600
    slow_rate: float = 5.0  # a second
    name: str = "steady"
    answers: list[Answer] = field(default_factory=list)
    requested: int = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Load]:
        stop = asyncio.Event()
        task = asyncio.create_task(self._post_on(stop))
        try:
            yield self
        finally:
            stop.set()
            await task

    async def answered(self, status: int, *, since: float) -> float:
        """Wait for such an answer to what was asked since then; how long after it came."""

        async def look() -> float:
            times = [
                each.sent_at + each.seconds - since
                for each in self.answers
                if each.sent_at >= since and each.status == status
            ]
            return min(times, default=0.0)

        return await eventually_async(look, what=f"POST is answered with {status}")

    def slowest(self) -> float:
        return max(each.seconds for each in self.answers)

    async def _post_on(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            while not stop.is_set():
                group.create_task(self._timed(f"/{self.name}/{self.requested}"))
                self.requested += 1
                is_slow = self.requested >= self.most_at_full_rate
                await asyncio.sleep(1 / (self.slow_rate if is_slow else self.per_second))

    async def _timed(self, path: str) -> None:
        sent_at = time.monotonic()
        status = await self._post(path)
        self.answers.append(
            Answer(sent_at=sent_at, seconds=time.monotonic() - sent_at, status=status)
        )

    async def _post(self, path: str) -> int | None:
        return await self.client.post(self.site.url(path))


@dataclass(kw_only=True)
class EventLoad(Load):
    """The same with events, each of a page of its own."""

    name: str = "events"
    accepted: set[str] = field(default_factory=set)

    async def _post(self, path: str) -> int | None:
        event = {
            "jobId": self.name,
            "url": f"https://shop.example{path}",
            "parsed": {"title": path, "text": f"What is sold at {path}."},
            "version": 1,
            "ts": FIRST_TS,
        }
        status = await self.client.post_event(event)
        if status == 202:
            self.accepted.add(str(event["url"]))
        return status

    async def stored(self, services: Services) -> None:
        """Wait until every accepted one is stored and counted."""

        async def look() -> bool:
            try:
                pages = await self._pages(services)
                return self.accepted <= pages.keys() and await self._counted(services) >= len(pages)
            except Unavailable:
                return False

        # What waits for the store may wait for most of a minute more, one after the other.
        try:
            await eventually_async(look, what="every event is stored", seconds=300)
        except AssertionError as late:
            pages = await self._pages(services)
            missing, counted = self.accepted - pages.keys(), await self._counted(services)
            reported = f"{len(missing)} of {len(self.accepted)} missing, {len(pages)} pages"
            raise AssertionError(f"{late}: {reported}, {counted} counted") from None

    async def check(self, services: Services) -> None:
        """When no process is left: none is stored or counted twice."""
        pages = await self._pages(services)
        assert self.accepted <= pages.keys()
        assert set(pages.values()) == {1}, "each has one version"
        assert await self._counted(services) == len(pages), "each is counted once"
        depth = await services.broker.depth(STORAGE_QUEUE)
        assert (depth.ready, depth.delayed, depth.in_flight or 0, depth.dead) == (0, 0, 0, 0)

    async def _counted(self, services: Services) -> int:
        chosen = WatchRunFilter(watch_id=self.name)
        runs, _ = await services.watch_run_listing.runs(chosen, limit=100)
        return sum(run.tally.processed for run in runs)

    async def _pages(self, services: Services) -> dict[str, int | None]:
        found: dict[str, int | None] = {}
        cursor = None
        while True:
            chosen = PageFilter(watch_id=self.name)
            pages, cursor = await services.pages.list_pages(chosen, limit=100, cursor=cursor)
            found |= {page.url: page.version for page in pages}
            if cursor is None:
                return found


@asynccontextmanager
async def away(server: PrivateServer, how: Literal["killed", "hanging"]) -> AsyncIterator[None]:
    if how == "killed":
        await asyncio.to_thread(server.kill)
    else:
        server.pause()
    try:
        yield
    finally:
        if how == "killed":
            await asyncio.to_thread(server.start)
        else:
            server.resume()


def terminate(process: Process) -> None:
    process.told_to_end = True
    os.kill(process.pid, signal.SIGTERM)


async def empty(broker: RabbitServer | RedisServer) -> None:
    """As a new server is."""
    if isinstance(broker, RedisServer):
        await broker.lift_limit()
        await broker.flush()
        return
    for queue in (METADATA_QUEUE, IMPORT_QUEUE, STORAGE_QUEUE, CHECK_QUEUE):
        layout = Layout(queue=queue)
        specs = (layout.ready, layout.again, layout.dead, *layout.waits)
        await broker.delete_queues(*(spec.name for spec in specs))
        await broker.delete_exchanges(*layout.exchanges)


async def purge(broker: RabbitServer | RedisServer) -> None:
    """Lose every message."""
    if isinstance(broker, RedisServer):
        await broker.flush()
    else:
        await broker.purge_queue(METADATA_QUEUE)
