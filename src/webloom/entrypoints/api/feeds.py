"""/api/feeds: where postings come from."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Annotated

import msgspec
from fastapi import Depends, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from webloom.application.bulk_items import BulkOptions
from webloom.application.entry_state import EntryState
from webloom.application.imports.import_outlines import JudgedOutline
from webloom.domain.errors import FeedExists
from webloom.domain.feed import Feed
from webloom.domain.listing import MOST_COUNTED
from webloom.entrypoints.api.bulk import LIMITS, LINES, by_list, change_items
from webloom.entrypoints.api.exports import (
    READ_AT_ONCE,
    ExportQuery,
    as_file,
    columns,
    export_response,
)
from webloom.entrypoints.api.formats import OPML
from webloom.entrypoints.api.import_schemas import (
    AddFeedBody,
    BulkFeedsBody,
    EditFeedBody,
    FeedResponse,
    FeedsPage,
    OpmlImported,
    OpmlPreview,
    OpmlRefusal,
    feed_before,
    feed_response,
    given_fields,
)
from webloom.entrypoints.api.import_schemas import FeedExists as FeedExistsProblem
from webloom.entrypoints.api.openapi import described, lines_of, router
from webloom.entrypoints.api.previews import while_connected
from webloom.entrypoints.api.requests import (
    FEW_BULK_ACTIONS,
    ListFilters,
    ListQuery,
    NoParameters,
    WithServices,
    json_body,
    raw_body,
)
from webloom.entrypoints.api.responses import Json, Refusal, found
from webloom.entrypoints.api.schemas import TagCount, TagsPage, counted, read_at
from webloom.entrypoints.opml import exported_feeds, preview_outlines
from webloom.parsing.opml import read_opml

NO_LIMIT = 1_000_000
MOST_REFUSALS = 100  # of an OPML that are shown; all are counted
NO_SUCH_FEED = "Feed not found. GET /api/feeds lists all feeds."

FeedId = Annotated[str, Path(alias="feedId", max_length=100)]

routes = router("/api/feeds", "feeds")


class FeedsQuery(ListQuery):
    limit: int | None = Field(None, ge=1, le=200, description="Items on a page; without it, all")  # type: ignore[assignment]  # 50 elsewhere


class FeedsExport(ExportQuery, ListFilters):
    columns: str = columns(FeedResponse.__struct_encode_fields__)


@routes.post("", status_code=201, responses=described({409: FeedExistsProblem}))
async def add_feed(
    services: WithServices, body: Annotated[AddFeedBody, Depends(json_body(AddFeedBody))]
) -> Json[FeedResponse]:
    """Add a feed. It is imported on its schedule; POST /api/import/run imports it now.

    If the URL is a feed already, the response is 409 with that feed.
    """
    feed, is_new = await services.manage_feeds.add(
        body.url,
        None if body.name is None else _checked_name(body.name),
        format=body.format,
        interval_minutes=body.interval_minutes,
        enabled=body.enabled,
        mapping=body.mapping,
        close_missing=body.close_missing,
        tags=body.tags,
    )
    if not is_new:
        raise _exists(feed)
    return Json(feed_response(feed), 201, {"Location": f"/api/feeds/{feed.feed_id}"})


@routes.get("")
async def list_feeds(
    services: WithServices, query: Annotated[FeedsQuery, Query()]
) -> Json[FeedsPage]:
    """List feeds, each with its schedule and how its last run went; without `limit` all of them."""
    found, following = await services.imports.feeds.page(
        query.chosen, limit=query.limit or NO_LIMIT, cursor=query.cursor, order=query.order
    )
    data = [*map(feed_response, found)]
    total = await counted(
        data,
        (query.cursor, following),
        lambda: services.imports.feeds.count_chosen(query.chosen, most=MOST_COUNTED),
    )
    at = read_at(services.clock.now(), data)
    return Json(FeedsPage(at=at, data=data, next_cursor=following, **total))


@routes.get("/tags", dependencies=[NoParameters])  # before {feedId}
async def list_feed_tags(services: WithServices) -> Json[TagsPage]:
    """List the tags of feeds, each with how many have it."""
    tags = await services.imports.feeds.tags()
    data = msgspec.convert(tags, list[TagCount], from_attributes=True)
    return Json(TagsPage(data=data, next_cursor=None))


@routes.get("/export", responses=as_file())  # before {feedId}
async def export_feeds(services: WithServices, query: Annotated[FeedsExport, Query()]) -> Response:
    """Export feeds as CSV or lines of JSON, in the order of `sort`."""

    async def read(cursor: str | None) -> tuple[list[Feed], str | None]:
        return await services.imports.feeds.page(
            query.chosen, limit=READ_AT_ONCE, cursor=cursor, order=query.order
        )

    return await export_response("feeds", query, read, feed_response)


@routes.post(
    "/bulk", dependencies=[FEW_BULK_ACTIONS], responses=lines_of(*LINES) | described({}, 409)
)
async def change_feeds(
    services: WithServices,
    body: Annotated[BulkFeedsBody, Depends(json_body(BulkFeedsBody, LIMITS))],
) -> Response:
    """Import, pause, resume, tag, untag, schedule or remove many feeds, or restore what such an
    action has changed. The response is as for POST /api/watches/bulk."""
    interval = body.interval_minutes
    options = BulkOptions(
        tags=body.tags,
        schedule={} if interval is msgspec.UNSET else {"interval_minutes": interval},
        before={each.id: given_fields(each) for each in body.items},
    )
    bulk = services.bulk_feeds
    return await change_items(bulk, body, options, feed_before, by_list(bulk))


@routes.get("/opml", responses=described({200: "text/x-opml"}))  # before {feedId}
async def export_opml(services: WithServices) -> Response:
    """Export all feeds as OPML, for any feed reader."""
    document, _ = await exported_feeds(services)
    return Response(
        document,
        200,
        {"Content-Disposition": "attachment; filename=webloom-feeds.opml"},
        "text/x-opml; charset=utf-8",
    )


@routes.post("/opml")
async def import_opml(
    services: WithServices, content: Annotated[bytes, Depends(raw_body({"text/x-opml": OPML}))]
) -> Json[OpmlImported]:
    """Add every feed of an OPML document, at most 10,000; new ones are imported at once. Known
    feeds stay as they are; a refused one does not affect the others."""
    outlines = await asyncio.to_thread(read_opml, content)
    counts: Counter[EntryState] = Counter()
    refusals: list[OpmlRefusal] = []
    async for each in services.import_outlines(outlines):
        counts[each.state] += 1
        if each.state is EntryState.REFUSED and len(refusals) < MOST_REFUSALS:
            refusals.append(_refusal(each))
    return Json(
        OpmlImported(
            added=counts[EntryState.NEW],
            known=counts[EntryState.KNOWN],
            refused=counts[EntryState.REFUSED],
            refusals=refusals,
        )
    )


@routes.post("/opml/preview", dependencies=[NoParameters])
async def preview_opml(
    request: Request,
    services: WithServices,
    content: Annotated[bytes, Depends(raw_body({"text/x-opml": OPML}))],
) -> Json[OpmlPreview]:
    """Show what importing an OPML document would do: which of its feeds are new, known or refused.
    Nothing is fetched or stored."""
    return Json(await while_connected(request.receive, preview_outlines(services, content)))


@routes.get("/{feedId}", responses=described({}, 404))
async def get_feed(services: WithServices, feed_id: FeedId) -> Json[FeedResponse]:
    """Get one feed."""
    return _found(await services.imports.feeds.find(feed_id))


@routes.patch("/{feedId}", responses=described({}, 404, 409))
async def edit_feed(
    services: WithServices,
    feed_id: FeedId,
    body: Annotated[EditFeedBody, Depends(json_body(EditFeedBody))],
) -> Json[FeedResponse]:
    """Change the given fields of a feed.

    With another `url` it is fetched from there. Its id and the `sourceUrl` of its runs and postings
    stay, so that no posting counts as new. The URL of another feed is refused with 409.
    `intervalMinutes: null` means the default interval.
    """
    changes = given_fields(body)
    if "name" in changes:
        changes["name"] = _checked_name(changes["name"])
    try:
        return _found(await services.manage_feeds.edit(feed_id, **changes))
    except FeedExists as error:
        holder = await services.imports.feeds.find(error.feed_id)
        if holder is None:
            raise Refusal(409, f"{error}. Try again.") from error
        raise _exists(holder) from error


@routes.delete("/{feedId}", status_code=204, responses=described({}, 404))
async def remove_feed(services: WithServices, feed_id: FeedId) -> Response:
    """Remove a feed. Its runs and postings stay; a run in progress is cancelled."""
    if not await services.manage_feeds.remove(feed_id):
        raise Refusal(404, NO_SUCH_FEED)
    return Response(status_code=204)


@routes.post("/{feedId}/pause", responses=described({}, 404))
async def pause_feed(services: WithServices, feed_id: FeedId) -> Json[FeedResponse]:
    """Stop importing the feed on its schedule. It can still be imported on demand."""
    return _found(await services.manage_feeds.edit(feed_id, enabled=False))


@routes.post("/{feedId}/resume", responses=described({}, 404))
async def resume_feed(services: WithServices, feed_id: FeedId) -> Json[FeedResponse]:
    """Import the feed on its schedule again."""
    return _found(await services.manage_feeds.edit(feed_id, enabled=True))


def _refusal(judged: JudgedOutline) -> OpmlRefusal:
    outline = judged.outline
    return OpmlRefusal(url=outline.url[:2000], name=outline.name[:200], reason=judged.reason or "")


def _exists(feed: Feed) -> Refusal:
    return Refusal(
        409,
        f"This URL is a feed already: {feed.config.name!r}. "
        f"PATCH /api/feeds/{feed.feed_id} changes it.",
        kind=FeedExistsProblem,
        feed=feed_response(feed),
        feed_id=feed.feed_id,
    )


def _found(feed: Feed | None) -> Json[FeedResponse]:
    return Json(feed_response(found(feed, NO_SUCH_FEED)))


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise Refusal(422, "name: it is empty.")
    return name
