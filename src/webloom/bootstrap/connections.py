"""Settings -> services, or whole stores."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import fields
from typing import BinaryIO

from webloom.adapters.cron import next_match
from webloom.adapters.refusal_log import RefusalLog
from webloom.adapters.routed_broker import RoutedBroker
from webloom.adapters.system_clock import SystemClock
from webloom.application.host_turns import HostTurns
from webloom.application.inventory.recent_records import RecentRecords
from webloom.application.move.stream import DumpReader
from webloom.bootstrap.backends import Backends
from webloom.bootstrap.network import network_policy
from webloom.bootstrap.places import protect_files
from webloom.bootstrap.services import Services
from webloom.domain.errors import StoreUnavailable, WebloomError
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.page import CHECK_QUEUE
from webloom.domain.pipeline import Pipeline
from webloom.domain.politeness import HostLimits
from webloom.parsing.backend_url import shown
from webloom.ports.clock import Clock
from webloom.ports.connection import BrokerConnection
from webloom.ports.dump import WholeStore
from webloom.ports.heartbeats import ALIVE_SECONDS
from webloom.settings import Settings


@asynccontextmanager
async def open_services(
    settings: Settings,
    clock: Clock | None = None,
    *,
    must_exist: bool = False,
    queues: Collection[str] | None = None,
) -> AsyncIterator[Services]:
    """With `queues`, opens only what serving these queues needs: their brokers, and the collections
    of their pipelines.

    Raises StoreUnavailable if the embedded database can't be opened, or does not exist with
    `must_exist`, and BackendRefused if a server refuses the connection. An unreachable server is
    retried in the background."""
    clock = clock or SystemClock()
    kept_here = settings.store_url == settings.embedded_url
    if must_exist and kept_here and not settings.database.exists():
        raise StoreUnavailable(
            f"{settings.database} does not exist: nothing was stored here yet, "
            "or WEBLOOM_DATA_DIR means another folder"
        )
    async with AsyncExitStack() as stack:
        backends = Backends(settings, clock, stack)
        stores = await backends.stores(settings.store_url, _pipelines(settings, queues))
        urls = _needed_urls(settings, queues)
        brokers = {url: await backends.broker(url) for url in set(urls.values())}
        routes = {queue: brokers[url][0] for queue, url in urls.items()}
        await protect_files(settings, backends.files)
        yield Services(
            **{each.name: getattr(stores, each.name) for each in fields(stores)},
            settings=settings,
            clock=clock,
            broker=(
                routes[METADATA_QUEUE]
                if queues is None and len(brokers) == 1
                else RoutedBroker(routes)
            ),
            policy=network_policy(settings),
            refusals=RefusalLog(),
            host_turns=HostTurns(
                HostLimits(concurrency=settings.host_concurrency, delay=settings.host_delay)
            ),
            recent_records=RecentRecords(
                clock,
                most_bytes=0 if settings.accepts_into_the_store else settings.cache_size,
                seconds=settings.cache_ttl,
            ),
            broker_connections=[
                BrokerConnection(
                    connected=connected,
                    queues=[name for name, each in urls.items() if each == url],
                )
                for url, (_, connected) in sorted(
                    brokers.items(),
                    key=lambda item: item[0] != settings.broker_urls[METADATA_QUEUE],
                )
            ],
        )


def _needed_urls(settings: Settings, queues: Collection[str] | None) -> dict[str, str]:
    """The broker of each queue that a process needs to serve `queues`."""
    if queues is None:
        return settings.broker_urls
    used = set(queues)
    if CHECK_QUEUE in used:
        used.add(settings.input_queue)  # where checks publish their results
    return {name: url for name, url in settings.broker_urls.items() if name in used}


def _pipelines(settings: Settings, queues: Collection[str] | None) -> list[Pipeline]:
    of_queues = {
        METADATA_QUEUE: Pipeline.INVENTORY,
        IMPORT_QUEUE: Pipeline.IMPORTS,
        settings.input_queue: Pipeline.WATCH,
        CHECK_QUEUE: Pipeline.WATCH,
    }
    chosen = of_queues if queues is None else queues
    return sorted({of_queues[queue] for queue in chosen})


@asynccontextmanager
async def open_whole(url: str, settings: Settings) -> AsyncIterator[WholeStore]:
    """A store to dump or load. Raises what `open_services` raises."""
    async with AsyncExitStack() as stack:
        yield (await Backends(settings, SystemClock(), stack).stores(url)).whole


def dump_reader(stream: BinaryIO) -> DumpReader:
    """Raises DumpRefused."""
    return DumpReader(stream, next_match)


@asynccontextmanager
async def open_copy(
    source: str, target: str, settings: Settings
) -> AsyncIterator[tuple[WholeStore, WholeStore]]:
    """Two stores, the first not in use. Raises what `open_services` raises."""
    async with AsyncExitStack() as stack:
        backends = Backends(settings, SystemClock(), stack)
        origin, goal = await backends.stores(source), await backends.stores(target)
        if alive := await origin.heartbeats.seen(ALIVE_SECONDS):
            beat = alive[0].heartbeat
            raise WebloomError(
                f"{shown(source)} is in use: {beat.role} {beat.pid} on {beat.host} sent a "
                f"heartbeat {alive[0].age:.0f} s ago. Stop every process, so that nothing changes "
                f"during the copy; a killed one is forgotten after {ALIVE_SECONDS:.0f} s"
            )
        yield origin.whole, goal.whole
