"""HTTP clients, and the readers of what they download."""

from __future__ import annotations

from webloom.adapters.feed_process.reader import ProcessFeedReader
from webloom.adapters.http.client import PAGES
from webloom.adapters.http.download import DownloadLimits, HttpDownloader
from webloom.adapters.http.fetcher import FetchLimits, HttpFetcher
from webloom.adapters.http.spool_room import SpoolRoom
from webloom.adapters.page_process.reader import ProcessPageReader
from webloom.adapters.refusal_log import RefusalLog
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.spool import SpoolLimits
from webloom.ports.feed_reader import FeedReader
from webloom.settings import Settings


def network_policy(settings: Settings) -> NetworkPolicy:
    return NetworkPolicy.parse(
        settings.allow_addresses,
        own=((settings.host, settings.port),),
        deny=settings.deny_addresses,
    )


def http_fetcher(settings: Settings, refusals: RefusalLog | None = None) -> HttpFetcher:
    """To be opened by `async with`."""
    limits = FetchLimits(
        total_seconds=settings.fetch_timeout,
        min_rate=settings.min_rate,
        max_body_bytes=settings.max_body,
        connections=settings.slots,
    )
    return HttpFetcher(policy=network_policy(settings), refusals=refusals, limits=limits)


def spool_room(settings: Settings) -> SpoolRoom:
    """One for each process."""
    limits = SpoolLimits(budget=settings.spool_budget, free_space=settings.spool_free_space)
    return SpoolRoom(settings.spool, limits)


def http_downloader(
    settings: Settings,
    refusals: RefusalLog | None = None,
    *,
    room: SpoolRoom | None = None,
    cut_at: int | None = None,  # bytes, after which the rest is left out
) -> HttpDownloader:
    """To be opened by `async with`."""
    limits = DownloadLimits(
        total_seconds=settings.feed_timeout,
        min_rate=settings.min_rate,
        max_bytes=min(settings.max_feed, cut_at or settings.max_feed),
    )
    return HttpDownloader(
        policy=network_policy(settings),
        refusals=refusals,
        limits=limits,
        room=room,
        may_cut=cut_at is not None,
    )


def page_downloader(
    settings: Settings,
    refusals: RefusalLog | None = None,
    *,
    any_status: bool = False,
    cut_at: int | None = None,  # bytes, after which the rest is left out
) -> HttpDownloader:
    """To be opened by `async with`."""
    limits = DownloadLimits(
        total_seconds=settings.fetch_timeout,
        stall_seconds=settings.fetch_timeout,
        min_rate=settings.min_rate,
        max_bytes=cut_at or settings.max_body,
        connections=settings.watch_concurrency,
    )
    return HttpDownloader(
        policy=network_policy(settings),
        refusals=refusals,
        accept=PAGES,
        any_status=any_status,
        may_cut=cut_at is not None,
        limits=limits,
    )


def page_reader(settings: Settings) -> ProcessPageReader:
    """To be opened by `async with`."""
    return ProcessPageReader(processes=settings.page_processes, seconds=settings.page_seconds)


def feed_reader(processes: int = 1) -> FeedReader:
    """`processes` is the number of feeds that are read concurrently."""
    return ProcessFeedReader(processes=processes)
