from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from timeouts import TIMEOUT_SECONDS
from webloom.application.host_turns import MOST_HOSTS_REMEMBERED, HostTurns, Turn
from webloom.domain import politeness
from webloom.domain.politeness import Defer, HostLimits

HOST = "site.example"


class Hand:
    """A clock's hand that a test moves."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in line stay there, however long the machine stands still."""
    monkeypatch.setattr(politeness, "LONGEST_WAIT", TIMEOUT_SECONDS)


def turns_of(
    concurrency: int = 1, delay: float = 0.0, now: Hand | None = None
) -> tuple[HostTurns, Hand]:
    hand = now or Hand()
    return HostTurns(HostLimits(concurrency=concurrency, delay=delay), hand), hand


async def taken(turns: HostTurns, host: str = HOST) -> Turn:
    turn = await asyncio.wait_for(turns.take(host), TIMEOUT_SECONDS)
    assert isinstance(turn, Turn)
    return turn


async def in_line(turns: HostTurns, host: str = HOST) -> asyncio.Task[Turn | Defer]:
    """A task that waits for a turn."""
    task = asyncio.create_task(turns.take(host))
    await asyncio.sleep(0)
    assert not task.done()
    return task


def seconds_of(answer: Turn | Defer) -> float:
    assert isinstance(answer, Defer)
    return answer.seconds


async def test_turns_up_to_the_limit_are_given_at_once() -> None:
    turns, _ = turns_of(concurrency=3)
    for _ in range(3):
        await taken(turns)
    await taken(turns, "another.example")
    waiter = await in_line(turns)
    waiter.cancel()


@pytest.mark.usefixtures("patient")
async def test_a_turn_that_ends_goes_to_the_first_in_line() -> None:
    turns, _ = turns_of()
    turn = await taken(turns)
    first, second = await in_line(turns), await in_line(turns)
    turn.end()
    next_turn = await asyncio.wait_for(first, TIMEOUT_SECONDS)
    assert isinstance(next_turn, Turn)
    assert not second.done()
    next_turn.end()
    assert isinstance(await asyncio.wait_for(second, TIMEOUT_SECONDS), Turn)


async def test_the_hosts_limit_is_never_exceeded() -> None:
    turns = HostTurns(HostLimits(concurrency=3, delay=0.0))
    active: Counter[str] = Counter()
    most: Counter[str] = Counter()
    served: Counter[str] = Counter()
    dice = random.Random(1)

    async def ask(host: str) -> None:
        while True:
            turn = await turns.take(host)
            if isinstance(turn, Turn):
                break
            await asyncio.sleep(0)
        active[host] += 1
        most[host] = max(most[host], active[host])
        await asyncio.sleep(dice.random() / 1000)
        active[host] -= 1
        served[host] += 1
        turn.end()

    hosts = [f"{n % 4}.example" for n in range(200)]
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await asyncio.gather(*(ask(host) for host in hosts))
    assert served == Counter(hosts)
    assert set(most.values()) == {3}


async def test_the_delay_between_two_starts_is_kept() -> None:
    starts: list[float] = []
    loop = asyncio.get_running_loop()
    turns = HostTurns(HostLimits(concurrency=8, delay=0.2), loop.time)

    async def ask() -> None:
        while not isinstance(turn := await turns.take(HOST), Turn):
            pass  # the machine is busy
        starts.append(loop.time())
        turn.end()

    begun = loop.time()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await asyncio.gather(*(ask() for _ in range(6)))
    assert len(starts) == 6
    assert starts[-1] - begun >= 4.9 * 0.2  # as a whole: one gap can look short


@pytest.mark.usefixtures("patient")
async def test_a_cancelled_waiter_is_skipped() -> None:
    turns, _ = turns_of()
    turn = await taken(turns)
    gone, patient = await in_line(turns), await in_line(turns)
    gone.cancel()
    await asyncio.wait([gone])
    turn.end()
    assert isinstance(await asyncio.wait_for(patient, TIMEOUT_SECONDS), Turn)


@pytest.mark.usefixtures("patient")
async def test_a_waiter_cancelled_with_a_turn_releases_it() -> None:
    turns, _ = turns_of()
    turn = await taken(turns)
    unlucky, patient = await in_line(turns), await in_line(turns)
    turn.end()
    unlucky.cancel()  # the turn is given, the task has not seen it
    await asyncio.wait([unlucky])
    assert unlucky.cancelled()
    assert isinstance(await asyncio.wait_for(patient, TIMEOUT_SECONDS), Turn)


async def test_a_slow_host_is_put_off_without_waiting() -> None:
    turns, hand = turns_of()
    slow = await taken(turns)
    hand.time += 8
    put_off = await asyncio.wait_for(turns.take(HOST), TIMEOUT_SECONDS)
    assert seconds_of(put_off) == pytest.approx(8)
    assert isinstance(await turns.take("another.example"), Turn)
    slow.end()
    await taken(turns)


async def test_a_host_that_turns_out_slow_puts_those_in_line_off() -> None:
    turns, hand = turns_of()
    await taken(turns)
    waiter = await in_line(turns)
    hand.time += 8
    assert seconds_of(await asyncio.wait_for(waiter, TIMEOUT_SECONDS)) == pytest.approx(8)


async def test_a_turn_that_comes_just_as_patience_ends_is_not_lost() -> None:
    turns, hand = turns_of()
    for _ in range(2):
        turn = await taken(turns)
        waiter = await in_line(turns)
        asyncio.get_running_loop().call_later(1.0, turn.end)  # when the wait times out
        answer = await asyncio.wait_for(waiter, TIMEOUT_SECONDS)
        hand.time += 1
        if isinstance(answer, Turn):
            answer.end()
        (await taken(turns)).end()  # nothing is left behind either way


async def test_a_host_that_asked_for_a_pause_is_left_alone_until_it_is_over() -> None:
    turns, hand = turns_of(concurrency=4)
    turns.stay_away(HOST, 60)
    assert seconds_of(await turns.take(HOST)) == pytest.approx(60)
    await taken(turns, "another.example")
    turns.stay_away(HOST, 10)  # a shorter wish does not shorten it
    hand.time += 59
    assert seconds_of(await turns.take(HOST)) == pytest.approx(1)
    hand.time += 2
    await taken(turns)


async def test_those_in_line_stay_away_too_when_the_host_asks_for_a_pause() -> None:
    turns, _ = turns_of()
    turn = await taken(turns)
    waiter = await in_line(turns)
    turns.stay_away(HOST, 60)
    turn.end()
    assert seconds_of(await asyncio.wait_for(waiter, TIMEOUT_SECONDS)) == pytest.approx(60)


@pytest.mark.usefixtures("patient")
async def test_a_short_pause_delays_waiters_no_longer_than_itself() -> None:
    loop = asyncio.get_running_loop()
    turns = HostTurns(HostLimits(concurrency=1, delay=0.0), loop.time)
    turn = await taken(turns)
    waiter = await in_line(turns)
    turns.stay_away(HOST, 0.05)
    turn.end()
    assert isinstance(await asyncio.wait_for(waiter, TIMEOUT_SECONDS), Turn)


async def test_idle_hosts_are_forgotten_and_busy_ones_are_not() -> None:
    turns, hand = turns_of()
    await taken(turns, "busy.example")
    turns.stay_away("closed.example", 3600)
    for n in range(MOST_HOSTS_REMEMBERED + 10):
        (await taken(turns, f"{n}.example")).end()
    hand.time += 8
    assert len(turns._hosts) <= MOST_HOSTS_REMEMBERED + 1
    assert seconds_of(await turns.take("closed.example")) == pytest.approx(3592)
    assert seconds_of(await turns.take("busy.example")) == pytest.approx(8)
