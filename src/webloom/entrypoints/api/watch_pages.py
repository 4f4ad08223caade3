"""/api/watch/pages and /api/watch/storage: what is kept of watched pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Path, Query
from pydantic import Field, WithJsonSchema
from starlette.responses import Response, StreamingResponse

from webloom.bootstrap.services import Services
from webloom.diffs.forms import side_by_side_lines, unified_lines
from webloom.diffs.pages import PageDiff, whole_page_diff
from webloom.diffs.shown import text_of
from webloom.domain.errors import UrlRefused
from webloom.domain.listing import MOST_COUNTED
from webloom.domain.price_history import PriceRecord
from webloom.domain.storage_event import moment_of
from webloom.domain.watch import Outcome
from webloom.entrypoints.api.exports import (
    READ_AT_ONCE,
    ExportQuery,
    as_file,
    columns,
    export_response,
)
from webloom.entrypoints.api.formats import HTTP_URL
from webloom.entrypoints.api.openapi import described, or_text, router
from webloom.entrypoints.api.requests import (
    Blank,
    Id,
    InContext,
    Paging,
    Parameters,
    TimeOrder,
    WithServices,
    Words,
)
from webloom.entrypoints.api.responses import Json, Refusal
from webloom.entrypoints.api.schemas import counted
from webloom.entrypoints.api.watch_page_schemas import (
    BothVersions,
    ChangesPage,
    PageResponse,
    PagesPage,
    PriceCurveResponse,
    PricesPage,
    StorageResponse,
    VersionDetail,
    VersionDiff,
    VersionsPage,
    change_response,
    page_detail,
    page_response,
    price_curve_response,
    price_response,
    price_statistics,
    storage_response,
    version_response,
)
from webloom.entrypoints.csv_rows import csv_rows
from webloom.parsing.pages.page import ParsedPage
from webloom.parsing.web_url import normalise
from webloom.ports.page_history import ChangeFilter
from webloom.ports.pages import PageFilter, StoredPage

NO_SUCH_VERSION = "Version not found. GET /api/watch/pages/versions lists those that are kept."
PRICES_AT_ONCE = 200
CURVE_POINTS = 600  # more than a chart has room for
DIFF_WIDTH = 160
MOST_LINES = 20_000  # of a diff that is text

LAST_VERSION = 2**53
# Untrusted text, which no browser must render as HTML.
UNTRUSTED = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox"}

Milliseconds = Annotated[int, Field(ge=0, le=253_402_300_799_999)]
VersionNumber = Annotated[int, Field(ge=1, le=LAST_VERSION)]
Url = Annotated[str, Field(max_length=8192), WithJsonSchema(HTTP_URL | {"maxLength": 8192})]

routes = router("/api/watch", "watched pages")


class PageQuery(Parameters):
    watch_id: Id = Field(alias="jobId")
    url: Url = Field(description="Percent-encoded")


class PageFilters(TimeOrder):
    watch_id: Id | None = Field(None, alias="jobId")
    url: Url | None = None
    q: Words = Field(None, description="Beginnings of words in the URL and the title")
    type: str | None = Field(None, max_length=40, description="Of the classification")
    outcome: Blank[Outcome] = None
    changed_since: Blank[Milliseconds] = Field(
        None, alias="changedSince", description="Milliseconds since 1970"
    )
    sort: Literal["lastUpdated", "-lastUpdated"] = Field(
        "-lastUpdated", description="lastUpdated: the earliest first, before it those without one"
    )

    @property
    def chosen(self) -> PageFilter:
        return PageFilter(
            watch_id=self.watch_id or None,
            url=self.url or None,
            text=self.q or None,
            type=self.type or None,
            outcome=self.outcome,
            changed_since=self.changed_since,
        )


class PagesQuery(Paging, PageFilters):
    pass


class PagesExport(ExportQuery, PageFilters):
    columns: str = columns(
        PageResponse.__struct_encode_fields__, "text", "metadata", "images", "links"
    )


class VersionsQuery(PageQuery):
    limit: int = Field(50, ge=1, le=200, description="Items on a page")
    cursor: Blank[VersionNumber] = Field(None, description="`nextCursor` of the page before")


class DiffQuery(PageQuery):
    old: VersionNumber = Field(alias="from", description="A version")
    new: VersionNumber = Field(alias="to", description="A version")
    form: Literal["json", "unified", "side-by-side"] = "json"


class ChangesQuery(Paging):
    watch_id: Id | None = Field(None, alias="jobId")
    url: Url | None = None
    run_id: str | None = Field(None, alias="runId", max_length=300)


class PricesQuery(Paging, PageQuery):
    form: Literal["json", "csv"] = Field("json", alias="format")


class CurveQuery(PageQuery):
    since: Blank[Milliseconds] = Field(None, description="Milliseconds since 1970")


@routes.get("/pages")
async def list_pages(
    services: WithServices, query: Annotated[PagesQuery, Query()]
) -> Json[PagesPage]:
    """List pages, the latest updated first unless `sort` says otherwise. With `jobId` and `url`:
    that one, with its content."""
    if query.watch_id and query.url and query.cursor is None:
        url = await _known_url(services, query.watch_id, query.url)
        page = await services.pages.find_page(query.watch_id, url)
        found = [] if page is None else [page_detail(page)]
        return Json(PagesPage(data=found, next_cursor=None, total=len(found), total_is_exact=True))
    pages, following = await services.pages.list_pages(
        query.chosen,
        limit=query.limit,
        cursor=query.cursor,
        oldest_first=query.oldest_first,
    )
    data = [*map(page_response, pages)]
    total = await counted(
        data,
        (query.cursor, following),
        lambda: services.pages.count_chosen(query.chosen, most=MOST_COUNTED),
    )
    return Json(PagesPage(data=data, next_cursor=following, **total))


@routes.get("/pages/export", responses=as_file())
async def export_pages(services: WithServices, query: Annotated[PagesExport, Query()]) -> Response:
    """Export pages as CSV or lines of JSON, in the order of the list, without their content."""

    async def read(cursor: str | None) -> tuple[list[StoredPage], str | None]:
        return await services.pages.list_pages(
            query.chosen, limit=READ_AT_ONCE, cursor=cursor, oldest_first=query.oldest_first
        )

    return await export_response("pages", query, read, page_response)


@routes.get("/pages/versions")
async def list_versions(
    services: WithServices, query: Annotated[VersionsQuery, Query()]
) -> Json[VersionsPage]:
    """List the versions of a page, the newest first."""
    url = await _known_url(services, query.watch_id, query.url)
    found = await services.page_history.versions(
        query.watch_id, url, limit=query.limit, before=query.cursor
    )
    following = str(found[-1].version) if len(found) == query.limit else None
    return Json(VersionsPage(data=[*map(version_response, found)], next_cursor=following))


@routes.get("/pages/versions/{version}", responses=described({}, 404))
async def get_version(
    services: WithServices,
    version: Annotated[int, Path(ge=1, le=LAST_VERSION)],
    query: Annotated[PageQuery, Query()],
) -> Json[VersionDetail]:
    """Get one version, with its content."""
    url = await _known_url(services, query.watch_id, query.url)
    parsed = await services.page_history.parsed(query.watch_id, url, version)
    found = await services.page_history.versions(query.watch_id, url, limit=1, before=version + 1)
    if parsed is None or not found or found[0].version != version:
        raise Refusal(404, NO_SUCH_VERSION)
    fields = msgspec.structs.asdict(version_response(found[0]))
    return Json(VersionDetail(**fields, parsed=parsed))


@routes.get("/pages/diff", responses=or_text(VersionDiff, "text/plain") | described({}, 404))
async def compare_versions(context: InContext, query: Annotated[DiffQuery, Query()]) -> Response:
    """Compare two versions of a page."""
    services = context.services
    url = await _known_url(services, query.watch_id, query.url)
    old, new = await asyncio.gather(
        *(
            services.page_history.parsed(query.watch_id, url, each)
            for each in (query.old, query.new)
        )
    )
    if old is None or new is None:
        raise Refusal(404, NO_SUCH_VERSION)
    async with context.diffing:
        diff = await asyncio.to_thread(whole_page_diff, _page(old), _page(new))
        if query.form == "json":
            both = BothVersions(previous=query.old, current=query.new)
            return Json(VersionDiff(watch_id=query.watch_id, url=url, version=both, diff=diff))
        text = await asyncio.to_thread(_shown, diff, query)
    return Response(text, 200, UNTRUSTED, "text/plain; charset=utf-8")


@routes.get("/pages/changes")
async def list_changes(
    services: WithServices, query: Annotated[ChangesQuery, Query()]
) -> Json[ChangesPage]:
    """List change logs, the latest first: of a page, a watch, a run, or all."""
    chosen = ChangeFilter(
        watch_id=query.watch_id or None, url=query.url or None, run_id=query.run_id or None
    )
    found, following = await services.page_history.change_logs(
        chosen, limit=query.limit, cursor=query.cursor
    )
    return Json(ChangesPage(data=[*map(change_response, found)], next_cursor=following))


@routes.get("/pages/prices", responses=or_text(PricesPage, "text/csv"))
async def list_prices(services: WithServices, query: Annotated[PricesQuery, Query()]) -> Response:
    """List the prices of a page, the latest first; as CSV all of them."""
    watch_id, url = query.watch_id, await _known_url(services, query.watch_id, query.url)
    if query.form == "csv":
        rows = _csv(services, watch_id, url)
        headers = {"Content-Disposition": "attachment; filename=prices.csv"}
        return StreamingResponse(rows, 200, headers, "text/csv; charset=utf-8")
    found, following = await services.page_history.prices(
        watch_id, url, limit=query.limit, cursor=query.cursor
    )
    summary = None
    if query.cursor is None:
        now = services.clock.now()
        summary = await services.page_history.price_summary(watch_id, url, now=now)
    return Json(
        PricesPage(
            data=[*map(price_response, found)],
            summary=None if summary is None else price_statistics(summary),
            next_cursor=following,
        )
    )


@routes.get("/pages/prices/curve")
async def get_price_curve(
    services: WithServices, query: Annotated[CurveQuery, Query()]
) -> Json[PriceCurveResponse]:
    """Get the price of a page over time: its changes, at most 600.

    If there are more changes, the lowest, highest and last price of each interval are kept. The
    first point is the price in force at `since`.
    """
    url = await _known_url(services, query.watch_id, query.url)
    found = await services.page_history.price_curve(
        query.watch_id, url, since=query.since, points=CURVE_POINTS
    )
    return Json(price_curve_response(found))


@routes.get("/storage")
async def get_storage(services: WithServices) -> Json[StorageResponse]:
    """Get what is used by what, and what pruning would free."""
    usage = await services.page_storage.usage()
    is_full = await services.page_storage.is_full()
    size = await services.sizes.size()
    budget = services.settings.storage_budget
    return Json(storage_response(usage, size, budget=budget, is_full=is_full))


async def _known_url(services: Services, watch_id: str, url: str) -> str:
    """The URL as given if such a page is stored, else normalised."""
    try:
        normal = normalise(url)
    except UrlRefused:
        return url
    if normal == url or await services.pages.find_page(watch_id, url) is not None:
        return url
    return normal


def _page(parsed: Mapping[str, Any]) -> ParsedPage:
    """From stored content, which other programs may have sent."""
    return ParsedPage(
        title=parsed.get("title"),
        text=parsed.get("text") or "",
        images=_texts(parsed.get("images")),
        links=_texts(parsed.get("links")),
    )


def _texts(values: list[Any] | None) -> list[str]:
    return [
        each if isinstance(each, str) else msgspec.json.encode(each).decode()
        for each in values or ()
    ]


def _shown(diff: PageDiff, query: DiffQuery) -> str:
    if diff.text is None:
        return ""
    if query.form == "unified":
        old, new = f"version {query.old}", f"version {query.new}"
        lines = unified_lines(diff.text, old_name=old, new_name=new)
    else:
        lines = side_by_side_lines(diff.text, DIFF_WIDTH)
    shown = text_of(islice(lines, MOST_LINES))
    return shown if next(lines, None) is None else f"{shown}... and more\n"


async def _csv(services: Services, watch_id: str, url: str) -> AsyncIterator[bytes]:
    yield csv_rows([["timestamp", "time", "price", "currency", "changePercent", "version"]])
    cursor: str | None = None
    while True:
        found, cursor = await services.page_history.prices(
            watch_id, url, limit=PRICES_AT_ONCE, cursor=cursor
        )
        if found:
            yield csv_rows([_row(each) for each in found])
        if cursor is None:
            return


def _row(record: PriceRecord) -> list[object]:
    return [
        record.timestamp,
        moment_of(record.timestamp).isoformat(),
        record.price,
        record.currency,
        record.change_percent,
        record.version,
    ]
