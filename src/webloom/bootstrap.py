"""Settings -> adapters -> use cases: the only wiring there is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from webloom.adapters.feed_process.reader import ProcessFeedReader
from webloom.adapters.http.download import PAGES, DownloadLimits, HttpDownloader
from webloom.adapters.http.fetcher import FetchLimits, HttpFetcher
from webloom.adapters.notify.notifier import TargetNotifier
from webloom.adapters.notify.targets import check_target, shown_target
from webloom.adapters.page_process.reader import ProcessPageReader
from webloom.adapters.routed_broker import RoutedBroker
from webloom.adapters.sqlite.archive import SqliteInventoryArchive
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database, open_database
from webloom.adapters.sqlite.heartbeats import SqliteHeartbeats
from webloom.adapters.sqlite.import_archives import (
    SqliteFeedArchive,
    SqlitePostingArchive,
    SqliteRunArchive,
)
from webloom.adapters.sqlite.import_store import SqliteImportStore
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.adapters.sqlite.lock import SqliteLock
from webloom.adapters.sqlite.page_archives import (
    SqliteChangeLogArchive,
    SqlitePageArchive,
    SqlitePriceArchive,
)
from webloom.adapters.sqlite.page_store import SqlitePageStore
from webloom.adapters.sqlite.version_archives import SqliteVersionArchive
from webloom.adapters.sqlite.watch_archives import (
    SqliteNoticeArchive,
    SqliteWatchArchive,
    SqliteWatchRunArchive,
)
from webloom.adapters.sqlite.watch_store import SqliteWatchStore
from webloom.adapters.system_clock import SystemClock
from webloom.application.host_turns import HostTurns
from webloom.application.imports.clear_spool import ClearSpool
from webloom.application.imports.manage_feeds import ManageFeeds
from webloom.application.imports.obtain_feed import ObtainFeed
from webloom.application.imports.run_import import RunImport
from webloom.application.imports.start_import import StartImport
from webloom.application.imports.store_batch import StoreBatch
from webloom.application.inventory.check_url import check_url
from webloom.application.inventory.fetch_url import FetchUrl
from webloom.application.inventory.look_up_url import LookUpUrl
from webloom.application.inventory.requeue_forgotten import RequeueForgotten
from webloom.application.inventory.submit_url import SubmitUrl
from webloom.application.move.copy_collection import CopyCollection
from webloom.application.watch.check_page import CheckPage
from webloom.application.watch.manage_watches import ManageWatches
from webloom.application.watch.run_watches import RunWatches, StartRun
from webloom.application.watch.store_event import StoreEvent
from webloom.application.watch.tell_people import TellPeople
from webloom.domain.errors import SettingsError, StoreUnavailable, WebloomError
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.page import CHECK_QUEUE
from webloom.domain.politeness import HostLimits
from webloom.domain.retry import RetryPolicy
from webloom.parsing.backend_url import SQLITE, shown
from webloom.ports.archive import Archive
from webloom.ports.broker import Broker
from webloom.ports.clock import Clock
from webloom.ports.connection import Connected
from webloom.ports.feed_reader import FeedReader
from webloom.ports.fetcher import Fetcher
from webloom.ports.heartbeats import ALIVE_SECONDS, Heartbeats
from webloom.ports.import_store import ImportStore
from webloom.ports.inventory_store import InventoryStore
from webloom.ports.lock import Lock
from webloom.ports.page_store import PageStore, Retention
from webloom.ports.watch_store import WatchStore
from webloom.settings import Settings

MOST_CHECKS = 1_000_000  # of pages, that wait on their queue


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
    imports: ImportStore
    pages: PageStore
    watches: WatchStore
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
    def manage_feeds(self) -> ManageFeeds:
        return ManageFeeds(
            store=self.imports,
            clock=self.clock,
            check=partial(check_url, policy=self.policy),
            usual_minutes=self.settings.import_interval_minutes,
        )

    @property
    def start_import(self) -> StartImport:
        return StartImport(
            store=self.imports,
            clock=self.clock,
            batch_size=self.settings.batch_size,
            concurrency=self.settings.import_concurrency,
        )

    @property
    def store_batch(self) -> StoreBatch:
        return StoreBatch(store=self.imports)

    @property
    def clear_spool(self) -> ClearSpool:
        return ClearSpool(store=self.imports, spool=self.settings.spool)

    @property
    def manage_watches(self) -> ManageWatches:
        return ManageWatches(
            store=self.watches,
            clock=self.clock,
            check=partial(check_url, policy=self.policy),
            check_target=check_target,
            shown_target=shown_target,
            usual_minutes=self.settings.watch_interval_minutes,
        )

    @property
    def start_watch(self) -> StartRun:
        return StartRun(store=self.watches)

    @property
    def store_event(self) -> StoreEvent:
        return StoreEvent(
            store=self.pages,
            broker=self.broker,
            queue=self.settings.input_queue,
            clock=self.clock,
        )

    @property
    def host_turns(self) -> HostTurns:
        """To be shared by all that a process fetches."""
        settings = self.settings
        return HostTurns(
            HostLimits(concurrency=settings.host_concurrency, delay=settings.host_delay)
        )

    @property
    def requeue_forgotten(self) -> RequeueForgotten:
        return RequeueForgotten(store=self.store, broker=self.broker, heartbeats=self.heartbeats)

    def fetch_url(self, fetcher: Fetcher, turns: HostTurns) -> FetchUrl:
        return FetchUrl(
            store=self.store,
            fetcher=fetcher,
            turns=turns,
            retries=RetryPolicy(first_delay=self.settings.retry_delay),
            lease=self.settings.lease,
        )


def queue_limits(settings: Settings) -> dict[str, int]:
    """How many ready messages each queue may hold."""
    return {
        METADATA_QUEUE: settings.queue_limit,
        IMPORT_QUEUE: settings.import_queue_limit,
        settings.input_queue: settings.queue_limit,
        CHECK_QUEUE: MOST_CHECKS,
    }


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


def http_downloader(settings: Settings) -> HttpDownloader:
    """To be opened by `async with`."""
    limits = DownloadLimits(total_seconds=settings.feed_timeout, max_bytes=settings.max_feed)
    return HttpDownloader(policy=network_policy(settings), limits=limits)


def page_downloader(settings: Settings, *, any_status: bool = False) -> HttpDownloader:
    """To be opened by `async with`."""
    limits = DownloadLimits(
        total_seconds=settings.fetch_timeout,
        stall_seconds=settings.fetch_timeout,
        max_bytes=settings.max_body,
        connections=settings.watch_concurrency,
    )
    return HttpDownloader(
        policy=network_policy(settings), accept=PAGES, any_status=any_status, limits=limits
    )


def page_reader(settings: Settings) -> ProcessPageReader:
    """To be opened by `async with`."""
    return ProcessPageReader(processes=settings.page_processes, seconds=settings.page_seconds)


def feed_reader() -> FeedReader:
    return ProcessFeedReader()


@asynccontextmanager
async def open_run_import(services: Services) -> AsyncIterator[RunImport]:
    settings = services.settings
    async with http_downloader(settings) as downloader:
        yield RunImport(
            store=services.imports,
            broker=services.broker,
            obtain=ObtainFeed(
                downloader=downloader,
                spool=settings.spool,
                retry_delay=settings.retry_delay,
            ),
            reader=feed_reader(),
            clock=services.clock,
            max_feed=settings.max_feed,
            usual_minutes=settings.import_interval_minutes,
            lease=settings.lease,
        )


@asynccontextmanager
async def open_check_page(services: Services, turns: HostTurns) -> AsyncIterator[CheckPage]:
    settings = services.settings
    async with page_downloader(settings) as downloader, page_reader(settings) as reader:
        yield CheckPage(
            watches=services.watches,
            pages=services.pages,
            broker=services.broker,
            storage_queue=settings.input_queue,
            downloader=downloader,
            reader=reader,
            turns=turns,
            retries=RetryPolicy(first_delay=settings.retry_delay),
            clock=services.clock,
            spool=settings.spool,
        )


@asynccontextmanager
async def open_tell_people(services: Services) -> AsyncIterator[TellPeople]:
    async with TargetNotifier(policy=services.policy) as notifier:
        yield TellPeople(
            store=services.watches,
            pages=services.pages,
            notifier=notifier,
            clock=services.clock,
        )


def run_watches(services: Services, tell_people: TellPeople) -> RunWatches:
    return RunWatches(
        store=services.watches,
        broker=services.broker,
        clock=services.clock,
        after_run=tell_people.after_run,
    )


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
            imports=stores.imports,
            pages=stores.pages,
            watches=stores.watches,
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
            name: CopyCollection(
                source=archive,
                target=goal.archives[name],
                source_name=f"{shown(source)} {name}",
                key=_KEYS[name],
            )
            for name, archive in origin.archives.items()
        }


# What an item of a collection is called by.
_KEYS: dict[str, Callable[[Any], str]] = {
    "metadata": lambda record: record.url,
    "feeds": lambda feed: feed.config.url,
    "import_logs": lambda run: run.run_id,
    "jobs": lambda stored: stored.posting.dedupe_key,
    "watches": lambda watch: watch.watch_id,
    "job_runs": lambda whole: whole.run.run_id,
    "snapshots": lambda version: f"{version.url} version {version.number}",
    "price_history": lambda record: f"{record.url} at {record.ts}",
    "pages": lambda page: page.url,
    "change_logs": lambda log: f"{log.url} version {log.number}",
    "notices": lambda notice: notice.notice_id,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stores:
    inventory: InventoryStore
    imports: ImportStore
    pages: PageStore
    watches: WatchStore
    archives: dict[str, Archive[Any]]  # by collection; what depends on another comes later
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
        self._budget = settings.storage_budget
        self._retention = Retention(
            snapshots=settings.keep_snapshots_days,
            change_logs=settings.keep_changes_days,
            job_runs=settings.keep_runs_days,
            prices=settings.keep_prices_days,
        )

    async def stores(self, url: str) -> _Stores:
        if url.startswith(SQLITE):
            file = await self._file(url)
            return _Stores(
                inventory=SqliteInventoryStore(file),
                imports=SqliteImportStore(file, durable_batches=self._has_own_broker(url)),
                pages=SqlitePageStore(file, retention=self._retention, budget=self._budget),
                watches=SqliteWatchStore(file, retention=self._retention),
                archives={
                    "metadata": SqliteInventoryArchive(file),
                    "feeds": SqliteFeedArchive(file),
                    "import_logs": SqliteRunArchive(file),
                    "jobs": SqlitePostingArchive(file),
                    "watches": SqliteWatchArchive(file),
                    "job_runs": SqliteWatchRunArchive(file),
                    "snapshots": SqliteVersionArchive(file),
                    "price_history": SqlitePriceArchive(file),
                    "pages": SqlitePageArchive(file),
                    "change_logs": SqliteChangeLogArchive(file),
                    "notices": SqliteNoticeArchive(file),
                },
                heartbeats=SqliteHeartbeats(file),
                lock=SqliteLock(file),
                link=file,
            )
        with _extra("mongodb", url):
            from webloom.adapters.mongodb.archive import MongoInventoryArchive
            from webloom.adapters.mongodb.client import CollectionNames, open_mongodb
            from webloom.adapters.mongodb.heartbeats import MongoHeartbeats
            from webloom.adapters.mongodb.import_archives import (
                MongoFeedArchive,
                MongoPostingArchive,
                MongoRunArchive,
            )
            from webloom.adapters.mongodb.import_store import MongoImportStore
            from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
            from webloom.adapters.mongodb.lock import MongoLock
            from webloom.adapters.mongodb.page_archives import (
                MongoChangeLogArchive,
                MongoPageArchive,
                MongoPriceArchive,
            )
            from webloom.adapters.mongodb.page_store import MongoPageStore
            from webloom.adapters.mongodb.version_archives import MongoVersionArchive
            from webloom.adapters.mongodb.watch_archives import (
                MongoNoticeArchive,
                MongoWatchArchive,
                MongoWatchRunArchive,
            )
            from webloom.adapters.mongodb.watch_store import MongoWatchStore
        database = await self._stack.enter_async_context(
            open_mongodb(
                url,
                self._clock,
                database=self._settings.mongodb_database,
                names=CollectionNames(
                    metadata=self._settings.metadata_collection,
                    locks=self._settings.locks_collection,
                    heartbeats=self._settings.heartbeats_collection,
                    feeds=self._settings.feeds_collection,
                    jobs=self._settings.jobs_collection,
                    import_logs=self._settings.import_logs_collection,
                    pages=self._settings.pages_collection,
                    snapshots=self._settings.snapshots_collection,
                    price_history=self._settings.price_collection,
                    change_logs=self._settings.change_collection,
                    job_runs=self._settings.job_runs_collection,
                    watches=self._settings.watches_collection,
                ),
            )
        )
        return _Stores(
            inventory=MongoInventoryStore(database),
            imports=MongoImportStore(database),
            pages=MongoPageStore(database, retention=self._retention, budget=self._budget),
            watches=MongoWatchStore(database, retention=self._retention),
            archives={
                "metadata": MongoInventoryArchive(database),
                "feeds": MongoFeedArchive(database),
                "import_logs": MongoRunArchive(database),
                "jobs": MongoPostingArchive(database),
                "watches": MongoWatchArchive(database),
                "job_runs": MongoWatchRunArchive(database),
                "snapshots": MongoVersionArchive(database),
                "price_history": MongoPriceArchive(database),
                "pages": MongoPageArchive(database),
                "change_logs": MongoChangeLogArchive(database),
                "notices": MongoNoticeArchive(database),
            },
            heartbeats=MongoHeartbeats(database),
            lock=MongoLock(database),
            link=database,
        )

    async def broker(self, url: str) -> tuple[Broker, Connected]:
        limits = queue_limits(self._settings)
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

    def _has_own_broker(self, url: str) -> bool:
        """Whether batches of imports come from elsewhere than this file."""
        return self._settings.broker_urls[IMPORT_QUEUE] != url

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
