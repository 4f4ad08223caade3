"""/api/import/run: import now."""

from __future__ import annotations

import msgspec
from fastapi import Request
from starlette.responses import Response

from webloom.application.imports.start_import import Started
from webloom.bootstrap import Services
from webloom.entrypoints.api.answers import answer, problem
from webloom.entrypoints.api.asked import decode
from webloom.entrypoints.api.import_schemas import (
    AlreadyRunning,
    RunImportBody,
    RunsStarted,
    StartedRun,
)
from webloom.parsing.web_url import normalise

_body = msgspec.json.Decoder(RunImportBody)


class ImportRoutes:
    def __init__(self, services: Services) -> None:
        self._store = services.imports
        self._start = services.start_import

    async def run(self, request: Request) -> Response:
        """Import every enabled feed now, or the one with the URL that is given.

        A feed has one run at a time: one that is under way is answered as it is, with
        `alreadyRunning`. When there is nothing else to start, the answer is 409.
        """
        content = await request.body()
        source_url = decode(_body, content).source_url if content.strip() else None
        if source_url is None:
            started = [each for _, each in await self._start.all_enabled()]
        else:
            feed = await self._store.feeds.at_url(normalise(source_url))
            one = None if feed is None else await self._start(feed.feed_id, "manual")
            if one is None:
                return problem(
                    404,
                    "There is no feed with this URL. POST /api/feeds adds one, GET /api/feeds "
                    "lists those that there are.",
                )
            started = [one]
        if started and not any(each.is_new for each in started):
            return already_running(started)
        return answer(RunsStarted(runs=[_shown(each) for each in started]), 202)


def run_started(started: Started) -> Response:
    if not started.is_new:
        return already_running([started])
    return answer(
        RunsStarted(runs=[_shown(started)]),
        202,
        {"Location": f"/api/import-logs/{started.run.run_id}"},
    )


def already_running(started: list[Started]) -> Response:
    which = "This feed is" if len(started) == 1 else "All of these feeds are"
    return problem(
        409,
        f"{which} being imported already. GET /api/import-logs/{{runId}} shows how far a run is; "
        "POST /api/import-logs/{runId}/cancel ends it.",
        kind=AlreadyRunning,
        runs=[_shown(each) for each in started],
    )


def _shown(started: Started) -> StartedRun:
    run = started.run
    return StartedRun(
        run_id=run.run_id,
        source_url=run.source_url,
        source_name=run.source_name,
        status=run.status,
        already_running=not started.is_new,
    )
