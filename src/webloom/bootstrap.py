"""Settings -> adapters -> use cases: the only wiring there is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from webloom.adapters.http.fetcher import FetchLimits, HttpFetcher
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import open_database
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
from webloom.domain.errors import StoreUnavailable
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.politeness import HostLimits
from webloom.domain.retry import RetryPolicy
from webloom.ports.broker import Broker
from webloom.ports.clock import Clock
from webloom.ports.fetcher import Fetcher
from webloom.ports.heartbeats import Heartbeats
from webloom.ports.inventory_store import InventoryStore
from webloom.ports.lock import Lock
from webloom.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    settings: Settings
    clock: Clock
    broker: Broker
    store: InventoryStore
    heartbeats: Heartbeats
    lock: Lock
    policy: NetworkPolicy

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
        return RequeueForgotten(store=self.store, broker=self.broker)

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
    """Raises StoreUnavailable when the database can't be opened, or must exist and does not."""
    clock = clock or SystemClock()
    if must_exist and not settings.database.exists():
        raise StoreUnavailable(
            f"{settings.database} does not exist: nothing was stored here yet, "
            "or WEBLOOM_DATA_DIR means another folder"
        )
    async with open_database(settings.database, clock) as database:
        yield Services(
            settings=settings,
            clock=clock,
            broker=SqliteBroker(
                database, limits={METADATA_QUEUE: settings.queue_limit}, lease=settings.lease
            ),
            store=SqliteInventoryStore(database),
            heartbeats=SqliteHeartbeats(database),
            lock=SqliteLock(database),
            policy=network_policy(settings),
        )
