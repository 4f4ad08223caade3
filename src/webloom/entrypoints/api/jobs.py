"""/api/jobs: the job postings that imports have stored."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from pydantic import Field

from webloom.entrypoints.api.import_schemas import JobResponse, JobsPage, job_response
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import (
    Blank,
    Paging,
    Since,
    Until,
    UrlOrEmpty,
    WithServices,
    Words,
)
from webloom.entrypoints.api.responses import Json, found
from webloom.parsing.web_url import normalise
from webloom.ports.postings import PostingFilter

NO_SUCH_POSTING = "There is no such posting. GET /api/jobs lists them."

routes = router("/api/jobs", "jobs")


class JobsQuery(Paging):
    q: Words = Field(
        None,
        description="Words in a row, in title, company or location; a star at the end: any ending",
    )
    source: UrlOrEmpty = Field(None, description="The feed's URL, in any spelling")
    company: Words = Field(None, description="Words of the company's name")
    location: Words = Field(None, description="Words of the location")
    is_open: Blank[bool] = Field(
        None, alias="open", description="false: those that left their feed"
    )
    since: Blank[Since] = Field(None, alias="from", description="Published then or later")
    to: Blank[Until] = Field(None, description="Published then or earlier; a day counts whole")


@routes.get("")
async def list_jobs(services: WithServices, query: Annotated[JobsQuery, Query()]) -> Json[JobsPage]:
    """List postings, the latest published first. Go on while `nextCursor` is given: a page under a
    rare filter can be short."""
    page = await services.imports.postings.page(
        PostingFilter(
            text=query.q or None,
            source_url=normalise(query.source) if query.source else None,
            company=query.company or None,
            location=query.location or None,
            is_open=query.is_open,
            since=query.since,
            until=query.to,
        ),
        limit=query.limit,
        cursor=query.cursor,
    )
    jobs = [job_response(each) for each in page.postings]
    return Json(JobsPage(data=jobs, next_cursor=page.next_cursor))


@routes.get("/{dedupeKey}", responses=described({}, 404))
async def get_job(
    services: WithServices, dedupe_key: Annotated[str, Path(alias="dedupeKey", max_length=100)]
) -> Json[JobResponse]:
    """Get one posting."""
    posting = await services.imports.postings.find(dedupe_key)
    return Json(job_response(found(posting, NO_SUCH_POSTING)))
