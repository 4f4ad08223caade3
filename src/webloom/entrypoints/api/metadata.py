"""/metadata: submit, look up, list, invalidate."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Literal
from urllib.parse import quote

import msgspec
from fastapi import Depends, Query, Request
from pydantic import Field, WithJsonSchema
from starlette.responses import Response

from webloom.application.inventory.look_up_url import Found, Waiting
from webloom.application.inventory.submit_url import Accepted, Answer, NoRoom, Refused
from webloom.bootstrap.services import Services
from webloom.domain.inventory import Record, RecordFilter, Status
from webloom.domain.listing import MOST_COUNTED
from webloom.entrypoints.api import formats
from webloom.entrypoints.api.admin_schemas import RecordCounts
from webloom.entrypoints.api.bulk import (
    LIMITS,
    LINES,
    bulk_response,
    one_of,
)
from webloom.entrypoints.api.context import Context
from webloom.entrypoints.api.exports import (
    READ_AT_ONCE,
    ExportQuery,
    as_file,
    columns,
    export_response,
)
from webloom.entrypoints.api.openapi import (
    DirectRoute,
    described,
    lines_of,
    or_text,
    router,
    takes,
)
from webloom.entrypoints.api.requests import (
    FEW_BULK_ACTIONS,
    BodyReader,
    InContext,
    Paging,
    Parameters,
    Since,
    TimeOrder,
    WithServices,
    Words,
    decode,
    instant,
    json_body,
    off_loop,
)
from webloom.entrypoints.api.responses import RETRY_WHEN_FULL, Json, Refusal
from webloom.entrypoints.api.schemas import (
    BatchResult,
    BulkRecordsBody,
    RecordChoice,
    RecordResponse,
    RecordsPage,
    SubmitBody,
    Submitted,
    counted,
    read_at,
    record_response,
)
from webloom.entrypoints.record_rows import COLUMNS, record_row
from webloom.parsing.json_limits import JsonLimits

MOST_IN_BATCH = 10_000
INERT = {
    "Content-Disposition": "attachment; filename=source.txt",
    "Content-Security-Policy": "default-src 'none'; form-action 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}

UNKNOWN = "This URL is not in the inventory."

BATCH = JsonLimits(values=3 * MOST_IN_BATCH, items=MOST_IN_BATCH, called="URLs")

_FILLED_LINE = re.compile(rb"[^\s][^\n]*+")
_body = msgspec.json.Decoder(SubmitBody)
_array = msgspec.json.Decoder(list[str | SubmitBody])
_line = msgspec.json.Decoder(str | SubmitBody)

routes = router("/metadata", "metadata")
hot_routes = router("/metadata", "metadata", DirectRoute)


class OneUrl(Parameters):
    url: Annotated[str, WithJsonSchema(formats.HTTP_URL)] = Field(
        description="Any spelling of the URL", examples=["https://example.com/"]
    )


class SourceQuery(OneUrl):
    submit: bool = Field(True, description="false: submit nothing; an unknown URL is 404")


class LookUpQuery(SourceQuery):
    source: bool = Field(True, description="false: without the page source")


class RecordFilters(TimeOrder):
    status: Status | None = None
    host: str | None = None
    q: Words = Field(None, description="Beginnings of words of the URL")
    since: Since | None = Field(None, alias="from", description="Created then or later")
    to: Since | None = Field(None, description="Created before")
    sort: Literal["createdAt", "-createdAt"] = Field(
        "-createdAt", description="createdAt: the oldest first"
    )


class RecordsQuery(Paging, RecordFilters):
    pass


class RecordsExport(ExportQuery, RecordFilters):
    columns: str = columns(COLUMNS)


@hot_routes.post(
    "",
    status_code=202,
    responses=described({}, 400, 413, 422),
    openapi_extra=takes(BodyReader({"application/json": SubmitBody})),
)
async def submit_url(request: Request) -> Json[Submitted]:
    """Submit a URL to be fetched.

    202 means that the request is durable. A URL that is queued or in progress is not queued again:
    the response has the id of the earlier request.
    """
    context: Context = request.app.state.context
    body = decode(_body, await request.body())
    return _waiting(await context.submit_url.one(body.url))


@hot_routes.post(
    "/batch",
    status_code=202,
    responses=or_text(list[BatchResult], "application/x-ndjson", 202)
    | described({}, 400, 413, 422),
    openapi_extra=takes(
        BodyReader({"application/json": formats.BATCH, "application/x-ndjson": formats.BATCH_URL})
    ),
)
async def submit_batch(request: Request) -> Response:
    """Submit up to 10,000 URLs, as a JSON array or one JSON value per line (NDJSON).

    There is one result for each URL, in order. URLs that the queue has no room for have
    `accepted: false`; send them again later.
    """
    context: Context = request.app.state.context
    content = await request.body()
    as_lines = "ndjson" in request.headers.get("content-type", "")
    items = await off_loop(_from_lines if as_lines else _from_array, content)
    urls = [item if isinstance(item, str) else item.url for item in items]
    outcomes = await context.submit_url.many(urls)
    headers = {}
    if any(isinstance(each, NoRoom) for each in outcomes):
        headers["Retry-After"] = str(RETRY_WHEN_FULL)
    bodies = [_batch_result(given, each) for given, each in zip(urls, outcomes, strict=True)]
    if as_lines:
        text = b"".join(msgspec.json.encode(body) + b"\n" for body in bodies)
        return Response(text, 202, headers, "application/x-ndjson")
    return Json(bodies, 202, headers)


@hot_routes.get("", responses=described({200: RecordResponse, 202: Submitted}, 404))
async def look_up_url(request: Request, query: Annotated[LookUpQuery, Query()]) -> Response:
    """Look up the record of a URL; `source=false` omits the page source.

    An unknown URL is submitted. A record older than the cache time is returned with `stale: true`,
    and fetched again in the background. `submit=false` does neither.
    """
    context: Context = request.app.state.context
    found = await context.look_up_url(
        query.url, with_source=query.source, only_look=not query.submit
    )
    return await _response(request, context, found, _record)


@routes.get("/source", responses=described({200: "text/plain", 202: Submitted}, 404))
async def get_page_source(
    request: Request, context: InContext, query: Annotated[SourceQuery, Query()]
) -> Response:
    """Get the page source alone, as plain text."""
    found = await context.look_up_url(query.url, with_source=True, only_look=not query.submit)
    return await _response(request, context, found, _source)


@routes.delete("", status_code=204, responses=described({}, 404))
async def invalidate_url(services: WithServices, query: Annotated[OneUrl, Query()]) -> Response:
    """Delete the record of a URL, so that the next look-up fetches it again.

    A request that is in progress still completes.
    """
    if not await services.invalidate_url(query.url):
        raise Refusal(404, UNKNOWN)
    return Response(status_code=204)


@hot_routes.get("/records")
async def list_records(
    request: Request, query: Annotated[RecordsQuery, Query()]
) -> Json[RecordsPage]:
    """List records, the newest first unless `sort` says otherwise, without their page sources."""
    services: Services = request.app.state.context.services
    page = await services.records.page_of_records(
        _record_filter(query),
        limit=query.limit,
        cursor=query.cursor,
        oldest_first=query.oldest_first,
        most_counted=MOST_COUNTED,
    )
    records = [record_response(record) for record in page.records]
    total = await counted(
        records,
        (query.cursor, page.next_cursor),
        lambda: services.records.count_chosen(_record_filter(query), most=MOST_COUNTED),
        page.total,
    )
    at = read_at(services.clock.now(), records)
    return Json(RecordsPage(at=at, data=records, next_cursor=page.next_cursor, **total))


@routes.get("/records/export", responses=as_file())
async def export_records(
    services: WithServices, query: Annotated[RecordsExport, Query()]
) -> Response:
    """Export records as CSV or lines of JSON, in the order of the list."""

    async def read(cursor: str | None) -> tuple[list[Record], str | None]:
        page = await services.records.page_of_records(
            _record_filter(query),
            limit=READ_AT_ONCE,
            cursor=cursor,
            oldest_first=query.oldest_first,
        )
        return page.records, page.next_cursor

    return await export_response("records", query, read, record_row)


@routes.post(
    "/bulk", dependencies=[FEW_BULK_ACTIONS], responses=lines_of(*LINES) | described({}, 409)
)
async def change_records(
    services: WithServices,
    body: Annotated[BulkRecordsBody, Depends(json_body(BulkRecordsBody, LIMITS))],
) -> Response:
    """Fetch many URLs again (`refetch`), or delete their records (`invalidate`). The response is as
    for POST /api/watches/bulk; the ids are URLs, and nothing can be undone."""
    one_of(body.urls, body.filter, "urls")
    act = services.bulk_records.act(body.action)
    if body.filter is None:
        return bulk_response(body.urls or (), act)
    before = body.filter.before and instant(body.filter.before)
    chosen = _record_filter(body.filter)
    ids = await services.bulk_records.chosen(chosen, body.at_most, before=before)
    return bulk_response(ids, act)


def _record_filter(given: RecordFilters | RecordChoice) -> RecordFilter:
    return RecordFilter(
        status=given.status,
        host=given.host and given.host.lower(),
        text=given.q or None,
        created_from=given.since and instant(given.since),
        created_to=given.to and instant(given.to),
    )


@routes.get("/counts")
async def count_records(context: InContext) -> Json[RecordCounts]:
    """Count the records in each state; a few seconds old."""
    return Json(await context.activity.record_counts())


async def _response(
    request: Request,
    context: Context,
    found: Found | Waiting | None,
    compose: Callable[[Found], Response],
) -> Response:
    """Large sources are read one at a time: each takes several times its size in memory."""
    if isinstance(found, Found) and found.large_source is not None:
        await request.state.response_share.take(found.large_source)
        async with context.reading_source:
            return _composed(await context.look_up_url.with_large_source(found), compose)
    return _composed(found, compose)


def _from_array(content: bytes) -> list[str | SubmitBody]:
    return decode(_array, content, BATCH)


def _from_lines(content: bytes) -> list[str | SubmitBody]:
    items: list[str | SubmitBody] = []
    for number, line in _numbered_lines(content):
        if len(items) == MOST_IN_BATCH:
            raise Refusal(422, f"The body has more than {MOST_IN_BATCH:,} URLs.")
        try:
            items.append(decode(_line, line))
        except Refusal as error:
            raise Refusal(error.status, f"Line {number:,}: {error.detail}") from error
    return items


def _numbered_lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, one at a time: there may be millions."""
    number, end = 1, 0
    for line in _FILLED_LINE.finditer(content):
        number += content.count(b"\n", end, line.start())
        end = line.start()
        yield number, line[0]


def _waiting(it: Accepted | Waiting) -> Json[Submitted]:
    return Json(
        Submitted(url=it.url, status=it.status, request_id=it.request_id),
        202,
        {"Location": f"/metadata?url={quote(it.url, safe='')}", "Retry-After": "1"},
    )


def _batch_result(given: str, it: Answer) -> BatchResult:
    match it:
        case Accepted():
            return BatchResult(
                url=it.url, accepted=True, status=it.status, request_id=it.request_id
            )
        case Refused():
            return BatchResult(url=given, accepted=False, error=it.reason)
        case NoRoom():
            return BatchResult(url=it.url, accepted=False, error="the queue is full")


def _composed(found: Found | Waiting | None, compose: Callable[[Found], Response]) -> Response:
    if found is None:
        raise Refusal(404, UNKNOWN)
    return _waiting(found) if isinstance(found, Waiting) else compose(found)


def _record(found: Found) -> Json[RecordResponse]:
    return Json(record_response(found.record, stale=found.stale))


def _source(found: Found) -> Response:
    text = found.record.metadata.page_source
    if text is None:
        raise Refusal(404, "No text was received from this URL.")
    return Response(text.encode(), 200, INERT, "text/plain; charset=utf-8")
