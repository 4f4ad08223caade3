"""What a pasted address is, so that a person can choose what to do with it.

address -> URLs that it may mean -> fetch, https first -> read as a feed -> else as a page
        -> what Webloom has of it already
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from webloom.application.host_turns import HostTurns
from webloom.application.imports.preview_feed import BATCH, FeedSeen, read_beginning
from webloom.application.previews import PREVIEW_SECONDS, preview_folder, too_slow, turn_at_host
from webloom.application.watch.preview_page import PageSeen, fetched_page, read_fetched
from webloom.domain.errors import FeedUnreadable, NotConnected, PageUnreadable, UrlRefused
from webloom.domain.feed import AUTO, Feed
from webloom.domain.inventory import Status
from webloom.domain.names import LONGEST_NAME, is_control
from webloom.domain.watch import Watch
from webloom.parsing.feeds.formats import generic, json_feed
from webloom.parsing.pages.page import FeedLink
from webloom.parsing.text_decoding import media_type
from webloom.parsing.typed_address import urls_meant
from webloom.ports.feed_reader import FeedReader, ReadBatch, ReadOptions
from webloom.ports.feeds import Feeds
from webloom.ports.fetcher import Downloader
from webloom.ports.inventory_store import InventoryStore
from webloom.ports.page_reader import PageOrder, PageReader
from webloom.ports.pages import PageFilter, Pages
from webloom.ports.watches import Watches

MOST_WATCHES = 10  # of one page that are named
_LOOSE = frozenset((generic.FORMAT.name, json_feed.FORMAT.name))  # much else looks like these


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedFound:
    seen: FeedSeen
    last: ReadBatch  # it has the counts


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFound:
    seen: PageSeen
    feeds: list[tuple[FeedLink, Feed | None]]  # that it offers, and what they are here already


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownAddress:
    """What Webloom has of the address already."""

    feed: Feed | None
    watches: list[Watch]  # that have checked it
    record: Status | None  # of the inventory


@dataclass(frozen=True, kw_only=True, slots=True)
class Recognised:
    url: str  # after redirects
    status_code: int
    title: str | None  # fit to be a name
    found: FeedFound | PageFound | Unreadable
    known: KnownAddress


@dataclass(frozen=True, kw_only=True, slots=True)
class RecogniseAddress:
    check: Callable[[str], str]  # a URL as given -> normalised; raises UrlRefused
    downloader: (
        Downloader  # that keeps the body of every response, and the beginning of a large one
    )
    feed_reader: FeedReader
    page_reader: PageReader
    turns: HostTurns
    spool: Path
    max_feed: int  # bytes of a feed when it is decompressed
    feeds: Feeds
    watches: Watches
    pages: Pages
    records: InventoryStore
    seconds: float = PREVIEW_SECONDS

    async def __call__(self, address: str) -> Recognised:
        """Raises UrlRefused, FetchFailed, StoreUnavailable."""
        urls = self._checked(urls_meant(address))
        try:
            async with preview_folder(self.spool) as folder, asyncio.timeout(self.seconds):
                requested, order = await self._fetched(urls, folder / "body")
                seen = await self._feed(order) or await self._page(order)
        except TimeoutError:
            raise too_slow("an import or a check", self.seconds) from None
        return Recognised(
            url=order.url,
            status_code=order.status_code,
            title=_name(seen),
            found=await self._with_feeds(seen) if isinstance(seen, PageSeen) else seen,
            known=await self._known(dict.fromkeys((requested, order.url))),
        )

    def _checked(self, urls: Sequence[str]) -> list[str]:
        """Those that may be fetched. Raises UrlRefused if none may."""
        allowed, refusals = [], []
        for url in urls:
            try:
                allowed.append(self.check(url))
            except UrlRefused as refusal:
                refusals.append(refusal)
        if not allowed:
            raise refusals[0]
        return allowed

    async def _fetched(self, urls: Sequence[str], into: Path) -> tuple[str, PageOrder]:
        """From the first that can be connected to."""
        *others, last = urls
        for url in others:
            with suppress(NotConnected):
                return url, await self._fetch(url, into)
        return last, await self._fetch(last, into)

    async def _fetch(self, url: str, into: Path) -> PageOrder:
        async with turn_at_host(self.turns, url):
            return await fetched_page(self.downloader, url, into)

    async def _feed(self, order: PageOrder) -> FeedFound | None:
        if not 200 <= order.status_code <= 299:
            return None
        options = ReadOptions(
            source_url=order.url,
            source_name="",
            format=AUTO,
            mapping={},
            batch_size=BATCH,
            content_type=order.content_type,
            max_bytes=self.max_feed,
        )
        seen = FeedSeen()
        with suppress(FeedUnreadable):
            await read_beginning(self.feed_reader, order.path, options, seen)
            if seen.last is not None and is_feed(seen.last, seen, order.content_type):
                return FeedFound(seen=seen, last=seen.last)
        return None

    async def _page(self, order: PageOrder) -> PageSeen | Unreadable:
        try:
            return await read_fetched(self.page_reader, order)
        except PageUnreadable as error:
            return Unreadable(reason=str(error))

    async def _with_feeds(self, seen: PageSeen) -> PageFound:
        links = seen.reading.feed_links
        return PageFound(
            seen=seen, feeds=[(link, await self.feeds.at_url(link.url)) for link in links]
        )

    async def _known(self, urls: dict[str, None]) -> KnownAddress:
        feed, record = None, None
        watches: dict[str, Watch] = {}
        for url in urls:
            feed = feed or await self.feeds.at_url(url)
            found = await self.records.find(url, most=0)
            record = record or (found.status if found is not None else None)
            pages, _ = await self.pages.list_pages(PageFilter(url=url), limit=MOST_WATCHES)
            for page in pages:
                watch = await self.watches.find_watch(page.watch_id)
                if watch is not None:  # pages outlive their watch
                    watches[page.watch_id] = watch
        return KnownAddress(feed=feed, watches=list(watches.values())[:MOST_WATCHES], record=record)


def is_feed(last: ReadBatch, seen: FeedSeen, content_type: str | None) -> bool:
    """A format of its own is enough. Lists of anything are feeds if they give postings, and if the
    server does not call them a page."""
    if last.format not in _LOOSE:
        return True
    return bool(seen.postings) and "html" not in media_type(content_type)


def _name(seen: FeedFound | PageSeen | Unreadable) -> str | None:
    match seen:
        case FeedFound():
            title = seen.last.title
        case PageSeen():
            title = seen.reading.parsed.title
        case Unreadable():
            title = None
    return name_of(title or "")


def name_of(title: str) -> str | None:
    """A name that feeds and watches accept; None if nothing is left."""
    kept = (" " if is_control(each) else each for each in title)
    return " ".join("".join(kept).split())[:LONGEST_NAME].strip() or None
