"""/api/watches: pages that are checked on a schedule."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Annotated, Any

import msgspec
from fastapi import Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from webloom.application.watch.check_targets import TargetChecks
from webloom.bootstrap import Services
from webloom.domain.errors import WatchRefused
from webloom.domain.watch import RunStatus, Watch
from webloom.entrypoints.api.answers import answer, problem
from webloom.entrypoints.api.asked import EMPTY_IS_NONE, decode, refuse_unknown
from webloom.entrypoints.api.atom_feed import CONTENT_TYPE, atom_feed
from webloom.entrypoints.api.watch_schemas import (
    READ_ONLY,
    AddWatchBody,
    EditWatchBody,
    JobRunsPage,
    ListRefusal,
    NoticesPage,
    WatchBusy,
    WatchesImported,
    WatchesPage,
    config_of,
    entry_of,
    job_run,
    notice_answer,
    watch_answer,
)
from webloom.parsing.watch_list import read_watch_list
from webloom.ports.page_store import ChangeFilter
from webloom.ports.watch_runs import RunFilter

MOST_REFUSALS = 100  # of a list that are shown; all are counted
ADDED_AT_ONCE = 100
NO_SUCH_WATCH = "There is no such watch. GET /api/watches lists those that there are."
NO_SUCH_RUN = "There is no such run. GET /api/watch/runs lists those that are kept."
FEED_ENTRIES = 100

WatchId = Annotated[str, Path(alias="jobId", max_length=200)]
WatchIds = Annotated[
    list[Annotated[str, Field(max_length=200)]] | None,
    Query(
        alias="jobId",
        max_length=200,
        description="Only those with these ids, on one page; one that is not there is left out",
    ),
]
Limit = Annotated[int, Query(ge=1, le=200)]
Cursor = Annotated[str | None, Query(max_length=500)]

_add_body = msgspec.json.Decoder(AddWatchBody)
_edit_body = msgspec.json.Decoder(EditWatchBody)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


class WatchRoutes:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._store = services.watches
        self._manage = services.manage_watches

    async def add(self, request: Request) -> Response:
        """Watch pages. The first check is due at once, the others on the schedule."""
        watch = await self._add(decode(_add_body, await request.body()))
        return answer(watch_answer(watch), 201, {"Location": f"/api/watches/{watch.watch_id}"})

    async def _add(self, body: AddWatchBody, checks: TargetChecks | None = None) -> Watch:
        given = config_of(body)
        urls, name = given.pop("urls"), given.pop("name")
        if body.url is not None:
            urls = [body.url, *urls]
        watch, _ = await self._manage.add(urls, name=name, checks=checks, **given)
        return watch

    async def import_list(self, request: Request) -> Response:
        """Add a watch for each entry of a list: URLs line by line, OPML, or JSON (an array of URLs,
        or of what POST /api/watches takes). One that is refused does not keep the others out."""
        entries = await asyncio.to_thread(read_watch_list, await request.body())
        refusals: list[ListRefusal] = []
        waiting, checks = iter(entries), self._manage.target_checks()
        while some := list(islice(waiting, ADDED_AT_ONCE)):
            outcomes = await asyncio.gather(*(self._refusal(each, checks) for each in some))
            refusals += [each for each in outcomes if each is not None]
        return answer(
            WatchesImported(
                added=len(entries) - len(refusals),
                refused=len(refusals),
                refusals=refusals[:MOST_REFUSALS],
            )
        )

    async def _refusal(self, entry: dict[str, Any], checks: TargetChecks) -> ListRefusal | None:
        """Why an entry of a list is not added; None: it is."""
        try:
            await self._add(entry_of(entry), checks)
        except (WatchRefused, msgspec.ValidationError) as error:
            return ListRefusal(entry=shown_entry(entry), reason=str(error))
        return None

    async def listing(
        self,
        request: Request,
        job_ids: WatchIds = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        """Watches by name, each with its schedule and how its last run went."""
        refuse_unknown(request, {"jobId", "limit", "cursor"})
        following = None
        if wanted := set(job_ids or ()) - {""}:
            found = await asyncio.gather(*(self._store.find_watch(each) for each in wanted))
            watches = [each for each in found if each is not None]
            watches.sort(key=lambda each: (each.config.name, each.watch_id))
        else:
            watches, following = await self._store.watches(limit=limit, cursor=cursor)
        return answer(
            WatchesPage(data=[watch_answer(each) for each in watches], next_cursor=following)
        )

    async def show(self, watch_id: WatchId) -> Response:
        """One watch."""
        return _found(await self._store.find_watch(watch_id))

    async def edit(self, request: Request, watch_id: WatchId) -> Response:
        """Change what is given of a watch; lists are replaced as a whole. What GET answers may be
        sent back: of what can't be changed nothing is, and targets keep what is not shown."""
        given = decode(_fields, await request.body())
        for name in READ_ONLY & given.keys():
            del given[name]
        changes = config_of(decode(_edit_body, msgspec.json.encode(given)))
        return _found(await self._manage.edit(watch_id, **changes))

    async def pause(self, watch_id: WatchId) -> Response:
        """Stop checking on the schedule. It can still be checked on demand."""
        return _found(await self._manage.edit(watch_id, enabled=False))

    async def resume(self, watch_id: WatchId) -> Response:
        """Check on the schedule again."""
        return _found(await self._manage.edit(watch_id, enabled=True))

    async def remove(
        self,
        request: Request,
        watch_id: WatchId,
        pages: Annotated[
            bool, Query(description="true: also all that is kept of its pages")
        ] = False,
    ) -> Response:
        """Remove a watch; its run ends, if there is one. What is kept of its pages stays, unless
        `pages=true`, which also removes what other programs have sent for this id."""
        refuse_unknown(request, {"pages"})
        found = await self._store.remove_watch(watch_id)
        if pages:
            await self._services.pages.forget_job(watch_id)
        return Response(status_code=204) if found or pages else problem(404, NO_SUCH_WATCH)

    async def run(self, watch_id: WatchId) -> Response:
        """Check its pages now."""
        started = await self._services.start_watch(watch_id, "manual")
        if started is None:
            return problem(404, NO_SUCH_WATCH)
        run = job_run(started.run)
        if not started.is_new:
            return problem(409, "This watch is being checked already.", kind=WatchBusy, run=run)
        return answer(run, 202, {"Location": f"/api/watch/runs/{run.run_id}"})

    async def runs(
        self,
        request: Request,
        job_id: Annotated[str | None, Query(alias="jobId", max_length=200)] = None,
        status: Annotated[RunStatus | None, EMPTY_IS_NONE, Query()] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        """Runs, the latest first."""
        refuse_unknown(request, {"jobId", "status", "limit", "cursor"})
        found, following = await self._services.watch_runs.runs(
            RunFilter(watch_id=job_id or None, status=status), limit=limit, cursor=cursor
        )
        return answer(JobRunsPage(data=[job_run(each) for each in found], next_cursor=following))

    async def show_run(
        self, run_id: Annotated[str, Path(alias="runId", max_length=300)]
    ) -> Response:
        """One run."""
        run = await self._services.watch_runs.find_run(run_id)
        return problem(404, NO_SUCH_RUN) if run is None else answer(job_run(run))

    async def notices(
        self, request: Request, watch_id: WatchId, limit: Limit = 50, cursor: Cursor = None
    ) -> Response:
        """What is or was to be told of a watch, the latest first."""
        refuse_unknown(request, {"limit", "cursor"})
        found, following = await self._services.notifications.of_watch(
            watch_id, limit=limit, cursor=cursor
        )
        if not found and await self._store.find_watch(watch_id) is None:
            return problem(404, NO_SUCH_WATCH)
        return answer(
            NoticesPage(data=[notice_answer(each) for each in found], next_cursor=following)
        )

    async def feed(self, request: Request, watch_id: WatchId) -> Response:
        """The latest changes of a watch, as an Atom feed."""
        watch = await self._store.find_watch(watch_id)
        if watch is None:
            return problem(404, NO_SUCH_WATCH)
        return await self._feed(request, watch)

    async def feed_of_all(self, request: Request) -> Response:
        """The latest changes of all watches, as an Atom feed."""
        return await self._feed(request, None)

    async def _feed(self, request: Request, watch: Watch | None) -> Response:
        chosen = ChangeFilter(job_id=None if watch is None else watch.watch_id)
        changes, _ = await self._services.pages.change_logs(chosen, limit=FEED_ENTRIES)
        names = {} if watch is None else {watch.watch_id: watch.config.name}
        for job_id in {each.job_id for each in changes} - names.keys():
            found = await self._store.find_watch(job_id)
            names[job_id] = job_id if found is None else found.config.name
        body = await asyncio.to_thread(
            atom_feed,
            changes,
            title="All changes" if watch is None else watch.config.name,
            self_url=str(request.url),
            watch_id=None if watch is None else watch.watch_id,
            names=names,
        )
        return Response(body, media_type=CONTENT_TYPE)


def shown_entry(entry: dict[str, Any]) -> str:
    """What a person knows an entry of a list by."""
    urls = entry.get("urls")
    first = urls[0] if isinstance(urls, list) and urls else None
    return str(entry.get("name") or entry.get("url") or first)[:200]


def _found(watch: Watch | None) -> Response:
    return problem(404, NO_SUCH_WATCH) if watch is None else answer(watch_answer(watch))
