"""/api/watches: pages that are checked on a schedule."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import msgspec
from fastapi import Depends, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from webloom.application.bulk_items import BulkOptions
from webloom.application.watch.bulk_watches import BulkWatches
from webloom.bootstrap.services import Services
from webloom.domain.listing import MOST_COUNTED
from webloom.domain.watch import RunStatus, Watch
from webloom.entrypoints.api.bulk import LIMITS, LINES, Choose, by_list, change_items
from webloom.entrypoints.api.exports import (
    READ_AT_ONCE,
    ExportQuery,
    as_file,
    columns,
    export_response,
)
from webloom.entrypoints.api.openapi import described, lines_of, router
from webloom.entrypoints.api.requests import (
    FEW_BULK_ACTIONS,
    Id,
    ListFilters,
    ListQuery,
    NoParameters,
    Paging,
    Parameters,
    WithServices,
    decode,
    json_body,
    raw_body,
)
from webloom.entrypoints.api.responses import Json, Refusal, found
from webloom.entrypoints.api.schemas import TagCount, TagsPage, counted, read_at
from webloom.entrypoints.api.watch_runs import atom_response
from webloom.entrypoints.api.watch_schemas import (
    READ_ONLY,
    AddWatchBody,
    BulkWatchesBody,
    EditWatchBody,
    JobRun,
    NotificationsPage,
    WatchBusy,
    WatchChoice,
    WatchesPage,
    WatchResponse,
    config_of,
    job_run,
    notification_response,
    page_filter,
    restored,
    schedule_of,
    watch_before,
    watch_response,
)
from webloom.entrypoints.watch_entries import add_watch as add

NO_SUCH_WATCH = "Watch not found. GET /api/watches lists all watches."

WatchId = Annotated[str, Path(alias="jobId", max_length=200)]

routes = router("/api/watches", "watches")
_edit_body = msgspec.json.Decoder(EditWatchBody)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_EDIT = Depends(raw_body({"application/json": EditWatchBody}))


class WatchesQuery(ListQuery):
    watch_id: list[Id] | None = Field(
        None,
        alias="jobId",
        max_length=200,
        description="Only those with these ids, on one page; unknown ids are ignored",
    )


class WatchesExport(ExportQuery, ListFilters):
    columns: str = columns(WatchResponse.__struct_encode_fields__)


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
    """List watches, each with its schedule and how its last run went."""
    following = None
    if wanted := set(query.watch_id or ()) - {""}:
        if query.cursor is not None:
            raise Refusal(422, "cursor: watches that are named by their ids are on one page.")
        each_found = await asyncio.gather(*(services.watches.find_watch(each) for each in wanted))
        watches = [each for each in each_found if each is not None]
        watches.sort(key=lambda each: (each.config.name, each.watch_id))
    else:
        watches, following = await services.watches.watches(
            query.chosen, limit=query.limit, cursor=query.cursor, order=query.order
        )
    data = await _responses(services, watches)
    total = await counted(
        data,
        (query.cursor, following),
        lambda: services.watches.count_chosen(query.chosen, most=MOST_COUNTED),
    )
    at = read_at(services.clock.now(), data)
    return Json(WatchesPage(at=at, data=data, next_cursor=following, **total))


@routes.get("/tags", dependencies=[NoParameters])
async def list_watch_tags(services: WithServices) -> Json[TagsPage]:
    """List the tags of watches, each with how many have it."""
    tags = msgspec.convert(await services.watches.tags(), list[TagCount], from_attributes=True)
    return Json(TagsPage(data=tags, next_cursor=None))


@routes.get("/export", responses=as_file())
async def export_watches(
    services: WithServices, query: Annotated[WatchesExport, Query()]
) -> Response:
    """Export watches as CSV or lines of JSON, in the order of `sort`."""

    async def read(cursor: str | None) -> tuple[list[WatchResponse], str | None]:
        watches, following = await services.watches.watches(
            query.chosen, limit=READ_AT_ONCE, cursor=cursor, order=query.order
        )
        return await _responses(services, watches), following

    return await export_response("watches", query, read, lambda each: each)


@routes.post(
    "/bulk", dependencies=[FEW_BULK_ACTIONS], responses=lines_of(*LINES) | described({}, 409)
)
async def change_watches(
    services: WithServices,
    body: Annotated[BulkWatchesBody, Depends(json_body(BulkWatchesBody, LIMITS))],
) -> Response:
    """Run, pause, resume, tag, untag, schedule or remove many watches, or restore what such an
    action has changed. The response is lines of JSON: progress (`BulkStep`) with what came of the
    items since the line before, and at the end what came of all (`BulkResult`). If the connection
    ends, the rest is not done. If the filter finds more than `atMost`, nothing is done: 409."""
    options = BulkOptions(
        tags=body.tags,
        schedule=schedule_of(body),
        with_pages=body.pages,
        before={each.id: restored(each) for each in body.items},
    )
    bulk = services.bulk_watches
    return await change_items(bulk, body, options, watch_before, _by_list_or_pages(bulk))


def _by_list_or_pages(bulk: BulkWatches) -> Choose:
    by_watches = by_list(bulk)

    async def choose(given: WatchChoice, at_most: float | None) -> list[str]:
        if given.pages is None:
            return await by_watches(given, at_most)
        if any(each is not None for each in (given.q, given.tag, given.state, given.before)):
            raise Refusal(422, "filter: pages does not go with q, tag, state or before.")
        return await bulk.chosen_by_pages(page_filter(given.pages), at_most)

    return choose


@routes.get("/{jobId}", responses=described({}, 404))
async def get_watch(services: WithServices, watch_id: WatchId) -> Json[WatchResponse]:
    """Get one watch."""
    return await _found(services, await services.watches.find_watch(watch_id))


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
    return await _found(services, await services.manage_watches.edit(watch_id, **changes))


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
    return await _found(services, await services.manage_watches.edit(watch_id, enabled=False))


@routes.post("/{jobId}/resume", responses=described({}, 404))
async def resume_watch(services: WithServices, watch_id: WatchId) -> Json[WatchResponse]:
    """Check on the schedule again."""
    return await _found(services, await services.manage_watches.edit(watch_id, enabled=True))


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
) -> Json[NotificationsPage]:
    """List the notifications of a watch, sent or pending, the latest first."""
    notifications, following = await services.notifications.of_watch(
        watch_id, limit=query.limit, cursor=query.cursor
    )
    if not notifications:
        found(await services.watches.find_watch(watch_id), NO_SUCH_WATCH)
    return Json(
        NotificationsPage(data=[*map(notification_response, notifications)], next_cursor=following)
    )


@routes.get("/{jobId}/feed.atom", responses=described({200: "application/atom+xml"}, 404))
async def get_watch_feed(request: Request, services: WithServices, watch_id: WatchId) -> Response:
    """Get the latest changes of a watch, as an Atom feed."""
    watch = found(await services.watches.find_watch(watch_id), NO_SUCH_WATCH)
    return await atom_response(request, services, watch)


async def _found(services: Services, watch: Watch | None) -> Json[WatchResponse]:
    [response] = await _responses(services, [found(watch, NO_SUCH_WATCH)])
    return Json(response)


async def _responses(services: Services, watches: Sequence[Watch]) -> list[WatchResponse]:
    """Each with the error of its last run, for which all together take one query."""
    failed = [each.last_run_id for each in watches if each.last_run_id and _has_failures(each)]
    errors = await services.watch_runs.first_failures(failed) if failed else {}
    return [watch_response(each, errors.get(each.last_run_id or "")) for each in watches]


def _has_failures(watch: Watch) -> bool:
    return watch.last_status in (RunStatus.PARTIAL, RunStatus.FAILED)
