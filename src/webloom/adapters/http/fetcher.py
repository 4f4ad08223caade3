"""One fetch: GET, follow redirects, read, within bounds.

fetch -> normalise -> GatedClient.follow -> read_body -> Received
          `--------- all of it within total_seconds ---------'

Each request goes through the gate; every error becomes FetchFailed in `failures.explain`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any, Self, Unpack
from weakref import WeakKeyDictionary

from aiohttp import ClientResponse, HttpVersion11
from aiohttp.connector import Connection

from webloom.adapters.http.body import Body, read_body
from webloom.adapters.http.client import PAGES, ClientLimits, ClientOptions, FetchTrace, GatedClient
from webloom.adapters.http.deadline import Deadline
from webloom.adapters.http.failures import explained
from webloom.adapters.http.headers import seconds_to_wait
from webloom.domain.inventory import MAX_SOURCE_CHARACTERS, Received
from webloom.domain.transfer_rate import TransferRate
from webloom.parsing.web_url import normalise


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchLimits(ClientLimits):
    total_seconds: float = 30.0  # for the whole chain, from first lookup to last byte
    # On the wire and decompressed; what is behind them is not read.
    max_body_bytes: int = 10 * 1024 * 1024


class HttpFetcher:
    """The Fetcher port over aiohttp. One policy, one pool of connections."""

    def __init__(
        self, *, limits: FetchLimits | None = None, **options: Unpack[ClientOptions]
    ) -> None:
        self._limits = limits or FetchLimits()
        self._client = GatedClient(_TimedResponse, accept=PAGES, limits=self._limits, **options)

    async def __aenter__(self) -> Self:
        self._deadline = Deadline(self._limits.total_seconds)
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._deadline.close()
        await self._client.__aexit__(*exc)

    async def fetch(self, url: str) -> Received:
        trace = FetchTrace()
        with explained(self._limits.total_seconds), self._deadline.running():
            take = partial(self._take, trace)
            return await self._client.follow(normalise(url), trace, take)

    async def _take(
        self, trace: FetchTrace, url: str, response: _TimedResponse, headers: dict[str, str]
    ) -> Received:
        first_byte_at = perf_counter()
        body = await read_body(
            response.content, headers, limit=self._limits.max_body_bytes, rate=self._rate()
        )
        timings = _timings(response, trace, first_byte_at)
        return _received(url, response, headers, body, timings, trace)

    def _rate(self) -> TransferRate | None:
        """None where a fetch is over before a window is: most of the time, and it costs some."""
        limits = self._limits
        if limits.min_rate <= 0 or limits.total_seconds <= limits.rate_window:
            return None
        now = asyncio.get_running_loop().time()
        return TransferRate(limits.min_rate, now=now, window=limits.rate_window)


class _TimedResponse(ClientResponse):
    """Notes what only the connection knows; it may be back in the pool before the body is read."""

    connected_at = 0.0
    tls: dict[str, str | None] | None = None

    def start(self, connection: Connection) -> Coroutine[Any, Any, ClientResponse]:
        self.connected_at = perf_counter()
        if self.url.scheme == "https" and connection.transport is not None:
            self.tls = _tls_facts(connection.transport.get_extra_info("ssl_object"))
        return super().start(connection)


# Reading a certificate costs more than a small page; a connection has the same one throughout.
_known_tls: WeakKeyDictionary[ssl.SSLObject, dict[str, str | None]] = WeakKeyDictionary()


def _tls_facts(connection: ssl.SSLObject | None) -> dict[str, str | None] | None:
    if connection is None:
        return None
    facts = _known_tls.get(connection)
    if facts is None:
        cipher = connection.cipher()
        expires = (connection.getpeercert() or {}).get("notAfter")
        facts = _known_tls[connection] = {
            "version": connection.version(),
            "cipher": cipher[0] if cipher else None,
            "certificate_expires_at": (
                datetime.fromtimestamp(ssl.cert_time_to_seconds(expires), UTC).isoformat()
                if isinstance(expires, str)
                else None
            ),
        }
    return facts


def _received(
    url: str,
    response: _TimedResponse,
    headers: dict[str, str],
    body: Body,
    timings: dict[str, float | None],
    trace: FetchTrace,
) -> Received:
    details: dict[str, Any] = {
        "redirect_chain": trace.chain,
        "timings_ms": timings,
        "http_version": "1.1" if response.version == HttpVersion11 else "1.0",
        "content_type": headers.get("content-type"),
        "content_length": body.size if body.is_whole else None,
        "content_hash": f"sha256:{body.sha256}" if body.is_whole else None,
        "tls": response.tls,
    }
    if not body.is_whole:
        details["body_truncated_at"] = body.size
    if body.text is None:
        details["source_omitted"] = "not text"
    elif not body.is_whole:
        details["source_truncated_at"] = len(body.text)
        details["source_characters"] = None  # not counted
    elif body.characters > MAX_SOURCE_CHARACTERS:
        details["source_truncated_at"] = MAX_SOURCE_CHARACTERS
        details["source_characters"] = body.characters
    return Received(
        status_code=response.status,
        headers=headers,
        cookies=trace.cookies,
        page_source=body.text,
        final_url=url,
        details=details,
        retry_after=seconds_to_wait(headers.get("retry-after")),
    )


def _timings(
    response: _TimedResponse, trace: FetchTrace, first_byte_at: float
) -> dict[str, float | None]:
    """Of the final hop; the total is of the whole chain."""
    dns = connect = None
    dial = trace.dial
    if dial.connecting_since is not None:
        dns = _milliseconds(dial.lookup_seconds)
        connect = _milliseconds(response.connected_at - dial.connecting_since)
    return {
        "dns": dns,
        "connect": connect,
        "first_byte": _milliseconds(first_byte_at - response.connected_at),
        "total": _milliseconds(perf_counter() - trace.started),
    }


def _milliseconds(seconds: float) -> float:
    return int(seconds * 10_000 + 0.5) / 10  # rounded to 0.1; round() is several times slower
