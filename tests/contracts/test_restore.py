"""A restore while Webloom runs: one at a time, and resumed after a kill."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest

from contracts.adapters import Whole
from contracts.dying import Killed
from contracts.test_dump import COUNTS, dumped
from contracts.whole_samples import PAIRS, TARGETS, furnish, held
from fakes.clock import FakeClock
from webloom.adapters.cron import next_match
from webloom.application.move.load import Verdict
from webloom.application.move.restore import Restore, contents, end_restore, load_name
from webloom.application.move.stream import DumpReader
from webloom.domain.errors import RestoreBusy

pytestmark = pytest.mark.usefixtures("patient")


@pytest.fixture
def clock(clock_of_today: FakeClock) -> FakeClock:
    return clock_of_today


def opened(data: bytes) -> DumpReader:
    return DumpReader(io.BytesIO(data), next_match)


def restore_to(target: Whole, clock: FakeClock, store: Any = None) -> Restore:
    return Restore(store=store or target.whole, lock=target.locks, clock=clock)


async def loaded(restore: Restore, data: bytes) -> dict[str, Verdict]:
    header = opened(data).header
    await restore.refuse_another(header)
    async with restore.alone():
        return await restore.load(header, lambda: opened(data), lambda name, items: None)


class DyingAt:
    """The store of a process that is killed when it has loaded items of that collection."""

    def __init__(self, store: Any, collection: str) -> None:
        self._store = store
        self._collection = collection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def put_if_newer(self, collection: str, items: Sequence[Any]) -> list[Any]:
        found: list[Any] = await self._store.put_if_newer(collection, items)
        if collection == self._collection:
            raise Killed
        return found


@PAIRS
async def test_what_a_killed_restore_has_begun_stays_begun_until_all_is_there(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish(source, clock)
    data, before = await dumped(source), await held(source)
    restore = restore_to(target, clock)
    assert await restore.unfinished() is None
    with pytest.raises(Killed):
        await loaded(restore_to(target, clock, DyingAt(target.whole, "jobs")), data)
    begun = await restore.unfinished()
    assert begun is not None
    assert (begun.dump_id, begun.webloom) == ("some id", "1.2.3")
    assert await restore.is_unfinished()
    assert (await held(target, "feeds", "watches"))["watches"] == []
    clock.advance(60)
    verdicts = await loaded(restore, data)
    assert {name: each.equal for name, each in verdicts.items()} == COUNTS
    assert await held(target) == before
    assert await restore.unfinished() is None


@TARGETS
async def test_another_dump_waits_until_a_restore_has_ended_or_was_given_up(
    target: Whole, clock: FakeClock
) -> None:
    data = await dumped(target)
    restore = restore_to(target, clock)
    async with restore.alone():
        assert await restore.is_running()
        with pytest.raises(RestoreBusy, match="at the moment"):
            await loaded(restore_to(target, clock), data)
        with pytest.raises(RestoreBusy, match="at the moment"):
            await restore.give_up()
    assert not await restore.is_running()
    note = '{"dump_id":"other","webloom":"1","at":"2026-11-18T12:00:00Z"}'
    await target.whole.note("restore", note)
    begun = await restore.unfinished()
    assert begun is not None
    await target.whole.note(load_name(begun), "how far it is")
    with pytest.raises(RestoreBusy, match="begun at 2026-11-18 12:00:00 UTC"):
        await loaded(restore, data)
    await end_restore(target.whole, "some id")  # `webloom load` has loaded a third one
    assert await restore.unfinished() == begun
    await restore.give_up()
    assert await restore.unfinished() is None
    assert await target.whole.noted(load_name(begun)) is None
    assert all(each.holds for each in (await loaded(restore, data)).values())
    await target.whole.note("restore", note)
    await end_restore(target.whole, "other")  # `webloom load` has completed it
    assert await restore.unfinished() is None


@TARGETS
async def test_the_contents_of_a_dump_are_those_of_its_store(
    target: Whole, clock: FakeClock
) -> None:
    await furnish(target, clock)
    found = await contents(opened(await dumped(target)))
    assert {name: total.items for name, total in found.items()} == COUNTS
