"""/metadata: submit, look up, invalidate."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Annotated
from urllib.parse import quote

import msgspec
from fastapi import HTTPException, Query, Request
from starlette.responses import Response

from webloom.application.inventory.look_up_url import Found, Waiting
from webloom.application.inventory.submit_url import Accepted, Answer, NoRoom, Refused
from webloom.bootstrap import Services
from webloom.domain.inventory import RecordFilter, Status
from webloom.entrypoints.api.answers import RETRY_WHEN_FULL, answer, problem
from webloom.entrypoints.api.asked import (
    decode,
    instant,
    off_loop,
    refuse_nul,
    refuse_unknown,
)
from webloom.entrypoints.api.schemas import (
    BatchAnswer,
    RecordsPage,
    SubmitBody,
    Submitted,
    record_answer,
)
from webloom.parsing.json_limits import JsonLimits

MOST_IN_BATCH = 10_000
INERT = {
    "Content-Disposition": "attachment; filename=source.txt",
    "Content-Security-Policy": "default-src 'none'; form-action 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}

UNKNOWN = "This URL is not in the inventory."

Url = Annotated[str, Query(description="Any spelling of the URL")]
Submit = Annotated[bool, Query(description="false: only look; an unknown URL is 404 then")]

BATCH = JsonLimits(values=3 * MOST_IN_BATCH, items=MOST_IN_BATCH, called="URLs")

_FILLED_LINE = re.compile(rb"[^\s][^\n]*+")
_body = msgspec.json.Decoder(SubmitBody)
_array = msgspec.json.Decoder(list[str | SubmitBody])
_line = msgspec.json.Decoder(str | SubmitBody)


class MetadataRoutes:
    def __init__(self, services: Services) -> None:
        self._store = services.store
        self._submit = services.submit_url
        self._look_up = services.look_up_url
        self._invalidate = services.invalidate_url
        self._reading = asyncio.Lock()

    async def submit(self, request: Request) -> Response:
        """Submit a URL to be fetched.

        The answer comes once the request is durable. A URL that is being fetched, or waits to be,
        is joined: the answer then names the earlier request.
        """
        body = decode(_body, await request.body())
        accepted = await self._submit.one(body.url)
        return _waiting(accepted)

    async def submit_batch(self, request: Request) -> Response:
        """Submit up to 10,000 URLs, as a JSON array or one JSON value a line (NDJSON).

        There is one answer for each URL, in order. What does not fit into the queue is answered
        with `accepted: false` and can be sent again later.
        """
        content = await request.body()
        as_lines = "ndjson" in request.headers.get("content-type", "")
        items = await off_loop(_from_lines if as_lines else _from_array, content)
        urls = [item if isinstance(item, str) else item.url for item in items]
        answers = await self._submit.many(urls)
        headers = {}
        if any(isinstance(each, NoRoom) for each in answers):
            headers["Retry-After"] = str(RETRY_WHEN_FULL)
        bodies = [_batch_answer(given, each) for given, each in zip(urls, answers, strict=True)]
        if as_lines:
            text = b"".join(msgspec.json.encode(body) + b"\n" for body in bodies)
            return Response(text, 202, headers, "application/x-ndjson")
        return answer(bodies, 202, headers)

    async def look_up(
        self, request: Request, url: Url, source: bool = True, submit: Submit = True
    ) -> Response:
        """What is known of a URL; `source=false` leaves the page source out.

        An unknown URL is submitted. A record older than the cache time is answered as it is, with
        `stale: true`, and fetched again behind the answer. `submit=false` does neither.
        """
        refuse_unknown(request, {"url", "source", "submit"})
        found = await self._look_up(url, with_source=source, only_look=not submit)
        return await self._answer(request, found, _record)

    async def source(self, request: Request, url: Url, submit: Submit = True) -> Response:
        """The page source alone, as text that no browser runs."""
        refuse_unknown(request, {"url", "submit"})
        found = await self._look_up(url, with_source=True, only_look=not submit)
        return await self._answer(request, found, _source)

    async def _answer(
        self, request: Request, found: Found | Waiting | None, compose: Callable[[Found], Response]
    ) -> Response:
        """Large sources take their turns: reading one takes several times its size."""
        if isinstance(found, Found) and found.large_source is not None:
            await request.state.response_share.take(found.large_source)
            async with self._reading:
                return _composed(await self._look_up.with_large_source(found), compose)
        return _composed(found, compose)

    async def invalidate(self, request: Request, url: Url) -> Response:
        """Drop what is known of a URL, so that the next look-up fetches it anew.

        A request that is under way goes on and still gets its answer.
        """
        refuse_unknown(request, {"url"})
        if await self._invalidate(url):
            return Response(status_code=204)
        return problem(404, UNKNOWN)

    async def records(
        self,
        request: Request,
        status: Status | None = None,
        host: str | None = None,
        q: Annotated[
            str | None,
            Query(
                max_length=200,
                description="Words of the URL, in a row; a star at the end: any ending",
            ),
        ] = None,
        from_: Annotated[
            datetime | date | None, Query(alias="from", description="Created then or later")
        ] = None,
        to: Annotated[datetime | date | None, Query(description="Created before")] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: Annotated[str | None, Query(max_length=100)] = None,
    ) -> Response:
        """Records, the newest first, without their page sources."""
        refuse_unknown(request, {"status", "host", "q", "from", "to", "limit", "cursor"})
        refuse_nul(request)
        page = await self._store.page_of_records(
            RecordFilter(
                status=status,
                host=host and host.lower(),
                text=q or None,
                created_from=instant(from_),
                created_to=instant(to),
            ),
            limit=limit,
            cursor=cursor,
        )
        return answer(
            RecordsPage(
                records=[record_answer(record) for record in page.records],
                next_cursor=page.next_cursor,
            )
        )


def _from_array(content: bytes) -> list[str | SubmitBody]:
    return decode(_array, content, BATCH)


def _from_lines(content: bytes) -> list[str | SubmitBody]:
    items: list[str | SubmitBody] = []
    for number, line in _numbered_lines(content):
        if len(items) == MOST_IN_BATCH:
            raise HTTPException(422, f"The body has more than {MOST_IN_BATCH:,} URLs.")
        try:
            items.append(decode(_line, line))
        except HTTPException as error:
            raise HTTPException(error.status_code, f"Line {number:,}: {error.detail}") from error
    return items


def _numbered_lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Those that are not blank, one at a time: there may be millions."""
    number, end = 1, 0
    for line in _FILLED_LINE.finditer(content):
        number += content.count(b"\n", end, line.start())
        end = line.start()
        yield number, line[0]


def _waiting(it: Accepted | Waiting) -> Response:
    return answer(
        Submitted(url=it.url, status=it.status, request_id=it.request_id),
        202,
        {"Location": f"/metadata?url={quote(it.url, safe='')}", "Retry-After": "1"},
    )


def _batch_answer(given: str, it: Answer) -> BatchAnswer:
    match it:
        case Accepted():
            return BatchAnswer(
                url=it.url, accepted=True, status=it.status, request_id=it.request_id
            )
        case Refused():
            return BatchAnswer(url=given, accepted=False, error=it.reason)
        case NoRoom():
            return BatchAnswer(url=it.url, accepted=False, error="the queue is full")


def _composed(found: Found | Waiting | None, compose: Callable[[Found], Response]) -> Response:
    if found is None:
        return problem(404, UNKNOWN)
    return _waiting(found) if isinstance(found, Waiting) else compose(found)


def _record(found: Found) -> Response:
    return answer(record_answer(found.record, stale=found.stale))


def _source(found: Found) -> Response:
    text = found.record.metadata.page_source
    if text is None:
        return problem(404, "No text was received from this URL.")
    return Response(text.encode(), 200, INERT, "text/plain; charset=utf-8")
