"""/api/watches/import: watches from a list of pages, or from a backup of changedetection.io."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Query, Request
from pydantic import Field
from starlette.responses import Response

from webloom.application.watch.import_watches import Imported, ImportWatches
from webloom.domain.errors import WebloomError
from webloom.entrypoints.api.bulk import NDJSON, BulkProgress, as_lines
from webloom.entrypoints.api.formats import WATCH_LIST
from webloom.entrypoints.api.openapi import lines_of, or_text, router
from webloom.entrypoints.api.previews import while_connected
from webloom.entrypoints.api.requests import NoParameters, Parameters, WithServices, raw_body
from webloom.entrypoints.api.responses import Json, Refusal, known_problem
from webloom.entrypoints.api.watch_import_schemas import (
    ImportStopped,
    WatchesImported,
    WatchListPreview,
    imported_response,
)
from webloom.entrypoints.watch_entries import Candidates, read_list
from webloom.entrypoints.watch_list_preview import preview_list
from webloom.parsing.changedetection.backup import BEGINNING
from webloom.parsing.watch_list import WatchList

PREVIEW_SECONDS = 60.0

routes = router("/api/watches", "watches")
_BODY = Depends(raw_body(WATCH_LIST))
_LINES = lines_of(BulkProgress, WatchesImported, ImportStopped)


class ImportQuery(Parameters):
    skip_known: bool = Field(
        False,
        alias="skipKnown",
        description="true: leave out entries whose pages are watched already, or come earlier in "
        "the list",
    )
    progress: bool = Field(False, description="true: respond with lines of JSON while it continues")


@routes.post("/import", responses=_LINES | or_text(WatchesImported, NDJSON))
async def import_watches(
    request: Request,
    services: WithServices,
    content: Annotated[bytes, _BODY],
    query: Annotated[ImportQuery, Query()],
) -> Response:
    """Add a watch for each entry of a list: addresses line by line, OPML, JSON (an array of URLs,
    or of what POST /api/watches takes), or a backup of changedetection.io. A refused entry does not
    affect the others.

    With `progress=true` the response is lines of JSON: progress (`BulkProgress`), and at the end
    the results (`WatchesImported`), or why the import could not continue (`ImportStopped`). If the
    connection ends, the rest is not done."""
    entries = await _read(request, content)
    if query.progress:
        return as_lines(_lines(services.import_watches, entries, query.skip_known))
    so_far, candidates = Imported(total=len(entries)), Candidates(entries)
    importing = services.import_watches(candidates, so_far, skip_known=query.skip_known)
    async for _ in importing:
        pass
    return Json(imported_response(so_far))


@routes.post("/import/preview", dependencies=[NoParameters])
async def preview_watch_list(
    request: Request, services: WithServices, content: Annotated[bytes, _BODY]
) -> Json[WatchListPreview]:
    """Show what importing a list would do: which of its pages are new, watched already or refused,
    and what of a backup can't be carried over. Nothing is fetched or stored."""
    entries = await _read(request, content)
    try:
        async with asyncio.timeout(PREVIEW_SECONDS):
            making = preview_list(services.import_watches, entries)
            return Json(await while_connected(request.receive, making))
    except TimeoutError:
        raise Refusal(
            422, f"The list takes more than {PREVIEW_SECONDS:.0f} s to check: split it."
        ) from None


async def _read(request: Request, content: bytes) -> WatchList:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "application/zip" and not content.startswith(BEGINNING):
        raise Refusal(422, "The body is not a zip archive; send lines as text/plain.")
    if media_type == "application/json" and not content.lstrip().startswith((b"[", b"{")):
        raise Refusal(422, "The body is not a list in JSON; send lines as text/plain.")
    return await asyncio.to_thread(read_list, content)


async def _lines(
    importing: ImportWatches, entries: WatchList, skip_known: bool
) -> AsyncIterator[object]:
    so_far, candidates = Imported(total=len(entries)), Candidates(entries)
    try:
        async for _ in importing(candidates, so_far, skip_known=skip_known):
            yield BulkProgress(done=so_far.done, total=so_far.total)
    except WebloomError as error:
        _, detail, _ = known_problem(error)
        yield ImportStopped(done=so_far.done, total=so_far.total, detail=detail)
    else:
        yield imported_response(so_far)
