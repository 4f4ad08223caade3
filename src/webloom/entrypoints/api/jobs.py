"""/api/jobs: the job postings that imports have stored."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import Field
from starlette.responses import Response

from webloom.domain.listing import MOST_COUNTED
from webloom.entrypoints.api.exports import (
    READ_AT_ONCE,
    ExportQuery,
    as_file,
    columns,
    export_response,
)
from webloom.entrypoints.api.import_schemas import JobResponse, JobsPage, job_response
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import (
    Blank,
    Paging,
    Since,
    TimeOrder,
    Until,
    UrlOrEmpty,
    WithServices,
    Words,
)
from webloom.entrypoints.api.responses import Json, found
from webloom.entrypoints.api.schemas import counted
from webloom.parsing.web_url import normalise
from webloom.ports.postings import PostingFilter, StoredPosting

NO_SUCH_POSTING = "Posting not found. GET /api/jobs lists all postings."

routes = router("/api/jobs", "jobs")


class JobFilters(TimeOrder):
    q: Words = Field(None, description="Beginnings of words in title, company and location")
    source: UrlOrEmpty = Field(None, description="The feed's URL, in any spelling")
    company: Words = Field(None, description="Beginnings of words of the company's name")
    location: Words = Field(None, description="Beginnings of words of the location")
    is_open: Blank[bool] = Field(
        None, alias="open", description="false: those that left their feed"
    )
    since: Blank[Since] = Field(None, alias="from", description="Published then or later")
    to: Blank[Until] = Field(None, description="Published then or earlier; a day counts whole")
    sort: Literal["publishedAt", "-publishedAt"] = Field(
        "-publishedAt", description="publishedAt: the earliest first"
    )

    @property
    def chosen(self) -> PostingFilter:
        """Raises UrlRefused."""
        return PostingFilter(
            text=self.q or None,
            source_url=normalise(self.source) if self.source else None,
            company=self.company or None,
            location=self.location or None,
            is_open=self.is_open,
            since=self.since,
            until=self.to,
        )


class JobsQuery(Paging, JobFilters):
    pass


class JobsExport(ExportQuery, JobFilters):
    columns: str = columns(JobResponse.__struct_encode_fields__)


@routes.get("")
async def list_jobs(services: WithServices, query: Annotated[JobsQuery, Query()]) -> Json[JobsPage]:
    """List postings, the latest published first unless `sort` says otherwise; one without a date
    stands where it was first seen. Go on while `nextCursor` is given: a page under a rare filter
    can be short."""
    chosen = query.chosen
    page = await services.imports.postings.page(
        chosen,
        limit=query.limit,
        cursor=query.cursor,
        oldest_first=query.oldest_first,
        most_counted=MOST_COUNTED,
    )
    jobs = [job_response(each) for each in page.postings]
    total = await counted(
        jobs,
        (query.cursor, page.next_cursor),
        lambda: services.imports.postings.count_chosen(chosen, most=MOST_COUNTED),
        page.total,
    )
    return Json(JobsPage(data=jobs, next_cursor=page.next_cursor, **total))


@routes.get("/export", responses=as_file())  # before {dedupeKey}
async def export_jobs(services: WithServices, query: Annotated[JobsExport, Query()]) -> Response:
    """Export postings as CSV or lines of JSON, in the order of the list."""
    chosen = query.chosen

    async def read(cursor: str | None) -> tuple[list[StoredPosting], str | None]:
        page = await services.imports.postings.page(
            chosen, limit=READ_AT_ONCE, cursor=cursor, oldest_first=query.oldest_first
        )
        return page.postings, page.next_cursor

    return await export_response("postings", query, read, job_response)


@routes.get("/{dedupeKey}", responses=described({}, 404))
async def get_job(
    services: WithServices, dedupe_key: Annotated[str, Path(alias="dedupeKey", max_length=100)]
) -> Json[JobResponse]:
    """Get one posting."""
    posting = await services.imports.postings.find(dedupe_key)
    return Json(job_response(found(posting, NO_SUCH_POSTING)))
