"""Refuse at the door what the gate would refuse later, as far as the URL alone tells."""

from __future__ import annotations

from webloom.domain.errors import UrlRefused
from webloom.domain.network_policy import NetworkPolicy
from webloom.parsing.web_url import host_of, normalise


def check_url(url: str, *, policy: NetworkPolicy) -> str:
    """The normalised URL. Raises UrlRefused.

    A host name is looked up only when it is fetched: its answer may be another one by then.
    """
    normal = normalise(url)
    host = host_of(normal)
    if host == "localhost" or host.endswith(".localhost"):
        host = "127.0.0.1"
    is_address = ":" in host or host.rpartition(".")[2].isdigit()
    if is_address and (refusal := policy.refusal(host, _port_of(normal))):
        raise UrlRefused(refusal.detail)
    return normal


def _port_of(url: str) -> int:
    scheme, _, rest = url.partition("://")
    port = rest.partition("/")[0].rpartition("]")[2].rpartition(":")[2]
    if port.isdigit() and ":" in rest.partition("/")[0].rpartition("]")[2]:
        return int(port)
    return 443 if scheme == "https" else 80
