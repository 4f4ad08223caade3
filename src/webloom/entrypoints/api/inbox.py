"""/api/changes: the inbox, one list of changes across all watches."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Depends, Query
from pydantic import Field

from webloom.application.inbox.decide_entries import MOST_DECIDED
from webloom.domain.inbox import Decision, InboxState
from webloom.domain.listing import MOST_COUNTED, Count
from webloom.entrypoints.api.inbox_schemas import (
    DecideBody,
    Decided,
    EntriesPage,
    InboxCounts,
    MuteBody,
    MutedPages,
    PageMuting,
    entry_response,
    muted_page_response,
)
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import (
    Blank,
    Id,
    NoParameters,
    Paging,
    WithServices,
    instant,
    json_body,
)
from webloom.entrypoints.api.responses import Json, Refusal, found
from webloom.entrypoints.api.schemas import counted
from webloom.parsing.json_limits import JsonLimits
from webloom.ports.inbox import InboxFilter

NO_SUCH_PAGE = "Page not found. GET /api/watch/pages lists all pages."
LIMITS = JsonLimits(values=5 * MOST_DECIDED, items=MOST_DECIDED, called="ids", items_level=2)

routes = router("/api/changes", "inbox")


class EntriesQuery(Paging):
    state: Blank[InboxState] = Field(None, description="Only those in this state")
    watch_id: Id | None = Field(None, alias="jobId")

    @property
    def chosen(self) -> InboxFilter:
        return InboxFilter(state=self.state, watch_id=self.watch_id or None)


@routes.get("")
async def list_inbox(
    services: WithServices, query: Annotated[EntriesQuery, Query()]
) -> Json[EntriesPage]:
    """List the changes of all watches, or of one, the latest first. Unread ones are in the order in
    which they changed or came back. A page of others may be short: go on while `nextCursor` is
    given."""
    now = services.clock.now()
    entries, following = await services.inbox.entries(
        query.chosen, now=now, limit=query.limit, cursor=query.cursor
    )
    names = await services.watches.names({each.change.watch_id for each in entries})
    data = [
        entry_response(each, names.get(each.change.watch_id, each.change.watch_id))
        for each in entries
    ]
    total = await counted(
        data,
        (query.cursor, following),
        lambda: services.inbox.count(query.chosen, now=now, most=MOST_COUNTED),
    )
    return Json(EntriesPage(data=data, next_cursor=following, **total))


@routes.get("/counts", dependencies=[NoParameters])
async def count_inbox(services: WithServices) -> Json[InboxCounts]:
    """Count the changes that wait, and those that nobody has read in time."""
    now = services.clock.now()

    async def count(state: InboxState) -> Count:
        chosen = InboxFilter(state=state)
        return await services.inbox.count(chosen, now=now, most=MOST_COUNTED)

    unread, snoozed, went_unread = await asyncio.gather(
        count(InboxState.UNREAD), count(InboxState.SNOOZED), services.inbox.went_unread(now=now)
    )
    return Json(
        InboxCounts(
            unread=unread.number,
            unread_is_exact=unread.is_exact,
            snoozed=snoozed.number,
            snoozed_is_exact=snoozed.is_exact,
            went_unread=went_unread,
        )
    )


@routes.post("/state")
async def decide_changes(
    services: WithServices, body: Annotated[DecideBody, Depends(json_body(DecideBody, LIMITS))]
) -> Json[Decided]:
    """Mark changes as done or unread, or snooze them: for everyone who uses this installation. The
    same request again changes nothing."""
    state = InboxState(body.state)
    if (state is InboxState.SNOOZED) != (body.until is not None):
        raise Refusal(422, "until: say until when with the state snoozed, and with no other.")
    until = None if body.until is None else instant(body.until)
    unknown = await services.decide_entries(body.ids, Decision(state=state, until=until))
    return Json(Decided(found=len({*body.ids}) - len(unknown), not_found=unknown))


@routes.get("/muted")
async def list_muted_pages(
    services: WithServices, query: Annotated[Paging, Query()]
) -> Json[MutedPages]:
    """List the pages that are muted."""
    pages, following = await services.inbox.muted_pages(limit=query.limit, cursor=query.cursor)
    return Json(MutedPages(data=[*map(muted_page_response, pages)], next_cursor=following))


@routes.post("/mute", responses=described({}, 404))
async def mute_page(
    services: WithServices, body: Annotated[MuteBody, Depends(json_body(MuteBody))]
) -> Json[PageMuting]:
    """Mute a page, or with `isMuted` false unmute it. Changes of a muted page that are found from
    now on have the state `muted`; those that are there stay as they are."""
    url = found(
        await services.mute_page(body.watch_id, body.url, is_muted=body.is_muted), NO_SUCH_PAGE
    )
    return Json(PageMuting(watch_id=body.watch_id, url=url, is_muted=body.is_muted))
