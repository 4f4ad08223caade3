"""The fetcher connects to no address that the network policy refuses."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import quote

import aiohttp
import pytest

from e2e.fetcher.fetching import SMALL, FakeResolver, failure_of, only
from e2e.hostile_site import HostileSite
from servers.private import free_port
from webloom.adapters.http.fetcher import HttpFetcher
from webloom.adapters.http.gate import GateRefused
from webloom.adapters.refusal_log import RefusalLog
from webloom.domain.network_policy import NetworkPolicy


async def test_a_connection_that_bypasses_the_gate_fails_the_test() -> None:
    with socket.socket() as sock:
        sock.setblocking(False)
        with pytest.raises(AssertionError, match="the gate let"):
            await asyncio.get_running_loop().sock_connect(sock, ("192.0.2.1", 80))


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


async def test_a_refusal_does_not_reveal_whether_a_port_is_open(
    fetcher: HttpFetcher, canary: HostileSite
) -> None:
    open_port = await failure_of(fetcher, canary.url("/"))
    closed_port = await failure_of(fetcher, "http://127.0.0.2:9/")
    assert open_port.reason == closed_port.reason


async def test_a_refusal_does_not_reveal_the_address_of_a_name(
    site: HostileSite, caplog: pytest.LogCaptureFixture
) -> None:
    addresses = ["127.0.0.2", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "8.8.8.8"]
    policy = NetworkPolicy.parse([f"127.0.0.1:{site.port}"], deny=["8.8.8.0/24"])
    refusals = RefusalLog()
    reported = set()
    for address in addresses:
        names = FakeResolver(shop_test=[[address]])
        async with HttpFetcher(
            policy=policy, refusals=refusals, limits=SMALL, resolver=names
        ) as fetcher:
            failure = await failure_of(fetcher, "http://shop.test/")
            reported.add((failure.reason, failure.retryable))
    assert len(reported) == 1
    [(reason, _)] = reported
    assert reason.startswith(f"shop.test {ELSEWHERE}")
    assert "WEBLOOM_ALLOW_ADDRESSES" in reason
    assert [vars(record)["address"] for record in caplog.records] == addresses
    assert {vars(record)["host"] for record in caplog.records} == {"shop.test"}
    counts = {"not-public": 4, "metadata": 1, "deny-list": 1, "own-address": 0, "port": 0}
    assert refusals.counts() == counts


async def test_a_failed_connection_does_not_reveal_the_address_of_a_name(
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
