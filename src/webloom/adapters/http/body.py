"""The body of a response: read, decompressed and decoded within bounds.

A body that is larger than the limit is read up to it, and says that it is not whole. Large bodies
are worked on in a thread, off the event loop.

Decompression is done here and not by aiohttp, which does it on the event loop and which accepts
more encodings than we ask for, depending on what happens to be installed.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from aiohttp import ClientPayloadError, StreamReader

from webloom.domain.errors import FetchFailed
from webloom.domain.inventory import MAX_SOURCE_CHARACTERS
from webloom.domain.transfer_rate import TransferRate
from webloom.parsing.compression import WBITS, Corrupt, Decompressor
from webloom.parsing.text_decoding import decode_body, without_cut_character

ACCEPT_ENCODING = "gzip, deflate"
_INLINE_BYTES = 128 * 1024  # more than this is worked on in a thread


class Body(NamedTuple):  # made for every page, and cheaper than a frozen dataclass
    size: int  # bytes that were read and decompressed
    sha256: str | None  # None: it was not read to its end
    text: str | None  # at most MAX_SOURCE_CHARACTERS
    characters: int  # of all that was read

    @property
    def is_whole(self) -> bool:
        return self.sha256 is not None


async def read_body(
    content: StreamReader,
    headers: Mapping[str, str],
    *,
    limit: int,
    rate: TransferRate | None = None,  # on the event loop's clock
) -> Body:
    """The body, or its first `limit` bytes if it is larger. `headers` have lower-case names.

    Raises FetchFailed for a body that is wrongly compressed, or sent too slowly.
    """
    if content.is_eof():
        raw = content.read_nowait()
        is_whole = len(raw) <= limit
    else:
        raw, is_whole = await _read(content, headers, limit, rate)
    if not is_whole:
        raw = raw[:limit]
    content_type = headers.get("content-type")
    wbits = wbits_of(headers) if raw else None
    if wbits is None:
        if len(raw) <= _INLINE_BYTES:
            return _digest(raw, is_whole, content_type)
    elif is_whole and len(raw) <= _INLINE_BYTES:  # unless it unfolds into more
        small, is_all = _decompress(raw, True, wbits, min(limit, _INLINE_BYTES))
        if is_all:
            return _digest(small, True, content_type)
    return await asyncio.to_thread(_decoded, raw, is_whole, wbits, limit, content_type)


async def _read(
    content: StreamReader, headers: Mapping[str, str], limit: int, rate: TransferRate | None
) -> tuple[bytes, bool]:
    """The bytes on the wire until there are more than `limit`; whether that is all of them."""
    is_too_large = declared_size(headers) > limit
    body = bytearray()
    try:
        first = await _next(content, rate)
        if content.at_eof() and not is_too_large:  # most pages
            return first, len(first) <= limit
        body += first
        while chunk := await _next(content, rate):
            body += chunk
            if len(body) > limit:
                return bytes(body), False
    except ClientPayloadError:
        if not is_too_large:
            raise
        # The connection ended early, but the rest would not have been read.
    return bytes(body), not is_too_large


async def _next(content: StreamReader, rate: TransferRate | None) -> bytes:
    if rate is None:
        return await content.readany()
    deadline = rate.deadline
    try:
        async with asyncio.timeout_at(deadline) as limit:
            chunk = await content.readany()
    except TimeoutError as error:
        if limit.expired() and (reason := rate.failure(deadline)):
            raise FetchFailed(reason=reason, retryable=True) from error
        raise
    rate.received(len(chunk), asyncio.get_running_loop().time())
    return chunk


def wbits_of(headers: Mapping[str, str]) -> int | None:
    """How a body is compressed; None: it is not. Raises FetchFailed for an unknown encoding."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding not in WBITS:
        raise FetchFailed(
            reason=f"the body is encoded as {encoding[:40]!r}, which was not asked for",
            retryable=False,
        )
    return WBITS[encoding]


def declared_size(headers: Mapping[str, str]) -> int:
    """0: the server does not say it."""
    declared = headers.get("content-length", "")
    return int(declared[:20]) if declared.isdecimal() else 0


def too_large(limit: int) -> FetchFailed:
    return FetchFailed(reason=f"the body is larger than {limit} bytes", retryable=False)


def corrupt() -> FetchFailed:
    return FetchFailed(reason="the compressed body is corrupt", retryable=False)


def _digest(body: bytes, is_whole: bool, content_type: str | None) -> Body:
    text = decode_body(body if is_whole else without_cut_character(body), content_type)
    characters = 0 if text is None else len(text)
    if text is not None and characters > MAX_SOURCE_CHARACTERS:
        text = text[:MAX_SOURCE_CHARACTERS]
    sha256 = hashlib.sha256(body).hexdigest() if is_whole else None
    return Body(len(body), sha256, text, characters)


def _decoded(
    raw: bytes, is_whole: bool, wbits: int | None, limit: int, content_type: str | None
) -> Body:
    if wbits is not None:
        raw, is_whole = _decompress(raw, is_whole, wbits, limit)
    return _digest(raw, is_whole, content_type)


def _decompress(raw: bytes, is_whole: bool, wbits: int, limit: int) -> tuple[bytes, bool]:
    """At most `limit` bytes of what comes out, and whether that is all of it.

    Raises FetchFailed for corrupt input. Where `raw` is not whole, it may end anywhere.
    """
    decoder = Decompressor(wbits)
    output = bytearray()
    try:
        decoder.feed(raw)
        while len(output) <= limit and (piece := decoder.output(limit + 1 - len(output))):
            output += piece
    except Corrupt as error:
        raise corrupt() from error
    if len(output) > limit:
        return bytes(output[:limit]), False
    if is_whole and not decoder.is_complete:
        raise corrupt()
    return bytes(output), is_whole
