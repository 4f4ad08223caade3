"""/api/watches: pages that are checked on a schedule."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Annotated

import msgspec
from fastapi import Depends, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from webloom.domain.watch import Watch
from webloom.entrypoints.api.formats import WATCH_LIST
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import (
    Id,
    Paging,
    Parameters,
    WithServices,
    decode,
    json_body,
    raw_body,
)
from webloom.entrypoints.api.responses import Json, Refusal, found
from webloom.entrypoints.api.watch_runs import atom_response
from webloom.entrypoints.api.watch_schemas import (
    READ_ONLY,
    AddWatchBody,
    EditWatchBody,
    JobRun,
    ListRefusal,
    NoticesPage,
    WatchBusy,
    WatchesImported,
    WatchesPage,
    WatchResponse,
    config_of,
    job_run,
    notice_response,
    watch_response,
)
from webloom.entrypoints.watch_entries import add_entry
from webloom.entrypoints.watch_entries import add_watch as add
from webloom.parsing.watch_list import read_watch_list

MOST_REFUSALS = 100  # of a list that are shown; all are counted
ADDED_AT_ONCE = 100
NO_SUCH_WATCH = "There is no such watch. GET /api/watches lists them."

WatchId = Annotated[str, Path(alias="jobId", max_length=200)]

routes = router("/api/watches", "watches")
_edit_body = msgspec.json.Decoder(EditWatchBody)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_EDIT = Depends(raw_body({"application/json": EditWatchBody}))
_LIST = Depends(raw_body(WATCH_LIST))


class WatchesQuery(Paging):
    job_id: list[Id] | None = Field(
        None,
        alias="jobId",
        max_length=200,
        description="Only those with these ids, on one page; unknown ids are ignored",
    )


class RemoveQuery(Parameters):
    pages: bool = Field(False, description="true: also all that is kept of its pages")


@routes.post("", status_code=201)
async def add_watch(
    services: WithServices, body: Annotated[AddWatchBody, Depends(json_body(AddWatchBody))]
) -> Json[WatchResponse]:
    """Watch pages. The first check is due at once, the others on the schedule."""
    watch = await add(services.manage_watches, body)
    return Json(watch_response(watch), 201, {"Location": f"/api/watches/{watch.watch_id}"})


@routes.get("")
async def list_watches(
    services: WithServices, query: Annotated[WatchesQuery, Query()]
) -> Json[WatchesPage]:
    """List watches by name, each with its schedule and how its last run went."""
    following = None
    if wanted := set(query.job_id or ()) - {""}:
        each_found = await asyncio.gather(*(services.watches.find_watch(each) for each in wanted))
        watches = [each for each in each_found if each is not None]
        watches.sort(key=lambda each: (each.config.name, each.watch_id))
    else:
        watches, following = await services.watches.watches(limit=query.limit, cursor=query.cursor)
    return Json(WatchesPage(data=[*map(watch_response, watches)], next_cursor=following))


@routes.post("/import")
async def import_watches(
    request: Request, services: WithServices, content: Annotated[bytes, _LIST]
) -> Json[WatchesImported]:
    """Add a watch for each entry of a list: URLs line by line, OPML, or JSON (an array of URLs, or
    of what POST /api/watches takes). A refused entry does not affect the others."""
    is_json = request.headers.get("content-type", "").startswith("application/json")
    if is_json and not content.lstrip().startswith((b"[", b"{")):
        raise Refusal(422, "The body is not a list in JSON; send lines as text/plain.")
    entries = await asyncio.to_thread(read_watch_list, content)
    manage = services.manage_watches
    refusals: list[ListRefusal] = []
    waiting, checks = iter(entries), manage.target_checks()
    while some := list(islice(waiting, ADDED_AT_ONCE)):
        outcomes = await asyncio.gather(*(add_entry(manage, each, checks) for each in some))
        refusals += [each for each in outcomes if isinstance(each, ListRefusal)]
    return Json(
        WatchesImported(
            added=len(entries) - len(refusals),
            refused=len(refusals),
            refusals=refusals[:MOST_REFUSALS],
        )
    )


@routes.get("/{jobId}", responses=described({}, 404))
async def get_watch(services: WithServices, watch_id: WatchId) -> Json[WatchResponse]:
    """Get one watch."""
    return _found(await services.watches.find_watch(watch_id))


@routes.patch("/{jobId}", responses=described({}, 404))
async def edit_watch(
    services: WithServices, watch_id: WatchId, content: Annotated[bytes, _EDIT]
) -> Json[WatchResponse]:
    """Change the given fields of a watch; lists are replaced as a whole. The response of GET may be
    sent back: read-only fields are ignored, and targets keep their hidden secrets."""
    given = decode(_fields, content)
    for name in READ_ONLY & given.keys():
        del given[name]
    changes = config_of(decode(_edit_body, msgspec.json.encode(given)))
    return _found(await services.manage_watches.edit(watch_id, **changes))


@routes.delete("/{jobId}", status_code=204, responses=described({}, 404))
async def remove_watch(
    services: WithServices, watch_id: WatchId, query: Annotated[RemoveQuery, Query()]
) -> Response:
    """Remove a watch; its run ends, if there is one. What is kept of its pages stays, unless
    `pages=true`, which also removes what other programs have sent for this id."""
    is_found = await services.manage_watches.remove(watch_id, with_pages=query.pages)
    if not is_found and not query.pages:
        raise Refusal(404, NO_SUCH_WATCH)
    return Response(status_code=204)


@routes.post("/{jobId}/pause", responses=described({}, 404))
async def pause_watch(services: WithServices, watch_id: WatchId) -> Json[WatchResponse]:
    """Stop checking on the schedule. It can still be checked on demand."""
    return _found(await services.manage_watches.edit(watch_id, enabled=False))


@routes.post("/{jobId}/resume", responses=described({}, 404))
async def resume_watch(services: WithServices, watch_id: WatchId) -> Json[WatchResponse]:
    """Check on the schedule again."""
    return _found(await services.manage_watches.edit(watch_id, enabled=True))


@routes.post("/{jobId}/run", status_code=202, responses=described({409: WatchBusy}, 404))
async def run_watch(services: WithServices, watch_id: WatchId) -> Json[JobRun]:
    """Check its pages now."""
    started = found(await services.start_watch(watch_id, "manual"), NO_SUCH_WATCH)
    run = job_run(started.run)
    if not started.is_new:
        raise Refusal(409, "This watch is being checked already.", kind=WatchBusy, run=run)
    return Json(run, 202, {"Location": f"/api/watch/runs/{run.run_id}"})


@routes.get("/{jobId}/notices", responses=described({}, 404))
async def list_notices(
    services: WithServices, watch_id: WatchId, query: Annotated[Paging, Query()]
) -> Json[NoticesPage]:
    """List the notifications of a watch, sent or pending, the latest first."""
    notices, following = await services.notifications.of_watch(
        watch_id, limit=query.limit, cursor=query.cursor
    )
    if not notices:
        found(await services.watches.find_watch(watch_id), NO_SUCH_WATCH)
    return Json(NoticesPage(data=[*map(notice_response, notices)], next_cursor=following))


@routes.get("/{jobId}/feed.atom", responses=described({200: "application/atom+xml"}, 404))
async def get_watch_feed(request: Request, services: WithServices, watch_id: WatchId) -> Response:
    """Get the latest changes of a watch, as an Atom feed."""
    watch = found(await services.watches.find_watch(watch_id), NO_SUCH_WATCH)
    return await atom_response(request, services, watch)


def _found(watch: Watch | None) -> Json[WatchResponse]:
    return Json(watch_response(found(watch, NO_SUCH_WATCH)))
