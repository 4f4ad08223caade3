"""Use cases that need more than the services: an HTTP client, a reader, a memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from webloom.adapters.cron import next_match
from webloom.adapters.http.spool_room import SpoolRoom
from webloom.adapters.notify.notifier import TargetNotifier
from webloom.application.host_turns import HostTurns
from webloom.application.imports.obtain_feed import ObtainFeed
from webloom.application.imports.preview_feed import PreviewFeed
from webloom.application.imports.run_import import RunImport
from webloom.application.inventory.check_url import check_url
from webloom.application.overview.build_overview import SHARED_SECONDS, BuildOverview
from webloom.application.overview.caching import PROBE_SECONDS, SingleFlight
from webloom.application.overview.gather_facts import GatherFacts, ReadBrokers, waiting_now
from webloom.application.overview.sampler import Sampler
from webloom.application.overview.stored_counts import StoredCounts
from webloom.application.recognise_address import RecogniseAddress
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

PREVIEWED_BYTES = 16 * 1024 * 1024  # of a feed: enough for thousands of postings


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
                retries=fetch_backoff(settings.retry_delay),
            ),
            reader=feed_reader(settings.feed_processes),
            clock=services.clock,
            max_feed=settings.max_feed,
            usual_minutes=settings.import_interval_minutes,
            lease=settings.lease,
            is_restoring=services.restore.is_unfinished,
            complete_batches=settings.complete_batches,
        )


@asynccontextmanager
async def open_preview_feed(services: Services) -> AsyncIterator[PreviewFeed]:
    settings = services.settings
    async with http_downloader(settings, services.refusals, cut_at=PREVIEWED_BYTES) as downloader:
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
async def open_recognise_address(services: Services) -> AsyncIterator[RecogniseAddress]:
    settings = services.settings
    async with (
        page_downloader(
            settings, services.refusals, any_status=True, cut_at=PREVIEWED_BYTES
        ) as downloader,
        page_reader(settings) as reader,
    ):
        yield RecogniseAddress(
            check=partial(check_url, policy=services.policy),
            downloader=downloader,
            feed_reader=feed_reader(),
            page_reader=reader,
            turns=services.host_turns,
            spool=settings.spool,
            max_feed=settings.max_feed,
            feeds=services.imports.feeds,
            watches=services.watches,
            pages=services.pages,
            records=services.store,
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
        is_restoring=services.restore.is_unfinished,
    )


def sampler(services: Services) -> Sampler:
    return Sampler(
        heartbeats=services.heartbeats,
        imports=services.imports.listed_runs,
        watch_runs=services.watch_runs,
        watch_run_listing=services.watch_run_listing,
        clock=services.clock,
    )


def gather_facts(services: Services, seconds: float | None = PROBE_SECONDS) -> GatherFacts:
    return GatherFacts(
        heartbeats=services.heartbeats,
        page_storage=services.page_storage,
        room=services.room,
        store_connection=services.store_connection,
        read_brokers=ReadBrokers(
            broker=services.broker,
            connections=services.broker_connections,
            limits=queue_limits(services.settings),
            seconds=seconds,
        ),
        read_waiting=partial(waiting_now, services.imports.feeds, services.watches, seconds),
        read_restore=services.restore.unfinished,
        is_restoring=services.restore.is_running,
        seconds=seconds,
    )


def build_overview(services: Services, own_beat: Callable[[], Heartbeat]) -> BuildOverview:
    """Has a memory: one per process."""
    facts, settings = gather_facts(services), services.settings
    read_brokers = SingleFlight(facts.read_brokers, SHARED_SECONDS)
    stored = StoredCounts(
        records=services.records,
        imports=services.imports,
        pages=services.pages,
        page_storage=services.page_storage,
        watches=services.watches,
        watch_runs=services.watch_runs,
        notifications=services.notifications,
        pages_collection=settings.pages_collection,
    )
    return BuildOverview(
        sampler=sampler(services),
        read_brokers=read_brokers,
        gather_facts=replace(facts, read_brokers=read_brokers.get, read_waiting=stored.waiting),
        stored=stored,
        own_beat=own_beat,
        imports=services.imports,
        page_history=services.page_history,
        clock=services.clock,
        storage_queue=settings.input_queue,
    )
