"""The contract of Locks."""

from __future__ import annotations

import asyncio

import pytest

from contracts.adapters import Processes
from fakes.clock import FakeClock
from webloom.ports.locks import Locks

Opened = Processes[Locks]


async def acquired(lock: Locks, owner: str, seconds: float = 10.0) -> int:
    token = await lock.acquire("name", owner, seconds)
    assert token is not None
    return token


async def test_one_owner_at_a_time_holds_a_lease(locks: Opened) -> None:
    async with locks.open() as one, locks.open() as two:
        await acquired(one, "a")
        assert await one.acquire("name", "b", 10) is None
        assert await two.acquire("name", "b", 10) is None
        assert await two.acquire("another name", "b", 10) is not None


async def test_renewing_keeps_the_lease_and_its_token(locks: Opened) -> None:
    async with locks.open() as one, locks.open() as two:
        token = await acquired(one, "a")
        for _ in range(5):
            await locks.pass_time(9)
            assert await acquired(one, "a") == token
            assert await two.acquire("name", "b", 10) is None


async def test_an_expired_lease_goes_to_the_next_with_a_higher_token(locks: Opened) -> None:
    async with locks.open() as one, locks.open() as two:
        tokens = []
        for turn in range(6):
            tokens.append(await acquired((one, two)[turn % 2], "ab"[turn % 2]))
            await locks.pass_time(9)
            assert await two.acquire("name", "c", 10) is None
            await locks.pass_time(2)
        assert tokens == sorted(set(tokens))


async def test_a_released_lease_goes_to_the_next_with_a_higher_token(locks: Opened) -> None:
    async with locks.open() as one, locks.open() as two:
        first = await acquired(one, "a")
        await one.release("name", "a")
        second = await acquired(two, "b")
        assert second > first
        assert await one.acquire("name", "a", 10) is None


async def test_anybody_sees_whether_a_lease_is_held(locks: Opened) -> None:
    async with locks.open() as one, locks.open() as two:
        assert not await two.is_held("name")
        await acquired(one, "a")
        assert await two.is_held("name")
        assert not await two.is_held("another name")
        await locks.pass_time(11)
        assert not await two.is_held("name")
        await acquired(one, "b")
        await one.release("name", "b")
        assert not await two.is_held("name")


async def test_releasing_what_one_does_not_hold_changes_nothing(locks: Opened) -> None:
    async with locks.open() as lock:
        await lock.release("name", "stranger")
        token = await acquired(lock, "a")
        await lock.release("name", "b")
        await lock.release("another name", "a")
        assert await lock.acquire("name", "b", 10) is None
        assert await acquired(lock, "a") == token


async def test_a_late_release_by_a_former_owner_changes_nothing(locks: Opened) -> None:
    async with locks.open() as lock:
        await acquired(lock, "a")
        await locks.pass_time(11)
        token = await acquired(lock, "b")
        await lock.release("name", "a")
        assert await lock.acquire("name", "c", 10) is None
        assert await acquired(lock, "b") == token


async def test_of_many_who_ask_at_once_one_gets_the_lease(locks: Opened) -> None:
    async with locks.open() as one, locks.open() as two:
        answers = await asyncio.gather(
            *((one, two)[n % 2].acquire("name", f"owner {n}", 10) for n in range(50))
        )
        assert sum(answer is not None for answer in answers) == 1


async def test_a_lease_outlives_the_process_that_took_it(locks: Opened) -> None:
    async with locks.open() as lock:
        token = await acquired(lock, "a")
    async with locks.open() as lock:
        assert await lock.acquire("name", "b", 10) is None
        assert await acquired(lock, "a") == token


@pytest.mark.parametrize("jump", [-3600.0, 3600.0], ids=["back", "forward"])
async def test_a_jump_of_the_wall_clock_moves_no_lease(
    locks: Opened, clock: FakeClock, jump: float
) -> None:
    async with locks.open() as lock:
        await acquired(lock, "a")
        clock.jump_wall(jump)
        async with locks.open() as other:
            await locks.pass_time(9)
            assert await other.acquire("name", "b", 10) is None
            await locks.pass_time(2)
            assert await other.acquire("name", "b", 10) is not None
