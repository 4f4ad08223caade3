"""The client of a request: limits and counts are per client.

A client is an IPv4 address, or the 64-bit network of an IPv6 address, which is what a provider
gives to one customer. Behind a reverse proxy every connection has the proxy's address; the
X-Forwarded-For of a proxy in WEBLOOM_TRUSTED_PROXIES is trusted.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

RawHeaders = Iterable[tuple[bytes, bytes]]

MOST_REMEMBERED = 10_000


class TrustedProxies:
    def __init__(self, entries: Iterable[str]) -> None:
        self._networks = tuple(ipaddress.ip_network(entry) for entry in entries)

    def include(self, peer: str) -> bool:
        return bool(self._networks) and self._are(peer)

    def client(self, peer: str, headers: RawHeaders) -> str:
        """The nearest address in X-Forwarded-For that is not a trusted proxy's."""
        if not self.include(peer):
            return client_of(peer)
        forwarded = b",".join(value for name, value in headers if name == b"x-forwarded-for")
        for part in reversed(forwarded[-4096:].split(b",")):
            address = _bare(part.decode("latin-1").strip())
            if _parsed(address) is None:
                break  # everything to the left may be forged
            peer = address
            if not self._are(address):
                break
        return client_of(peer)

    def uses_https(self, peer: str, headers: RawHeaders) -> bool:
        """Whether the client has a TLS connection to the proxy."""
        if not self.include(peer):
            return False
        return [value for name, value in headers if name == b"x-forwarded-proto"][-1:] == [b"https"]

    def _are(self, address: str) -> bool:
        parsed = _parsed(address)
        return parsed is not None and any(parsed in network for network in self._networks)


@lru_cache(maxsize=MOST_REMEMBERED)
def client_of(address: str) -> str:
    parsed = _parsed(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
    return address if parsed is None else str(parsed)


@lru_cache(maxsize=MOST_REMEMBERED)
def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


def _bare(address: str) -> str:
    """Without a port: some proxies write 192.0.2.1:4711 or [2001:db8::1]:4711."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address
