"""Refuse early what the network policy would refuse later, as far as the URL alone shows."""

from __future__ import annotations

from urllib.parse import urlsplit

from webloom.domain.errors import UrlRefused
from webloom.domain.network_policy import NetworkPolicy
from webloom.parsing.typed_address import url_meant
from webloom.parsing.web_url import host_of, normalise


def check_url(url: str, *, policy: NetworkPolicy) -> str:
    """The normalised URL. Raises UrlRefused.

    A host name is resolved only when it is fetched: it may have another address by then.
    """
    normal = normalise(url)
    host = host_of(normal)
    if host == "localhost" or host.endswith(".localhost"):
        host = "127.0.0.1"
    is_address = ":" in host or host.rpartition(".")[2].isdigit()
    if is_address and (refusal := policy.refusal(host, _port_of(normal))):
        raise UrlRefused(refusal.detail)
    return normal


def check_address(address: str, *, policy: NetworkPolicy) -> str:
    """As `check_url`, of an address as a person types it: without a scheme it is https."""
    return check_url(url_meant(address), policy=policy)


def _port_of(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)
