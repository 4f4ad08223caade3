"""The body of a response: read, decompressed and decoded within bounds.

A body that is larger than the limit is read up to it, and says that it is not whole. Large bodies
are worked on in a thread, off the event loop.

Decompression is done here and not by aiohttp, which does it on the event loop and which accepts
more encodings than we ask for, depending on what happens to be installed.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from aiohttp import ClientPayloadError, StreamReader

from webloom.domain.errors import FetchFailed
from webloom.domain.inventory import MAX_SOURCE_CHARACTERS
from webloom.domain.transfer_rate import TransferRate
from webloom.parsing.text_decoding import decode_body, without_cut_character

ACCEPT_ENCODING = "gzip, deflate"
_INLINE_BYTES = 128 * 1024  # more than this is worked on in a thread
_MAX_MEMBERS = 100  # of a gzip body; each costs a copy of all that follows it
WBITS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


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
    encoding = headers.get("content-encoding")
    if encoding is None or not raw:
        if len(raw) <= _INLINE_BYTES:
            return _digest(raw, is_whole, content_type)
        return await asyncio.to_thread(_digest, raw, is_whole, content_type)
    return await _decode_body(raw, is_whole, encoding.strip().lower(), content_type, limit)


async def _read(
    content: StreamReader, headers: Mapping[str, str], limit: int, rate: TransferRate | None
) -> tuple[bytes, bool]:
    """The bytes on the wire until there are more than `limit`; whether that is all of them."""
    is_too_large = declares_more(headers, limit)
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


async def _decode_body(
    raw: bytes, is_whole: bool, encoding: str, content_type: str | None, limit: int
) -> Body:
    if encoding == "identity":
        return await asyncio.to_thread(_digest, raw, is_whole, content_type)
    wbits = WBITS.get(encoding)
    if wbits is None:
        raise not_asked_for(encoding)
    if is_whole and len(raw) <= _INLINE_BYTES:  # unless it unfolds into more
        small, is_all = _decompress(raw, True, wbits, min(limit, _INLINE_BYTES))
        if is_all:
            return _digest(small, True, content_type)
    return await asyncio.to_thread(
        _decompress_and_digest, raw, is_whole, wbits, limit, content_type
    )


def declares_more(headers: Mapping[str, str], limit: int) -> bool:
    return declared_size(headers) > limit


def declared_size(headers: Mapping[str, str]) -> int:
    """0: the server does not say it."""
    declared = headers.get("content-length", "")
    return int(declared[:20]) if declared.isdecimal() else 0


def too_large(limit: int) -> FetchFailed:
    return FetchFailed(reason=f"the body is larger than {limit} bytes", retryable=False)


def not_asked_for(encoding: str) -> FetchFailed:
    return FetchFailed(
        reason=f"the body is encoded as {encoding[:40]!r}, which was not asked for",
        retryable=False,
    )


def _digest(body: bytes, is_whole: bool, content_type: str | None) -> Body:
    text = decode_body(body if is_whole else without_cut_character(body), content_type)
    characters = 0 if text is None else len(text)
    if text is not None and characters > MAX_SOURCE_CHARACTERS:
        text = text[:MAX_SOURCE_CHARACTERS]
    sha256 = hashlib.sha256(body).hexdigest() if is_whole else None
    return Body(len(body), sha256, text, characters)


def _decompress_and_digest(
    raw: bytes, is_whole: bool, wbits: int, limit: int, content_type: str | None
) -> Body:
    body, is_all = _decompress(raw, is_whole, wbits, limit)
    return _digest(body, is_all, content_type)


def _decompress(raw: bytes, is_whole: bool, wbits: int, limit: int) -> tuple[bytes, bool]:
    """At most `limit` bytes of what comes out, and whether that is all of it.

    Raises FetchFailed for corrupt input. Where `raw` is not whole, it may end anywhere.
    """
    if wbits == zlib.MAX_WBITS and raw[0] & 0x0F != 8:
        wbits = -zlib.MAX_WBITS  # "deflate" without its header, as some servers send it
    output = bytearray()
    try:
        for _ in range(_MAX_MEMBERS):
            member = zlib.decompressobj(wbits)
            output += member.decompress(raw, limit + 1 - len(output))
            if len(output) > limit:
                return bytes(output[:limit]), False
            if not member.eof:
                if is_whole:
                    raise zlib.error("incomplete")
                return bytes(output), False
            raw = member.unused_data
            if not raw.startswith(b"\x1f\x8b"):  # else: a gzip body of several members
                return bytes(output), is_whole
        raise zlib.error("too many members")
    except zlib.error as error:
        raise FetchFailed(reason="the compressed body is corrupt", retryable=False) from error
