"""A fetcher's limits, name service and failures, for its tests."""

from __future__ import annotations

import socket

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from e2e.hostile_site import HostileSite
from webloom.adapters.http.fetcher import FetchLimits, HttpFetcher
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


def only(site: HostileSite) -> NetworkPolicy:
    return NetworkPolicy.parse([f"{site.host}:{site.port}"])


async def failure_of(fetcher: HttpFetcher, url: str) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await fetcher.fetch(url)
    return caught.value
