"""A watch that a person pauses while its run ends stays paused, no matter who dies then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts.adapters import Watching
from contracts.dying import Dying, Killed
from contracts.watch_samples import add_watch, check, started, watch_now
from fakes.clock import FakeClock
from webloom.adapters.cron import next_match
from webloom.application.watch.run_watches import RunWatches
from webloom.domain.watch import Watch, WatchRun


async def test_a_watch_that_is_paused_while_its_run_ends_is_not_checked_again(
    watching: Watching, clock: FakeClock
) -> None:
    await add_watch(watching, pages="a")
    run = await started(watching)
    await check(watching, run, "a")

    async def pause(watch: Watch, run: WatchRun) -> None:
        paused = replace(watch.config, enabled=False)
        await watching.watches.edit_watch(watch.watch_id, paused, next_run_at=None)

    async def never() -> bool:
        return False

    any_broker: Any = None  # nothing is to be published
    dying = RunWatches(
        watches=watching.watches,
        runs=Dying(watching.runs, "finish_run"),
        broker=any_broker,
        clock=clock,
        cron=next_match,
        after_run=pause,
        is_restoring=never,
    )
    with pytest.raises(Killed):
        await dying()
    clock.advance(7200)
    await replace(dying, runs=watching.runs)()
    watch = await watch_now(watching)
    assert (watch.config.enabled, watch.active_run_id) == (False, None)
    assert watch.last_run_id == run.run_id
