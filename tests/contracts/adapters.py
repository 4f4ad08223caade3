"""The adapters that the contract suites run over.

To add one, write how it is opened and add it to the tuples at the end of this file. Where a backend
truly differs, its entry says so in a field, and the suite reads the field.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from contracts.mongodb_backend import (
    lose_mongodb_row,
    open_mongodb_at,
    open_mongodb_heartbeats,
    open_mongodb_imports,
    open_mongodb_lock,
    open_mongodb_revisions,
    open_mongodb_store,
)
from contracts.server_view import ServerView
from fakes.clock import FakeClock
from servers.private import PrivateServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer
from webloom.adapters.bullmq.broker import open_bullmq
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.locks import lock_codec
from webloom.adapters.mongodb.notifications import MongoNotifications
from webloom.adapters.mongodb.pages import mongodb_pages
from webloom.adapters.mongodb.primitives import MongoDocuments, MongoPairs
from webloom.adapters.mongodb.watch_runs import MongoWatchRuns
from webloom.adapters.mongodb.watches import MongoWatches
from webloom.adapters.rabbitmq.broker import RabbitBroker, open_rabbitmq
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database, open_database
from webloom.adapters.sqlite.heartbeats import SqliteHeartbeats
from webloom.adapters.sqlite.imports import sqlite_imports
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.adapters.sqlite.locks import LOCKS as LOCK_ROWS
from webloom.adapters.sqlite.locks import sqlite_locks
from webloom.adapters.sqlite.notifications import SqliteNotifications
from webloom.adapters.sqlite.pages import sqlite_pages
from webloom.adapters.sqlite.primitives import SqliteDocuments, SqlitePairs
from webloom.adapters.sqlite.revisions import SqliteRevisions
from webloom.adapters.sqlite.watch_runs import SqliteWatchRuns
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.adapters.system_clock import SystemClock
from webloom.domain.import_run import Mark
from webloom.domain.import_transitions import FeedState
from webloom.domain.lease import Lease
from webloom.domain.retention import Retention
from webloom.ports.broker import Broker, Message
from webloom.ports.clock import Clock
from webloom.ports.heartbeats import Heartbeats
from webloom.ports.imports import Imports
from webloom.ports.inventory_store import InventoryStore
from webloom.ports.locks import Locks
from webloom.ports.notifications import Notifications
from webloom.ports.page_stores import PageStores
from webloom.ports.revisions import Revisions
from webloom.ports.watch_runs import WatchRuns
from webloom.ports.watches import Watches
from webloom.stores.feeds import StoredFeeds
from webloom.stores.primitives import Documents, Now, Pairs

LEASE = 15.0  # of a delivery that is to be lost
A_LONG_LEASE = 3600.0  # of every other one: no stall of the machine ends it
ON_A_SERVER = 5  # times as long: what is held there in real time outlives a stall of the machine

Port = TypeVar("Port")
PortOut = TypeVar("PortOut", covariant=True)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the processes of one test meet, and nobody else."""

    folder: Path
    name: str
    server: PrivateServer | None  # that tests share


class OpenBroker(Protocol):
    def __call__(
        self, place: Place, clock: Clock, *, limits: Mapping[str, int], lease: float
    ) -> AbstractAsyncContextManager[Broker]:
        """A process of its own, as far as the backend can tell; all with one `place` share it."""


class OpenPort(Protocol[PortOut]):
    def __call__(self, place: Place, clock: Clock) -> AbstractAsyncContextManager[PortOut]: ...


@dataclass(frozen=True, kw_only=True)
class BrokerAdapter:
    name: str
    open: OpenBroker
    server: str | None = None  # the fixture of the server that it needs
    is_second_topology: bool = False
    knows_keys: bool = False  # a waiting message with the same key stands for a new one
    counts_in_flight: bool = True
    limit_is_exact: bool = True  # a full queue holds as many as its limit, and not a few more
    # How long a second of a test takes on a server that lives in real time; None: the backend
    # lives by the clock that it is given.
    second: float | None = None
    # Make a process lose what it holds, unknown to it; None: its lease ends.
    lose: Callable[[Broker], Awaitable[None]] | None = None


@dataclass(frozen=True, kw_only=True)
class PortAdapter(Generic[PortOut]):
    name: str
    open: OpenPort[PortOut]
    pass_time: Callable[[FakeClock, float], Awaitable[None]]
    server: str | None = None  # the fixture of the server that it needs
    is_second_topology: bool = False


class LoseRow(Protocol):
    async def __call__(self, place: Place, clock: Clock, mark: Mark) -> None: ...


@dataclass(frozen=True, kw_only=True)
class ImportAdapter(PortAdapter[Imports]):
    """With what a process that dies between two writes can leave behind."""

    lose_row: LoseRow  # a batch's in the ledger


class LoseWatch(Protocol):
    async def __call__(self, place: Place, clock: Clock, watch_id: str) -> None: ...


class TieWatch(Protocol):
    async def __call__(self, place: Place, clock: Clock, watch_id: str, run_id: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Watching(PageStores):
    """The stores of the watch pipeline, over one backend."""

    watches: Watches
    runs: WatchRuns
    notifications: Notifications


@dataclass(frozen=True, kw_only=True)
class WatchAdapter(PortAdapter[Watching]):
    """With what a process that dies between two writes can leave behind."""

    tie_watch: TieWatch  # to an active run that is none
    lose_watch: LoseWatch  # and leave its active run


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
        await self.adapter.pass_time(self.clock, seconds)


@dataclass(frozen=True, kw_only=True)
class ImportProcesses(Processes[Imports]):
    adapter: ImportAdapter

    async def lose_row(self, mark: Mark) -> None:
        await self.adapter.lose_row(self.place, self.clock, mark)

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
    adapter: WatchAdapter

    async def tie_watch(self, watch_id: str, run_id: str) -> None:
        await self.adapter.tie_watch(self.place, self.clock, watch_id, run_id)

    async def lose_watch(self, watch_id: str) -> None:
        await self.adapter.lose_watch(self.place, self.clock, watch_id)


def database_file(place: Place) -> Path:
    return place.folder / "webloom.db"


@asynccontextmanager
async def open_sqlite_broker(
    place: Place, clock: Clock, *, limits: Mapping[str, int], lease: float
) -> AsyncIterator[Broker]:
    async with open_database(database_file(place), clock) as database:
        yield SqliteBroker(database, limits=dict(limits), lease=lease)


@asynccontextmanager
async def open_sqlite_store(place: Place, clock: Clock) -> AsyncIterator[InventoryStore]:
    async with open_database(database_file(place), clock) as database:
        yield SqliteInventoryStore(database)


@asynccontextmanager
async def open_sqlite_imports(place: Place, clock: Clock) -> AsyncIterator[Imports]:
    async with open_database(database_file(place), clock) as database:
        yield sqlite_imports(database, durable_batches=False)


async def lose_sqlite_row(place: Place, clock: Clock, mark: Mark) -> None:
    _change_file(
        place,
        "DELETE FROM import_batches WHERE batch_index = ? AND run = "
        "(SELECT id FROM run_names WHERE run_id = ?)",
        (mark.batch_index, mark.run_id),
    )


def _change_file(place: Place, statement: str, values: tuple[Any, ...]) -> None:
    with closing(sqlite3.connect(database_file(place))) as connection, connection:
        assert connection.execute(statement, values).rowcount == 1


@asynccontextmanager
async def open_sqlite_watching(place: Place, clock: Clock) -> AsyncIterator[Watching]:
    async with open_database(database_file(place), clock) as database:
        yield watching_in(database)


def stores_in(stores: PageStores) -> dict[str, Any]:
    return {each.name: getattr(stores, each.name) for each in fields(PageStores)}


def watching_in(database: Database, *, budget: int = 1 << 40) -> Watching:
    retention = Retention()
    return Watching(
        **stores_in(sqlite_pages(database, retention=retention, budget=budget)),
        watches=SqliteWatches(database, retention=retention),
        runs=SqliteWatchRuns(database, retention=retention),
        notifications=SqliteNotifications(database, retention=retention),
    )


@asynccontextmanager
async def open_mongodb_watching(place: Place, clock: Clock) -> AsyncIterator[Watching]:
    async with open_mongodb_at(place, clock) as database:
        yield watching_on(database)


def watching_on(database: MongoDatabase, *, budget: int = 1 << 40) -> Watching:
    retention = Retention()
    return Watching(
        **stores_in(mongodb_pages(database, retention=retention, budget=budget)),
        watches=MongoWatches(database, retention=retention),
        runs=MongoWatchRuns(database, retention=retention),
        notifications=MongoNotifications(database, retention=retention),
    )


async def tie_sqlite_watch(place: Place, clock: Clock, watch_id: str, run_id: str) -> None:
    _change_file(
        place, "UPDATE watches SET active_run_id = ? WHERE watch_id = ?", (run_id, watch_id)
    )


async def lose_sqlite_watch(place: Place, clock: Clock, watch_id: str) -> None:
    _change_file(place, "DELETE FROM watches WHERE watch_id = ?", (watch_id,))


async def lose_mongodb_watch(place: Place, clock: Clock, watch_id: str) -> None:
    async with open_mongodb_at(place, clock) as database:
        assert (await database.watches.delete_one({"_id": watch_id})).deleted_count == 1


async def tie_mongodb_watch(place: Place, clock: Clock, watch_id: str, run_id: str) -> None:
    async with open_mongodb_at(place, clock) as database:
        tied = await database.watches.update_one(
            {"_id": watch_id}, {"$set": {"activeRunId": run_id}, "$unset": {"activeRun": True}}
        )
        assert tied.matched_count == 1


@asynccontextmanager
async def open_sqlite_lock(place: Place, clock: Clock) -> AsyncIterator[Locks]:
    async with open_database(database_file(place), clock) as database:
        yield sqlite_locks(database)


@dataclass(frozen=True, kw_only=True)
class Primitives:
    """Over the documents of locks, as a sample."""

    documents: Documents[Lease]
    pairs: Pairs[Lease, Lease]


@asynccontextmanager
async def open_sqlite_primitives(place: Place, clock: Clock) -> AsyncIterator[Primitives]:
    async with open_database(database_file(place), clock) as database:
        yield Primitives(
            documents=SqliteDocuments(database, LOCK_ROWS),
            pairs=SqlitePairs(database, LOCK_ROWS, LOCK_ROWS),
        )


@asynccontextmanager
async def open_mongodb_primitives(place: Place, clock: Clock) -> AsyncIterator[Primitives]:
    async with open_mongodb_at(place, clock) as database:
        codec = lock_codec(database)
        yield Primitives(
            documents=MongoDocuments(database, codec), pairs=MongoPairs(database, codec, codec)
        )


@asynccontextmanager
async def open_sqlite_heartbeats(place: Place, clock: Clock) -> AsyncIterator[Heartbeats]:
    async with open_database(database_file(place), clock) as database:
        yield SqliteHeartbeats(database)


@asynccontextmanager
async def open_sqlite_revisions(place: Place, clock: Clock) -> AsyncIterator[Revisions]:
    async with open_database(database_file(place), clock) as database:
        yield SqliteRevisions(database)


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


async def move_clock(clock: FakeClock, seconds: float) -> None:
    clock.advance(seconds)


BROKERS = (
    BrokerAdapter(name="sqlite", open=open_sqlite_broker, knows_keys=True),
    BrokerAdapter(name="bullmq", open=open_bullmq_broker, server="redis_server", second=0.05),
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


def on_mongodb(open_port: OpenPort[PortOut]) -> tuple[PortAdapter[PortOut], ...]:
    return (
        PortAdapter(name="mongodb", open=open_port, pass_time=move_clock, server="mongod"),
        PortAdapter(
            name="mongodb-replica-set",
            open=open_port,
            pass_time=move_clock,
            server="replica_set",
            is_second_topology=True,
        ),
    )


STORES: tuple[PortAdapter[InventoryStore], ...] = (
    PortAdapter(name="sqlite", open=open_sqlite_store, pass_time=move_clock),
    *on_mongodb(open_mongodb_store),
)
LOCKS: tuple[PortAdapter[Locks], ...] = (
    PortAdapter(name="sqlite", open=open_sqlite_lock, pass_time=move_clock),
    *on_mongodb(open_mongodb_lock),
)
PRIMITIVES: tuple[PortAdapter[Primitives], ...] = (
    PortAdapter(name="sqlite", open=open_sqlite_primitives, pass_time=move_clock),
    *on_mongodb(open_mongodb_primitives),
)
HEARTBEATS: tuple[PortAdapter[Heartbeats], ...] = (
    PortAdapter(name="sqlite", open=open_sqlite_heartbeats, pass_time=move_clock),
    *on_mongodb(open_mongodb_heartbeats),
)

REVISIONS: tuple[PortAdapter[Revisions], ...] = (
    PortAdapter(name="sqlite", open=open_sqlite_revisions, pass_time=move_clock),
    *on_mongodb(open_mongodb_revisions),
)
WATCHING: tuple[WatchAdapter, ...] = (
    WatchAdapter(
        name="sqlite",
        open=open_sqlite_watching,
        pass_time=move_clock,
        tie_watch=tie_sqlite_watch,
        lose_watch=lose_sqlite_watch,
    ),
    *(
        WatchAdapter(
            name=name,
            open=open_mongodb_watching,
            pass_time=move_clock,
            server=server,
            is_second_topology=server == "replica_set",
            tie_watch=tie_mongodb_watch,
            lose_watch=lose_mongodb_watch,
        )
        for name, server in (("mongodb", "mongod"), ("mongodb-replica-set", "replica_set"))
    ),
)
IMPORTS: tuple[ImportAdapter, ...] = (
    ImportAdapter(
        name="sqlite",
        open=open_sqlite_imports,
        pass_time=move_clock,
        lose_row=lose_sqlite_row,
    ),
    *(
        ImportAdapter(
            name=name,
            open=open_mongodb_imports,
            pass_time=move_clock,
            server=server,
            is_second_topology=server == "replica_set",
            lose_row=lose_mongodb_row,
        )
        for name, server in (("mongodb", "mongod"), ("mongodb-replica-set", "replica_set"))
    ),
)
