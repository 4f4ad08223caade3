"""/api/feeds: where postings come from."""

from __future__ import annotations

import asyncio
import unicodedata
from typing import Annotated

import msgspec
from fastapi import HTTPException, Path, Request
from starlette.responses import Response

from webloom.application.imports.manage_feeds import LONGEST_NAME
from webloom.bootstrap import Services
from webloom.domain.errors import FeedExists, FeedRefused, UrlRefused
from webloom.domain.feed import Feed
from webloom.entrypoints.api.answers import answer, problem
from webloom.entrypoints.api.asked import decode, refuse_unknown
from webloom.entrypoints.api.import_schemas import (
    AddFeedBody,
    EditFeedBody,
    FeedsAnswer,
    OpmlImported,
    OpmlRefusal,
    feed_answer,
)
from webloom.entrypoints.api.import_schemas import FeedExists as FeedExistsProblem
from webloom.parsing.opml import Outline, read_opml, write_opml

AT_ONCE = 100  # feeds of an OPML that are added together
MOST_REFUSALS = 100  # of an OPML that are shown; all are counted
NO_SUCH_FEED = "There is no such feed. GET /api/feeds lists those that there are."

FeedId = Annotated[str, Path(alias="feedId", max_length=100)]

_add_body = msgspec.json.Decoder(AddFeedBody)
_edit_body = msgspec.json.Decoder(EditFeedBody)


class FeedRoutes:
    def __init__(self, services: Services) -> None:
        self._store = services.imports
        self._manage = services.manage_feeds
        self._clock = services.clock

    async def add(self, request: Request) -> Response:
        """Add a feed. It is imported on its schedule; POST /api/import/run imports it now.

        A URL that is a feed already is answered with 409 and that feed.
        """
        body = decode(_add_body, await request.body())
        feed, is_new = await self._manage.add(
            body.url,
            None if body.name is None else _checked_name(body.name),
            format=body.format,
            interval_minutes=body.interval_minutes,
            enabled=body.enabled,
            mapping=body.mapping,
            close_missing=body.close_missing,
        )
        if not is_new:
            return _exists(feed)
        return answer(feed_answer(feed), 201, {"Location": f"/api/feeds/{feed.feed_id}"})

    async def listing(self, request: Request) -> Response:
        """All feeds, by name, each with its schedule and how its last run went."""
        refuse_unknown(request, set())
        feeds = await self._store.feeds.all()
        return answer(FeedsAnswer(data=[feed_answer(feed) for feed in feeds], total=len(feeds)))

    async def show(self, feed_id: FeedId) -> Response:
        """One feed."""
        return _found(await self._store.feeds.find(feed_id))

    async def edit(self, request: Request, feed_id: FeedId) -> Response:
        """Change what is given of a feed.

        With another `url` it is fetched from there. It stays the feed that it is: its id, and the
        `sourceUrl` of its runs and postings, so that none of them is new. A URL that is another
        feed's is answered with 409. `intervalMinutes: null` means the usual interval.
        """
        body = decode(_edit_body, await request.body())
        changes = {
            name: value
            for name in body.__struct_fields__
            if (value := getattr(body, name)) is not msgspec.UNSET
        }
        if "name" in changes:
            changes["name"] = _checked_name(changes["name"])
        try:
            return _found(await self._manage.edit(feed_id, **changes))
        except FeedExists as error:
            holder = await self._store.feeds.find(error.feed_id)
            return problem(409, f"{error}. Try again.") if holder is None else _exists(holder)

    async def pause(self, feed_id: FeedId) -> Response:
        """Stop importing the feed on its schedule. It can still be imported on demand."""
        return _found(await self._manage.edit(feed_id, enabled=False))

    async def resume(self, feed_id: FeedId) -> Response:
        """Import the feed on its schedule again."""
        return _found(await self._manage.edit(feed_id, enabled=True))

    async def remove(self, feed_id: FeedId) -> Response:
        """Remove a feed. Its runs and postings stay; a run that is under way is asked to end."""
        if await self._store.feeds.remove(feed_id):
            return Response(status_code=204)
        return problem(404, NO_SUCH_FEED)

    async def export_opml(self) -> Response:
        """All feeds as OPML, for any feed reader."""
        outlines = [
            Outline(each.config.fetch_url, each.config.name)
            for each in await self._store.feeds.all()
        ]
        return Response(
            write_opml(outlines, title="Feeds of Webloom", created=self._clock.now()),
            200,
            {"Content-Disposition": "attachment; filename=webloom-feeds.opml"},
            "text/x-opml; charset=utf-8",
        )

    async def import_opml(self, request: Request) -> Response:
        """Add every feed of an OPML document, at most 10,000. Those that are known stay as they
        are; one that is refused does not keep the others out."""
        outlines = await asyncio.to_thread(read_opml, await request.body())
        outcomes: list[bool | OpmlRefusal] = []
        for start in range(0, len(outlines), AT_ONCE):
            some = outlines[start : start + AT_ONCE]
            outcomes += await asyncio.gather(*(self._add(outline) for outline in some))
        refusals = [each for each in outcomes if isinstance(each, OpmlRefusal)]
        return answer(
            OpmlImported(
                added=outcomes.count(True),
                known=outcomes.count(False),
                refused=len(refusals),
                refusals=refusals[:MOST_REFUSALS],
            )
        )

    async def _add(self, outline: Outline) -> bool | OpmlRefusal:
        try:
            name = "".join(each for each in outline.name if not _is_control(each))
            _, is_new = await self._manage.add(outline.url, name[:LONGEST_NAME])
        except (UrlRefused, FeedRefused) as refused:
            return OpmlRefusal(url=outline.url[:2000], name=outline.name[:200], reason=str(refused))
        return is_new


def _exists(feed: Feed) -> Response:
    return problem(
        409,
        f"This URL is a feed already: {feed.config.name!r}. "
        f"PATCH /api/feeds/{feed.feed_id} changes it.",
        kind=FeedExistsProblem,
        feed=feed_answer(feed),
        feed_id=feed.feed_id,
    )


def _found(feed: Feed | None) -> Response:
    return problem(404, NO_SUCH_FEED) if feed is None else answer(feed_answer(feed))


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise HTTPException(422, "name: it is empty.")
    return name


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs")
