"""Clients that keep a large body waiting."""

from __future__ import annotations

import asyncio

import pytest

from webloom.entrypoints.api import pace
from webloom.entrypoints.api.pace import Pace


async def test_who_is_waited_for_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(pace, "LEAST_RATE", 1_000_000_000)
    arrived, never = asyncio.get_running_loop().create_future(), asyncio.Event()
    arrived.set_result(b"x" * 100_000)
    it = Pace()
    await it.keep(arrived, len)  # which earns it a tenth of a millisecond
    with pytest.raises(TimeoutError):
        await it.keep(never.wait(), int)


async def test_each_byte_earns_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(pace, "LEAST_RATE", 1)
    arrived = asyncio.get_running_loop().create_future()
    arrived.set_result(b"x" * 600)
    later = asyncio.get_running_loop().create_future()
    it = Pace()
    await it.keep(arrived, len)
    asyncio.get_running_loop().call_later(0.01, later.set_result, b"y")
    assert await it.keep(later, len) == b"y"
