"""What the suites of Fetcher and Downloader run over: HTTP to a site on loopback, and the fake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from e2e.hostile_site import HostileSite, Request, answer
from fakes.web import Answer, FakeWeb
from servers.private import free_port
from webloom.adapters.http.download import DownloadLimits, HttpDownloader
from webloom.adapters.http.fetcher import FetchLimits, HttpFetcher
from webloom.domain.feed import LastFetch
from webloom.domain.network_policy import NetworkPolicy
from webloom.ports.fetcher import Downloader, Fetcher

MAX_BYTES = 1 << 16
FORBIDDEN = "http://127.0.0.2/"


@dataclass(frozen=True, kw_only=True)
class Web:
    """A site that a test furnishes, and two ways to reach it."""

    fetcher: Fetcher
    downloader: Downloader
    base: str
    nowhere: str  # a port without a server
    put: Callable[[str, Answer], None]  # at a path of the site
    silence: Callable[[], None]  # the site accepts requests and answers none
    was_asked: asyncio.Event  # for anything

    def url(self, path: str) -> str:
        return self.base + path


class OpenWeb(Protocol):
    def __call__(self, total_seconds: float) -> AbstractAsyncContextManager[Web]: ...


@dataclass(frozen=True, kw_only=True)
class WebAdapter:
    name: str
    open: OpenWeb


class FurnishedSite(HostileSite):
    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, Answer] = {}
        self.is_silent = False

    def put(self, path: str, served: Answer) -> None:
        self.answers[path] = served

    def silence(self) -> None:
        self.is_silent = True

    async def do_page(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if self.is_silent:
            await self.do_silence(request, writer)
            return
        known = LastFetch(
            etag=request.headers.get("if-none-match"),
            last_modified=request.headers.get("if-modified-since"),
        )
        served = self.answers.get(request.path, Answer(status=404)).to(known)
        headers = [f"{name}: {value}" for name, value in served.headers.items()]
        if served.status != 304:
            headers.append(f"Content-Length: {len(served.body)}")
        writer.write(answer(served.status, *headers) + served.body)
        await writer.drain()


@asynccontextmanager
async def open_http(total_seconds: float) -> AsyncIterator[Web]:
    async with FurnishedSite() as site:
        nowhere = f"127.0.0.1:{free_port()}"
        policy = NetworkPolicy.parse([f"127.0.0.1:{site.port}", nowhere])
        fetching = FetchLimits(total_seconds=total_seconds, max_body_bytes=MAX_BYTES)
        downloading = DownloadLimits(
            total_seconds=total_seconds, stall_seconds=total_seconds, max_bytes=MAX_BYTES
        )
        async with (
            HttpFetcher(policy=policy, limits=fetching) as fetcher,
            HttpDownloader(policy=policy, limits=downloading) as downloader,
        ):
            yield Web(
                fetcher=fetcher,
                downloader=downloader,
                base=site.url(""),
                nowhere=f"http://{nowhere}/",
                put=site.put,
                silence=site.silence,
                was_asked=site.started,
            )


@asynccontextmanager
async def open_fake(total_seconds: float) -> AsyncIterator[Web]:
    web = FakeWeb(total_seconds=total_seconds, max_bytes=MAX_BYTES)
    base = "http://site.example"
    yield Web(
        fetcher=web,
        downloader=web,
        base=base,
        nowhere="http://nowhere.example/",
        put=lambda path, served: web.pages.update({base + path: served}),
        silence=web.may_answer.clear,
        was_asked=web.started,
    )


WEBS = (WebAdapter(name="http", open=open_http), WebAdapter(name="fake", open=open_fake))
