"""A person edits a watch while its run ends: both stand, no matter who is first and who dies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from contracts.adapters import Watching
from contracts.watch_samples import add_watch, check, config, started, watch_now
from fakes.clock import FakeClock
from webloom.adapters.cron import next_match
from webloom.application.watch.manage_watches import ManageWatches
from webloom.application.watch.run_watches import RunWatches
from webloom.domain.schedule import Schedule
from webloom.domain.watch import RunStatus, Watch, WatchRun

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DAILY = Schedule(every_minutes=1440.0)
EDITS: dict[str, dict[str, Any]] = {
    "name": {"name": "Renamed"},
    "schedule": {"schedule": DAILY},
    "pause": {"enabled": False},
}


class Interrupted:
    """A store with something that happens before or after one of its verbs, or before each."""

    def __init__(
        self,
        store: Any,
        then: Callable[[], Awaitable[object]],
        *,
        before: str | None = None,
        after: str | None = None,
    ) -> None:
        self._store = store
        self._then = then
        self._before = before
        self._after = after
        self._is_each = before is None and after is None

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)

        async def call(*values: Any, **options: Any) -> Any:
            if self._is_each or name == self._before:
                await self._then()
            result = await verb(*values, **options)
            if name == self._after:
                await self._then()
            return result

        return call


async def nothing(watch: Watch, run: WatchRun) -> None:
    pass


async def never() -> bool:
    return False


def manage(store: Any, clock: FakeClock) -> ManageWatches:
    no_pages: Any = None
    return ManageWatches(
        store=store,
        pages=no_pages,
        clock=clock,
        cron=next_match,
        check=lambda url: url,
        check_target=lambda url: None,
        shown_target=lambda url: url,
        usual_minutes=60.0,
    )


async def look(watches: Any, runs: Any, clock: FakeClock) -> None:
    nothing_is_published: Any = None
    look_once = RunWatches(
        watches=watches,
        runs=runs,
        broker=nothing_is_published,
        clock=clock,
        cron=next_match,
        after_run=nothing,
        is_restoring=never,
    )
    await look_once()


async def begin(watching: Watching, clock: FakeClock) -> WatchRun:
    """A run whose pages are all checked, of a watch that was due."""
    await add_watch(watching, due=clock.now(), pages="a")
    run = await started(watching)
    await check(watching, run, "a", at=clock.now())
    clock.advance(60)
    return run


def expected(kind: str, now: datetime) -> tuple[datetime, datetime] | None:
    """Between which the next run is."""
    if kind == "pause":
        return None
    wait = DAY if kind == "schedule" else HOUR
    return now + wait, now + wait * 1.1


async def verify(watching: Watching, run: WatchRun, kind: str, clock: FakeClock) -> None:
    watch = await watch_now(watching)
    for name, value in EDITS[kind].items():
        assert getattr(watch.config, name) == value
    assert (watch.active_run_id, watch.last_run_id) == (None, run.run_id)
    assert watch.last_status is RunStatus.COMPLETED
    between = expected(kind, clock.now())
    if between is None:
        assert watch.next_run_at is None
    else:
        assert watch.next_run_at is not None
        assert between[0] <= watch.next_run_at <= between[1]


@pytest.mark.parametrize("kind", EDITS)
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_edit_stands_that_comes_as_the_scheduler_ends_the_run(
    watching: Watching, clock: FakeClock, kind: str, moment: str
) -> None:
    run = await begin(watching, clock)

    async def edit() -> None:
        assert await manage(watching.watches, clock).edit(run.watch_id, **EDITS[kind])

    runs = Interrupted(watching.runs, edit, **{moment: "finish_run"})
    await look(watching.watches, runs, clock)
    await verify(watching, run, kind, clock)


@pytest.mark.parametrize("kind", EDITS)
async def test_what_the_end_of_a_run_has_written_stands_when_an_edit_began_before(
    watching: Watching, clock: FakeClock, kind: str
) -> None:
    run = await begin(watching, clock)

    async def end() -> None:
        await look(watching.watches, watching.runs, clock)

    interrupted = Interrupted(watching.watches, end, before="edit_watch")
    assert await manage(interrupted, clock).edit(run.watch_id, **EDITS[kind])
    await verify(watching, run, kind, clock)


async def test_what_is_edited_at_each_step_of_the_scheduler_stands(
    watching: Watching, clock: FakeClock
) -> None:
    run = await begin(watching, clock)
    people = manage(watching.watches, clock)
    made: list[Watch] = []

    async def edit() -> None:
        name, is_enabled = f"Name {len(made)}", len(made) % 2 == 1
        edited = await people.edit(run.watch_id, name=name, enabled=is_enabled)
        assert edited is not None
        made.append(edited)

    watches, runs = (Interrupted(each, edit) for each in (watching.watches, watching.runs))
    await look(watches, runs, clock)
    watch = await watch_now(watching)
    assert watch.last_run_id == run.run_id
    assert (watch.config, watch.next_run_at) == (made[-1].config, made[-1].next_run_at)


async def test_a_paused_watch_that_was_left_due_is_not_due_after_its_run(
    watching: Watching, clock: FakeClock
) -> None:
    """As by a process of an earlier version, which died while it ended a run."""
    paused = config(pages="a", enabled=False)
    await watching.watches.add_watch("id of shop", paused, next_run_at=clock.now())
    run = await started(watching)
    await check(watching, run, "a", at=clock.now())
    clock.advance(60)
    await look(watching.watches, watching.runs, clock)
    watch = await watch_now(watching)
    assert (watch.last_run_id, watch.next_run_at) == (run.run_id, None)
