"""A lease for as long as an action takes."""

from __future__ import annotations

import asyncio

import pytest

from webloom.domain.errors import StoreUnavailable
from webloom.entrypoints.lease import while_holding


class FakeLock:
    def __init__(self, *, owner: str | None = None) -> None:
        self.owner = owner
        self.taken = 0
        self.renewed = asyncio.Event()

    async def acquire(self, name: str, owner: str, seconds: float) -> int | None:
        self.taken += 1
        if self.taken == 2:
            raise StoreUnavailable("away for a moment")
        if self.taken > 3:
            self.renewed.set()
        self.owner = self.owner or owner
        return 1 if self.owner == owner else None

    async def release(self, name: str, owner: str) -> None:
        raise AssertionError("it is kept for the next time")


async def test_a_lease_is_renewed_until_the_action_ends() -> None:
    lock = FakeLock()
    async with asyncio.timeout(60):
        await while_holding(lock, "name", "we", 8.0, lock.renewed.wait)
    taken = lock.taken
    await asyncio.sleep(0)
    assert lock.taken == taken > 3
    assert len(asyncio.all_tasks()) == 1


async def test_who_has_no_lease_does_nothing() -> None:
    lock = FakeLock(owner="others")
    await while_holding(lock, "name", "we", 0.01, lock.renewed.wait)
    assert lock.taken == 1


class LostLock(FakeLock):
    """Renewed never: somebody else has it, or nobody answers."""

    def __init__(self, *, answers: bool) -> None:
        super().__init__()
        self.answers = answers

    async def acquire(self, name: str, owner: str, seconds: float) -> int | None:
        self.taken += 1
        if self.taken == 1:
            return 1
        if self.answers:
            return None
        raise StoreUnavailable("away for good")


@pytest.mark.parametrize("answers", [True, False])
async def test_who_has_lost_the_lease_does_no_more(answers: bool) -> None:
    lock = LostLock(answers=answers)
    ended = asyncio.Event()

    async def act() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with asyncio.timeout(60):
        await while_holding(lock, "name", "we", 1.0, act)
    assert ended.is_set()
    assert lock.taken > 1
    assert len(asyncio.all_tasks()) == 1


async def test_an_action_that_fails_is_told_and_its_lease_is_renewed_no_more() -> None:
    lock = FakeLock()

    async def fail() -> None:
        raise StoreUnavailable("gone")

    with pytest.raises(StoreUnavailable, match="gone"):
        await while_holding(lock, "name", "we", 10.0, fail)
    assert (lock.taken, len(asyncio.all_tasks())) == (1, 1)
