"""What a watch would see on a page: fetch, with any status -> read in a child process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from webloom.application.host_turns import HostTurns
from webloom.application.previews import PREVIEW_SECONDS, preview_folder, too_slow, turn_at_host
from webloom.application.watch.page_problems import content_problem, size_problem, status_problem
from webloom.domain.errors import PageUnreadable
from webloom.domain.feed import LastFetch
from webloom.domain.page import Selection
from webloom.parsing.pages.page import PageReading
from webloom.ports.fetcher import Downloader
from webloom.ports.page_reader import PageOrder, PageReader


@dataclass(frozen=True, kw_only=True, slots=True)
class PageSeen:
    url: str  # after redirects
    status_code: int
    reading: PageReading

    @property
    def problem(self) -> str | None:
        """Why a check would report the page as failed."""
        return (
            status_problem(self.status_code)
            or content_problem(self.reading)
            or size_problem(msgspec.to_builtins(self.reading.parsed))
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PreviewPage:
    downloader: Downloader
    reader: PageReader
    turns: HostTurns
    spool: Path
    seconds: float = PREVIEW_SECONDS

    async def __call__(self, url: str, selection: Selection) -> PageSeen:
        """Raises FetchFailed, PageUnreadable."""
        try:
            async with preview_folder(self.spool) as folder, asyncio.timeout(self.seconds):
                async with turn_at_host(self.turns, url):
                    order = await fetched_page(self.downloader, url, folder / "page")
                return await read_fetched(self.reader, replace(order, selection=selection))
        except TimeoutError:
            raise too_slow("a check", self.seconds) from None


async def read_fetched(reader: PageReader, order: PageOrder) -> PageSeen:
    """A bad status is reported rather than what the page lacks. Raises PageUnreadable."""
    try:
        read = await reader.read(order)
    except PageUnreadable as error:
        raise PageUnreadable(status_problem(order.status_code) or str(error)) from error
    return PageSeen(url=order.url, status_code=order.status_code, reading=read.reading)


async def fetched_page(downloader: Downloader, url: str, into: Path) -> PageOrder:
    """`downloader` keeps the body of every response. Raises FetchFailed."""
    got = await downloader.download(url, into, known=LastFetch())
    await asyncio.to_thread(into.touch)  # a response may have no body
    return PageOrder(
        path=into,
        url=got.final_url,
        status_code=got.status_code,
        content_type=got.content_type,
    )
