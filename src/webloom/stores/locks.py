from __future__ import annotations

from typing import NamedTuple

from webloom.domain.lease import Lease, acquired, is_held, released
from webloom.stores.primitives import Documents, Now


class _Acquire(NamedTuple):
    owner: str
    seconds: float


class StoredLocks:
    """The port `Locks`, over one document for each name."""

    def __init__(self, documents: Documents[Lease]) -> None:
        self._documents = documents

    async def acquire(self, name: str, owner: str, seconds: float) -> int | None:
        [token] = await self._documents.change(_acquire, [(name, _Acquire(owner, seconds))])
        return token

    async def is_held(self, name: str) -> bool:
        [held] = await self._documents.change(_look, [(name, None)])
        return held

    async def release(self, name: str, owner: str) -> None:
        await self._documents.change(_release, [(name, owner)])


def _acquire(lease: Lease | None, event: _Acquire, now: Now) -> tuple[Lease | None, int | None]:
    until = now.timeline + event.seconds
    taken = acquired(lease, event.owner, now=now.timeline, until=until)
    return (lease, None) if taken is None else (taken, taken.token)


def _look(lease: Lease | None, event: None, now: Now) -> tuple[Lease | None, bool]:
    return lease, is_held(lease, now=now.timeline)


def _release(lease: Lease | None, owner: str, now: Now) -> tuple[Lease | None, None]:
    return released(lease, owner), None
