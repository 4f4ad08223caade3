"""Previews: what a feed would give, or a watch would see, before it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, Request
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from webloom.application.imports.manage_feeds import refuse_bad
from webloom.application.inventory.check_url import check_address
from webloom.application.watch.manage_watches import refuse_bad_selection
from webloom.application.watch.preview_page import PageSeen
from webloom.bootstrap.services import Services
from webloom.bootstrap.use_cases import open_preview_feed, open_preview_page
from webloom.domain.errors import FeedUnreadable, FetchFailed, PageUnreadable
from webloom.domain.feed import FeedConfig
from webloom.domain.page import Selection
from webloom.entrypoints.api.admin_schemas import (
    FeedPreview,
    FeedPreviewBody,
    PostingPreview,
    WatchPreview,
    WatchPreviewBody,
    preview_price,
)
from webloom.entrypoints.api.import_schemas import ImportFailure
from webloom.entrypoints.api.openapi import router
from webloom.entrypoints.api.requests import InContext, json_body
from webloom.entrypoints.api.responses import Json, Refusal
from webloom.entrypoints.api.schemas import filled

LONGEST_TEXT = 50_000  # characters of a page that are shown

Made = TypeVar("Made")

feed_routes = router("/api/feeds", "feeds")
watch_routes = router("/api/watches", "watches")


@feed_routes.post("/preview")
async def preview_feed(
    request: Request,
    context: InContext,
    body: Annotated[FeedPreviewBody, Depends(json_body(FeedPreviewBody))],
) -> Json[FeedPreview]:
    """Fetch a feed and show what it would give. Nothing is stored.

    Of a large feed only the beginning is read.
    """
    url = check_address(body.url, policy=context.services.policy)
    config = FeedConfig(url=url, name="", format=body.format, mapping=body.mapping)
    refuse_bad(config)
    with context.feed_previews.one():
        try:
            return Json(await while_connected(request.receive, _feed(context.services, config)))
        except FetchFailed as failure:
            raise Refusal(422, f"This feed can't be fetched: {failure.reason}.") from failure
        except FeedUnreadable as error:
            raise Refusal(422, f"This feed can't be read. {error}") from error


@watch_routes.post("/preview")
async def preview_watch(
    request: Request,
    context: InContext,
    body: Annotated[WatchPreviewBody, Depends(json_body(WatchPreviewBody))],
) -> Json[WatchPreview]:
    """Fetch a page and show what a watch would see. Nothing is stored."""
    selection = msgspec.convert(body.selection, Selection, from_attributes=True)
    await asyncio.to_thread(refuse_bad_selection, selection)
    url = check_address(body.url, policy=context.services.policy)
    with context.page_previews.one():
        try:
            seen = await while_connected(request.receive, _page(context.services, url, selection))
        except FetchFailed as failure:
            raise Refusal(422, f"This page can't be fetched: {failure.reason}.") from failure
        except PageUnreadable as error:
            raise Refusal(422, f"This page can't be read: {error}.") from error
    return Json(_watch_preview(seen))


async def _feed(services: Services, config: FeedConfig) -> FeedPreview:
    async with open_preview_feed(services) as preview_feed:
        seen, last = await preview_feed(config)
    return filled(
        FeedPreview,
        seen,
        last,
        url=config.url,
        failures=msgspec.convert(seen.failures, list[ImportFailure], from_attributes=True),
        postings=msgspec.convert(seen.postings, list[PostingPreview], from_attributes=True),
    )


async def _page(services: Services, url: str, selection: Selection) -> PageSeen:
    async with open_preview_page(services) as preview_page:
        return await preview_page(url, selection)


async def while_connected(receive: Receive, making: Coroutine[Any, Any, Made]) -> Made:
    """Cancels the work when the client disconnects."""
    made, gone = asyncio.ensure_future(making), asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({made, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not made.done():
            raise ClientDisconnect
        return made.result()
    finally:
        made.cancel()
        gone.cancel()
        await asyncio.gather(made, gone, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
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
        price=preview_price(reading.price),
        availability=reading.availability,
        classification=msgspec.to_builtins(reading.classification),
        problem=seen.problem,
        needs_javascript=reading.needs_javascript,
    )
