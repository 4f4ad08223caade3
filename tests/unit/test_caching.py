"""One answer for many who ask."""

from __future__ import annotations

import asyncio

import pytest

from webloom.application.overview import caching
from webloom.application.overview.caching import RefreshingCache, SingleFlight, probe
from webloom.domain.errors import StoreUnavailable


class Source:
    def __init__(self) -> None:
        self.calls = 0
        self.is_down = False
        self.opened = asyncio.Event()
        self.opened.set()

    async def call(self) -> int:
        self.calls += 1
        await self.opened.wait()
        if self.is_down:
            raise StoreUnavailable("away")
        return self.calls


async def test_concurrent_callers_share_one_call() -> None:
    one = Source()
    shared = SingleFlight(one.call, seconds=3600)
    assert await asyncio.gather(*(shared.get() for _ in range(50))) == [1] * 50
    assert await shared.get() == 1


async def test_a_call_is_made_again_when_its_time_is_over() -> None:
    shared = SingleFlight(Source().call, seconds=0)
    assert [await shared.get(), await shared.get()] == [1, 2]


async def test_a_cancelled_caller_does_not_affect_the_others() -> None:
    one = Source()
    one.opened.clear()
    shared = SingleFlight(one.call, seconds=3600)
    impatient, patient = asyncio.create_task(shared.get()), asyncio.create_task(shared.get())
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.sleep(0)
    one.opened.set()
    assert await patient == 1


async def test_a_call_that_fails_fails_for_all_and_is_made_again() -> None:
    one = Source()
    one.is_down = True
    shared = SingleFlight(one.call, seconds=0)
    ends = await asyncio.gather(*(shared.get() for _ in range(3)), return_exceptions=True)
    assert [type(end) for end in ends] == [StoreUnavailable] * 3
    assert one.calls == 1
    one.is_down = False
    assert await shared.get() == 2


async def test_what_is_known_stays_while_the_store_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(caching, "SHORTEST_PAUSE", 0.0)
    monkeypatch.setattr(caching, "SHARE", 1.0)
    one = Source()
    one.is_down = True
    known = RefreshingCache(one.call, 0)
    assert await known.get() == 0
    one.is_down = False
    value = 0
    while not value:
        value = await known.get()
    one.is_down = True
    calls = one.calls
    while one.calls == calls:
        assert await known.get() == value


async def test_a_cached_value_is_returned_without_a_long_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(caching, "SHORTEST_PAUSE", 0.0)
    monkeypatch.setattr(caching, "LONGEST_PAUSE", 0.0)
    monkeypatch.setattr(caching, "REFRESH_WAIT_SECONDS", 0.001)
    one = Source()
    known = RefreshingCache(one.call, 0)
    assert await known.get() == 1
    monkeypatch.setattr(caching, "PROBE_SECONDS", 3600)
    one.opened.clear()
    async with asyncio.timeout(30):
        assert [await known.get() for _ in range(3)] == [1, 1, 1]
    assert one.calls == 2  # which goes on
    one.opened.set()
    while await known.get() == 1:
        pass


async def test_looking_again_waits_longer_the_longer_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(caching, "SHARE", 1e-12)
    monkeypatch.setattr(caching, "SHORTEST_PAUSE", 0.0)
    monkeypatch.setattr(caching, "LONGEST_PAUSE", 3600.0)
    one = Source()
    known = RefreshingCache(one.call, 0)
    assert [await known.get() for _ in range(20)] == [1] * 20
    assert one.calls == 1


async def test_a_failed_probe_returns_the_reason() -> None:
    one = Source()
    assert await probe(one.call()) == (1, None)
    one.is_down = True
    assert await probe(one.call()) == (None, "away")
    one.opened.clear()
    assert await probe(one.call(), 0.001) == (None, "no answer within 0 s")


async def test_a_probe_that_may_take_any_time_says_that_its_call_had_no_answer() -> None:
    async def call() -> int:
        raise TimeoutError

    assert await probe(call(), seconds=None) == (None, "no answer")
