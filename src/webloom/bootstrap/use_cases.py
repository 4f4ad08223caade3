"""Use cases that need more than the services: an HTTP client, a reader, a memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from webloom.adapters.cron import next_match
from webloom.adapters.http.download import DownloadLimits, HttpDownloader
from webloom.adapters.http.spool_room import SpoolRoom
from webloom.adapters.notify.notifier import TargetNotifier
from webloom.application.host_turns import HostTurns
from webloom.application.imports.obtain_feed import ObtainFeed
from webloom.application.imports.preview_feed import PreviewFeed
from webloom.application.imports.run_import import RunImport
from webloom.application.overview.build_overview import BuildOverview
from webloom.application.overview.queue_states import LookAtQueues
from webloom.application.overview.sampler import Sampler
from webloom.application.overview.stored_counts import StoredCounts
from webloom.application.watch.check_page import CheckPage
from webloom.application.watch.preview_page import PreviewPage
from webloom.application.watch.run_watches import RunWatches
from webloom.application.watch.send_notifications import SendNotifications
from webloom.bootstrap.brokers import queue_limits
from webloom.bootstrap.network import (
    feed_reader,
    http_downloader,
    page_downloader,
    page_reader,
    spool_room,
)
from webloom.bootstrap.services import Services
from webloom.domain.retry import fetch_backoff
from webloom.ports.heartbeats import Heartbeat

MOST_OF_A_PREVIEW = 16 * 1024 * 1024  # bytes of a feed: enough for thousands of postings


@asynccontextmanager
async def open_run_import(
    services: Services, room: SpoolRoom | None = None
) -> AsyncIterator[RunImport]:
    settings = services.settings
    async with http_downloader(
        settings, services.refusals, room=room or spool_room(settings)
    ) as downloader:
        yield RunImport(
            store=services.imports,
            broker=services.broker,
            obtain=ObtainFeed(
                downloader=downloader,
                spool=settings.spool,
                retry_delay=settings.retry_delay,
            ),
            reader=feed_reader(settings.feed_processes),
            clock=services.clock,
            max_feed=settings.max_feed,
            usual_minutes=settings.import_interval_minutes,
            lease=settings.lease,
            complete_batches=settings.complete_batches,
        )


@asynccontextmanager
async def open_preview_feed(services: Services) -> AsyncIterator[PreviewFeed]:
    settings = services.settings
    limits = DownloadLimits(
        total_seconds=settings.feed_timeout,
        min_rate=settings.min_rate,
        max_bytes=min(settings.max_feed, MOST_OF_A_PREVIEW),
    )
    async with HttpDownloader(
        policy=services.policy, refusals=services.refusals, may_cut=True, limits=limits
    ) as downloader:
        yield PreviewFeed(
            downloader=downloader,
            reader=feed_reader(),
            turns=services.host_turns,
            spool=settings.spool,
            max_bytes=settings.max_feed,
        )


@asynccontextmanager
async def open_preview_page(services: Services) -> AsyncIterator[PreviewPage]:
    settings = services.settings
    async with (
        page_downloader(settings, services.refusals, any_status=True) as downloader,
        page_reader(settings) as reader,
    ):
        yield PreviewPage(
            downloader=downloader,
            reader=reader,
            turns=services.host_turns,
            spool=settings.spool,
        )


@asynccontextmanager
async def open_check_page(services: Services, turns: HostTurns) -> AsyncIterator[CheckPage]:
    settings = services.settings
    async with (
        page_downloader(settings, services.refusals) as downloader,
        page_reader(settings) as reader,
    ):
        yield CheckPage(
            watches=services.watches,
            runs=services.watch_runs,
            pages=services.pages,
            broker=services.broker,
            storage_queue=settings.input_queue,
            downloader=downloader,
            reader=reader,
            turns=turns,
            retries=fetch_backoff(settings.retry_delay),
            clock=services.clock,
            spool=settings.spool,
        )


@asynccontextmanager
async def open_notifications(services: Services) -> AsyncIterator[SendNotifications]:
    async with TargetNotifier(policy=services.policy, refusals=services.refusals) as notifier:
        yield SendNotifications(
            watches=services.watches,
            notifications=services.notifications,
            alerts=services.change_alerts,
            history=services.page_history,
            notifier=notifier,
            clock=services.clock,
        )


def run_watches(services: Services, notifications: SendNotifications) -> RunWatches:
    return RunWatches(
        watches=services.watches,
        runs=services.watch_runs,
        broker=services.broker,
        clock=services.clock,
        cron=next_match,
        after_run=notifications.after_run,
    )


def sampler(services: Services) -> Sampler:
    return Sampler(
        heartbeats=services.heartbeats,
        imports=services.imports.runs,
        watch_runs=services.watch_runs,
        clock=services.clock,
    )


def build_overview(services: Services, own_beat: Callable[[], Heartbeat]) -> BuildOverview:
    """Has a memory: one per process."""
    settings, sampling = services.settings, sampler(services)
    return BuildOverview(
        sampler=sampling,
        look_at_queues=LookAtQueues(
            broker=services.broker,
            links=services.broker_links,
            limits=queue_limits(settings),
            counts=sampling.counts,
            clock=services.clock,
        ),
        stored=StoredCounts(
            store=services.store,
            imports=services.imports,
            pages=services.pages,
            page_storage=services.page_storage,
            watches=services.watches,
            pages_collection=settings.pages_collection,
        ),
        heartbeats=services.heartbeats,
        own_beat=own_beat,
        imports=services.imports,
        page_history=services.page_history,
        page_storage=services.page_storage,
        clock=services.clock,
        store_link=services.store_link,
        room=services.room,
        storage_queue=settings.input_queue,
    )
