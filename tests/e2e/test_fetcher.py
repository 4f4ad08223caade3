"""The fetcher against a site that does what it should not, and canaries it must not reach."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import inspect
import json
import resource
import socket
import ssl
from asyncio.selector_events import BaseSelectorEventLoop
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
import trustme
from aiohttp.abc import AbstractResolver, ResolveResult

from e2e.hostile_site import PAGE, STATIC, HostileSite, ok
from servers.private import free_port
from webloom import __version__
from webloom.adapters.http.failures import rule_for
from webloom.adapters.http.fetcher import FetchLimits, HttpFetcher
from webloom.adapters.http.gate import GateRefused
from webloom.adapters.http.headers import seconds_to_wait
from webloom.adapters.refusal_log import RefusalLog
from webloom.domain.errors import FetchFailed
from webloom.domain.network_policy import NetworkPolicy

SMALL = FetchLimits(total_seconds=60.0, connect_seconds=60.0, max_body_bytes=1 << 20)


class FakeResolver(AbstractResolver):
    """Names with the addresses that successive lookups find; the last answer stays."""

    def __init__(self, **names: list[list[str]]) -> None:
        self._names = {name.replace("_", "."): answers for name, answers in names.items()}
        self.lookups: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self.lookups.append(host)
        if host not in self._names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        answers = self._names[host]
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A net below the gate: were it broken, these tests would still reach nobody else."""
    connect = BaseSelectorEventLoop.sock_connect

    async def connect_to_loopback(
        loop: BaseSelectorEventLoop, sock: socket.socket, address: tuple[Any, ...]
    ) -> None:
        assert ip_address(address[0]).is_loopback, f"the gate let {address} through"
        await connect(loop, sock, address)

    monkeypatch.setattr(BaseSelectorEventLoop, "sock_connect", connect_to_loopback)


async def test_a_connection_that_bypasses_the_gate_fails_the_test() -> None:
    with socket.socket() as sock:
        sock.setblocking(False)
        with pytest.raises(AssertionError, match="the gate let"):
            await asyncio.get_running_loop().sock_connect(sock, ("192.0.2.1", 80))


@pytest.fixture
async def site() -> AsyncIterator[HostileSite]:
    async with HostileSite() as site:
        yield site


@pytest.fixture
async def canary() -> AsyncIterator[HostileSite]:
    async with HostileSite(host="127.0.0.2") as canary:
        yield canary
        assert canary.connections == 0


@pytest.fixture
async def canary6() -> AsyncIterator[HostileSite]:
    """On a machine without IPv6 a port where nobody can be: it is refused all the same."""
    canary = HostileSite(host="::1")
    try:
        await canary.__aenter__()
    except OSError:
        canary.port = free_port()
        yield canary
        return
    yield canary
    await canary.__aexit__(None, None, None)
    assert canary.connections == 0


@pytest.fixture
async def fetcher(site: HostileSite) -> AsyncIterator[HttpFetcher]:
    """May reach the site, by its address or by name; nothing else on this machine."""
    resolver = FakeResolver(
        site_test=[["127.0.0.1"]],
        sub_site_test=[["127.0.0.1"]],
        other_test=[["127.0.0.1"]],
        loopback_test=[["127.0.0.2"]],
        loopback6_test=[["::1"]],
        mixed_test=[["127.0.0.1", "127.0.0.2"]],
        mixed6_test=[["::1", "127.0.0.1"]],
        public_mixed_test=[["8.8.8.8", "10.0.0.1"]],
        nothing_test=[[]],
    )
    async with HttpFetcher(policy=only(site), limits=SMALL, resolver=resolver) as fetcher:
        yield fetcher


def only(site: HostileSite) -> NetworkPolicy:
    return NetworkPolicy.parse([f"{site.host}:{site.port}"])


async def failure_of(fetcher: HttpFetcher, url: str) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await fetcher.fetch(url)
    return caught.value


# Where it may not go.

ELSEWHERE = "leads to an address that Webloom does not connect to; the log says which and why"
FORBIDDEN = [
    ("http://127.0.0.2:{canary}/", "loopback", "an address beside the allowed one"),
    ("http://127.0.0.1:{canary}/", "loopback", "another port of the allowed address"),
    ("http://[::1]:{canary6}/", "loopback", "IPv6 loopback"),
    ("http://[::]:{canary6}/", "unspecified", "the address that means all"),
    ("http://0.0.0.0:{canary}/", "unspecified", "the address that means all, IPv4"),
    ("http://[::ffff:127.0.0.2]:{canary}/", "loopback", "mapped"),
    ("http://[::127.0.0.2]:{canary}/", "IPv4-compatible", "compatible"),
    ("http://[64:ff9b::7f00:2]:{canary}/", "NAT64", "NAT64"),
    ("http://[2002:7f00:2::]:{canary}/", "6to4", "6to4"),
    ("http://[2001:0:7f00:2::]:{canary}/", "Teredo", "Teredo"),
    ("http://169.254.169.254/latest/", "cloud metadata", "metadata"),
    ("http://[fd00:ec2::254]/", "cloud metadata", "metadata, IPv6"),
    ("http://100.100.100.200/", "cloud metadata", "metadata, Alibaba"),
    ("http://168.63.129.16/", "cloud metadata", "metadata, Azure"),
    ("http://192.0.0.192/", "cloud metadata", "metadata, Oracle"),
    ("http://①②⑦.0.0.2:{canary}/", "loopback", "circled digits"),
    ("http://127。0。0。2:{canary}/", "loopback", "ideographic dots"),
    ("http://loopback.test:{canary}/", ELSEWHERE, "a name for loopback"),
    ("http://loopback6.test:{canary6}/", ELSEWHERE, "a name for IPv6 loopback"),
    ("http://mixed.test:{site}/", ELSEWHERE, "a name for the site and for loopback"),
    ("http://mixed6.test:{site}/", ELSEWHERE, "a name for IPv6 loopback and for the site"),
    ("http://public.mixed.test/", ELSEWHERE, "a name for a public and a private address"),
    ("http://8.8.8.8:22/", "port 22", "ssh"),
    ("http://8.8.8.8:6379/", "port 6379", "Redis"),
    ("http://8.8.8.8:5672/", "port 5672", "RabbitMQ"),
    ("http://8.8.8.8:27017/", "port 27017", "MongoDB"),
    # The form of a URL is checked again, however it came into the queue.
    ("http://2130706434:{canary}/", "number", "an address as one number"),
    ("http://0x7f.2:{canary}/", "number", "an address with a hexadecimal part"),
    ("http://127.2:{canary}/", "number", "a short address"),
    ("http://127.0.0.%32:{canary}/", "percent", "an escape in the host"),
    ("http://127.0.0.2:{canary}\\@site.test/", "backslash", "a backslash"),
    ("http://site.test@127.0.0.2:{canary}/", "user name", "a user name"),
    ("http://127.0.0.2\t:{canary}/", "control", "a tab in the host"),
    ("http://127.0.0.2:{canary}/\r\nHost: x", "control", "a line break"),
    ("file:///etc/passwd", "http", "a file"),
    ("gopher://127.0.0.2:{canary}/", "http", "gopher"),
    ("//127.0.0.2:{canary}/", "http", "no scheme"),
]


@pytest.mark.parametrize(("url", "reason", "why"), FORBIDDEN, ids=[row[2] for row in FORBIDDEN])
async def test_a_forbidden_url_is_refused_before_a_connection_is_made(
    fetcher: HttpFetcher,
    site: HostileSite,
    canary: HostileSite,
    canary6: HostileSite,
    url: str,
    reason: str,
    why: str,
) -> None:
    url = url.format(site=site.port, canary=canary.port, canary6=canary6.port)
    failure = await failure_of(fetcher, url)
    assert reason in failure.reason
    assert not failure.retryable
    assert site.connections == 0


REDIRECTS = [
    ("http://127.0.0.2:{canary}/", "loopback", "to a forbidden address"),
    ("//127.0.0.2:{canary}/", "loopback", "scheme-relative"),
    ("http://loopback.test:{canary}/", ELSEWHERE, "to a name for a forbidden address"),
    ("/redirect?to=http://127.0.0.2:{canary}/", "loopback", "by way of another redirect"),
    ("file:///etc/passwd", "redirect", "to a file"),
    ("http://u:p@site.test/", "redirect", "to a URL with a password"),
    ("http://127.2:{canary}/", "redirect", "to a short address"),
    ("/\\127.0.0.2:{canary}/", "redirect", "with a backslash"),
]


@pytest.mark.parametrize(("to", "reason", "why"), REDIRECTS, ids=[row[2] for row in REDIRECTS])
async def test_a_redirect_is_refused_like_any_url(
    fetcher: HttpFetcher, site: HostileSite, canary: HostileSite, to: str, reason: str, why: str
) -> None:
    to = quote(to.format(canary=canary.port), safe="")
    failure = await failure_of(fetcher, site.url(f"/redirect?to={to}"))
    assert reason in failure.reason
    assert not failure.retryable


async def test_the_system_resolver_is_guarded_too(site: HostileSite, canary: HostileSite) -> None:
    async with HttpFetcher(policy=only(site)) as fetcher:
        for name in ("localhost", "LOCALHOST."):
            failure = await failure_of(fetcher, f"http://{name}:{canary.port}/")
            assert ELSEWHERE in failure.reason
            assert isinstance(failure.__cause__, aiohttp.ClientConnectorDNSError)
            assert isinstance(failure.__cause__.os_error, GateRefused)
        assert (await fetcher.fetch(site.url("/page"))).status_code == 200
    async with HttpFetcher(policy=NetworkPolicy.parse(["127.0.0.1", "::1"])) as fetcher:
        assert (await fetcher.fetch(site.url("/page", host="localhost"))).status_code == 200


async def test_metadata_stays_refused_when_private_networks_are_allowed() -> None:
    policy = NetworkPolicy.parse(["0.0.0.0/0", "::/0"])
    async with HttpFetcher(policy=policy, limits=SMALL) as fetcher:
        for host in ("169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16"):
            assert "metadata" in (await failure_of(fetcher, f"http://{host}/")).reason


async def test_a_name_that_changes_its_address_is_checked_at_every_connection(
    site: HostileSite, canary: HostileSite
) -> None:
    resolver = FakeResolver(rebind_test=[["127.0.0.1"], ["127.0.0.2"]])
    async with HttpFetcher(policy=only(site), limits=SMALL, resolver=resolver) as fetcher:
        to = quote(f"http://rebind.test:{canary.port}/", safe="")
        failure = await failure_of(fetcher, site.url(f"/redirect?to={to}", host="rebind.test"))
        assert ELSEWHERE in failure.reason
    assert resolver.lookups == ["rebind.test", "rebind.test"]  # one for each connection
    assert len(site.requests) == 1


async def test_webloom_does_not_call_its_own_api(site: HostileSite) -> None:
    policy = NetworkPolicy.parse(["127.0.0.1"], own=(("0.0.0.0", site.port),))
    async with HttpFetcher(policy=policy, limits=SMALL) as fetcher:
        assert "own API" in (await failure_of(fetcher, site.url("/page"))).reason
    assert site.connections == 0


async def test_a_refusal_does_not_tell_open_ports_from_closed_ones(
    fetcher: HttpFetcher, canary: HostileSite
) -> None:
    open_port = await failure_of(fetcher, canary.url("/"))
    closed_port = await failure_of(fetcher, "http://127.0.0.2:9/")
    assert open_port.reason == closed_port.reason


async def test_what_is_told_of_a_name_does_not_tell_where_it_leads(
    site: HostileSite, caplog: pytest.LogCaptureFixture
) -> None:
    addresses = ["127.0.0.2", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "8.8.8.8"]
    policy = NetworkPolicy.parse([f"127.0.0.1:{site.port}"], deny=["8.8.8.0/24"])
    refusals = RefusalLog()
    told = set()
    for address in addresses:
        names = FakeResolver(shop_test=[[address]])
        async with HttpFetcher(
            policy=policy, refusals=refusals, limits=SMALL, resolver=names
        ) as fetcher:
            failure = await failure_of(fetcher, "http://shop.test/")
            told.add((failure.reason, failure.retryable))
    assert len(told) == 1
    [(reason, _)] = told
    assert reason.startswith(f"shop.test {ELSEWHERE}")
    assert "WEBLOOM_ALLOW_ADDRESSES" in reason
    assert [vars(record)["address"] for record in caplog.records] == addresses
    assert {vars(record)["host"] for record in caplog.records} == {"shop.test"}
    counts = {"not-public": 4, "metadata": 1, "deny-list": 1, "own-address": 0, "port": 0}
    assert refusals.counts() == counts


async def test_a_connection_that_fails_does_not_tell_the_address_of_a_name(
    site: HostileSite,
) -> None:
    closed = free_port()
    names = FakeResolver(one_test=[["127.0.0.1"]], two_test=[["127.0.0.1", "127.0.0.3"]])
    policy = NetworkPolicy.parse(["127.0.0.0/8"])
    async with HttpFetcher(policy=policy, limits=SMALL, resolver=names) as fetcher:
        for name in ("one.test", "two.test"):
            failure = await failure_of(fetcher, f"http://{name}:{closed}/")
            assert failure.reason == "no connection could be made: Connection refused"


async def test_a_proxy_in_the_environment_is_ignored(
    site: HostileSite, canary: HostileSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, canary.url("/"))
    async with HttpFetcher(policy=only(site), limits=SMALL) as fetcher:
        assert (await fetcher.fetch(site.url("/page"))).status_code == 200


# Answers that are wrong, too large or never complete.

BROKEN = [
    ("/not-http", False, "not valid HTTP", "another protocol"),
    ("/status-999", False, "999", "a status that does not exist"),
    ("/unasked-101", False, "101", "a protocol switch that nobody asked for"),
    ("/content-length-negative", False, "not valid HTTP", "less than no body"),
    ("/content-length-not-a-number", False, "not valid HTTP", "a length that is no number"),
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
    ("/header-without-colon", False, "not valid HTTP", "a line that is no header"),
    ("/header-too-long", False, "not valid HTTP", "a long header"),
    ("/headers-too-many", False, "not valid HTTP", "many headers"),
    ("/cookies-too-many", False, "not valid HTTP", "many cookies"),
    ("/endless-header", False, "not valid HTTP", "a header without end"),
    ("/endless-headers", False, "not valid HTTP", "headers without end"),
    ("/endless-status-line", False, "not valid HTTP", "a status line without end"),
    ("/endless-trailers", False, "not valid HTTP", "trailers without end"),
    ("/chunk-size-wrong", False, "not valid HTTP", "a chunk size that is no number"),
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


async def test_what_never_completes_ends_at_the_total_time_and_holds_up_nobody(
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


LIMIT = SMALL.max_body_bytes
OVERSIZED = [
    ("/endless-body", LIMIT, "a body without end"),
    ("/bomb?encoding=gzip&mebibytes=32", LIMIT, "gzip bomb"),
    ("/bomb?encoding=deflate&mebibytes=32", LIMIT, "deflate bomb"),
    ("/content-length-huge", len(PAGE), "a length that is too large, and an early end"),
    ("/large", LIMIT, "a long page"),
]


@pytest.mark.parametrize(("path", "size", "why"), OVERSIZED, ids=[row[2] for row in OVERSIZED])
async def test_a_body_that_is_too_large_is_an_answer_without_length_and_hash(
    fetcher: HttpFetcher, site: HostileSite, path: str, size: int, why: str
) -> None:
    received = await fetcher.fetch(site.url(path))
    assert (received.status_code, received.final_url) == (200, site.url(path))
    assert received.headers
    details = received.details
    assert details["body_truncated_at"] == size
    assert (details["content_length"], details["content_hash"]) == (None, None)
    if received.page_source is not None:
        kept = min(size, 1_000_000)
        assert len(received.page_source) == details["source_truncated_at"] == kept
        assert details["source_characters"] is None
    assert (await fetcher.fetch(site.url("/page"))).status_code == 200  # unharmed


CUT = "é" * 1000  # two bytes each, so that an odd limit cuts one in two
CUT_BODIES = [
    ([], CUT.encode(), "on the wire"),
    (["Content-Encoding: gzip"], gzip.compress(CUT.encode()), "decompressed"),
    (["Content-Encoding: gzip"], gzip.compress(CUT.encode(), 0), "on the wire, compressed"),
]


@pytest.mark.parametrize(("headers", "body", "why"), CUT_BODIES, ids=[r[2] for r in CUT_BODIES])
async def test_a_character_that_the_limit_cuts_in_two_is_left_out(
    site: HostileSite, monkeypatch: pytest.MonkeyPatch, headers: list[str], body: bytes, why: str
) -> None:
    monkeypatch.setitem(STATIC, "/cut", ok(body, "Content-Type: text/html", *headers))
    limits = replace(SMALL, max_body_bytes=1501)
    async with HttpFetcher(policy=only(site), limits=limits) as fetcher:
        received = await fetcher.fetch(site.url("/cut"))
    assert received.page_source
    assert set(received.page_source) == {"é"}
    assert 1450 <= received.details["body_truncated_at"] <= 1501
    assert received.details["source_truncated_at"] == len(received.page_source)


async def test_a_body_that_ends_at_the_limit_is_whole(
    site: HostileSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        STATIC, "/zipped", ok(gzip.compress(CUT.encode()), "Content-Encoding: gzip")
    )
    limits = replace(SMALL, max_body_bytes=2000)
    async with HttpFetcher(policy=only(site), limits=limits) as fetcher:
        received = await fetcher.fetch(site.url("/zipped"))
    assert received.details["content_length"] == 2000
    assert "body_truncated_at" not in received.details


CHARSETS = ["punycode", "zlib", "idna", "utf-7", "no-such-charset", "utf-16", "x" * 3000]


@pytest.mark.parametrize("charset", CHARSETS)
async def test_a_hostile_charset_costs_nothing(
    fetcher: HttpFetcher, site: HostileSite, charset: str
) -> None:
    url = site.url(f"/text?type=text/html;charset={charset}&body=caf%25C3%25A9")
    received = await fetcher.fetch(url)
    assert received.page_source is not None
    assert received.page_source == "café" or charset == "utf-16"


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
    assert isinstance(failure.__cause__, aiohttp.ClientConnectorError)


async def test_a_connection_that_is_never_made_ends_at_its_own_time() -> None:
    limits = FetchLimits(total_seconds=30.0, connect_seconds=0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the call, never says hello
        host, port = silent.getsockname()
        policy = NetworkPolicy.parse([f"{host}:{port}"])
        async with HttpFetcher(policy=policy, limits=limits) as fetcher:
            failure = await failure_of(fetcher, f"https://{host}:{port}/")
    assert (failure.reason, failure.retryable) == ("no connection in time", True)


async def test_our_own_bug_is_not_dressed_up_as_the_sites_fault(site: HostileSite) -> None:
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


# What is kept of a good answer.


async def test_a_page_is_kept_with_all_that_is_known_of_it(
    fetcher: HttpFetcher, site: HostileSite
) -> None:
    received = await fetcher.fetch(site.url("/page", host="site.test"))
    assert received.status_code == 200
    assert received.headers == {
        "content-length": str(len(PAGE)),
        "content-type": "text/html; charset=utf-8",
    }
    assert received.cookies == {}
    assert received.page_source == PAGE.decode()
    assert received.final_url == site.url("/page", host="site.test")
    assert received.retry_after is None
    details = json.loads(json.dumps(received.details))
    timings = details.pop("timings_ms")
    assert details == {
        "redirect_chain": [],
        "http_version": "1.1",
        "content_type": "text/html; charset=utf-8",
        "content_length": len(PAGE),
        "content_hash": f"sha256:{hashlib.sha256(PAGE).hexdigest()}",
        "tls": None,
    }
    assert timings.keys() == {"dns", "connect", "first_byte", "total"}
    assert all(value >= 0 for value in timings.values())


async def test_the_request_is_plain(fetcher: HttpFetcher, site: HostileSite) -> None:
    await fetcher.fetch(site.url("/page?a=%2F&b=ä"))
    (request,) = site.requests
    assert request.target == "/page?a=%2F&b=%C3%A4"
    assert request.headers == {
        "host": f"127.0.0.1:{site.port}",
        "user-agent": f"Webloom/{__version__} (+self-hosted)",
        "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "accept-encoding": "gzip, deflate",
    }


async def test_a_reused_connection_has_no_times_for_connecting(
    fetcher: HttpFetcher, site: HostileSite
) -> None:
    await fetcher.fetch(site.url("/page"))
    again = await fetcher.fetch(site.url("/page"))
    assert site.connections == 1
    assert again.details["timings_ms"]["dns"] is None
    assert again.details["timings_ms"]["connect"] is None


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/gzip", PAGE * 10),
        ("/gzip-members", b"ab"),
        ("/deflate", PAGE),
        ("/deflate-raw", PAGE),
    ],
)
async def test_a_compressed_page_is_kept_decompressed(
    fetcher: HttpFetcher, site: HostileSite, path: str, body: bytes
) -> None:
    received = await fetcher.fetch(site.url(path))
    assert received.page_source == body.decode()
    assert received.details["content_length"] == len(body)
    assert received.details["content_hash"] == f"sha256:{hashlib.sha256(body).hexdigest()}"


async def test_a_long_page_is_cut_and_says_so(site: HostileSite) -> None:
    async with HttpFetcher(policy=only(site)) as fetcher:
        received = await fetcher.fetch(site.url("/large"))
    assert received.page_source is not None
    assert len(received.page_source) == 1_000_000
    assert received.details["source_truncated_at"] == 1_000_000
    assert received.details["source_characters"] == 1_200_003
    assert received.details["content_length"] == 1_200_003


async def test_what_is_not_text_has_no_source(fetcher: HttpFetcher, site: HostileSite) -> None:
    received = await fetcher.fetch(site.url("/binary"))
    assert received.page_source is None
    assert received.details["source_omitted"] == "not text"


async def test_headers_are_kept_in_a_form_that_can_be_stored(
    fetcher: HttpFetcher, site: HostileSite
) -> None:
    received = await fetcher.fetch(site.url("/headers-odd"))
    assert received.headers["x-raw"] == "caf\ufffd"
    assert received.headers["x-twice"] == "a, b"
    assert received.headers["set-cookie"] == "a=1\nb=2, 3"
    assert received.cookies == {"a": "1", "b": "2, 3"}


@pytest.mark.parametrize("status", [204, 304, 404, 418, 500, 503])
async def test_an_answer_with_any_status_is_an_answer(
    fetcher: HttpFetcher, site: HostileSite, status: int
) -> None:
    received = await fetcher.fetch(site.url(f"/status?code={status}&retry-after=7"))
    assert received.status_code == status
    assert received.retry_after == 7.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        (" 120 ", 120.0),
        ("9" * 5000, 1e10),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
        ("Fri, 31 Feb 2025 99:00:00 GMT", None),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_never_negative(
    value: str, seconds: float | None
) -> None:
    assert seconds_to_wait(value) == seconds


def test_retry_after_counts_to_its_date() -> None:
    seconds = seconds_to_wait(format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True))
    assert seconds is not None
    assert 3500 < seconds <= 3600


# Redirects and cookies.


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_and_remembered(
    fetcher: HttpFetcher, site: HostileSite, status: int
) -> None:
    first = site.url(f"/redirect?code={status}&to=/hops%3Fleft=1%23top")
    received = await fetcher.fetch(first)
    assert received.status_code == 200
    assert received.final_url == site.url("/hops?left=0")
    assert received.details["redirect_chain"] == [
        {"url": first, "status_code": status},
        {"url": site.url("/hops?left=1"), "status_code": 302},
    ]


async def test_five_redirects_are_followed(fetcher: HttpFetcher, site: HostileSite) -> None:
    assert (await fetcher.fetch(site.url("/hops?left=5"))).status_code == 200


async def test_a_redirect_to_nowhere_is_an_answer(fetcher: HttpFetcher, site: HostileSite) -> None:
    received = await fetcher.fetch(site.url("/redirect-without-location"))
    assert (received.status_code, received.page_source) == (302, "lost")


async def test_a_location_that_is_not_utf8_keeps_its_bytes(
    fetcher: HttpFetcher, site: HostileSite
) -> None:
    received = await fetcher.fetch(site.url("/redirect-raw-bytes"))
    assert received.final_url == site.url("/caf%E9")


async def test_a_site_gets_back_the_cookie_that_it_set_on_the_way(
    fetcher: HttpFetcher, site: HostileSite
) -> None:
    received = await fetcher.fetch(site.url("/cookie-wall"))
    assert received.status_code == 200
    assert received.cookies == {"pass": "yes/1"}
    await fetcher.fetch(site.url("/page"))
    assert "cookie" not in site.requests[-1].headers  # the next fetch starts with none


@pytest.mark.parametrize(
    ("cookie", "host", "sent", "why"),
    [
        ("a=1", "site.test", "a=1", "the same host"),
        ("a=1", "other.test", None, "another site"),
        ("a=1", "sub.site.test", None, "a host below, without Domain"),
        ("a=1; Domain=site.test", "sub.site.test", "a=1", "a host below, with Domain"),
        ("a=1; Domain=other.test", "other.test", None, "set for another site"),
        ("a=1; Path=/elsewhere", "site.test", None, "for another path"),
        ("a=1; Secure", "site.test", None, "for secure connections only"),
        ("a=1; Max-Age=0", "site.test", None, "expired"),
    ],
)
async def test_a_cookie_goes_where_a_browser_would_send_it(
    fetcher: HttpFetcher, site: HostileSite, cookie: str, host: str, sent: str | None, why: str
) -> None:
    to = quote(site.url("/page", host=host), safe="")
    url = site.url(f"/redirect?to={to}&cookie={quote(cookie, safe='')}", host="site.test")
    received = await fetcher.fetch(url)
    assert received.final_url == site.url("/page", host=host)
    assert site.requests[-1].headers.get("cookie") == sent
    assert "authorization" not in site.requests[-1].headers


# TLS.


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def _server_context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)
    return context


async def test_a_secure_page_is_kept_with_facts_of_its_connection(authority: trustme.CA) -> None:
    expires = datetime(2035, 1, 2, 3, 4, 5, tzinfo=UTC)
    certificate = authority.issue_cert("site.test", not_after=expires)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(
            HostileSite(ssl_context=_server_context(certificate))
        )
        fetcher = await stack.enter_async_context(
            HttpFetcher(
                policy=only(site),
                limits=SMALL,
                resolver=FakeResolver(site_test=[["127.0.0.1"]]),
                ssl_context=trusting,
            )
        )
        for _ in range(2):  # on a new connection, and on one from the pool
            received = await fetcher.fetch(site.url("/page", host="site.test"))
            assert received.details["tls"] == {
                "version": "TLSv1.3",
                "cipher": received.details["tls"]["cipher"],
                "certificate_expires_at": "2035-01-02T03:04:05+00:00",
            }
            assert received.details["tls"]["cipher"].startswith("TLS_")
        assert site.connections == 1


YESTERDAY = datetime.now(UTC) - timedelta(days=1)


@pytest.mark.parametrize(
    ("name", "trusted", "expires", "why"),
    [
        ("site.test", False, None, "an unknown authority"),
        ("other.test", True, None, "another name"),
        ("site.test", True, YESTERDAY, "expired"),
    ],
)
async def test_a_bad_certificate_is_refused_for_good(
    authority: trustme.CA, name: str, trusted: bool, expires: datetime | None, why: str
) -> None:
    begins = YESTERDAY - timedelta(days=9) if expires else None
    certificate = authority.issue_cert(name, not_before=begins, not_after=expires)
    context = ssl.create_default_context()
    if trusted:
        authority.configure_trust(context)
    async with HostileSite(ssl_context=_server_context(certificate)) as site:
        resolver = FakeResolver(site_test=[["127.0.0.1"]])
        async with HttpFetcher(
            policy=only(site), limits=SMALL, resolver=resolver, ssl_context=context
        ) as fetcher:
            failure = await failure_of(fetcher, site.url("/page", host="site.test"))
    assert "certificate" in failure.reason
    assert not failure.retryable
    assert site.requests == []


async def test_a_site_without_tls_is_no_secure_site(site: HostileSite) -> None:
    async with HttpFetcher(policy=only(site), limits=SMALL) as fetcher:
        failure = await failure_of(fetcher, site.url("/page").replace("http:", "https:"))
    assert "secure connection" in failure.reason
