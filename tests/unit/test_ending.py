"""Tasks are ended, though a cancellation is lost on the way."""

from __future__ import annotations

import asyncio

import pytest

from webloom import ending
from webloom.ending import ended


async def test_a_loop_that_loses_a_cancellation_is_ended_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ending, "AGAIN_SECONDS", 0.01)
    lost = 0

    async def loop() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if lost == 2:
                    raise
                lost += 1

    async def fail() -> None:
        raise ValueError

    tasks = [asyncio.create_task(loop()), asyncio.create_task(fail())]
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await ended(*tasks)
    assert lost == 2
    assert tasks[0].cancelled()
    assert isinstance(tasks[1].exception(), ValueError)


async def test_nothing_is_waited_for_where_nothing_is_to_end() -> None:
    await ended()
