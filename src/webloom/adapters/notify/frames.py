"""What goes between Webloom and the process that sends by Apprise."""

from __future__ import annotations

import msgspec

from webloom.domain.network_policy import NetworkPolicy


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """Once, on the child's standard input: what is there is seen by nobody else."""

    url: str
    title: str
    lines: list[str]
    allow: list[str]  # the network policy
    own: list[tuple[str, int]]
    parent: int  # the process id


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Once, on its standard output."""

    sent: bool
    reason: str = ""
    retryable: bool = False


def policy_entries(policy: NetworkPolicy) -> list[str]:
    """What NetworkPolicy.parse makes the same exceptions of."""
    return [
        *map(str, sorted(policy.addresses, key=str)),
        *map(str, policy.networks),
        *(f"[{address}]:{port}" for address, port in policy.endpoints),
    ]
