"""The body of a response: read, decompressed and decoded within bounds.

Large ones are worked on in a thread, off the event loop.

Decompression is done here and not by aiohttp, which does it on the event loop and which accepts
more encodings than we ask for, depending on what happens to be installed.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from aiohttp import StreamReader

from webloom.domain.errors import FetchFailed
from webloom.domain.inventory import MAX_SOURCE_CHARACTERS
from webloom.parsing.text_decoding import decode_body

ACCEPT_ENCODING = "gzip, deflate"
_INLINE_BYTES = 128 * 1024  # more than this is worked on in a thread
_MAX_MEMBERS = 100  # of a gzip body; each costs a copy of all that follows it
WBITS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


class Body(NamedTuple):  # made for every page, and cheaper than a frozen dataclass
    length: int  # bytes, after decompression
    sha256: str
    text: str | None  # at most MAX_SOURCE_CHARACTERS
    characters: int  # of the whole text


async def read_body(content: StreamReader, headers: Mapping[str, str], *, limit: int) -> Body:
    """`headers` have lower-case names.

    Raises FetchFailed for a body that is too large or wrongly compressed.
    """
    body = content.read_nowait() if content.is_eof() else await _read(content, headers, limit)
    if len(body) > limit:
        raise too_large(limit)
    content_type = headers.get("content-type")
    encoding = headers.get("content-encoding")
    if encoding is None or not body:
        if len(body) <= _INLINE_BYTES:
            return _digest(body, content_type)
        return await asyncio.to_thread(_digest, body, content_type)
    return await _decode_body(body, encoding.strip().lower(), content_type, limit)


async def _read(content: StreamReader, headers: Mapping[str, str], limit: int) -> bytes:
    refuse_declared(headers, limit)
    first = await content.readany()
    if content.at_eof():
        return first
    body = bytearray(first)
    while chunk := await content.readany():
        body += chunk
        if len(body) > limit:
            raise too_large(limit)
    return bytes(body)


async def _decode_body(body: bytes, encoding: str, content_type: str | None, limit: int) -> Body:
    if encoding == "identity":
        return await asyncio.to_thread(_digest, body, content_type)
    wbits = WBITS.get(encoding)
    if wbits is None:
        raise not_asked_for(encoding)
    if len(body) <= _INLINE_BYTES:  # unless it unfolds into more
        small = _decompress(body, wbits, _INLINE_BYTES)
        if small is not None:
            return _digest(small, content_type)
    return await asyncio.to_thread(_decompress_and_digest, body, wbits, limit, content_type)


def refuse_declared(headers: Mapping[str, str], limit: int) -> None:
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise too_large(limit)


def too_large(limit: int) -> FetchFailed:
    return FetchFailed(reason=f"the body is larger than {limit} bytes", retryable=False)


def not_asked_for(encoding: str) -> FetchFailed:
    return FetchFailed(
        reason=f"the body is encoded as {encoding[:40]!r}, which was not asked for",
        retryable=False,
    )


def _digest(body: bytes, content_type: str | None) -> Body:
    text = decode_body(body, content_type)
    characters = 0 if text is None else len(text)
    if text is not None and characters > MAX_SOURCE_CHARACTERS:
        text = text[:MAX_SOURCE_CHARACTERS]
    return Body(len(body), hashlib.sha256(body).hexdigest(), text, characters)


def _decompress_and_digest(body: bytes, wbits: int, limit: int, content_type: str | None) -> Body:
    decompressed = _decompress(body, wbits, limit)
    if decompressed is None:
        raise too_large(limit)
    return _digest(decompressed, content_type)


def _decompress(body: bytes, wbits: int, limit: int) -> bytes | None:
    """None when more than `limit` bytes come out. Raises FetchFailed for corrupt input."""
    if wbits == zlib.MAX_WBITS and body[0] & 0x0F != 8:
        wbits = -zlib.MAX_WBITS  # "deflate" without its header, as some servers send it
    output = bytearray()
    try:
        for _ in range(_MAX_MEMBERS):
            member = zlib.decompressobj(wbits)
            output += member.decompress(body, limit + 1 - len(output))
            if len(output) > limit:
                return None
            if not member.eof:
                raise zlib.error("incomplete")
            body = member.unused_data
            if not body.startswith(b"\x1f\x8b"):  # else: a gzip body of several members
                return bytes(output)
        raise zlib.error("too many members")
    except zlib.error as error:
        raise FetchFailed(reason="the compressed body is corrupt", retryable=False) from error
