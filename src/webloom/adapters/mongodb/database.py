"""One database of a MongoDB server, a replica set or a sharded cluster.

A task keeps the connection: it makes the indexes as soon as the server can be reached, measures how
far its clock is from ours, and looks for it after trouble, first after a second, then less and less
often. Calls meanwhile go to the server by themselves, fail within seconds, and end the trouble
when one of them gets through.

    CONNECTING -> READY <-> DISCONNECTED -> CONNECTING -> ...
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import warnings
from collections import abc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from bson.codec_options import CodecOptions
from pymongo import AsyncMongoClient, ReadPreference
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import ConfigurationError, InvalidURI

from webloom.adapters.mongodb import indexes
from webloom.adapters.mongodb.batching import ENOUGH, MOST_TOGETHER, Batcher
from webloom.adapters.mongodb.driver_wait import wait_in_the_call_itself
from webloom.adapters.mongodb.errors import NotTried, Unsure, translated
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.room import Room
from webloom.cancellation import cancel_and_wait
from webloom.domain.backoff import RECONNECT
from webloom.domain.errors import BackendRefused, StoreFull, StoreUnavailable, WebloomError
from webloom.domain.pipeline import Pipeline
from webloom.jitter import jitter
from webloom.parsing.backend_url import shown
from webloom.ports.clock import Clock
from webloom.ports.connection import Connection

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")
Upgrade = Callable[["MongoDatabase"], Awaitable[None]]  # of what earlier versions left

OLDEST_SERVER = 13  # the wire version of MongoDB 5.0: names with dots and dollars
REACH_SECONDS = 2.0  # how long a call looks for a server
ANSWER_SECONDS = 5.0  # how long it waits for the answer
MEASURE_SECONDS = 30.0
MEASURED_SECONDS = 1.0  # for which the size of the database counts as known
QUIET_SECONDS = 1.0  # after failures: nobody is kept waiting for a server that is not there

READY, CONNECTING, DISCONNECTED = "READY", "CONNECTING", "DISCONNECTED"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNKNOWN_OPTION = re.compile(r"Unknown option:? '?(\w+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionNames:
    metadata: str = "metadata"
    locks: str = "locks"
    heartbeats: str = "heartbeats"
    feeds: str = "feeds"
    jobs: str = "jobs"
    import_logs: str = "import_logs"
    pages: str = "pages"
    snapshots: str = "snapshots"
    price_history: str = "price_history"
    change_logs: str = "change_logs"
    job_runs: str = "job_runs"
    watches: str = "watches"
    watch_ledger: str = "watch_ledger"
    notices: str = "notices"
    worker_logs: str = "worker_logs"


class MongoDatabase:
    """Opened with `open_mongodb`."""

    def __init__(
        self,
        client: AsyncMongoClient[dict[str, Any]],
        address: str,
        clock: Clock,
        database: str,
        names: CollectionNames,
        limit: int | None,
        pipelines: abc.Collection[Pipeline],
        upgrade: Upgrade | None,
    ) -> None:
        aware: CodecOptions[dict[str, Any]] = CodecOptions(
            tz_aware=True, tzinfo=UTC, unicode_decode_error_handler="replace"
        )
        chosen = client.get_default_database(
            database, codec_options=aware, read_preference=ReadPreference.PRIMARY
        )
        self.address = address
        self.name = chosen.name
        self.records: Collection = chosen[names.metadata]
        self.forgotten: Collection = chosen[f"{names.metadata}_forgotten"]
        self.locks: Collection = chosen[names.locks]
        self.heartbeats: Collection = chosen[names.heartbeats]
        self.copies: Collection = chosen["copies"]
        self.feeds: Collection = chosen[names.feeds]
        self.jobs: Collection = chosen[names.jobs]
        self.job_words: Collection = chosen[f"{names.jobs}_words"]
        self.import_logs: Collection = chosen[names.import_logs]
        self.import_batches: Collection = chosen[f"{names.import_logs}_batches"]
        self.pages: Collection = chosen[names.pages]
        self.snapshots: Collection = chosen[names.snapshots]
        self.price_history: Collection = chosen[names.price_history]
        self.change_logs: Collection = chosen[names.change_logs]
        self.went_unread: Collection = chosen[f"{names.change_logs}_unread"]
        self.job_runs: Collection = chosen[names.job_runs]
        self.watches: Collection = chosen[names.watches]
        self.watch_ledger: Collection = chosen[names.watch_ledger]
        self.notices: Collection = chosen[names.notices]
        self.worker_logs: Collection = chosen[names.worker_logs]
        self._client = client
        self._clock = clock
        self._offset: float | None = None  # None: the server's clock was never seen
        self.room = Room(limit)
        self.pipelines = pipelines
        self._upgrade = upgrade
        self._is_prepared = False
        self._is_readable = False  # it was not prepared, as it was full, but can be read
        self._state = CONNECTING
        self._trouble: WebloomError | None = None
        self._failures = 0  # one after the other
        self._quiet_until = 0.0  # until when calls are not even tried
        self._lost = asyncio.Event()
        self._batchers: list[Batcher[Any, Any]] = []

    @property
    def collection_names(self) -> frozenset[str]:
        """Of all that Webloom keeps."""
        values = vars(self).values()
        return frozenset(each.name for each in values if isinstance(each, AsyncCollection))

    def connection(self) -> Connection:
        detail = None if self._trouble is None else str(self._trouble)
        return Connection(kind="mongodb", address=self.address, state=self._state, detail=detail)

    def now(self) -> float:
        """Seconds on the timeline that leases and delays are measured on: the server's clock,
        carried on by this machine's steady clock, so that all machines agree and a jump of their
        wall clocks moves nothing."""
        return self._clock.steady() + (self._offset or 0.0)

    def server_time(self) -> datetime:
        """The timeline as a date, for what the server removes by itself."""
        return _EPOCH + timedelta(seconds=self.now())

    def wall(self) -> datetime:
        """As MongoDB keeps dates: to the millisecond."""
        now = self._clock.now()
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    @contextmanager
    def use(self) -> Iterator[None]:
        """Around every call. Raises StoreUnavailable or BackendRefused."""
        if not (self._is_prepared or self._is_readable):
            raise self._trouble or StoreUnavailable(f"MongoDB at {self.address}: not reached yet")
        if self._trouble is not None and time.monotonic() < self._quiet_until:
            kind = BackendRefused if isinstance(self._trouble, BackendRefused) else NotTried
            raise kind(str(self._trouble)) from self._trouble
        try:
            with translated(self.address):
                yield
        except (Unsure, BackendRefused) as error:
            self._note_trouble(error)
            self._lost.set()
            raise
        except StoreFull as error:
            self.room.note_refusal(error.exhausted)
            raise
        if self._state != READY:
            self._note_ready()

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncClientSession | None]:
        """For reads that all see one moment; None: a standalone server can't do that."""
        with self.use():
            hello = await self._client.admin.command("hello")
        if "setName" not in hello and hello.get("msg") != "isdbgrid":
            yield None
            return
        async with self._client.start_session(snapshot=True) as session:
            with self.use():  # the first read decides on the moment
                await self.records.find_one({}, {"_id": True}, session=session)
            yield session

    async def check_room(self) -> None:
        """Before a write that takes room. Raises StoreFull when the limit is reached."""
        if not self.room.is_measured(MEASURED_SECONDS):
            await self.measure_room()
        self.room.check()

    async def measure_room(self) -> None:
        """See how much of the limit is used."""
        if self.room.limit is not None:
            self.room.note_size(await self.bytes_in_use())

    async def bytes_in_use(self) -> int:
        """As the server counts them against a quota: uncompressed, with the indexes."""
        with self.use():
            stats = await self.records.database.command("dbStats")
        return int(stats["dataSize"]) + int(stats["indexSize"])

    def batcher(
        self,
        run: Callable[[list[Item]], Awaitable[Sequence[Result | WebloomError]]],
        *,
        linger: float = 0.0,
        pace: float = 0.0,
        most: int = MOST_TOGETHER,
        enough: int = ENOUGH,
    ) -> Batcher[Item, Result]:
        """Ends with the database."""
        batcher: Batcher[Item, Result] = Batcher(
            run, linger=linger, pace=pace, most=most, enough=enough
        )
        self._batchers.append(batcher)
        return batcher

    async def connect(self) -> None:
        """Reach the server and see that it is as Webloom needs it."""
        if self._state != READY:
            self._state = CONNECTING
        try:
            with translated(self.address):
                before = self._clock.steady()
                hello = await self._client.admin.command("hello")
                self._measure(hello["localTime"], before, self._clock.steady())
                if not self._is_prepared:
                    await self._prepare(hello)
                    self._is_prepared = True
        except StoreFull as error:
            self.room.note_refusal(error.exhausted)
            self._is_readable = True
        except WebloomError as error:
            self._note_trouble(error)
            raise
        self._note_ready()

    async def keep(self) -> None:
        failures = 0
        while True:
            if self._state == READY:
                failures = 0
                self._lost.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(MEASURE_SECONDS):
                        await self._lost.wait()
            if self._state != READY:
                failures += 1
                await asyncio.sleep(RECONNECT.delay(failures, jitter=jitter()))
            with suppress(WebloomError):
                await self.connect()

    async def close(self) -> None:
        await asyncio.gather(*(batcher.close() for batcher in self._batchers))

    def _measure(self, server: datetime, before: float, after: float) -> None:
        """Follow the server's clock where it differs by more than the measurement can be wrong."""
        if server.tzinfo is None:
            server = server.replace(tzinfo=UTC)
        middle, doubt = (before + after) / 2, (after - before) / 2 + 0.002
        offset = (server - _EPOCH).total_seconds() - middle
        if self._offset is None or abs(offset - self._offset) > doubt:
            self._offset = offset

    async def _prepare(self, hello: dict[str, Any]) -> None:
        if hello["maxWireVersion"] < OLDEST_SERVER:
            build = await self._client.admin.command("buildInfo")
            raise BackendRefused(
                f"MongoDB at {self.address} is version {build['version']}, and Webloom needs 5.0 "
                "or newer: upgrade the server"
            )
        is_sharded = hello.get("msg") == "isdbgrid"
        of_pipelines = {
            Pipeline.INVENTORY: (
                (self.records, indexes.of_records(is_sharded=is_sharded)),
                (self.forgotten, indexes.OF_FORGOTTEN),
            ),
            Pipeline.IMPORTS: (
                (self.feeds, indexes.OF_FEEDS),
                (self.jobs, indexes.of_jobs(is_sharded=is_sharded)),
                (self.job_words, indexes.OF_JOB_WORDS),
                (self.import_logs, indexes.OF_IMPORT_LOGS),
                (self.import_batches, indexes.OF_IMPORT_BATCHES),
            ),
            Pipeline.WATCH: (
                (self.pages, indexes.of_pages(is_sharded=is_sharded)),
                (self.snapshots, indexes.OF_SNAPSHOTS),
                (self.price_history, indexes.OF_PRICE_HISTORY),
                (self.change_logs, indexes.of_change_logs(is_sharded=is_sharded)),
                (self.job_runs, indexes.OF_JOB_RUNS),
                (self.watches, indexes.OF_WATCHES),
                (self.watch_ledger, indexes.OF_WATCH_LEDGER),
                (self.notices, indexes.OF_NOTIFICATIONS),
            ),
        }
        await indexes.make(self.heartbeats, indexes.OF_HEARTBEATS, self.address)
        await indexes.make(self.worker_logs, indexes.OF_WORKER_LOGS, self.address)
        for pipeline in self.pipelines:
            for collection, wanted in of_pipelines[pipeline]:
                await indexes.make(collection, wanted, self.address)
        for collection in (self.locks, self.copies):
            await indexes.make_collection(collection)
        if self._upgrade is not None:
            await self._upgrade(self)

    def _note_trouble(self, error: WebloomError) -> None:
        if self._trouble is None:
            log.warning("MongoDB can't be used", extra={"error": str(error)})
        self._state, self._trouble = DISCONNECTED, error
        self._failures += 1
        if self._failures > 1:  # one may have been a connection's end
            self._quiet_until = time.monotonic() + QUIET_SECONDS

    def _note_ready(self) -> None:
        if self._trouble is not None:
            log.info("MongoDB can be used again", extra={"address": self.address})
        self._state, self._trouble = READY, None
        self._failures = 0


@asynccontextmanager
async def open_mongodb(
    url: str,
    clock: Clock,
    *,
    database: str,
    names: CollectionNames,
    limit: int | None = None,
    pipelines: abc.Collection[Pipeline] = tuple(Pipeline),
    upgrade: Upgrade | None = None,
) -> AsyncIterator[MongoDatabase]:
    """`database` is used unless the URL names one; `limit` is in bytes. Only the collections of
    `pipelines` are made and checked: others may be other programs'. `upgrade` runs once, after
    that. A server that can't be reached is waited for in the background; what a person has to see
    to raises BackendRefused."""
    wait_in_the_call_itself()
    client = _client(url)
    try:
        opened = MongoDatabase(
            client, shown(url), clock, database, names, limit, pipelines, upgrade
        )
        with suppress(StoreUnavailable):
            await opened.connect()
        keeper = asyncio.create_task(opened.keep())
        try:
            yield opened
        finally:
            await opened.close()
            await cancel_and_wait(keeper)
    finally:
        await client.close()


def _client(url: str) -> AsyncMongoClient[dict[str, Any]]:
    """PyMongo's own words are not shown, nor is an address that can't be taken apart: both may
    hold a password that was not written as it should be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # PyMongo only warns of what it does not understand
            return AsyncMongoClient(
                url,
                appname="webloom",
                w="majority",
                journal=True,
                retryWrites=True,
                socketTimeoutMS=int(ANSWER_SECONDS * 1000),
                serverSelectionTimeoutMS=int(REACH_SECONDS * 1000),
                connectTimeoutMS=int(REACH_SECONDS * 1000),
                waitQueueTimeoutMS=int(REACH_SECONDS * 1000),
            )
    except (ConfigurationError, ValueError, TypeError, Warning) as error:
        if "?" in url and not isinstance(error, InvalidURI):
            option = _UNKNOWN_OPTION.match(str(error))
            which = f"the option {option[1]}" if option else "an option or its value"
            raise BackendRefused(
                f"the address {shown(url)} has {which} that MongoDB's driver does not know: "
                "check what stands behind the question mark"
            ) from error
        raise BackendRefused(
            "the store's address begins with mongodb and continues in a way that MongoDB's driver "
            "does not understand: check it; in user name and password, percent-encode all but "
            "letters and digits"
        ) from error
