"""/api/feeds: where postings come from."""

from __future__ import annotations

import asyncio
import unicodedata
from typing import Annotated

import msgspec
from fastapi import Depends, Path
from starlette.responses import Response

from webloom.application.imports.manage_feeds import LONGEST_NAME, ManageFeeds
from webloom.domain.errors import FeedExists, FeedRefused, UrlRefused
from webloom.domain.feed import Feed
from webloom.entrypoints.api.formats import OPML
from webloom.entrypoints.api.import_schemas import (
    AddFeedBody,
    EditFeedBody,
    FeedResponse,
    FeedsPage,
    OpmlImported,
    OpmlRefusal,
    feed_response,
)
from webloom.entrypoints.api.import_schemas import FeedExists as FeedExistsProblem
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import NoParameters, WithServices, json_body, raw_body
from webloom.entrypoints.api.responses import Json, Refusal, found
from webloom.parsing.opml import Outline, read_opml, write_opml

AT_ONCE = 100  # feeds of an OPML that are added together
MOST_REFUSALS = 100  # of an OPML that are shown; all are counted
NO_SUCH_FEED = "There is no such feed. GET /api/feeds lists them."

FeedId = Annotated[str, Path(alias="feedId", max_length=100)]

routes = router("/api/feeds", "feeds")


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
    )
    if not is_new:
        raise _exists(feed)
    return Json(feed_response(feed), 201, {"Location": f"/api/feeds/{feed.feed_id}"})


@routes.get("", dependencies=[NoParameters])
async def list_feeds(services: WithServices) -> Json[FeedsPage]:
    """List all feeds, by name, each with its schedule and how its last run went."""
    feeds = [feed_response(feed) for feed in await services.imports.feeds.all()]
    return Json(FeedsPage(data=feeds, next_cursor=None, total=len(feeds)))


@routes.get("/opml", responses=described({200: "text/x-opml"}))  # before {feedId}
async def export_opml(services: WithServices) -> Response:
    """Export all feeds as OPML, for any feed reader."""
    outlines = [
        Outline(each.config.fetch_url, each.config.name)
        for each in await services.imports.feeds.all()
    ]
    return Response(
        write_opml(outlines, title="Feeds of Webloom", created=services.clock.now()),
        200,
        {"Content-Disposition": "attachment; filename=webloom-feeds.opml"},
        "text/x-opml; charset=utf-8",
    )


@routes.post("/opml")
async def import_opml(
    services: WithServices, content: Annotated[bytes, Depends(raw_body({"text/x-opml": OPML}))]
) -> Json[OpmlImported]:
    """Add every feed of an OPML document, at most 10,000. Known feeds stay as they are; a refused
    one does not affect the others."""
    outlines = await asyncio.to_thread(read_opml, content)
    outcomes: list[bool | OpmlRefusal] = []
    for start in range(0, len(outlines), AT_ONCE):
        some = outlines[start : start + AT_ONCE]
        outcomes += await asyncio.gather(*(_add(services.manage_feeds, each) for each in some))
    refusals = [each for each in outcomes if isinstance(each, OpmlRefusal)]
    return Json(
        OpmlImported(
            added=outcomes.count(True),
            known=outcomes.count(False),
            refused=len(refusals),
            refusals=refusals[:MOST_REFUSALS],
        )
    )


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
    changes = {
        name: value
        for name in body.__struct_fields__
        if (value := getattr(body, name)) is not msgspec.UNSET
    }
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


async def _add(manage_feeds: ManageFeeds, outline: Outline) -> bool | OpmlRefusal:
    try:
        name = "".join(each for each in outline.name if not _is_control(each))
        _, is_new = await manage_feeds.add(outline.url, name[:LONGEST_NAME])
    except (UrlRefused, FeedRefused) as refused:
        return OpmlRefusal(url=outline.url[:2000], name=outline.name[:200], reason=str(refused))
    return is_new


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


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs")
