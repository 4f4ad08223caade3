"""Feeds on loopback that change when a test says so, and events as a browser reads them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

import aiohttp
import msgspec

from e2e.api_client import Api
from e2e.hostile_site import Request, answer, ok
from e2e.running import until_some
from e2e.watched_site import WatchedSite
from timeouts import TIMEOUT_SECONDS


def rss(*items: str) -> bytes:
    return (
        '<?xml version="1.0"?><rss version="2.0"><channel><title>Jobs</title>'
        f"{''.join(items)}</channel></rss>"
    ).encode()


def item(number: int, title: str | None = None, **fields: str) -> str:
    fields = {
        "title": f"Job {number}" if title is None else title,
        "guid": f"job-{number}",
        "link": f"https://jobs.test/{number}",
        "pubDate": "Mon, 02 Nov 2026 10:00:00 GMT",
    } | fields
    inside = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in fields.items() if text)
    return f"<item>{inside}</item>"


class FeedSite(WatchedSite):
    def __init__(self) -> None:
        super().__init__()
        self.feed = rss()  # what /feed answers now
        self.broken = False

    async def do_feed(self, request: Request, writer: asyncio.StreamWriter) -> None:
        etag = f'"{hashlib.sha256(self.feed).hexdigest()[:16]}"'
        if self.broken:
            writer.write(answer(500, "Content-Length: 0"))
        elif request.headers.get("if-none-match") == etag:
            writer.write(answer(304, f"ETag: {etag}"))
        else:
            writer.write(ok(self.feed, "Content-Type: application/rss+xml", f"ETag: {etag}"))
        await writer.drain()

    async def do_gated_feed(self, request: Request, writer: asyncio.StreamWriter) -> None:
        await self.opened.wait()
        await self.do_feed(request, writer)


@dataclass(frozen=True, kw_only=True)
class Event:
    id: str | None
    name: str | None
    data: Any  # None when there was none


class Stream:
    """The events of one connection."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.retry: str | None = None

    async def next(self) -> Event:
        """Raises EOFError when the server has ended it."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                fields = await self._fields()
                self.retry = fields.get("retry", self.retry)
                if "data" in fields:
                    data = msgspec.json.decode(fields["data"])
                    return Event(id=fields.get("id"), name=fields.get("event"), data=data)

    async def until(self, run_id: str, **wanted: Any) -> Event:
        """The first event of the run in which these fields are so."""
        while True:
            event = await self.next()
            if event.data["runId"] == run_id and wanted.items() <= event.data.items():
                return event

    async def end(self) -> None:
        """Read on until the server has ended it."""
        with suppress(EOFError):
            while True:
                await self.next()

    async def _fields(self) -> dict[str, str]:
        fields: dict[str, str] = {}
        while line := await self.response.content.readline():
            if line == b"\n":
                return fields
            name, _, value = line.decode().rstrip("\n").partition(":")
            fields[name] = value.removeprefix(" ")
        raise EOFError


@asynccontextmanager
async def listening(
    api: Api, path: str = "/api/import-logs/stream", **options: Any
) -> AsyncIterator[Stream]:
    timeout = aiohttp.ClientTimeout(total=None)
    async with api.client.get(path, timeout=timeout, **options) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        yield Stream(response)


async def finished_run(api: Api, run_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        run = (await api.call("GET", f"/api/import-logs/{run_id}")).body
        return None if run["status"] == "running" else dict(run)

    return await until_some(look, what=f"the end of run {run_id}")
