"""The Inbox's contract: what waits, what was decided about it, and what of it is never reset."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from contracts.adapters import Watching, WatchProcesses, Whole
from contracts.page_samples import JOB, TS, URL, event, logs
from contracts.whole_samples import PAIRS, carry
from fakes.clock import FakeClock
from webloom.domain.errors import BadCursor
from webloom.domain.inbox import Decision, InboxState, entry_id
from webloom.domain.listing import MOST_SCANNED, Count
from webloom.domain.retention import Retention
from webloom.domain.storage_event import StorageEvent
from webloom.ports.dump import WholeLog
from webloom.ports.inbox import InboxEntry, InboxFilter, MutedPage
from webloom.ports.page_stores import PageStores

MANY = 1000
OTHER = "https://example.com/product/6"
UNREAD, SNOOZED, DONE, MUTED = InboxState
HOUR = timedelta(hours=1)
NO_ENTRY = "page-" + 32 * "0"


def change(number: int, url: str = URL, watch_id: str = JOB, **more: object) -> StorageEvent:
    made = event(f"text {number}", ts=TS + number, url=url, watch_id=watch_id, is_change=True)
    return replace(made, **more)  # type: ignore[arg-type]  # names and types are the test's


@pytest.fixture
def now(clock: FakeClock) -> datetime:
    return clock.now()


async def add(store: PageStores, *changes: StorageEvent) -> None:
    for each in changes:
        await store.pages.store_event(each)


async def listed(
    store: PageStores,
    now: datetime,
    state: InboxState | None = UNREAD,
    *,
    watch_id: str | None = None,
    limit: int = MANY,
) -> list[InboxEntry]:
    """Page by page."""
    chosen = InboxFilter(state=state, watch_id=watch_id)
    found, cursor = await store.inbox.entries(chosen, now=now, limit=limit)
    while cursor is not None:
        more, cursor = await store.inbox.entries(chosen, now=now, limit=limit, cursor=cursor)
        found += more
    return found


def texts(entries: list[InboxEntry]) -> list[str]:
    return [each.change.changes["to"] for each in entries]


async def counts(store: PageStores, now: datetime) -> dict[InboxState, int]:
    found = {}
    for state in InboxState:
        count = await store.inbox.count(InboxFilter(state=state), now=now, most=MANY)
        assert count.is_exact
        found[state] = count.number
    return found


async def decide(
    store: PageStores, state: InboxState, *entries: InboxEntry, now: datetime, **more: datetime
) -> None:
    ids = [each.entry_id for each in entries]
    assert await store.inbox.decide(ids, Decision(state=state, **more), now=now) == []


# What comes into it


async def test_a_change_is_unread_and_a_first_version_is_no_entry(
    page_store: PageStores, now: datetime
) -> None:
    await add(page_store, event("text 1", ts=TS), change(2), change(3, OTHER, run_id="run"))
    newer, older = await listed(page_store, now)
    [log] = await logs(page_store)
    assert older.change == log
    assert (older.change.previous, older.change.current) == (1, 2)
    assert (newer.change.url, newer.change.run_id) == (OTHER, "run")
    assert (older.state, older.snoozed_until, older.is_muted) == (UNREAD, None, False)
    assert older.entry_id != newer.entry_id
    assert await counts(page_store, now) == {UNREAD: 2, SNOOZED: 0, DONE: 0, MUTED: 0}


async def test_entries_are_listed_by_state_and_watch_the_latest_first(
    page_store: PageStores, now: datetime
) -> None:
    await add(page_store, *(change(each) for each in (2, 4, 1, 5, 3)))
    await add(page_store, change(6, watch_id="another"))
    found = await listed(page_store, now, limit=2)
    assert texts(found) == [f"text {each}" for each in (6, 5, 4, 3, 2, 1)]
    await decide(page_store, DONE, *found[1:3], now=now)
    await decide(page_store, SNOOZED, found[3], now=now, until=now + HOUR)
    for limit in (1, 2, MANY):
        for state, shown in (
            (UNREAD, [6, 2, 1]),
            (DONE, [5, 4]),
            (SNOOZED, [3]),
            (MUTED, []),
            (None, [6, 5, 4, 3, 2, 1]),
        ):
            expected = [f"text {each}" for each in shown]
            assert texts(await listed(page_store, now, state, limit=limit)) == expected
            of_job = await listed(page_store, now, state, watch_id=JOB, limit=limit)
            assert texts(of_job) == [each for each in expected if each != "text 6"]
            chosen = InboxFilter(state=state, watch_id=JOB)
            count = await page_store.inbox.count(chosen, now=now, most=MANY)
            assert count == Count(len(of_job))
    assert await listed(page_store, now, watch_id="none") == []


async def test_a_cursor_of_another_list_is_refused(page_store: PageStores, now: datetime) -> None:
    for state in (UNREAD, DONE, None):
        with pytest.raises(BadCursor):
            await page_store.inbox.entries(
                InboxFilter(state=state), now=now, limit=1, cursor="nonsense"
            )
    with pytest.raises(BadCursor):
        await page_store.inbox.muted_pages(limit=1, cursor="nonsense")


async def test_counting_stops(page_store: PageStores, now: datetime) -> None:
    await add(page_store, *map(change, range(5)))
    chosen = InboxFilter(state=UNREAD)
    assert await page_store.inbox.count(chosen, now=now, most=4) == Count(4, is_exact=False)
    assert await page_store.inbox.count(chosen, now=now, most=5) == Count(5)


async def test_a_change_of_the_future_is_unread(page_store: PageStores, now: datetime) -> None:
    """The clocks of processes differ, and one may be set back."""
    ahead = int((now + timedelta(hours=20)).timestamp() * 1000)
    await add(page_store, replace(change(1), ts=ahead))
    assert len(await listed(page_store, now)) == 1
    assert await listed(page_store, now, SNOOZED) == []


# Decisions


async def test_a_decision_can_be_undone_and_puts_the_entry_back_in_its_place(
    page_store: PageStores, now: datetime
) -> None:
    await add(page_store, *map(change, (1, 2, 3)))
    before = await listed(page_store, now)
    await decide(page_store, DONE, before[1], now=now)
    assert texts(await listed(page_store, now)) == ["text 3", "text 1"]
    await decide(page_store, UNREAD, before[1], now=now)
    assert await listed(page_store, now) == before


async def test_a_snoozed_entry_comes_back_by_itself_on_top(
    page_store: PageStores, now: datetime
) -> None:
    await add(page_store, *map(change, (1, 2, 3)))
    first = (await listed(page_store, now))[-1]
    until = now + HOUR
    await decide(page_store, SNOOZED, first, now=now, until=until)
    [snoozed] = await listed(page_store, now, SNOOZED)
    assert (snoozed.state, snoozed.snoozed_until) == (SNOOZED, until)
    assert await counts(page_store, now) == {UNREAD: 2, SNOOZED: 1, DONE: 0, MUTED: 0}
    back = await listed(page_store, until, limit=1)
    assert texts(back) == ["text 1", "text 3", "text 2"]
    assert (back[0].state, back[0].snoozed_until) == (UNREAD, None)
    assert await counts(page_store, until) == {UNREAD: 3, SNOOZED: 0, DONE: 0, MUTED: 0}
    await decide(page_store, UNREAD, first, now=until)  # it is
    assert texts(await listed(page_store, until)) == texts(back)
    await decide(page_store, SNOOZED, first, now=until, until=until + HOUR)
    assert texts(await listed(page_store, until, SNOOZED)) == ["text 1"]
    await decide(page_store, DONE, first, now=until)
    assert texts(await listed(page_store, until + HOUR)) == ["text 3", "text 2"]


async def test_unknown_ids_are_reported_and_all_others_decided(
    page_store: PageStores, now: datetime
) -> None:
    await add(page_store, change(1), change(2))
    one, two = await listed(page_store, now)
    ids = ["", "x", NO_ENTRY, one.entry_id, "page-é", one.entry_id, two.entry_id, "x"]
    for _ in range(2):
        unknown = await page_store.inbox.decide(ids, Decision(state=DONE), now=now)
        assert unknown == ["", "x", NO_ENTRY, "page-é"]
        assert await listed(page_store, now) == []
    assert await page_store.inbox.decide([], Decision(state=DONE), now=now) == []


async def test_many_are_decided_at_once_by_several_people(
    page_store: PageStores, now: datetime
) -> None:
    await add(page_store, *(change(each, f"{URL}/{each}") for each in range(60)))
    entries = await listed(page_store, now)
    await asyncio.gather(
        decide(page_store, DONE, *entries, now=now),
        decide(page_store, DONE, *entries[::-1], now=now),
        decide(page_store, DONE, *entries[30:], now=now),
    )
    assert await counts(page_store, now) == {UNREAD: 0, SNOOZED: 0, DONE: 60, MUTED: 0}


# What never resets one


async def test_an_event_that_comes_again_leaves_the_decision(
    watchings: WatchProcesses, now: datetime
) -> None:
    events = [change(1), change(2), change(3)]
    async with watchings.open() as store, watchings.open() as another:
        await add(store, *events)
        one, two, _ = await listed(store, now)
        await decide(store, DONE, one, now=now)
        await decide(store, SNOOZED, two, now=now, until=now + HOUR)
        before = await listed(store, now, None)
        for each in (store, another):
            await asyncio.gather(*(each.pages.store_event(again) for again in events))
        assert await listed(another, now, None) == before


async def test_a_correction_and_a_new_number_leave_the_decision_and_the_id(
    page_store: PageStores, now: datetime
) -> None:
    """An earlier event of the same version describes its change; an older version comes late."""
    late = change(5, claimed=7)
    await add(page_store, late)
    [entry] = await listed(page_store, now)
    await decide(page_store, DONE, entry, now=now)
    await add(page_store, replace(late, ts=TS + 4, changes={"to": "corrected"}))
    [corrected] = await listed(page_store, now, DONE)
    assert (corrected.entry_id, corrected.state) == (entry.entry_id, DONE)
    assert texts([corrected]) == ["corrected"]
    await add(page_store, change(1, claimed=7), change(2))
    assert texts(await listed(page_store, now, DONE)) == ["corrected"]
    [renumbered] = await listed(page_store, now, DONE)
    assert renumbered.entry_id == entry.entry_id
    assert renumbered.change.current > entry.change.current
    assert texts(await listed(page_store, now)) == ["text 2", "text 1"]


async def test_a_change_log_of_an_earlier_version_is_not_in_the_inbox(
    watchings: WatchProcesses, now: datetime
) -> None:
    made = change(1, claimed=1)
    log = WholeLog(
        key=made.snapshot_key,
        watch_id=JOB,
        url=URL,
        number=1,
        place=made.place,
        run_id=None,
        changes=dict(made.changes),
        alerts=[],
        expires_at=datetime.now(UTC) + HOUR,
    )
    async with watchings.adapter.backend.open(watchings.place, watchings.clock) as stores:
        await stores.whole.put_if_newer("change_logs", [log])
        for each in (made, replace(made, ts=TS)):
            await stores.pages.store_event(each)
            entries, _ = await stores.inbox.entries(InboxFilter(), now=now, limit=9)
            assert entries == []
        unknown = await stores.inbox.decide(
            [entry_id(log.key)], Decision(state=InboxState.UNREAD), now=now
        )
        assert unknown == [entry_id(log.key)]


# Muted pages


async def test_changes_of_a_muted_page_come_as_muted(
    page_store: PageStores, clock: FakeClock
) -> None:
    now = clock.now()
    await add(page_store, change(1), change(2, OTHER))
    assert not await page_store.inbox.mute_page(
        JOB, "https://none.example/", is_muted=True, now=now
    )
    for _ in range(2):
        assert await page_store.inbox.mute_page(JOB, URL, is_muted=True, now=now)
        clock.advance(1)
    await add(page_store, change(3), change(4, OTHER))
    assert [(each.change.url, each.is_muted) for each in await listed(page_store, now)] == [
        (OTHER, False), (OTHER, False), (URL, True),
    ]  # fmt: skip
    [muted] = await listed(page_store, now, MUTED)
    assert texts([muted]) == ["text 3"]
    assert await page_store.inbox.muted_pages(limit=5) == (
        [MutedPage(watch_id=JOB, url=URL, muted_at=now)], None,
    )  # fmt: skip
    await decide(page_store, UNREAD, muted, now=now)
    assert len(await listed(page_store, now)) == 4
    for _ in range(2):
        assert await page_store.inbox.mute_page(JOB, URL, is_muted=False, now=now)
    await add(page_store, change(5), change(3))
    assert len(await listed(page_store, now)) == 5
    assert await listed(page_store, now, MUTED) == []
    assert await page_store.inbox.muted_pages(limit=5) == ([], None)


async def test_muted_pages_are_listed_the_latest_first(
    page_store: PageStores, clock: FakeClock
) -> None:
    urls = [f"{URL}/{each}" for each in range(5)]
    for url in urls:
        await add(page_store, event("text", url=url))
        await page_store.inbox.mute_page(JOB, url, is_muted=True, now=clock.now())
        clock.advance(url.endswith(("1", "3")))  # some at the same time
    found, cursor = await page_store.inbox.muted_pages(limit=2)
    while cursor is not None:
        more, cursor = await page_store.inbox.muted_pages(limit=2, cursor=cursor)
        found += more
    assert sorted(each.url for each in found) == urls
    moments = [each.muted_at for each in found]
    assert moments == sorted(moments, reverse=True)


# What goes


async def test_entries_that_expire_are_counted_if_they_wait(
    watchings: WatchProcesses, clock: FakeClock
) -> None:
    now = clock.now()
    async with watchings.open() as store:
        await add(store, *(change(each, f"{URL}/{each}") for each in range(5)))
        done, snoozed, *_ = await listed(store, now)
        await decide(store, DONE, done, now=now)
        await decide(store, SNOOZED, snoozed, now=now, until=now + timedelta(days=90))
        assert await store.inbox.went_unread(now=now) == 0
        clock.advance(Retention().change_logs * 86_400 + 1)
        for _ in range(2):
            await store.storage.prune()
            assert await store.inbox.went_unread(now=now) == 4
    clock.advance(40 * 86_400)
    async with watchings.open() as store:
        assert await store.inbox.went_unread(now=now + timedelta(days=400)) == 0


@pytest.mark.usefixtures("steady_sizes")
async def test_entries_that_are_pruned_are_counted_if_they_wait(
    watchings: WatchProcesses, now: datetime
) -> None:
    async with watchings.open() as store:
        await add(store, *(change(each, f"{URL}/{each}") for each in range(10)))
        await decide(store, DONE, *(await listed(store, now))[:3], now=now)
    async with watchings.open_within(1) as tight:
        for _ in range(3):
            await tight.storage.prune()
        assert await listed(tight, now, None) == []
        assert await tight.inbox.went_unread(now=now) == 7


async def test_those_of_a_watch_that_is_removed_with_its_pages_are_not_counted(
    watching: Watching, now: datetime
) -> None:
    await add(watching, change(1))
    await watching.pages.forget_watch(JOB)
    await watching.storage.prune()
    assert await listed(watching, now, None) == []
    assert await watching.inbox.went_unread(now=now) == 0


# Dumps


@PAIRS
@pytest.mark.usefixtures("patient")
async def test_the_latest_decisions_are_in_dumps(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    here, there = source.watching, target.watching
    now = clock.now()
    await add(here, *(change(each) for each in range(4)), change(9, OTHER))
    await here.inbox.mute_page(JOB, OTHER, is_muted=True, now=now)
    await add(here, change(10, OTHER))
    _, one, two, three, _ = await listed(here, now)
    await decide(here, DONE, one, now=now)
    await decide(here, SNOOZED, two, now=now, until=now + HOUR)
    await carry(source, target, clock)
    assert await listed(there, now, None) == await listed(here, now, None)
    assert await there.inbox.muted_pages(limit=9) == await here.inbox.muted_pages(limit=9)
    later = now + HOUR / 2
    await decide(there, UNREAD, one, now=later)
    await decide(here, DONE, two, three, now=later)
    await there.inbox.mute_page(JOB, OTHER, is_muted=False, now=later)
    verdicts = await carry(source, target, clock)
    assert all(verdict.holds for verdict in verdicts.values())
    states = {each.entry_id: each.state for each in await listed(there, now, None)}
    assert [states[each.entry_id] for each in (one, two, three)] == [UNREAD, DONE, DONE]
    assert await there.inbox.muted_pages(limit=9) == ([], None)


# How much one page looks at


async def test_the_work_for_a_page_of_decided_entries_is_bounded(
    page_store: PageStores, now: datetime
) -> None:
    number = MOST_SCANNED + 5
    await asyncio.gather(
        *(page_store.pages.store_event(change(each, f"{URL}/{each}")) for each in range(number))
    )
    oldest = (await listed(page_store, now, limit=200))[-1]
    await decide(page_store, DONE, oldest, now=now)
    chosen = InboxFilter(state=DONE)
    empty, cursor = await page_store.inbox.entries(chosen, now=now, limit=10)
    assert (empty, cursor is None) == ([], False)
    found, cursor = await page_store.inbox.entries(chosen, now=now, limit=10, cursor=cursor)
    assert ([each.entry_id for each in found], cursor) == ([oldest.entry_id], None)
    assert await page_store.inbox.count(chosen, now=now, most=10) == Count(0, is_exact=False)
