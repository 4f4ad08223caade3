"""/api/jobs: the postings that the imports brought."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated

from fastapi import Path, Query, Request
from starlette.responses import Response

from webloom.bootstrap import Services
from webloom.entrypoints.api.answers import answer, problem
from webloom.entrypoints.api.asked import (
    EMPTY_IS_NONE,
    instant,
    last_instant,
    refuse_nul,
    refuse_unknown,
)
from webloom.entrypoints.api.import_schemas import JobsPage, job_answer
from webloom.parsing.web_url import normalise
from webloom.ports.postings import PostingFilter


class JobRoutes:
    def __init__(self, services: Services) -> None:
        self._store = services.imports

    async def listing(
        self,
        request: Request,
        q: Annotated[
            str | None,
            Query(
                max_length=200,
                description="Words in a row, in title, company or location; "
                "a star at the end: any ending",
            ),
        ] = None,
        source: Annotated[str | None, Query(description="The feed's URL, in any spelling")] = None,
        company: Annotated[
            str | None, Query(max_length=200, description="Words of the company's name")
        ] = None,
        location: Annotated[
            str | None, Query(max_length=200, description="Words of the location")
        ] = None,
        is_open: Annotated[
            bool | None,
            EMPTY_IS_NONE,
            Query(alias="open", description="false: those that left their feed"),
        ] = None,
        from_: Annotated[
            datetime | date | None,
            EMPTY_IS_NONE,
            Query(alias="from", description="Published then or later"),
        ] = None,
        to: Annotated[
            datetime | date | None,
            EMPTY_IS_NONE,
            Query(description="Published then or earlier; a day counts whole"),
        ] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: Annotated[str | None, Query(max_length=500)] = None,
    ) -> Response:
        """Postings, the latest published first. Go on while `nextCursor` is given: a page under a
        rare filter can be short."""
        refuse_unknown(
            request,
            {"q", "source", "company", "location", "open", "from", "to", "limit", "cursor"},
        )
        refuse_nul(request)
        page = await self._store.postings.page(
            PostingFilter(
                text=q or None,
                source_url=normalise(source) if source else None,
                company=company or None,
                location=location or None,
                is_open=is_open,
                since=instant(from_),
                until=last_instant(request, "to", to),
            ),
            limit=limit,
            cursor=cursor,
        )
        return answer(
            JobsPage(
                data=[job_answer(each) for each in page.postings],
                next_cursor=page.next_cursor,
            )
        )

    async def show(
        self, dedupe_key: Annotated[str, Path(alias="dedupeKey", max_length=100)]
    ) -> Response:
        """One posting."""
        found = await self._store.postings.find(dedupe_key)
        if found is None:
            return problem(
                404, "There is no such posting. GET /api/jobs lists those that there are."
            )
        return answer(job_answer(found))
