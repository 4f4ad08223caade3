"""One download: a conditional GET whose body goes to a file.

download -> GatedClient.follow -> 2xx? -> [ read a block | decompress, hash, write the one before ]
   ^  no room for it in the spool: again, when there is                                   |
   `--------------------------------------------------------------------------------------'
             `- all within total_seconds, never stall_seconds without a byte,
                and at min_rate or more over every rate_window -'
"""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self, Unpack

from aiohttp import ClientResponse, StreamReader

from webloom.adapters.http.body import declared_size, too_large, wbits_of
from webloom.adapters.http.client import ClientLimits, ClientOptions, FetchTrace, GatedClient
from webloom.adapters.http.failures import explained
from webloom.adapters.http.headers import seconds_to_wait
from webloom.adapters.http.spool import DiskFull, Spool
from webloom.adapters.http.spool_room import NoRoom, Reservation, SpoolRoom
from webloom.adapters.http.transfer_timeouts import TransferTimeouts
from webloom.domain.errors import FetchFailed
from webloom.domain.feed import LastFetch
from webloom.parsing.web_url import normalise
from webloom.ports.fetcher import Downloaded

FEEDS = (
    "application/rss+xml,application/atom+xml,application/feed+json,application/xml;q=0.9,"
    "text/xml;q=0.9,application/json;q=0.8,*/*;q=0.5"
)
_BLOCK_BYTES = 512 * 1024  # handled by a thread in one go


@dataclass(frozen=True, kw_only=True, slots=True)
class DownloadLimits(ClientLimits):
    total_seconds: float = 3600.0  # for the whole chain, from first lookup to last byte
    stall_seconds: float = 60.0  # until the response begins, and between two pieces of its body
    max_bytes: int = 2 * 1024 * 1024 * 1024  # on the wire and decompressed
    connections: int = 16


class HttpDownloader:
    """The Downloader port over aiohttp. One policy, one pool of connections.

    A file is opened only for a 2xx response, or for any with `any_status`; an existing one is
    overwritten.
    """

    def __init__(
        self,
        *,
        accept: str = FEEDS,  # what is asked for
        any_status: bool = False,  # keep the body of every answer
        may_cut: bool = False,  # keep the beginning of a body that is too large
        limits: DownloadLimits | None = None,
        room: SpoolRoom | None = None,  # that files have; None: as much as they need
        **options: Unpack[ClientOptions],
    ) -> None:
        self._limits = limits or DownloadLimits()
        self._room = room
        self._any_status = any_status
        self._may_cut = may_cut
        self._client = GatedClient(ClientResponse, accept=accept, limits=self._limits, **options)

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
                async with self._room.reserve(into, needed) as reservation:
                    try:
                        return await self._attempt(url, into, known, reservation)
                    except BaseException as error:
                        await asyncio.to_thread(into.unlink, missing_ok=True)  # it takes room
                        if not isinstance(error, NoRoom):
                            raise
                        needed = error.needed
        finally:
            self._room.note_room(into)

    async def _attempt(
        self, url: str, into: Path, known: LastFetch, reservation: Reservation | None
    ) -> Downloaded:
        """Raises NoRoom where it has a reservation."""
        limits = self._limits
        timeouts = TransferTimeouts(
            total_seconds=limits.total_seconds,
            stall_seconds=limits.stall_seconds,
            min_rate=limits.min_rate,
            rate_window=limits.rate_window,
        )
        with explained(limits.total_seconds):
            async with timeouts:
                take = partial(self._take, into, timeouts, reservation)
                return await self._client.follow(
                    normalise(url), FetchTrace(), take, conditions=_conditions(known)
                )

    async def _take(
        self,
        into: Path,
        timeouts: TransferTimeouts,
        reservation: Reservation | None,
        url: str,
        response: ClientResponse,
        headers: dict[str, str],
    ) -> Downloaded:
        written, sha256, is_cut = 0, None, False
        if response.status == 206:
            raise FetchFailed(
                reason="the server sent only a part of it, which was not requested (206)",
                retryable=False,
            )
        if 200 <= response.status < 300 or self._any_status:
            limit = self._limits.max_bytes
            if declared_size(headers) > limit and not self._may_cut:
                raise too_large(limit)
            wbits = wbits_of(headers)
            if reservation is not None:
                await reservation.expect(declared_size(headers))
            spool = Spool(into, wbits, limit=limit, may_cut=self._may_cut)
            try:
                with spool:
                    await _BodyWriter(spool, timeouts, reservation).write(response.content)
            except DiskFull:
                if reservation is not None:
                    await reservation.disk_is_full(spool.bytes)
                raise
            written, sha256, is_cut = spool.bytes, spool.sha256, spool.is_cut
        return Downloaded(
            status_code=response.status,
            final_url=url,
            bytes=written,
            is_cut=is_cut,
            sha256=sha256,
            etag=headers.get("etag"),
            last_modified=headers.get("last-modified"),
            content_type=headers.get("content-type"),
            retry_after=seconds_to_wait(headers.get("retry-after")),
        )


class _BodyWriter:
    """Writes a body to its file, one block in a thread while the next is read."""

    def __init__(
        self, spool: Spool, timeouts: TransferTimeouts, reservation: Reservation | None
    ) -> None:
        self._spool = spool
        self._timeouts = timeouts
        self._reservation = reservation
        self._loop = asyncio.get_running_loop()
        self._writing: Future[bool] = self._loop.create_future()
        self._writing.set_result(True)

    async def write(self, content: StreamReader) -> None:
        self._timeouts.body_begins()
        try:
            while block := await _block(content, self._timeouts):
                self._timeouts.busy()  # from here on we wait for our disk
                await self._written()
                if self._spool.is_cut:
                    break
                if self._reservation is not None:
                    await self._get_room(self._reservation, len(block))
                self._begin(partial(self._spool.write, block))
            self._timeouts.busy()
            await self._written()
        finally:
            await asyncio.wait({self._writing})  # to a file that is about to be closed
            self._writing.exception()  # so that its error is seen, whatever else is raised
        self._spool.finish()

    async def _written(self) -> None:
        """Waits until the block before is written; there may be no room for it now."""
        while not await self._step():
            if self._reservation is not None:  # what came was more than the block
                await self._get_room(self._reservation, self._spool.pending)
            self._begin(self._spool.resume)

    async def _step(self) -> bool:
        await asyncio.wait({self._writing})  # which, unlike `await writing`, never cancels it
        return self._writing.result()

    def _begin(self, work: Callable[[], bool]) -> None:
        self._writing = self._loop.run_in_executor(None, work)

    async def _get_room(self, reservation: Reservation, wanted: int) -> None:
        """Reserve at least some room, unless all of it is reserved already."""
        if reservation.granted - self._spool.bytes < wanted:
            with self._timeouts.own_time():
                await reservation.more(wanted)
        self._spool.allowed = reservation.granted


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
    # Others can't be sent as headers.
    return {
        name: value
        for name, value in headers.items()
        if value and value.isascii() and value.isprintable()
    }
