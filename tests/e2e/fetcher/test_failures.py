"""Answers that are broken, slow or missing: what failed, and whether to try again."""

from __future__ import annotations

import asyncio
import inspect
import resource
import socket
from dataclasses import replace

import aiohttp
import pytest
from aiohttp.abc import ResolveResult

from e2e.fetcher.fetching import SMALL, FakeResolver, failure_of, only
from e2e.hostile_site import HostileSite
from webloom.adapters.http.failures import rule_for
from webloom.adapters.http.fetcher import FetchLimits, HttpFetcher
from webloom.domain.errors import NotConnected
from webloom.domain.network_policy import NetworkPolicy

BROKEN = [
    ("/not-http", False, "not valid HTTP", "another protocol"),
    ("/status-999", False, "999", "a status that does not exist"),
    ("/unasked-101", False, "101", "an unrequested protocol switch"),
    ("/content-length-negative", False, "not valid HTTP", "less than no body"),
    ("/content-length-not-a-number", False, "not valid HTTP", "a length that is not a number"),
    ("/content-length-twice", False, "not valid HTTP", "two lengths"),
    ("/content-length-beyond-numbers", False, "", "a length that no number holds"),
    ("/content-length-and-chunked", False, "not valid HTTP", "two ways to end"),
    ("/content-length-too-short", False, "not valid HTTP", "more than was promised"),
    ("/content-length-too-long", True, "ended before", "less than was promised"),
    ("/chunk-cut", True, "ended before", "the end of the chunk is missing"),
    ("/no-bytes", True, "lost", "an answer of no bytes"),
    ("/reset", True, "lost", "a connection torn down"),
    ("/gzip-corrupt", False, "corrupt", "gzip with wrong bytes"),
    ("/gzip-cut", False, "corrupt", "gzip that ends too early"),
    ("/gzip-not", False, "corrupt", "no gzip at all"),
    ("/gzip-twice", False, "not asked for", "compressed twice"),
    ("/gzip-many-members", False, "corrupt", "tens of thousands of gzip members"),
    ("/brotli", False, "not asked for", "brotli"),
    ("/zstd", False, "not asked for", "zstandard"),
    ("/encoding-unknown", False, "not asked for", "an encoding that does not exist"),
    ("/header-nul", False, "not valid HTTP", "NUL in a header"),
    ("/header-without-colon", False, "not valid HTTP", "a line that is not a header"),
    ("/header-too-long", False, "not valid HTTP", "a long header"),
    ("/headers-too-many", False, "not valid HTTP", "many headers"),
    ("/cookies-too-many", False, "not valid HTTP", "many cookies"),
    ("/endless-header", False, "not valid HTTP", "a header without end"),
    ("/endless-headers", False, "not valid HTTP", "headers without end"),
    ("/endless-status-line", False, "not valid HTTP", "a status line without end"),
    ("/endless-trailers", False, "not valid HTTP", "trailers without end"),
    ("/chunk-size-wrong", False, "not valid HTTP", "a chunk size that is not a number"),
    ("/hops?left=50", False, "more than 5 redirects", "many redirects"),
    ("/circle", False, "circle", "redirects that go round"),
]


@pytest.mark.parametrize(
    ("path", "retryable", "reason", "why"), BROKEN, ids=[row[3] for row in BROKEN]
)
async def test_a_broken_answer_is_an_error_and_says_whether_to_try_again(
    fetcher: HttpFetcher, site: HostileSite, path: str, retryable: bool, reason: str, why: str
) -> None:
    failure = await failure_of(fetcher, site.url(path))
    assert reason in failure.reason
    assert failure.retryable is retryable
    assert (await fetcher.fetch(site.url("/page"))).status_code == 200  # unharmed


async def test_an_endless_answer_times_out_without_delaying_others(
    site: HostileSite,
) -> None:
    paths = [
        "/silence",
        "/drip-body",
        "/drip-headers",
        "/endless-continue",
        "/endless-extension",
        "/one-byte-chunks",
        "/chunk-size-wrong-later",  # aiohttp closes the connection and does not tell the reader
    ]
    limits = replace(SMALL, total_seconds=10.0, max_body_bytes=1 << 30)
    async with HttpFetcher(policy=only(site), limits=limits) as fetcher:
        slow = [asyncio.create_task(failure_of(fetcher, site.url(path))) for path in paths]
        assert (await fetcher.fetch(site.url("/page"))).status_code == 200
        assert not any(task.done() for task in slow)
        failures = await asyncio.gather(*slow)
    for path, failure in zip(paths, failures, strict=True):
        assert (failure.reason, failure.retryable) == ("no complete answer within 10 s", True), path


async def test_a_body_that_comes_too_slowly_may_be_tried_again(site: HostileSite) -> None:
    limits = replace(SMALL, rate_window=1.0)
    async with HttpFetcher(policy=only(site), limits=limits) as fetcher:
        failure = await failure_of(fetcher, site.url("/drip-body"))
    assert "in 1 s, less than 1 KB/s (WEBLOOM_MIN_RATE)" in failure.reason
    assert failure.retryable


async def test_a_bomb_does_not_fill_the_memory(fetcher: HttpFetcher, site: HostileSite) -> None:
    url = site.url("/bomb?encoding=gzip&mebibytes=256")
    await fetcher.fetch(url)  # the bomb itself is built once
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await asyncio.gather(*(fetcher.fetch(url) for _ in range(8)))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) / 1024 < 150


UNREACHABLE = [
    ("http://no-such-name.test/", "resolved", "a name that does not exist"),
    ("http://nothing.test/", "resolved", "a name without an address"),
]


@pytest.mark.parametrize(("url", "reason", "why"), UNREACHABLE, ids=[row[2] for row in UNREACHABLE])
async def test_a_name_that_cannot_be_resolved_may_be_tried_again(
    fetcher: HttpFetcher, url: str, reason: str, why: str
) -> None:
    failure = await failure_of(fetcher, url)
    assert reason in failure.reason
    assert failure.retryable


async def test_a_refused_connection_may_be_tried_again() -> None:
    async with HostileSite() as site:
        policy = only(site)
    async with HttpFetcher(policy=policy, limits=SMALL) as fetcher:
        failure = await failure_of(fetcher, site.url("/"))
    assert "no connection could be made" in failure.reason
    assert failure.retryable
    assert isinstance(failure, NotConnected)
    assert isinstance(failure.__cause__, aiohttp.ClientConnectorError)


async def test_a_connection_that_is_never_made_ends_at_its_own_time() -> None:
    limits = FetchLimits(total_seconds=30.0, connect_seconds=0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the call, never says hello
        host, port = silent.getsockname()
        policy = NetworkPolicy.parse([f"{host}:{port}"])
        async with HttpFetcher(policy=policy, limits=limits) as fetcher:
            failure = await failure_of(fetcher, f"https://{host}:{port}/")
    assert (failure.reason, failure.retryable) == ("no connection in time", True)
    assert isinstance(failure, NotConnected)


async def test_a_bug_of_our_own_is_not_reported_as_a_failed_fetch(site: HostileSite) -> None:
    class BuggyResolver(FakeResolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            raise ZeroDivisionError

    async with HttpFetcher(policy=only(site), resolver=BuggyResolver()) as fetcher:
        with pytest.raises(ZeroDivisionError):
            await fetcher.fetch(site.url("/", host="site.test"))


async def test_a_cancelled_fetch_is_cancelled(fetcher: HttpFetcher, site: HostileSite) -> None:
    task = asyncio.create_task(fetcher.fetch(site.url("/silence")))
    await site.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await fetcher.fetch(site.url("/page"))).status_code == 200


def test_every_error_of_the_http_client_has_a_rule() -> None:
    known = {
        kind
        for _, kind in inspect.getmembers(aiohttp.client_exceptions, inspect.isclass)
        if issubclass(kind, aiohttp.ClientError)
    }
    assert len(known) > 25
    assert {kind for kind in known if rule_for(kind) is None} == {aiohttp.ClientError}  # the base
