"""Settings -> adapters -> use cases: the only wiring there is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from webloom.adapters.http.fetcher import FetchLimits, HttpFetcher
from webloom.adapters.routed_broker import RoutedBroker
from webloom.adapters.sqlite.archive import SqliteInventoryArchive
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database, open_database
from webloom.adapters.sqlite.heartbeats import SqliteHeartbeats
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.adapters.sqlite.lock import SqliteLock
from webloom.adapters.system_clock import SystemClock
from webloom.application.inventory.check_url import check_url
from webloom.application.inventory.fetch_url import FetchUrl
from webloom.application.inventory.host_turns import HostTurns
from webloom.application.inventory.look_up_url import LookUpUrl
from webloom.application.inventory.requeue_forgotten import RequeueForgotten
from webloom.application.inventory.submit_url import SubmitUrl
from webloom.application.move.copy_collection import CopyCollection
from webloom.domain.errors import SettingsError, StoreUnavailable, WebloomError
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.politeness import HostLimits
from webloom.domain.retry import RetryPolicy
from webloom.parsing.backend_url import SQLITE, shown
from webloom.ports.archive import Archive, StoredRecord
from webloom.ports.broker import Broker
from webloom.ports.clock import Clock
from webloom.ports.connection import Connected
from webloom.ports.fetcher import Fetcher
from webloom.ports.heartbeats import ALIVE_SECONDS, Heartbeats
from webloom.ports.inventory_store import InventoryStore
from webloom.ports.lock import Lock
from webloom.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokerLink:
    connected: Connected
    queues: list[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    settings: Settings
    clock: Clock
    broker: Broker
    store: InventoryStore
    heartbeats: Heartbeats
    lock: Lock
    policy: NetworkPolicy
    store_link: Connected
    broker_links: list[BrokerLink]  # the one of metadata_queue first

    @property
    def submit_url(self) -> SubmitUrl:
        return SubmitUrl(
            store=self.store,
            broker=self.broker,
            check=partial(check_url, policy=self.policy),
            queue_limit=self.settings.queue_limit,
        )

    @property
    def look_up_url(self) -> LookUpUrl:
        return LookUpUrl(
            store=self.store,
            submit=self.submit_url,
            clock=self.clock,
            cache_ttl=self.settings.cache_ttl,
        )

    @property
    def requeue_forgotten(self) -> RequeueForgotten:
        return RequeueForgotten(store=self.store, broker=self.broker, heartbeats=self.heartbeats)

    def fetch_url(self, fetcher: Fetcher) -> FetchUrl:
        limits = HostLimits(
            concurrency=self.settings.host_concurrency, delay=self.settings.host_delay
        )
        return FetchUrl(
            store=self.store,
            fetcher=fetcher,
            turns=HostTurns(limits),
            retries=RetryPolicy(first_delay=self.settings.retry_delay),
            lease=self.settings.lease,
        )


def network_policy(settings: Settings) -> NetworkPolicy:
    return NetworkPolicy.parse(settings.allow_addresses, own=((settings.host, settings.port),))


def http_fetcher(settings: Settings) -> HttpFetcher:
    """To be opened by `async with`."""
    limits = FetchLimits(
        total_seconds=settings.fetch_timeout,
        max_body_bytes=settings.max_body,
        connections=settings.slots,
    )
    return HttpFetcher(policy=network_policy(settings), limits=limits)


@asynccontextmanager
async def open_services(
    settings: Settings, clock: Clock | None = None, *, must_exist: bool = False
) -> AsyncIterator[Services]:
    """Raises StoreUnavailable when the embedded database can't be opened, or must exist and does
    not. A server that can't be reached is waited for in the background; one that refuses us raises
    BackendRefused."""
    clock = clock or SystemClock()
    kept_here = settings.store_url == settings.embedded_url
    if must_exist and kept_here and not settings.database.exists():
        raise StoreUnavailable(
            f"{settings.database} does not exist: nothing was stored here yet, "
            "or WEBLOOM_DATA_DIR means another folder"
        )
    async with AsyncExitStack() as stack:
        room = _MachineRoom(settings, clock, stack)
        stores = await room.stores(settings.store_url)
        brokers = {url: await room.broker(url) for url in set(settings.broker_urls.values())}
        routes = {queue: brokers[url][0] for queue, url in settings.broker_urls.items()}
        yield Services(
            settings=settings,
            clock=clock,
            broker=routes[METADATA_QUEUE] if len(brokers) == 1 else RoutedBroker(routes),
            store=stores.inventory,
            heartbeats=stores.heartbeats,
            lock=stores.lock,
            policy=network_policy(settings),
            store_link=stores.link,
            broker_links=[
                BrokerLink(
                    connected=connected,
                    queues=[name for name, each in settings.broker_urls.items() if each == url],
                )
                for url, (_, connected) in sorted(
                    brokers.items(),
                    key=lambda item: item[0] != settings.broker_urls[METADATA_QUEUE],
                )
            ],
        )


@asynccontextmanager
async def open_copy(
    source: str, target: str, settings: Settings
) -> AsyncIterator[dict[str, CopyCollection[Any]]]:
    """Every collection of a store, to be copied to another. Raises what `open_services` does."""
    async with AsyncExitStack() as stack:
        room = _MachineRoom(settings, SystemClock(), stack)
        origin, goal = await room.stores(source), await room.stores(target)
        if alive := await origin.heartbeats.seen(ALIVE_SECONDS):
            beat = alive[0].heartbeat
            raise WebloomError(
                f"{shown(source)} is in use: {beat.role} {beat.pid} on {beat.host} was heard of "
                f"{alive[0].age:.0f} s ago. Stop every process, so that nothing changes while it "
                f"is copied; one that was killed is forgotten after {ALIVE_SECONDS:.0f} s"
            )
        yield {
            "metadata": CopyCollection(
                source=origin.inventory_archive,
                target=goal.inventory_archive,
                source_name=f"{shown(source)} metadata",
                key=lambda record: record.url,
            )
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stores:
    inventory: InventoryStore
    inventory_archive: Archive[StoredRecord]
    heartbeats: Heartbeats
    lock: Lock
    link: Connected


class _MachineRoom:
    """Opens what the addresses in the settings name, each once. The library of a backend is
    imported when an address asks for it: it is an extra."""

    def __init__(self, settings: Settings, clock: Clock, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._clock = clock
        self._stack = stack
        self._files: dict[str, Database] = {}

    async def stores(self, url: str) -> _Stores:
        if url.startswith(SQLITE):
            file = await self._file(url)
            return _Stores(
                inventory=SqliteInventoryStore(file),
                inventory_archive=SqliteInventoryArchive(file),
                heartbeats=SqliteHeartbeats(file),
                lock=SqliteLock(file),
                link=file,
            )
        with _extra("mongodb", url):
            from webloom.adapters.mongodb.archive import MongoInventoryArchive
            from webloom.adapters.mongodb.client import CollectionNames, open_mongodb
            from webloom.adapters.mongodb.heartbeats import MongoHeartbeats
            from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
            from webloom.adapters.mongodb.lock import MongoLock
        database = await self._stack.enter_async_context(
            open_mongodb(
                url,
                self._clock,
                database=self._settings.mongodb_database,
                names=CollectionNames(
                    metadata=self._settings.metadata_collection,
                    locks=self._settings.locks_collection,
                    heartbeats=self._settings.heartbeats_collection,
                ),
            )
        )
        return _Stores(
            inventory=MongoInventoryStore(database),
            inventory_archive=MongoInventoryArchive(database),
            heartbeats=MongoHeartbeats(database),
            lock=MongoLock(database),
            link=database,
        )

    async def broker(self, url: str) -> tuple[Broker, Connected]:
        limits = {METADATA_QUEUE: self._settings.queue_limit}
        if url.startswith(SQLITE):
            file = await self._file(url)
            return SqliteBroker(file, limits=limits, lease=self._settings.lease), file
        if url.startswith("amqp"):
            with _extra("rabbitmq", url):
                from webloom.adapters.rabbitmq.broker import open_rabbitmq
            rabbitmq = await self._stack.enter_async_context(
                open_rabbitmq(url, self._clock, limits=limits, quorum=self._settings.quorum_queues)
            )
            return rabbitmq, rabbitmq
        with _extra("bullmq", url):
            from webloom.adapters.bullmq.broker import open_bullmq
        bullmq = await self._stack.enter_async_context(
            open_bullmq(url, self._clock, limits=limits, lease=self._settings.lease)
        )
        return bullmq, bullmq

    async def _file(self, url: str) -> Database:
        if url not in self._files:
            path = Path(url.removeprefix(SQLITE))
            opened = open_database(path, self._clock)
            self._files[url] = await self._stack.enter_async_context(opened)
        return self._files[url]


@contextmanager
def _extra(name: str, url: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise SettingsError(
            f"{shown(url)} needs a library that is not installed ({error.name}): "
            f"pip install 'webloom[{name}]'"
        ) from error
