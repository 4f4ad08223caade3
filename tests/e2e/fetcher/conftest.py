"""The fetcher against a site that does what it should not, and canaries it must not reach."""

from __future__ import annotations

import socket
from asyncio.selector_events import BaseSelectorEventLoop
from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import Any

import pytest

from e2e.fetcher.fetching import SMALL, FakeResolver, only
from e2e.hostile_site import HostileSite
from servers.private import free_port
from webloom.adapters.http.fetcher import HttpFetcher


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A net below the gate: were it broken, these tests would still reach no other machine."""
    connect = BaseSelectorEventLoop.sock_connect

    async def connect_to_loopback(
        loop: BaseSelectorEventLoop, sock: socket.socket, address: tuple[Any, ...]
    ) -> None:
        assert ip_address(address[0]).is_loopback, f"the gate let {address} through"
        await connect(loop, sock, address)

    monkeypatch.setattr(BaseSelectorEventLoop, "sock_connect", connect_to_loopback)


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
    """On a machine without IPv6 a port that no server can have: it is still refused."""
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
