"""The end of a run and its watch are two documents, and a person edits the watch in between."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from contracts.adapters import watching_of
from contracts.dying import Killed
from contracts.mongodb_backend import stores_on
from contracts.test_crash_edits import EDITS, begin, look, manage, verify
from contracts.watch_samples import watch_now
from fakes.clock import FakeClock
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.watch_runs import MongoWatchRuns
from webloom.domain.retention import Retention
from webloom.domain.watch import RunStatus


@pytest.mark.parametrize("kind", EDITS)
async def test_an_edit_stands_that_comes_between_the_end_of_a_run_and_its_watch(
    mongodb: MongoDatabase, clock: FakeClock, kind: str
) -> None:
    """These are two documents; the scheduler dies between them, and the next one goes on."""
    watching = watching_of(stores_on(mongodb))
    run = await begin(watching, clock)

    class Dying:
        """The collection of watches, at its first write."""

        def __getattr__(self, name: str) -> Any:
            if name == "update_one":
                raise Killed
            return getattr(mongodb.watches, name)

    mortal = copy.copy(mongodb)
    mortal.watches = Dying()  # type: ignore[assignment]
    with pytest.raises(Killed):
        await look(watching.watches, MongoWatchRuns(mortal, retention=Retention()), clock)
    ended = await watching.runs.find_run(run.run_id)
    assert ended is not None
    assert ended.status is RunStatus.COMPLETED
    assert (await watch_now(watching)).active_run_id == run.run_id
    assert await manage(watching.watches, clock).edit(run.watch_id, **EDITS[kind])
    await look(watching.watches, watching.runs, clock)
    await verify(watching, run, kind, clock)
