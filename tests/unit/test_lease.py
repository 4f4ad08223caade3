"""A lease for as long as an action takes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fakes.clock import FakeClock
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.locks import LOCKS, sqlite_locks
from webloom.adapters.sqlite.primitives import SqliteDocuments
from webloom.application.lease import Lease
from webloom.domain.errors import StoreUnavailable
from webloom.stores.locks import StoredLocks

LEASE = 1.0  # seconds; a renewal comes after each quarter


class Lock(StoredLocks):
    """Counts who asks, and may be away."""

    def __init__(self, database: Database, *, is_away: frozenset[int] = frozenset()) -> None:
        super().__init__(SqliteDocuments(database, LOCKS))
        self.taken = 0
        self.renewed = asyncio.Event()  # after it was away once
        self._is_away = is_away  # at which calls

    async def acquire(self, name: str, owner: str, seconds: float) -> int | None:
        self.taken += 1
        if self.taken in self._is_away:
            raise StoreUnavailable("away for a moment")
        token = await super().acquire(name, owner, seconds)
        if self.taken > 3:
            self.renewed.set()
        return token

    async def release(self, name: str, owner: str) -> None:
        raise AssertionError("it is kept for the next time")


@pytest.fixture
def quick_renewals(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come long before the lease is over, however slow the machine is."""
    wait = asyncio.wait

    def wait_less(tasks: Any, *, timeout: float | None = None) -> Any:
        return wait(tasks, timeout=None if timeout is None else timeout / 100)

    monkeypatch.setattr(asyncio, "wait", wait_less)


@pytest.mark.usefixtures("quick_renewals")
async def test_a_lease_is_renewed_until_the_action_ends(database: Database) -> None:
    lock = Lock(database, is_away=frozenset({2}))
    async with asyncio.timeout(60):
        await Lease(lock, "name", "we", 8.0).during(lock.renewed.wait)
    taken = lock.taken
    await asyncio.sleep(0)
    assert lock.taken == taken > 3
    assert len(asyncio.all_tasks()) == 1
    assert await lock.acquire("name", "others", 8.0) is None, "it is still ours"


async def test_without_the_lease_nothing_is_done(database: Database) -> None:
    await sqlite_locks(database).acquire("name", "others", 3600.0)
    lock = Lock(database)
    await Lease(lock, "name", "we", 0.01).during(lock.renewed.wait)
    assert lock.taken == 1


@pytest.mark.parametrize("answers", [True, False])
async def test_a_lost_lease_cancels_the_action(
    database: Database, clock: FakeClock, answers: bool
) -> None:
    """Another holder has it by the first renewal; or there is no answer."""
    lock = Lock(database, is_away=frozenset() if answers else frozenset(range(2, 1000)))
    ended = asyncio.Event()

    async def act() -> None:
        clock.advance(LEASE + 1)
        assert await sqlite_locks(database).acquire("name", "others", 3600.0) is not None
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with asyncio.timeout(60):
        await Lease(lock, "name", "we", LEASE).during(act)
    assert ended.is_set()
    assert lock.taken > 1
    assert len(asyncio.all_tasks()) == 1


async def test_the_error_of_an_action_is_raised_and_renewal_stops(
    database: Database,
) -> None:
    lock = Lock(database)

    async def fail() -> None:
        raise StoreUnavailable("gone")

    with pytest.raises(StoreUnavailable, match="gone"):
        await Lease(lock, "name", "we", 10.0).during(fail)
    assert (lock.taken, len(asyncio.all_tasks())) == (1, 1)
