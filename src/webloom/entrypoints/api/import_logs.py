"""/api/import-logs: the runs of all feeds, past and present."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated

from fastapi import HTTPException, Path, Query, Request
from starlette.responses import Response

from webloom.bootstrap import Services
from webloom.domain.import_run import RunStatus
from webloom.entrypoints.api.answers import answer, problem
from webloom.entrypoints.api.asked import (
    EMPTY_IS_NONE,
    instant,
    last_instant,
    refuse_nul,
    refuse_unknown,
)
from webloom.entrypoints.api.import_schemas import ImportLogsPage, import_log, import_log_detail
from webloom.entrypoints.api.imports import run_started
from webloom.entrypoints.api.live import EventStream, LiveRuns, moment_of
from webloom.parsing.web_url import normalise
from webloom.ports.import_runs import RunFilter

NO_SUCH_RUN = "There is no such run. GET /api/import-logs lists those that there are."

RunId = Annotated[str, Path(alias="runId", max_length=100)]


class ImportLogRoutes:
    def __init__(self, services: Services, live: LiveRuns) -> None:
        self._store = services.imports
        self._start = services.start_import
        self._live = live

    async def listing(
        self,
        request: Request,
        page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
        limit: Annotated[int, Query(ge=1, le=200)] = 20,
        status: Annotated[RunStatus | None, EMPTY_IS_NONE, Query()] = None,
        q: Annotated[
            str | None, Query(max_length=200, description="Part of the feed's name or URL")
        ] = None,
        from_: Annotated[
            datetime | date | None,
            EMPTY_IS_NONE,
            Query(alias="from", description="Started then or later"),
        ] = None,
        to: Annotated[
            datetime | date | None,
            EMPTY_IS_NONE,
            Query(description="Started then or earlier; a day counts whole"),
        ] = None,
        source_url: Annotated[
            str | None, Query(alias="sourceUrl", description="Any spelling of the feed's URL")
        ] = None,
    ) -> Response:
        """Runs, the latest first, without the records that failed."""
        refuse_unknown(request, {"page", "limit", "status", "q", "from", "to", "sourceUrl"})
        refuse_nul(request)
        chosen = RunFilter(
            status=status,
            text=q or None,
            source_url=normalise(source_url) if source_url else None,
            since=instant(from_),
            until=last_instant(request, "to", to),
        )
        found = await self._store.runs.page(chosen, offset=(page - 1) * limit, limit=limit)
        return answer(
            ImportLogsPage(
                data=[import_log(run) for run in found.runs],
                page=page,
                limit=limit,
                total=found.total,
                total_pages=-(-found.total // limit),
            )
        )

    async def show(self, run_id: RunId) -> Response:
        """One run, with the first 100 records that failed."""
        run = await self._store.runs.find(run_id)
        return problem(404, NO_SUCH_RUN) if run is None else answer(import_log_detail(run))

    async def retry(self, run_id: RunId) -> Response:
        """Import the run's feed again, whatever its server says of changes.

        What is stored already counts as unchanged, so that only what failed, or has changed since,
        is written.
        """
        run = await self._store.runs.find(run_id)
        if run is None:
            return problem(404, NO_SUCH_RUN)
        started = await self._start(run.feed_id, "retry", retry_of=run_id)
        if started is None:
            return problem(
                404, f"The feed {run.source_url} was removed. POST /api/feeds adds it again."
            )
        return run_started(started)

    async def cancel(self, run_id: RunId) -> Response:
        """Ask a running import to end. What it has stored stays."""
        run = await self._store.runs.cancel(run_id)
        if run is None:
            return problem(404, NO_SUCH_RUN)
        if run.status is not RunStatus.RUNNING:
            return problem(409, f"This run has ended already: it is {run.status}.")
        return answer(import_log(run), 202)

    async def stream(
        self,
        request: Request,
        last_event_id: Annotated[
            str | None,
            Query(alias="lastEventId", description="As the header Last-Event-ID, which wins"),
        ] = None,
    ) -> Response:
        """Server-Sent Events: an event `import_log` for each change of a run, with the run as the
        list has it.

        It begins with the runs that are running; or, after Last-Event-ID, with all that changed
        since. An event may come twice.
        """
        refuse_unknown(request, {"lastEventId"})
        given = request.headers.get("last-event-id") or last_event_id
        since = None
        if given:
            since = moment_of(given)
            if since is None:
                raise HTTPException(
                    422, f"Last-Event-ID: {given[:40]!r} is none. Take it from an event as it is."
                )
        if self._live.is_full:
            return problem(
                503, "There are too many listeners already. Try again.", {"Retry-After": "5"}
            )
        return EventStream(self._live.events(since))
