"""The Revisions' contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import get_args

from contracts import inventory_samples, watch_samples
from contracts.adapters import (
    HEARTBEATS,
    STORES,
    WATCHING,
    Port,
    PortAdapter,
    Processes,
)
from contracts.test_heartbeats import WORKER
from webloom.ports.revisions import Changing, Revisions

Revising = Processes[Revisions]


@asynccontextmanager
async def beside(revising: Revising, adapters: Iterable[PortAdapter[Port]]) -> AsyncIterator[Port]:
    """Another process, with another port of the same backend."""
    [adapter] = [each for each in adapters if each.name == revising.adapter.name]
    async with adapter.open(revising.place, revising.clock) as opened:
        yield opened


class Noted:
    def __init__(self, revisions: Revisions) -> None:
        self._revisions = revisions
        self._known: dict[str, str] = {}

    async def moved(self) -> set[str]:
        """Pipelines whose revision is another one than at the last call."""
        now = {each: await self._revisions.revision(each) for each in get_args(Changing)}
        moved = {each for each in now if now[each] != self._known.get(each)}
        self._known = now
        return moved


async def test_every_change_of_a_record_moves_the_inventory(revising: Revising) -> None:
    async with revising.open() as revisions, beside(revising, STORES) as store:
        noted = Noted(revisions)
        await noted.moved()
        wanted = inventory_samples.request()
        await inventory_samples.note(store, wanted)
        assert await noted.moved() == {"inventory"}
        attempt = await inventory_samples.begin(store, wanted)
        assert await noted.moved() == {"inventory"}
        await store.finish_attempt(attempt, inventory_samples.COMPLETED)
        assert await noted.moved() == {"inventory"}
        await inventory_samples.complete(store)  # again, and in the same instant
        assert await noted.moved() == {"inventory"}
        refresh = inventory_samples.request(background=True)
        attempt = await inventory_samples.begin(store, refresh)
        assert await noted.moved() == {"inventory"}
        await store.finish_attempt(attempt, inventory_samples.later())
        assert await noted.moved() == {"inventory"}
        await store.forget(inventory_samples.URL)
        assert await noted.moved() == {"inventory"}


async def test_every_change_of_a_watch_moves_the_watches(revising: Revising) -> None:
    async with revising.open() as revisions, beside(revising, WATCHING) as watching:
        noted = Noted(revisions)
        await noted.moved()
        await watch_samples.add_watch(watching)
        assert await noted.moved() == {"watch"}
        run = await watch_samples.started(watching)
        assert await noted.moved() == {"watch"}
        await watch_samples.check(watching, run, "a")
        assert await noted.moved() == {"watch"}
        await watch_samples.check(watching, run, "c", "it is gone")
        assert await noted.moved() == {"watch"}
        await watching.pages.store_event(watch_samples.event("b", run_id=run.run_id))
        assert await noted.moved() == {"watch"}
        await watch_samples.end(watching, run)
        assert await noted.moved() == {"watch"}
        await watching.notifications.add([watch_samples.notification("one")])
        assert await noted.moved() == {"watch"}
        await watching.watches.remove_watch(run.watch_id)
        assert await noted.moved() == {"watch"}


async def test_beats_and_looks_move_nothing(revising: Revising) -> None:
    async with (
        revising.open() as revisions,
        beside(revising, HEARTBEATS) as heartbeats,
        beside(revising, STORES) as store,
        beside(revising, WATCHING) as watching,
    ):
        await inventory_samples.complete(store)
        noted = Noted(revisions)
        assert await noted.moved() == {"inventory", "watch"}
        await heartbeats.beat(WORKER)
        await store.find(inventory_samples.URL)
        await watching.watches.watches(limit=10)
        assert await noted.moved() == set()
