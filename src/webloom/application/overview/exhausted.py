from __future__ import annotations

from collections.abc import Iterable

from webloom.ports.heartbeats import Heartbeat


def exhausted(alive: Iterable[Heartbeat]) -> str | None:
    """What processes wait for, as their machines have run out of it, and what to do about it. The
    same of several is told once."""
    told = {beat.exhausted: beat for beat in alive if beat.exhausted}
    parts = [f"{beat.role} {beat.pid} on {beat.host}: {why}" for why, beat in told.items()]
    return "; ".join(parts) or None
