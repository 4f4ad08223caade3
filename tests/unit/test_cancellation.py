"""Tasks end although a cancellation is dropped on the way."""

from __future__ import annotations

import asyncio

import pytest

from webloom import cancellation
from webloom.cancellation import cancel_and_wait


async def test_a_loop_that_drops_cancellations_is_cancelled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancellation, "AGAIN_SECONDS", 0.01)
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
        await cancel_and_wait(*tasks)
    assert lost == 2
    assert tasks[0].cancelled()
    assert isinstance(tasks[1].exception(), ValueError)


async def test_no_tasks_are_waited_for_where_there_are_none() -> None:
    await cancel_and_wait()
