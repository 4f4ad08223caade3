"""The adapters that the contract suites run over.

A store has one entry in BACKENDS, from which the adapters of all its ports follow. A broker has one
in BROKERS. Where a backend truly differs, its entry says so in a field, and the suite reads it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Generic, Protocol, TypeVar, cast

from contracts.mongodb_backend import (
    fill_mongodb,
    lose_mongodb_row,
    open_mongodb_primitives,
    open_mongodb_stores,
)
from contracts.primitives import Primitives
from contracts.server_view import ServerView
from contracts.sqlite_backend import (
    AMPLE,
    fill_sqlite,
    lose_sqlite_row,
    open_sqlite,
    open_sqlite_broker,
    open_sqlite_primitives,
)
from fakes.clock import FakeClock
from servers.private import PrivateServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer
from webloom.adapters.bullmq.broker import open_bullmq
from webloom.adapters.rabbitmq.broker import RabbitBroker, open_rabbitmq
from webloom.adapters.system_clock import SystemClock
from webloom.bootstrap.stores import Stores
from webloom.domain.import_run import Mark
from webloom.domain.import_transitions import FeedState
from webloom.domain.watch import Watch
from webloom.ports.broker import Broker, Message
from webloom.ports.clock import Clock
from webloom.ports.dump import WholeStore
from webloom.ports.imports import Imports
from webloom.ports.inventory_store import InventoryStore
from webloom.ports.locks import Locks
from webloom.ports.notifications import Notifications
from webloom.ports.page_stores import PageStores
from webloom.ports.record_listing import RecordListing
from webloom.ports.watch_run_listing import WatchRunListing
from webloom.ports.watch_runs import WatchRuns
from webloom.ports.watches import Watches
from webloom.stores.feeds import StoredFeeds
from webloom.stores.primitives import Decide, Now
from webloom.stores.watches import StoredWatches

LEASE = 15.0  # of a delivery that is to be lost
A_LONG_LEASE = 3600.0  # of every other one: no stall of the machine ends it
ON_A_SERVER = 5  # times as long: what is held there in real time outlives a stall of the machine

Port = TypeVar("Port")
PortOut = TypeVar("PortOut", covariant=True)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the processes of one test meet, and no others."""

    folder: Path
    name: str
    server: PrivateServer | None  # that tests share
    role: str = "here"  # of the database, in a test with two


class OpenBroker(Protocol):
    def __call__(
        self, place: Place, clock: Clock, *, limits: Mapping[str, int], lease: float
    ) -> AbstractAsyncContextManager[Broker]:
        """A process of its own, as far as the backend can tell; all with one `place` share it."""


class OpenStores(Protocol):
    def __call__(
        self, place: Place, clock: Clock, *, budget: int = AMPLE
    ) -> AbstractAsyncContextManager[Stores]: ...


class OpenPort(Protocol[PortOut]):
    def __call__(self, place: Place, clock: Clock) -> AbstractAsyncContextManager[PortOut]: ...


@dataclass(frozen=True, kw_only=True)
class BrokerAdapter:
    name: str
    open: OpenBroker
    server: str | None = None  # that it needs, of SERVERS
    is_second_topology: bool = False
    knows_keys: bool = False  # a waiting message with the same key stands for a new one
    counts_in_flight: bool = True
    limit_is_exact: bool = True  # a full queue holds as many as its limit, and not a few more
    # How long a second of a test takes on a server that lives in real time; None: the backend
    # lives by the clock that it is given.
    second: float | None = None
    # Make a process lose what it holds, unknown to it; None: its lease ends.
    lose: Callable[[Broker], Awaitable[None]] | None = None


def settings_of_server(place: Place) -> Mapping[str, str]:
    return {} if place.server is None else place.server.settings(place.name)


class LoseRow(Protocol):
    async def __call__(self, place: Place, clock: Clock, mark: Mark) -> None: ...


@dataclass(frozen=True, kw_only=True)
class StoreBackend:
    name: str
    open: OpenStores
    open_primitives: OpenPort[Primitives]
    # A batch's in the ledger of imports, as a process leaves it that dies between two writes.
    lose_row: LoseRow
    fill: Callable[[Place, int], None]  # so many bytes of another program, into its database
    server: str | None = None  # that it needs, of SERVERS
    is_second_topology: bool = False
    has_snapshots: bool = True  # what is read for a dump is as of one moment
    # That make it the store of an installation; by default its server's, or none.
    settings: Callable[[Place], Mapping[str, str]] = settings_of_server


@dataclass(frozen=True, kw_only=True)
class PortAdapter(Generic[PortOut]):
    backend: StoreBackend
    open: OpenPort[PortOut]

    @property
    def name(self) -> str:
        return self.backend.name

    @property
    def server(self) -> str | None:
        return self.backend.server

    @property
    def is_second_topology(self) -> bool:
        return self.backend.is_second_topology


class ListedWatchRuns(WatchRuns, WatchRunListing, Protocol):
    """The runs of watches and their listing: one class in each backend."""


@dataclass(frozen=True, kw_only=True)
class Watching(PageStores):
    """The stores of the watch pipeline, over one backend."""

    watches: Watches
    runs: ListedWatchRuns
    notifications: Notifications


def watching_of(stores: Stores) -> Watching:
    runs: object = stores.watch_runs
    assert runs is stores.watch_run_listing
    return Watching(
        pages=stores.pages,
        history=stores.page_history,
        alerts=stores.change_alerts,
        inbox=stores.inbox,
        storage=stores.page_storage,
        watches=stores.watches,
        runs=cast(ListedWatchRuns, runs),
        notifications=stores.notifications,
    )


class Inventory(InventoryStore, RecordListing, Protocol):
    """The records and their listing: one class in each backend."""


def inventory_of(stores: Stores) -> Inventory:
    store: object = stores.store
    assert store is stores.records
    return cast(Inventory, store)


@dataclass(frozen=True, kw_only=True)
class Whole:
    """One store, as its users and as a dump see it."""

    whole: WholeStore
    locks: Locks
    inventory: Inventory
    imports: Imports
    watching: Watching


def whole_of(stores: Stores) -> Whole:
    return Whole(
        whole=stores.whole,
        locks=stores.lock,
        inventory=inventory_of(stores),
        imports=stores.imports,
        watching=watching_of(stores),
    )


@dataclass(kw_only=True)
class Brokers:
    """One backend, and as many processes that use it as a test opens."""

    adapter: BrokerAdapter
    place: Place
    clock: FakeClock
    _opened: list[Broker] = field(default_factory=list)

    @property
    def knows_keys(self) -> bool:
        return self.adapter.knows_keys

    @asynccontextmanager
    async def open(
        self,
        *,
        limits: Mapping[str, int] | None = None,
        lease: float = A_LONG_LEASE,
        real_time: bool = False,  # seconds are seconds
    ) -> AsyncIterator[Broker]:
        second = self.adapter.second
        scale = 1.0 if second is None or real_time else second
        longer = 1 if second is None or real_time else ON_A_SERVER
        prefix = "" if second is None else f"{self.place.name}."
        clock = self.clock if second is None and not real_time else SystemClock()
        async with self.adapter.open(
            self.place,
            clock,
            limits={prefix + queue: limit for queue, limit in (limits or {}).items()},
            lease=lease * scale * longer,
        ) as opened:
            broker: Broker = opened
            if second is not None:
                broker = ServerView(opened, prefix=prefix, second=scale)
            self._opened.append(broker)
            try:
                yield broker
            finally:
                self._opened.remove(broker)

    async def pass_time(self, seconds: float) -> None:
        if self.adapter.second is not None:
            await asyncio.sleep(seconds * self.adapter.second)
            return
        self.clock.advance(seconds)
        # A consumer sleeps by the real clock: a commit makes it look at the moved one.
        moment = str(self.clock.steady())
        await self._opened[0].publish("a queue to stir", Message(id=f"at {moment}", body=b"{}"))

    async def lose(self, broker: Broker) -> None:
        """What the process holds for LEASE goes to others. Its consumers must have ended."""
        if self.adapter.lose is None:
            await self.pass_time(LEASE * ON_A_SERVER + 1)
        else:
            await self.adapter.lose(broker.inner if isinstance(broker, ServerView) else broker)

    def now(self) -> datetime:
        return (self.clock if self.adapter.second is None else SystemClock()).now()

    def time(self) -> float:
        """In seconds of the test, as far as it has passed."""
        second = self.adapter.second
        return self.clock.steady() if second is None else time.monotonic() / second


@dataclass(frozen=True, kw_only=True)
class Processes(Generic[Port]):
    """As Brokers, for a port that is opened without anything else to say."""

    adapter: PortAdapter[Port]
    place: Place
    clock: FakeClock

    def open(self) -> AbstractAsyncContextManager[Port]:
        return self.adapter.open(self.place, self.clock)

    async def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)


@dataclass(frozen=True, kw_only=True)
class ImportProcesses(Processes[Imports]):
    """With what a process that dies between two writes can leave behind."""

    async def lose_row(self, mark: Mark) -> None:
        await self.adapter.backend.lose_row(self.place, self.clock, mark)

    async def tie_feed(self, feed_id: str, run_id: str) -> None:
        """To an active run that is none."""

        def tie(
            feed: FeedState | None, event: None, now: Now
        ) -> tuple[FeedState | None, FeedState | None]:
            assert feed is not None
            return replace(feed, feed=replace(feed.feed, active_run_id=run_id), begun=None), feed

        async with self.open() as store:
            assert isinstance(store.feeds, StoredFeeds)
            await store.feeds._documents.change(tie, [(feed_id, None)])


@dataclass(frozen=True, kw_only=True)
class WatchProcesses(Processes[Watching]):
    """With what a process that dies between two writes can leave behind."""

    @asynccontextmanager
    async def open_within(self, budget: int) -> AsyncIterator[Watching]:
        """Of so many bytes."""
        async with self.adapter.backend.open(self.place, self.clock, budget=budget) as stores:
            yield watching_of(stores)

    async def tie_watch(self, watch_id: str, run_id: str) -> None:
        """To an active run that is none."""

        def tie(watch: Watch | None, event: None, now: Now) -> tuple[Watch | None, None]:
            assert watch is not None
            return replace(watch, active_run_id=run_id, begun=None), None

        await self._change(tie, watch_id)

    async def lose_watch(self, watch_id: str) -> None:
        """And leave its active run."""

        def lose(watch: Watch | None, event: None, now: Now) -> tuple[None, None]:
            assert watch is not None
            return None, None

        await self._change(lose, watch_id)

    async def _change(self, decide: Decide[Watch, None, None], watch_id: str) -> None:
        async with self.open() as store:
            assert isinstance(store.watches, StoredWatches)
            await store.watches._documents.change(decide, [(watch_id, None)])


@asynccontextmanager
async def open_bullmq_broker(
    place: Place, clock: Clock, *, limits: Mapping[str, int], lease: float
) -> AsyncIterator[Broker]:
    assert isinstance(place.server, RedisServer)
    async with open_bullmq(place.server.url, clock, limits=limits, lease=lease) as broker:
        yield broker


@asynccontextmanager
async def open_rabbitmq_broker(
    place: Place,
    clock: Clock,
    *,
    limits: Mapping[str, int],
    lease: float,
    quorum: bool = False,
) -> AsyncIterator[Broker]:
    assert isinstance(place.server, RabbitServer)
    async with open_rabbitmq(place.server.url, clock, limits=limits, quorum=quorum) as broker:
        yield broker


open_quorum_broker = partial(open_rabbitmq_broker, quorum=True)


async def lose_rabbitmq(broker: Broker) -> None:
    assert isinstance(broker, RabbitBroker)
    broker._connection.session().drop("a test cut it")


BROKERS = (
    BrokerAdapter(name="sqlite", open=open_sqlite_broker, knows_keys=True),
    BrokerAdapter(name="bullmq", open=open_bullmq_broker, server="bullmq", second=0.05),
    BrokerAdapter(
        name="rabbitmq",
        open=open_rabbitmq_broker,
        server="rabbitmq",
        counts_in_flight=False,
        second=0.05,
        lose=lose_rabbitmq,
    ),
    BrokerAdapter(
        name="rabbitmq-quorum",
        open=open_quorum_broker,
        server="rabbitmq",
        is_second_topology=True,
        counts_in_flight=False,
        limit_is_exact=False,
        second=0.05,
        lose=lose_rabbitmq,
    ),
)


MONGODB = StoreBackend(
    name="mongodb",
    open=open_mongodb_stores,
    open_primitives=open_mongodb_primitives,
    lose_row=lose_mongodb_row,
    fill=fill_mongodb,
    server="mongodb",
    has_snapshots=False,
)
BACKENDS = (
    StoreBackend(
        name="sqlite",
        open=open_sqlite,
        open_primitives=open_sqlite_primitives,
        lose_row=lose_sqlite_row,
        fill=fill_sqlite,
    ),
    MONGODB,
    replace(
        MONGODB,
        name="mongodb-replica-set",
        server="replicas",
        is_second_topology=True,
        has_snapshots=True,
    ),
)


def _adapters(port: Callable[[Stores], PortOut]) -> tuple[PortAdapter[PortOut], ...]:
    return tuple(PortAdapter(backend=each, open=_opening(each, port)) for each in BACKENDS)


def _opening(backend: StoreBackend, port: Callable[[Stores], PortOut]) -> OpenPort[PortOut]:
    @asynccontextmanager
    async def open_port(place: Place, clock: Clock) -> AsyncIterator[PortOut]:
        async with backend.open(place, clock) as stores:
            yield port(stores)

    return open_port


FIRST_TOPOLOGIES = [each for each in BACKENDS if not each.is_second_topology]
STORES = _adapters(inventory_of)
LOCKS = _adapters(lambda stores: stores.lock)
HEARTBEATS = _adapters(lambda stores: stores.heartbeats)
WORKER_LOGS = _adapters(lambda stores: stores.worker_logs)
REVISIONS = _adapters(lambda stores: stores.revisions)
IMPORTS = _adapters(lambda stores: stores.imports)
WATCHING = _adapters(watching_of)
WHOLE = _adapters(whole_of)
PRIMITIVES = tuple(PortAdapter(backend=each, open=each.open_primitives) for each in BACKENDS)
