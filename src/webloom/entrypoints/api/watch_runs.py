"""/api/watch: runs of watches, changes as a feed, and events of other programs."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec
from fastapi import Depends, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from webloom.application.watch.publish_events import BadEvent
from webloom.bootstrap.services import Services
from webloom.domain.listing import MOST_COUNTED
from webloom.domain.watch import RunStatus, Watch, WatchRun
from webloom.entrypoints.api.atom_feed import CONTENT_TYPE, atom_feed
from webloom.entrypoints.api.exports import (
    READ_AT_ONCE,
    ExportQuery,
    as_file,
    columns,
    export_response,
)
from webloom.entrypoints.api.formats import EVENTS
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import (
    Blank,
    Id,
    Paging,
    TimeOrder,
    WithServices,
    decode,
    off_loop,
    raw_body,
)
from webloom.entrypoints.api.responses import RETRY_WHEN_FULL, Json, Refusal, found
from webloom.entrypoints.api.schemas import counted
from webloom.entrypoints.api.watch_page_schemas import EventsAccepted, EventsNotAccepted
from webloom.entrypoints.api.watch_schemas import JobRun, JobRunsPage, job_run
from webloom.parsing.json_limits import JsonLimits
from webloom.ports.page_history import ChangeFilter
from webloom.ports.watch_run_listing import RunFilter

NO_SUCH_RUN = "Run not found. GET /api/watch/runs lists all runs."
FEED_ENTRIES = 100
MOST_EVENTS = 1000
LIMITS = JsonLimits(values=1_000_000, items=MOST_EVENTS, called="events")

routes = router("/api/watch", "watch runs")


class _Message(msgspec.Struct):
    """Any object; the use case decodes it."""


_events = msgspec.json.Decoder(_Message | list[msgspec.Raw])
_EVENTS = Depends(raw_body({"application/json": EVENTS}))


class RunFilters(TimeOrder):
    watch_id: Id | None = Field(None, alias="jobId")
    status: Blank[RunStatus] = None
    sort: Literal["startedAt", "-startedAt"] = Field(
        "-startedAt", description="startedAt: the oldest first"
    )

    @property
    def chosen(self) -> RunFilter:
        return RunFilter(watch_id=self.watch_id or None, status=self.status)


class RunsQuery(Paging, RunFilters):
    pass


class RunsExport(ExportQuery, RunFilters):
    columns: str = columns(JobRun.__struct_encode_fields__)


@routes.get("/runs")
async def list_watch_runs(
    services: WithServices, query: Annotated[RunsQuery, Query()]
) -> Json[JobRunsPage]:
    """List runs of watches, the latest first unless `sort` says otherwise."""
    runs, following = await services.watch_run_listing.runs(
        query.chosen, limit=query.limit, cursor=query.cursor, oldest_first=query.oldest_first
    )
    total = await counted(
        runs,
        (query.cursor, following),
        lambda: services.watch_run_listing.count_chosen(query.chosen, most=MOST_COUNTED),
    )
    return Json(JobRunsPage(data=[*map(job_run, runs)], next_cursor=following, **total))


@routes.get("/runs/export", responses=as_file())  # before {runId}
async def export_watch_runs(
    services: WithServices, query: Annotated[RunsExport, Query()]
) -> Response:
    """Export runs of watches as CSV or lines of JSON, in the order of the list."""

    async def read(cursor: str | None) -> tuple[list[WatchRun], str | None]:
        return await services.watch_run_listing.runs(
            query.chosen, limit=READ_AT_ONCE, cursor=cursor, oldest_first=query.oldest_first
        )

    return await export_response("watch-runs", query, read, job_run)


@routes.get("/runs/{runId}", responses=described({}, 404))
async def get_watch_run(
    services: WithServices, run_id: Annotated[str, Path(alias="runId", max_length=300)]
) -> Json[JobRun]:
    """Get one run of a watch."""
    return Json(job_run(found(await services.watch_runs.find_run(run_id), NO_SUCH_RUN)))


@routes.get("/feed.atom", responses=described({200: "application/atom+xml"}))
async def get_feed_of_all_watches(request: Request, services: WithServices) -> Response:
    """Get the latest changes of all watches, as an Atom feed."""
    return await atom_response(request, services, None)


@routes.post("/events", status_code=202, responses=described({503: EventsNotAccepted}))
async def publish_events(
    services: WithServices, content: Annotated[bytes, _EVENTS]
) -> Json[EventsAccepted]:
    """Put one message, or an array of them, 1,000 at most, on the queue `storage-agent`.

    202 means that they are on the queue. An event that is sent twice is stored once. All are
    validated first: if one can't be stored, none is accepted. Events for pages that a watch checks
    itself are refused, unless it has `acceptsEvents`.
    """
    given = await off_loop(_decoded, content)
    events = [bytes(each) for each in given] if isinstance(given, list) else [content]
    try:
        not_accepted = await services.publish_events(events)
    except BadEvent as error:
        place = f"Event {error.index}: " if isinstance(given, list) else ""
        raise Refusal(422, f"{place}{error}.") from error
    accepted = len(events) - len(not_accepted)
    if not_accepted:
        raise Refusal(
            503,
            f"The queue is full: {accepted:,} of {len(events):,} events were accepted. "
            "Send the others again; notAccepted has their places.",
            {"Retry-After": str(RETRY_WHEN_FULL)},
            kind=EventsNotAccepted,
            accepted=accepted,
            not_accepted=not_accepted,
        )
    return Json(EventsAccepted(accepted=accepted), 202)


def _decoded(content: bytes) -> _Message | list[msgspec.Raw]:
    given: _Message | list[msgspec.Raw] = decode(_events, content, LIMITS)
    if given == []:
        raise Refusal(422, f"0 events; 1 to {MOST_EVENTS:,} is possible.")
    return given


async def atom_response(request: Request, services: Services, watch: Watch | None) -> Response:
    """Of one watch, or all."""
    chosen = ChangeFilter(watch_id=None if watch is None else watch.watch_id)
    changes, _ = await services.page_history.change_logs(chosen, limit=FEED_ENTRIES)
    names = await services.watches.names({each.watch_id for each in changes})
    body = await asyncio.to_thread(
        atom_feed,
        changes,
        title="All changes" if watch is None else watch.config.name,
        self_url=str(request.url),
        watch_id=None if watch is None else watch.watch_id,
        names=names,
    )
    return Response(body, media_type=CONTENT_TYPE)
