"""/api/import/run and /api/import-logs: runs of feeds, past and present."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import msgspec
from fastapi import Depends, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from webloom.application.started import Started
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.entrypoints.api.bulk import (
    LIMITS,
    LINES,
    bulk_response,
    one_of,
)
from webloom.entrypoints.api.exports import (
    READ_AT_ONCE,
    ExportQuery,
    as_file,
    columns,
    export_response,
)
from webloom.entrypoints.api.import_schemas import (
    AlreadyRunning,
    BulkRunsBody,
    ImportLog,
    ImportLogDetail,
    ImportLogsPage,
    RunImportBody,
    RunsStarted,
    StartedRun,
    import_log,
    import_log_detail,
)
from webloom.entrypoints.api.live import stream
from webloom.entrypoints.api.live_runs import moment_of
from webloom.entrypoints.api.openapi import described, lines_of, router
from webloom.entrypoints.api.requests import (
    FEW_BULK_ACTIONS,
    Blank,
    InContext,
    Parameters,
    Since,
    TimeOrder,
    Until,
    UrlOrEmpty,
    WithServices,
    Words,
    decode,
    instant,
    json_body,
    raw_body,
)
from webloom.entrypoints.api.responses import Json, Refusal, found
from webloom.parsing.web_url import normalise
from webloom.ports.import_runs import RunFilter, RunPlace

NO_SUCH_RUN = "Run not found. GET /api/import-logs lists all runs."

RunId = Annotated[str, Path(alias="runId", max_length=100)]

routes = router("/api", "imports")
_body = msgspec.json.Decoder(RunImportBody)
_BODY = Depends(raw_body({"application/json": RunImportBody}, is_required=False))


class RunFilters(TimeOrder):
    status: Blank[RunStatus] = None
    q: Words = Field(None, description="Beginnings of words in the feed's name and URL")
    since: Blank[Since] = Field(None, alias="from", description="Started then or later")
    to: Blank[Until] = Field(None, description="Started then or earlier; a day counts whole")
    source_url: UrlOrEmpty = Field(
        None, alias="sourceUrl", description="Any spelling of the feed's URL"
    )
    sort: Literal["startedAt", "-startedAt"] = Field(
        "-startedAt", description="startedAt: the oldest first"
    )

    @property
    def chosen(self) -> RunFilter:
        """Raises UrlRefused."""
        return RunFilter(
            status=self.status,
            text=self.q or None,
            source_url=normalise(self.source_url) if self.source_url else None,
            since=self.since,
            until=self.to,
        )


class RunsQuery(RunFilters):
    page: int = Field(1, ge=1, le=1_000_000)
    limit: int = Field(20, ge=1, le=200)


class RunsExport(ExportQuery, RunFilters):
    columns: str = columns(ImportLog.__struct_encode_fields__)


class StreamQuery(Parameters):
    last_event_id: str | None = Field(
        None, alias="lastEventId", description="As the header Last-Event-ID, which wins"
    )


@routes.post("/import/run", status_code=202, responses=described({409: AlreadyRunning}, 404))
async def run_import(services: WithServices, content: Annotated[bytes, _BODY]) -> Json[RunsStarted]:
    """Import every enabled feed now, or the one with the given URL.

    A feed has one run at a time: one in progress is returned with `alreadyRunning`. If there is
    nothing else to start, the response is 409.
    """
    source_url = decode(_body, content).source_url if content.strip() else None
    if source_url is None:
        started = [each for _, each in await services.start_import.all_enabled()]
    else:
        feed = await services.imports.feeds.at_url(normalise(source_url))
        one = None if feed is None else await services.start_import(feed.feed_id, "manual")
        no_feed = "No feed has this URL. POST /api/feeds adds one, GET /api/feeds lists them."
        started = [found(one, no_feed)]
    _refuse_running(started)
    return Json(RunsStarted(runs=[_shown(each) for each in started]), 202)


@routes.get("/import-logs")
async def list_import_logs(
    services: WithServices, query: Annotated[RunsQuery, Query()]
) -> Json[ImportLogsPage]:
    """List runs, the latest first unless `sort` says otherwise, without the records that failed."""
    offset = (query.page - 1) * query.limit
    runs = await services.imports.listed_runs.page(
        query.chosen, offset=offset, limit=query.limit, oldest_first=query.oldest_first
    )
    return Json(
        ImportLogsPage(
            data=[import_log(run) for run in runs.runs],
            page=query.page,
            limit=query.limit,
            total=runs.total,
            total_pages=-(-runs.total // query.limit),
        )
    )


@routes.get("/import-logs/export", responses=as_file())
async def export_import_logs(
    services: WithServices, query: Annotated[RunsExport, Query()]
) -> Response:
    """Export runs as CSV or lines of JSON, in the order of the list. Runs that start meanwhile are
    not in it."""
    chosen = query.chosen
    chosen = replace(chosen, until=chosen.until or services.clock.now())

    async def read(place: RunPlace | None) -> tuple[list[ImportRun], RunPlace | None]:
        return await services.imports.listed_runs.scan(
            chosen, place, limit=READ_AT_ONCE, oldest_first=query.oldest_first
        )

    return await export_response("import-runs", query, read, import_log)


@routes.post(
    "/import-logs/bulk",
    dependencies=[FEW_BULK_ACTIONS],
    responses=lines_of(*LINES) | described({}, 409),
)
async def retry_imports(
    services: WithServices, body: Annotated[BulkRunsBody, Depends(json_body(BulkRunsBody, LIMITS))]
) -> Response:
    """Import the feeds of many runs again; of those that a filter finds, the latest run of each
    feed. A run that went wrong is skipped if its feed has been imported completely since. The
    response is as for POST /api/feeds/bulk, and nothing can be undone."""
    one_of(body.ids, body.filter, "ids")
    bulk = services.bulk_runs
    if body.filter is None:
        return bulk_response(body.ids or (), bulk.retry)
    wanted = body.filter
    chosen = RunFilter(
        status=wanted.status,
        text=wanted.q,
        source_url=normalise(wanted.source_url) if wanted.source_url else None,
        since=wanted.since and instant(wanted.since),
        until=wanted.to and instant(wanted.to),
    )
    return bulk_response(await bulk.chosen(chosen, body.at_most), bulk.retry)


@routes.get(
    "/import-logs/sse",
    operation_id="stream_import_logs_sse",
    summary="Stream Import Logs, the same at another path",
    responses=described({200: "text/event-stream"}),
)
@routes.get("/import-logs/stream", responses=described({200: "text/event-stream"}))
async def stream_import_logs(
    request: Request, context: InContext, query: Annotated[StreamQuery, Query()]
) -> Response:
    """Server-Sent Events: an event `import_log` for each change of a run, with the run as in the
    list.

    It begins with the running runs or, with Last-Event-ID, with all changes since then. An event
    may arrive twice.
    """
    given = request.headers.get("last-event-id") or query.last_event_id
    since = None
    if given:
        since = moment_of(given)
        if since is None:
            raise Refusal(
                422,
                f"Last-Event-ID: {given[:40]!r} is not one. Take it from an event as it is.",
            )
    return stream(context.live_runs, context.live_runs.events(since))


@routes.get("/import-logs/{runId}", responses=described({}, 404))
async def get_import_log(services: WithServices, run_id: RunId) -> Json[ImportLogDetail]:
    """Get one run, with the first 100 records that failed."""
    run = await services.imports.listed_runs.find(run_id)
    return Json(import_log_detail(found(run, NO_SUCH_RUN)))


@routes.post(
    "/import-logs/{runId}/retry", status_code=202, responses=described({409: AlreadyRunning}, 404)
)
async def retry_import(services: WithServices, run_id: RunId) -> Json[RunsStarted]:
    """Import the run's feed again, even if its server reports no change.

    What is stored already counts as unchanged: only records that failed, or have changed since, are
    written.
    """
    run = found(await services.imports.listed_runs.find(run_id), NO_SUCH_RUN)
    started = found(
        await services.start_import(run.feed_id, "retry", retry_of=run_id),
        f"The feed {run.source_url} was removed. POST /api/feeds adds it again.",
    )
    _refuse_running([started])
    location = {"Location": f"/api/import-logs/{started.run.run_id}"}
    return Json(RunsStarted(runs=[_shown(started)]), 202, location)


@routes.post("/import-logs/{runId}/cancel", status_code=202, responses=described({}, 404, 409))
async def cancel_import(services: WithServices, run_id: RunId) -> Json[ImportLog]:
    """Cancel a running import. What it has stored stays."""
    run = found(await services.cancel_import(run_id), NO_SUCH_RUN)
    if run.status is not RunStatus.RUNNING:
        raise Refusal(409, f"This run has ended already: it is {run.status}.")
    return Json(import_log(run), 202)


def _refuse_running(started: list[Started[ImportRun]]) -> None:
    """Raises Refusal if no run is new."""
    if not started or any(each.is_new for each in started):
        return
    which = "This feed is" if len(started) == 1 else "All of these feeds are"
    raise Refusal(
        409,
        f"{which} being imported already. GET /api/import-logs/{{runId}} shows how far a run is; "
        "POST /api/import-logs/{runId}/cancel ends it.",
        kind=AlreadyRunning,
        runs=[_shown(each) for each in started],
    )


def _shown(started: Started[ImportRun]) -> StartedRun:
    run = started.run
    return StartedRun(
        run_id=run.run_id,
        source_url=run.source_url,
        source_name=run.source_name,
        status=run.status,
        already_running=not started.is_new,
    )
