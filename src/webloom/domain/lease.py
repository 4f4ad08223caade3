"""Named leases with fencing tokens."""

from __future__ import annotations

from typing import NamedTuple


class Lease(NamedTuple):
    owner: str
    token: int  # grows with every change of owner, and when a lease had expired
    until: float  # on the timeline; not later than now: expired or released


def acquired(lease: Lease | None, owner: str, *, now: float, until: float) -> Lease | None:
    """The lease of `owner`; None while another owner holds it."""
    if lease is None:
        return Lease(owner, 1, until)
    held = is_held(lease, now=now)
    if held and lease.owner != owner:
        return None
    return Lease(owner, lease.token if held else lease.token + 1, until)


def is_held(lease: Lease | None, *, now: float) -> bool:
    return lease is not None and lease.until > now


def released(lease: Lease | None, owner: str) -> Lease | None:
    """Unchanged unless `owner` has it. The lease is kept for its token."""
    if lease is None or lease.owner != owner:
        return lease
    return lease._replace(until=0.0)
