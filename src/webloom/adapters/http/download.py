"""One download: a conditional GET whose body goes to a file.

download -> GatedClient.follow -> 2xx? -> [ read a block | decompress, hash, write the one before ]
   ^  no room for it in the spool: again, when there is                                   |
   `--------------------------------------------------------------------------------------'
             `- all within total_seconds, never stall_seconds without a byte,
                and at min_rate or more over every rate_window -'
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio import Future
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from aiohttp import ClientResponse, StreamReader
from aiohttp.abc import AbstractResolver

from webloom.adapters.http.body import declared_size, declares_more, too_large
from webloom.adapters.http.client import GatedClient, Journey
from webloom.adapters.http.failures import explain
from webloom.adapters.http.headers import seconds_to_wait
from webloom.adapters.http.spool import DiskFull, Spool
from webloom.adapters.http.spool_room import NoRoom, Share, SpoolRoom
from webloom.adapters.http.transfer_timeouts import TransferTimeouts
from webloom.adapters.refusal_log import RefusalLog
from webloom.domain.errors import FetchFailed
from webloom.domain.feed import LastFetch
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.transfer_rate import RATE_WINDOW, USUAL_MIN_RATE
from webloom.parsing.web_url import normalise
from webloom.ports.fetcher import Downloaded

FEEDS = (
    "application/rss+xml,application/atom+xml,application/feed+json,application/xml;q=0.9,"
    "text/xml;q=0.9,application/json;q=0.8,*/*;q=0.5"
)
PAGES = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_BLOCK_BYTES = 512 * 1024  # worked on in one go by a thread


@dataclass(frozen=True, kw_only=True, slots=True)
class DownloadLimits:
    total_seconds: float = 3600.0  # for the whole chain, from first lookup to last byte
    stall_seconds: float = 60.0  # until the answer begins, and between two pieces of its body
    connect_seconds: float = 10.0
    min_rate: float = USUAL_MIN_RATE  # bytes of a body per second, over each window; 0: no limit
    rate_window: float = RATE_WINDOW
    max_bytes: int = 2 * 1024 * 1024 * 1024  # on the wire and decompressed
    max_redirects: int = 5
    connections: int = 16  # open at the same time; a download beyond waits


class HttpDownloader:
    """The Downloader port over aiohttp. One policy, one pool of connections.

    A file is only opened for a 2xx answer, or for any with `any_status`; one that was there is then
    written over.
    """

    def __init__(
        self,
        *,
        policy: NetworkPolicy,
        accept: str = FEEDS,  # what is asked for
        any_status: bool = False,  # keep the body of every answer
        may_cut: bool = False,  # keep the beginning of a body that is too large
        limits: DownloadLimits | None = None,
        refusals: RefusalLog | None = None,  # default: one of its own
        room: SpoolRoom | None = None,  # that files have; None: as much as they need
        resolver: AbstractResolver | None = None,  # closed with the downloader
        ssl_context: ssl.SSLContext | None = None,  # default: the system's certificates
    ) -> None:
        self._limits = limits or DownloadLimits()
        self._room = room
        self._any_status = any_status
        self._may_cut = may_cut
        self._client = GatedClient(
            ClientResponse,
            policy=policy,
            refusals=refusals,
            accept=accept,
            connections=self._limits.connections,
            connect_seconds=self._limits.connect_seconds,
            max_redirects=self._limits.max_redirects,
            resolver=resolver,
            ssl_context=ssl_context,
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.__aexit__(*exc)

    async def download(self, url: str, into: Path, *, known: LastFetch) -> Downloaded:
        if self._room is None:
            return await self._attempt(url, into, known, None)
        needed = 1
        try:
            while True:
                async with self._room.share(into, needed) as share:
                    try:
                        return await self._attempt(url, into, known, share)
                    except BaseException as error:
                        await asyncio.to_thread(into.unlink, missing_ok=True)  # it takes room
                        if not isinstance(error, NoRoom):
                            raise
                        needed = error.needed
        finally:
            self._room.note_room(into)

    async def _attempt(
        self, url: str, into: Path, known: LastFetch, share: Share | None
    ) -> Downloaded:
        """Raises NoRoom where it has a share."""
        try:
            async with self._timeouts() as timeouts:
                take = partial(self._take, into, timeouts, share)
                return await self._client.follow(
                    normalise(url), Journey(), take, conditions=_conditions(known)
                )
        except (FetchFailed, NoRoom):
            raise
        except Exception as error:
            failure = explain(error, total_seconds=self._limits.total_seconds)
            if failure is None:
                raise
            raise failure from error

    def _timeouts(self) -> TransferTimeouts:
        return TransferTimeouts(
            total_seconds=self._limits.total_seconds,
            stall_seconds=self._limits.stall_seconds,
            min_rate=self._limits.min_rate,
            rate_window=self._limits.rate_window,
        )

    async def _take(
        self,
        into: Path,
        timeouts: TransferTimeouts,
        share: Share | None,
        url: str,
        response: ClientResponse,
        headers: dict[str, str],
    ) -> Downloaded:
        written, sha256 = 0, None
        if response.status == 206:
            raise FetchFailed(
                reason="the answer is a part of it, which was not asked for (206)",
                retryable=False,
            )
        if 200 <= response.status < 300 or self._any_status:
            limit = self._limits.max_bytes
            if declares_more(headers, limit) and not self._may_cut:
                raise too_large(limit)
            encoding = headers.get("content-encoding", "").strip().lower()
            if share is not None:
                await share.expect(declared_size(headers))
            spool = Spool(into, encoding, limit=limit, may_cut=self._may_cut)
            try:
                with spool:
                    await _Pouring(spool, timeouts, share).pour(response.content)
            except DiskFull:
                if share is not None:
                    await share.disk_is_full(spool.bytes)
                raise
            written, sha256 = spool.bytes, spool.sha256
        retry_after = headers.get("retry-after")
        return Downloaded(
            status_code=response.status,
            final_url=url,
            bytes=written,
            sha256=sha256,
            etag=headers.get("etag"),
            last_modified=headers.get("last-modified"),
            content_type=headers.get("content-type"),
            retry_after=None if retry_after is None else seconds_to_wait(retry_after),
        )


class _Pouring:
    """A body on its way into its file."""

    def __init__(self, spool: Spool, timeouts: TransferTimeouts, share: Share | None) -> None:
        self._spool = spool
        self._timeouts = timeouts
        self._share = share
        self._loop = asyncio.get_running_loop()
        self._writing: Future[bool] = self._loop.create_future()
        self._writing.set_result(True)

    async def pour(self, content: StreamReader) -> None:
        """Reads the next block while a thread works on the one before."""
        self._timeouts.body_begins()
        try:
            while block := await _block(content, self._timeouts):
                self._timeouts.busy()  # from here on it is our disk that is waited for
                await self._written()
                if self._spool.is_cut:
                    break
                if self._share is not None:
                    await self._get_room(self._share, len(block))
                self._begin(partial(self._spool.write, block))
            self._timeouts.busy()
            await self._written()
        finally:
            await asyncio.wait({self._writing})  # to a file that is about to be closed
            self._writing.exception()  # seen, whatever else is raised
        self._spool.finish()

    async def _written(self) -> None:
        """All of the block before; there may be no room for it now."""
        while not await self._step():
            if self._share is not None:  # what came was more than the block
                await self._get_room(self._share, self._spool.pending)
            self._begin(self._spool.go_on)

    async def _step(self) -> bool:
        await asyncio.wait({self._writing})  # which, unlike `await writing`, never cancels it
        return self._writing.result()

    def _begin(self, work: Callable[[], bool]) -> None:
        self._writing = self._loop.run_in_executor(None, work)

    async def _get_room(self, share: Share, wanted: int) -> None:
        """Some, at least, where it does not have all of it already."""
        if share.granted - self._spool.bytes < wanted:
            with self._timeouts.own_time():
                await share.more(wanted)
        self._spool.allowed = share.granted


async def _block(content: StreamReader, timeouts: TransferTimeouts) -> bytes:
    """Empty at the end of the body."""
    block = bytearray()
    while len(block) < _BLOCK_BYTES:
        timeouts.wait_for_server()
        if not (chunk := await content.readany()):
            break
        timeouts.received(len(chunk))
        block += chunk
    return bytes(block)


def _conditions(known: LastFetch) -> dict[str, str]:
    headers = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    # What is not plain text can't have come from a server in its right mind.
    return {
        name: value
        for name, value in headers.items()
        if value and value.isascii() and value.isprintable()
    }
