"""What a feed or a watch would give, before it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from webloom.application.imports.manage_feeds import refuse_bad
from webloom.application.inventory.check_url import check_url
from webloom.application.watch.manage_watches import refuse_bad_selection
from webloom.application.watch.preview_page import PageSeen
from webloom.bootstrap import Services, open_preview_feed, open_preview_page
from webloom.domain.errors import FeedUnreadable, FetchFailed, PageUnreadable
from webloom.domain.feed import FeedConfig
from webloom.domain.page import Selection
from webloom.entrypoints.api.admin_schemas import (
    FeedPreview,
    FeedPreviewBody,
    PostingPreview,
    PreviewPrice,
    WatchPreview,
    WatchPreviewBody,
)
from webloom.entrypoints.api.answers import answer, problem
from webloom.entrypoints.api.asked import decode
from webloom.entrypoints.api.import_schemas import ImportFailure

AT_ONCE = 2  # previews of feeds, and as many of pages
RETRY_SECONDS = 2
LONGEST_TEXT = 50_000  # characters of a page that are shown

Made = TypeVar("Made")

_feed_body = msgspec.json.Decoder(FeedPreviewBody)
_watch_body = msgspec.json.Decoder(WatchPreviewBody)


class PreviewRoutes:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._feeds = _Turns("feeds")
        self._pages = _Turns("pages")

    async def feed(self, request: Request) -> Response:
        """Fetch a feed and show what it would give. Nothing is stored.

        Of a large feed only the beginning is read.
        """
        body = decode(_feed_body, await request.body())
        url = check_url(body.url, policy=self._services.policy)
        config = FeedConfig(url=url, name="", format=body.format, mapping=body.mapping)
        refuse_bad(config)
        with self._feeds.one():
            try:
                return answer(await _while_wanted(request, self._feed(config)))
            except FetchFailed as failure:
                return problem(422, f"This feed can't be fetched: {failure.reason}.")
            except FeedUnreadable as error:
                return problem(422, f"This feed can't be read. {error}")

    async def watch(self, request: Request) -> Response:
        """Fetch a page and show what a watch would see. Nothing is stored."""
        body = decode(_watch_body, await request.body())
        selection = msgspec.convert(body.selection, Selection, from_attributes=True)
        await asyncio.to_thread(refuse_bad_selection, selection)
        url = check_url(body.url, policy=self._services.policy)
        with self._pages.one():
            try:
                seen = await _while_wanted(request, self._page(url, selection))
            except FetchFailed as failure:
                return problem(422, f"This page can't be fetched: {failure.reason}.")
            except PageUnreadable as error:
                return problem(422, f"This page can't be read: {error}.")
        return answer(_watch_preview(seen))

    async def _feed(self, config: FeedConfig) -> FeedPreview:
        async with open_preview_feed(self._services) as preview_feed:
            seen, last = await preview_feed(config)
        return FeedPreview(
            url=config.url,
            format=last.format,
            bytes=seen.bytes,
            is_whole=last.is_whole,
            fetched=last.fetched,
            duplicates=last.duplicates,
            failed=last.failed,
            repairs=last.repairs,
            failure_reasons=last.failure_reasons,
            failures=msgspec.convert(seen.failures, list[ImportFailure], from_attributes=True),
            postings=msgspec.convert(seen.postings, list[PostingPreview], from_attributes=True),
        )

    async def _page(self, url: str, selection: Selection) -> PageSeen:
        async with open_preview_page(self._services) as preview_page:
            return await preview_page(url, selection)


class _Turns:
    def __init__(self, what: str) -> None:
        self._what = what
        self._taken = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        if self._taken == AT_ONCE:
            raise HTTPException(
                503,
                f"{AT_ONCE} previews of {self._what} are being made already. Try again.",
                {"Retry-After": str(RETRY_SECONDS)},
            )
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


async def _while_wanted(request: Request, making: Coroutine[Any, Any, Made]) -> Made:
    """Ends it when the client leaves, so that nobody waits for what nobody looks at."""
    made, gone = asyncio.ensure_future(making), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({made, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not made.done():
            raise ClientDisconnect
        return made.result()
    finally:
        made.cancel()
        gone.cancel()
        await asyncio.gather(made, gone, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _watch_preview(seen: PageSeen) -> WatchPreview:
    reading = seen.reading
    text = reading.parsed.text
    return WatchPreview(
        url=seen.url,
        status_code=seen.status_code,
        title=reading.parsed.title,
        text=text[:LONGEST_TEXT],
        lines=text.count("\n") + 1 if text else 0,
        is_cut=len(text) > LONGEST_TEXT,
        price=None
        if reading.price is None
        else msgspec.convert(reading.price, PreviewPrice, from_attributes=True),
        availability=reading.availability,
        classification=msgspec.to_builtins(reading.classification),
        problem=seen.problem,
    )
