"""/api/watch/pages: what is kept of watched pages."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Mapping
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Path, Query, Request
from pydantic import Field
from starlette.responses import Response, StreamingResponse

from webloom.bootstrap import Services
from webloom.diffs.forms import side_by_side_lines, unified_lines
from webloom.diffs.pages import PageDiff, whole_page_diff
from webloom.diffs.shown import text_of
from webloom.domain.errors import UrlRefused
from webloom.domain.storage_event import moment_of
from webloom.domain.watch import Outcome
from webloom.entrypoints.api.answers import answer, problem
from webloom.entrypoints.api.asked import EMPTY_IS_NONE, refuse_nul, refuse_unknown
from webloom.entrypoints.api.watch_page_schemas import (
    BothVersions,
    ChangesPage,
    PagesPage,
    PricesPage,
    VersionDetail,
    VersionDiff,
    VersionsPage,
    change_answer,
    page_answer,
    page_detail,
    price_answer,
    price_statistics,
    storage_answer,
    version_answer,
)
from webloom.entrypoints.api.watches import Cursor, Limit
from webloom.parsing.pages.page import ParsedPage
from webloom.parsing.web_url import normalise
from webloom.ports.page_store import ChangeFilter, PageFilter, PageStore, PriceRecord

NO_SUCH_PAGE = "Nothing is known of that page. GET /api/watch/pages lists the pages."
NO_SUCH_VERSION = "That version is not kept. GET /api/watch/pages/versions lists those that are."
PRICES_AT_ONCE = 200
DIFF_WIDTH = 160
MOST_LINES = 20_000  # of a diff that is text

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")

LAST_VERSION = 2**53
# Text of other people's pages: no browser is to take it for HTML.
UNTRUSTED = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox"}

JobId = Annotated[str, Query(alias="jobId", max_length=200)]
Url = Annotated[str, Query(max_length=8192, description="Percent-encoded")]


class WatchPageRoutes:
    def __init__(self, services: Services) -> None:
        self._store: PageStore = services.pages
        self._sizes = services.sizes
        self._budget = services.settings.storage_budget
        self._diffing = asyncio.Semaphore()

    async def listing(
        self,
        request: Request,
        job_id: Annotated[str | None, Query(alias="jobId", max_length=200)] = None,
        url: Annotated[str | None, Query(max_length=8192)] = None,
        q: Annotated[str | None, Query(max_length=200, description="In URL or title")] = None,
        type_: Annotated[
            str | None, Query(alias="type", max_length=40, description="Of the classification")
        ] = None,
        outcome: Annotated[Outcome | None, EMPTY_IS_NONE, Query()] = None,
        changed_since: Annotated[
            Annotated[int, Field(ge=0, le=253_402_300_799_999)] | None,
            EMPTY_IS_NONE,
            Query(alias="changedSince"),
        ] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        """Pages, the latest updated first. With `jobId` and `url`: that one, with its content."""
        refuse_unknown(
            request,
            {"jobId", "url", "q", "type", "outcome", "changedSince", "limit", "cursor"},
        )
        refuse_nul(request)
        if job_id and url and cursor is None:
            page = await self._store.find_page(job_id, await self._spelt(job_id, url))
            found = [] if page is None else [page_detail(page)]
            return answer(PagesPage(data=[*found], next_cursor=None))
        chosen = PageFilter(
            job_id=job_id or None,
            url=url or None,
            text=q or None,
            type=type_ or None,
            outcome=outcome,
            changed_since=changed_since,
        )
        pages, following = await self._store.pages(chosen, limit=limit, cursor=cursor)
        return answer(PagesPage(data=[page_answer(each) for each in pages], next_cursor=following))

    async def versions(
        self,
        request: Request,
        job_id: JobId,
        url: Url,
        before: Annotated[
            Annotated[int, Field(ge=1, le=LAST_VERSION)] | None, EMPTY_IS_NONE, Query()
        ] = None,
        limit: Limit = 50,
    ) -> Response:
        """Versions of a page, the newest first."""
        refuse_unknown(request, {"jobId", "url", "before", "limit"})
        refuse_nul(request)
        url = await self._spelt(job_id, url)
        found = await self._store.versions(job_id, url, limit=limit, before=before)
        following = found[-1].version if len(found) == limit else None
        return answer(
            VersionsPage(data=[version_answer(each) for each in found], next_before=following)
        )

    async def version(
        self,
        request: Request,
        number: Annotated[int, Path(alias="version", ge=1, le=LAST_VERSION)],
        job_id: JobId,
        url: Url,
    ) -> Response:
        """One version, with its content."""
        refuse_unknown(request, {"jobId", "url"})
        refuse_nul(request)
        url = await self._spelt(job_id, url)
        parsed = await self._store.parsed(job_id, url, number)
        found = await self._store.versions(job_id, url, limit=1, before=number + 1)
        if parsed is None or not found or found[0].version != number:
            return problem(404, NO_SUCH_VERSION)
        fields = msgspec.structs.asdict(version_answer(found[0]))
        return answer(VersionDetail(**fields, parsed=parsed))

    async def diff(
        self,
        request: Request,
        job_id: JobId,
        url: Url,
        from_: Annotated[int, Query(alias="from", ge=1, le=LAST_VERSION, description="A version")],
        to: Annotated[int, Query(ge=1, le=LAST_VERSION, description="A version")],
        form: Literal["json", "unified", "side-by-side"] = "json",
    ) -> Response:
        """How two versions of a page differ."""
        refuse_unknown(request, {"jobId", "url", "from", "to", "form"})
        refuse_nul(request)
        url = await self._spelt(job_id, url)
        old, new = await asyncio.gather(
            *(self._store.parsed(job_id, url, number) for number in (from_, to))
        )
        if old is None or new is None:
            return problem(404, NO_SUCH_VERSION)
        async with self._diffing:  # two large texts take seconds
            found = await asyncio.to_thread(whole_page_diff, _page(old), _page(new))
            if form == "json":
                both = BothVersions(previous=from_, current=to)
                return answer(VersionDiff(job_id=job_id, url=url, version=both, diff=found))
            text = await asyncio.to_thread(_shown, found, form, from_, to)
        return Response(text, 200, UNTRUSTED, "text/plain; charset=utf-8")

    async def changes(
        self,
        request: Request,
        job_id: Annotated[str | None, Query(alias="jobId", max_length=200)] = None,
        url: Annotated[str | None, Query(max_length=8192)] = None,
        run_id: Annotated[str | None, Query(alias="runId", max_length=300)] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        """Change logs, the latest first: of a page, a watch, a run, or all."""
        refuse_unknown(request, {"jobId", "url", "runId", "limit", "cursor"})
        refuse_nul(request)
        chosen = ChangeFilter(job_id=job_id or None, url=url or None, run_id=run_id or None)
        found, following = await self._store.change_logs(chosen, limit=limit, cursor=cursor)
        return answer(
            ChangesPage(data=[change_answer(each) for each in found], next_cursor=following)
        )

    async def prices(
        self,
        request: Request,
        job_id: JobId,
        url: Url,
        form: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        """Prices of a page, the latest first; as CSV all of them."""
        refuse_unknown(request, {"jobId", "url", "format", "limit", "cursor"})
        refuse_nul(request)
        url = await self._spelt(job_id, url)
        if form == "csv":
            rows = _csv(self._store, job_id, url)
            headers = {"Content-Disposition": "attachment; filename=prices.csv"}
            return StreamingResponse(rows, 200, headers, "text/csv; charset=utf-8")
        found, following = await self._store.prices(job_id, url, limit=limit, cursor=cursor)
        summary = None if cursor else await self._store.price_summary(job_id, url)
        return answer(
            PricesPage(
                data=[price_answer(each) for each in found],
                summary=None if summary is None else price_statistics(summary),
                next_cursor=following,
            )
        )

    async def _spelt(self, job_id: str, url: str) -> str:
        """As it is known: as it was given, or else in its normal form."""
        try:
            normal = normalise(url)
        except UrlRefused:
            return url
        if normal == url or await self._store.find_page(job_id, url) is not None:
            return url
        return normal

    async def storage(self) -> Response:
        """What is used by what, and what pruning would free."""
        usage = await self._store.usage()
        is_full = await self._store.is_full()
        size = await self._sizes.size()
        return answer(storage_answer(usage, size, budget=self._budget, is_full=is_full))


def _page(parsed: Mapping[str, Any]) -> ParsedPage:
    """Anybody may have sent it."""
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


def _shown(found: PageDiff, form: str, old: int, new: int) -> str:
    if found.text is None:
        return ""
    if form == "unified":
        lines = unified_lines(found.text, old_name=f"version {old}", new_name=f"version {new}")
    else:
        lines = side_by_side_lines(found.text, DIFF_WIDTH)
    shown = text_of(islice(lines, MOST_LINES))
    return shown if next(lines, None) is None else f"{shown}... and more\n"


async def _csv(store: PageStore, job_id: str, url: str) -> AsyncIterator[bytes]:
    yield _rows([["timestamp", "time", "price", "currency", "changePercent", "version"]])
    cursor: str | None = None
    while True:
        found, cursor = await store.prices(job_id, url, limit=PRICES_AT_ONCE, cursor=cursor)
        if found:
            yield _rows([_row(each) for each in found])
        if cursor is None:
            return


def _row(record: PriceRecord) -> list[object]:
    return [
        record.timestamp,
        moment_of(record.timestamp).isoformat(),
        f"{record.price:f}",
        _harmless(record.currency or ""),
        "" if record.change_percent is None else f"{record.change_percent:f}",
        "" if record.version is None else record.version,
    ]


def _harmless(text: str) -> str:
    """A spreadsheet takes what begins like this for a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _rows(rows: list[list[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
