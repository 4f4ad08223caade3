"""What is special to watches in a SQLite file: deltas, expiry, the budget, the layout."""

from __future__ import annotations

import random
import sqlite3
import string
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from contracts.adapters import Watching, watching_of
from contracts.sqlite_backend import AMPLE, stores_in
from contracts.watch_samples import MAY, begin, check, end, event, notification, price, run_now, url
from fakes.clock import FakeClock
from webloom.adapters.sqlite import index_scan, page_storage
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.sqlite.page_contents import MOST_CHAINED
from webloom.adapters.sqlite.schema import APPLICATION_ID, COPIES, IMPORTS, TABLES, VERSION
from webloom.adapters.sqlite.watch_schema import ALERTS, WATCHES
from webloom.deltas import compressed
from webloom.domain.errors import EventRefused, StorageFull
from webloom.domain.retention import Retention
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import Metrics, RunStatus, Tally, external_config
from webloom.parsing.storage_event import canonical
from webloom.ports.page_history import ChangeFilter, Version
from webloom.ports.page_stores import PageStores
from webloom.ports.pages import PageFilter, Stored

JOB = "id of shop"
DAY = 24 * 3600.0


@asynccontextmanager
async def opened(folder: Path, clock: FakeClock, *, budget: int = AMPLE) -> AsyncIterator[Watching]:
    async with open_database(folder / "webloom.db", clock) as database:
        yield watching_of(stores_in(database, budget=budget))


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Watching]:
    async with opened(tmp_path, clock) as made:
        yield made


def rows(folder: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(folder / "webloom.db")) as connection:
        return connection.execute(query).fetchall()


def version(number: int, text: str | None = None, page: str = "a", **changes: Any) -> StorageEvent:
    at = MAY + timedelta(minutes=number)
    return event(page, text=text or f"text {number}\n" + "a line\n" * 50, at=at, **changes)


async def stored_versions(pages: PageStores, page: str = "a") -> list[Version]:
    return (await pages.history.versions(JOB, url(page), limit=1000))[::-1]


async def texts(pages: PageStores, page: str = "a") -> list[str]:
    """The first line of each version, the oldest first."""
    found = []
    for each in await stored_versions(pages, page):
        content = await pages.history.parsed(JOB, url(page), each.version)
        assert content is not None
        found.append(content["text"].partition("\n")[0])
    return found


def long_text(chance: random.Random, size: int) -> str:
    """Words that compress about as well as those of a page."""
    words = ["".join(chance.choices(string.ascii_lowercase, k=6)) for _ in range(2000)]
    return " ".join(chance.choices(words, k=size // 7))


def changed_text(chance: random.Random, text: str) -> str:
    """By one part in a hundred."""
    start = chance.randrange(len(text) * 98 // 100)
    size = len(text) // 100
    return text[:start] + long_text(chance, size) + text[start + size :]


# Versions.


async def test_a_superseded_version_costs_little_beside_a_whole_one(store: Watching) -> None:
    chance = random.Random(1)
    text, whole = long_text(chance, 100_000), 0
    for number in range(20):
        each = version(number, text)
        await store.pages.store_event(each)
        whole += len(compressed(canonical(each.parsed)))
        text = changed_text(chance, text)
    *older, newest = await stored_versions(store)
    assert all(each.is_delta for each in older)
    assert not newest.is_delta
    assert sum(each.bytes for each in older) < whole / 10
    assert (
        await store.history.parsed(JOB, url("a"), 1)
        == version(0, long_text(random.Random(1), 100_000)).parsed
    )


@pytest.mark.parametrize("order", ["forward", "backward", "shuffled"])
async def test_chains_of_deltas_are_bounded_and_read_back(
    tmp_path: Path, store: Watching, order: str
) -> None:
    events = [version(number) for number in range(150)]
    arriving = {
        "forward": events,
        "backward": events[::-1],
        "shuffled": random.Random(2).sample(events, len(events)),
    }[order]
    for each in arriving:
        await store.pages.store_event(each)
    assert await texts(store) == [f"text {number}" for number in range(150)]
    bases = dict(rows(tmp_path, "SELECT id, base FROM snapshots"))
    for slot in bases:
        length = 0
        while (slot := bases[slot]) is not None:
            length += 1
        assert length <= MOST_CHAINED
    assert sum(base is None for base in bases.values()) <= 15
    heights = "SELECT count(*) FROM snapshots a JOIN snapshots b ON a.base = b.id WHERE "
    assert rows(tmp_path, heights + "a.below >= b.below") == [(0,)]
    assert rows(tmp_path, heights + "a.expire_at > b.expire_at") == [(0,)]


async def test_an_event_without_a_time_is_taken_once(store: Watching, clock: FakeClock) -> None:
    """Whenever it comes again, and after others."""
    first = version(0, has_ts=False, price=price(7))
    assert await store.pages.store_event(first) == Stored(version=1, is_new=True)
    await store.pages.store_event(version(1, price=price(8)))
    again = replace(first, ts=version(60 * 24 * 3).ts)
    assert await store.pages.store_event(again) == Stored(version=1, is_new=False)
    page = await store.pages.find_page(JOB, url("a"))
    assert page is not None
    assert (page.version, page.price, page.last_updated) == (2, price(8).current, version(1).ts)
    assert len((await store.history.prices(JOB, url("a"), limit=9))[0]) == 2


@pytest.mark.parametrize("part", ["parsed", "changes"])
async def test_what_is_no_json_is_refused(store: Watching, part: str) -> None:
    odd: dict[str, Any] = {part: {"what": object()}}
    with pytest.raises(EventRefused):
        await store.pages.store_event(event("a", is_change=True, **odd))
    assert await store.pages.find_page(JOB, url("a")) is None


async def test_a_check_that_found_nothing_new_writes_no_page(
    tmp_path: Path, store: Watching
) -> None:
    run = await begin(store)
    await store.pages.store_event(version(0, is_change=True, price=price(5)))
    with closing(sqlite3.connect(tmp_path / "webloom.db")) as connection:
        for table in ("pages", "snapshots", "snapshot_bodies", "change_logs", "price_history"):
            for verb in ("INSERT", "UPDATE", "DELETE"):
                connection.execute(
                    f"CREATE TRIGGER no_{verb}_{table} BEFORE {verb} ON {table} "
                    "BEGIN SELECT RAISE(ABORT, 'written'); END"
                )
    await check(store, run, "a", at=MAY + timedelta(hours=1))
    page = await store.pages.find_page(JOB, url("a"))
    assert page is not None
    assert page.last_checked == MAY + timedelta(hours=1)


# What expires.


async def test_what_is_superseded_goes_when_its_time_has_come(
    tmp_path: Path, store: Watching, clock: FakeClock
) -> None:
    for number in range(3):
        each = version(number, is_change=True, price=price(number))
        await store.pages.store_event(each)
    assert await store.storage.prune() == 0
    clock.advance(7 * DAY + 1)
    assert await store.storage.prune() == 2
    assert await texts(store) == ["text 2"]
    assert await store.history.parsed(JOB, url("a"), 1) is None
    stored = await store.pages.store_event(version(0, is_change=True, price=price(0)))
    assert stored == Stored(version=1, is_new=False)
    logs = rows(tmp_path, "SELECT count(*) FROM change_logs")
    clock.advance(24 * DAY)
    await store.storage.prune()
    assert logs == [(3,)]
    assert rows(tmp_path, "SELECT count(*) FROM change_logs") == [(0,)]
    assert rows(tmp_path, "SELECT count(*) FROM price_history") == [(3,)]
    clock.advance(80 * DAY)
    await store.storage.prune()
    assert rows(tmp_path, "SELECT count(*) FROM price_history") == [(1,)]
    assert rows(tmp_path, "SELECT count(*) FROM snapshots") == [(1,)]
    assert await store.pages.store_event(version(3)) == Stored(version=4, is_new=True)
    assert await texts(store) == ["text 2", "text 3"]


async def test_nothing_goes_that_a_later_one_is_read_with(
    store: Watching, clock: FakeClock
) -> None:
    for number in (0, 2, 3):
        await store.pages.store_event(version(number))
    clock.advance(5 * DAY)
    await store.pages.store_event(version(1))
    clock.advance(3 * DAY)
    assert await store.storage.prune() == 1
    assert await texts(store) == ["text 1", "text 2", "text 3"]
    clock.advance(5 * DAY)
    await store.storage.prune()
    assert await texts(store) == ["text 3"]


async def test_slices_never_part_a_version_from_what_it_is_read_with(
    tmp_path: Path, store: Watching, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_storage, "SLICE", 1)
    for number in (4, 0, 3, 1, 2, 5):
        await store.pages.store_event(version(number))
        clock.advance(3600)
    wall = int((clock.now().timestamp() + 8 * DAY) * 1000)
    with closing(sqlite3.connect(tmp_path / "webloom.db", isolation_level=None)) as connection:
        for left in (5, 4, 3, 2, 1):
            page_storage.expire(connection, wall, Retention())
            assert len(await texts(store)) == left
    assert await texts(store) == ["text 5"]


async def test_a_version_stays_as_long_as_its_change_log(store: Watching, clock: FakeClock) -> None:
    without_content = version(1, claimed=3, parsed=None, is_change=True)
    await store.pages.store_event(without_content)
    clock.advance(89 * DAY)
    await store.pages.store_event(replace(without_content, ts=version(0).ts))
    clock.advance(2 * DAY)
    await store.storage.prune()
    [log], _ = await store.history.change_logs(ChangeFilter(watch_id=JOB), limit=5)
    assert (log.previous, log.current) == (2, 3)


async def test_the_ledger_goes_two_days_after_its_run_and_the_run_later(
    tmp_path: Path, store: Watching, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_storage, "SLICE", 2)
    run = await begin(store, pages="abcdef")
    for page in "abcde":
        await check(store, run, page)
    clock.advance(10 * DAY)
    await store.storage.prune()
    assert len(await store.runs.unchecked(run.run_id)) == 1
    ended = await end(store, run)
    await store.pages.store_event(event("f", watch_id="other"))
    await store.notifications.add([notification("1"), notification("2")])
    await store.notifications.note_sent(["notice 1"], MAY)
    clock.advance(2 * DAY + 1)
    await store.storage.prune()
    # That of events stays as long as their run, for which a late one may still come.
    assert rows(tmp_path, "SELECT count(*) FROM watch_ledger") == [(1,)]
    assert await run_now(store, run.run_id) == ended
    clock.advance(12 * DAY)
    await store.storage.prune()
    assert rows(tmp_path, "SELECT count(*) FROM job_runs") == [(0,)]
    assert rows(tmp_path, "SELECT count(*) FROM watch_ledger") == [(0,)]
    found, _ = await store.notifications.of_watch(JOB, limit=5)
    assert [each.notification_id for each in found] == ["notice 2"]


async def test_a_page_that_is_looked_at_twice_has_the_better_outcome(store: Watching) -> None:
    run = await begin(store, pages="ab")
    changed = version(0, run_id=run.run_id, is_change=True, price=price(1, 2))
    await check(store, run, "a", "no answer")
    await check(store, run, "a")
    assert (await run_now(store, run.run_id)).tally == Tally(processed=1)
    await store.pages.store_event(changed)
    await check(store, run, "a", "no answer")
    now = await run_now(store, run.run_id)
    assert now.tally == Tally(processed=1, changes=1, price_changes=1)
    assert now.failures == []
    await check(store, run, "b")
    assert (await end(store, run)).status is RunStatus.COMPLETED


# The budget.


def noise(number: int, size: int = 4000) -> str:
    return random.Random(number).randbytes(size // 2).hex()


async def test_the_budget_lets_the_oldest_versions_go(tmp_path: Path, clock: FakeClock) -> None:
    budget = 30_000
    async with opened(tmp_path, clock, budget=budget) as store:
        for number in range(40):
            each = version(number, noise(number), page="ab"[number % 2], is_change=True)
            await store.pages.store_event(each)
            clock.advance(1)
            assert await used(store) < budget * 1.5
        assert not await store.storage.is_full()
        await store.pages.store_event(version(40, noise(40), page="c"))
        await store.storage.prune()
        assert await used(store) <= budget
        for page, last in (("a", 38), ("b", 39)):
            kept = await texts(store, page)
            assert kept == [noise(number) for number in range(last - 2 * len(kept) + 2, 40, 2)]


async def used(store: Watching) -> int:
    return sum(each.bytes for each in await store.storage.usage())


async def test_prices_go_last(store: Watching, tmp_path: Path, clock: FakeClock) -> None:
    for number in range(30):
        each = version(number, noise(number, 400), is_change=True, price=price(number))
        await store.pages.store_event(each)
    now = {each.collection: each for each in await store.storage.usage()}
    assert now["price_history"].superseded_items == 29
    assert now["snapshots"].superseded_items == 29
    left = []
    budget = await used(store)
    while budget > 1:
        budget = int(budget * 0.8)
        async with opened(tmp_path, clock, budget=budget) as small:
            assert await small.storage.prune(expired_only=True) == 0
            await small.storage.prune()
            items = {each.collection: each.items for each in await small.storage.usage()}
        left.append((items["snapshots"], items["change_logs"], items["price_history"]))
    assert left == sorted(left, reverse=True)
    assert left[-1] == (1, 0, 1)
    assert any(0 < logs < 30 for _, logs, _ in left)
    for contents, logs, prices in left:
        assert contents == 1 or logs == 30
        assert logs == 0 or prices == 30
    assert await texts(store) == [noise(29, 400)]


async def test_pending_notifications_are_pruned_last(
    store: Watching, tmp_path: Path, clock: FakeClock
) -> None:
    for number in range(30):
        alerts = [f"alert {number}"] if number % 3 == 0 else []
        each = version(number, noise(number, 400), is_change=True, price=price(number))
        await store.pages.store_event(replace(each, alerts=alerts))
    pending = [f"alert {number}" for number in range(0, 30, 3)]
    newest = rows(tmp_path, "SELECT sum(bytes - superseded_bytes) FROM watch_usage")[0][0]
    room = sum(each.superseded_bytes for each in await store.storage.usage())
    for budget in (newest + room - 1, newest + room // 3, newest + room // 6):
        async with opened(tmp_path, clock, budget=budget) as small:
            await small.storage.prune()
            assert await alerts_of(small) == pending
            assert not await small.storage.is_full()
    # They alone have no room: the oldest of them go, and no more than must.
    [(size,)] = rows(tmp_path, "SELECT sum(350 + length(body)) FROM change_logs WHERE untold = 1")
    async with opened(tmp_path, clock, budget=newest + size // 2) as small:
        await small.storage.prune()
        kept = await alerts_of(small)
        assert 0 < len(kept) < len(pending)
        assert kept == pending[-len(kept) :]
        assert await used(small) + size // len(pending) > newest + size // 2
        [batch] = await small.alerts.assign_batch(JOB, None, "batch")
        await small.alerts.note_notified(batch)
    async with opened(tmp_path, clock, budget=newest) as small:
        await small.storage.prune()
        assert await alerts_of(small) == []
    assert rows(tmp_path, "SELECT count(*) FROM snapshots") == [(1,)]


async def alerts_of(store: Watching) -> list[str]:
    """The oldest first."""
    logs, _ = await store.history.change_logs(ChangeFilter(watch_id=JOB), limit=100)
    return [alert for each in reversed(logs) for alert in each.alerts]


async def test_forgetting_a_watch_makes_room(tmp_path: Path, clock: FakeClock) -> None:
    async with opened(tmp_path, clock, budget=40_000) as store:
        number = 0
        while not await store.storage.is_full():
            assert await used(store) <= 40_000
            await store.pages.store_event(version(number, noise(number), page=f"{number}"))
            number += 1
        with pytest.raises(StorageFull, match="the budget is 40,000"):
            await store.pages.store_event(version(number, noise(number), page=f"{number}"))
        assert await store.storage.prune() == 0
        run = await begin(store, "other", pages="a")
        await check(store, run, "a")
        await store.pages.forget_watch(JOB)
        assert not await store.storage.is_full()
        assert (await store.pages.list_pages(PageFilter(watch_id=JOB), limit=5))[0] == []
        assert await store.pages.find_page(run.watch_id, url("a")) is not None
        assert (await store.pages.store_event(version(1, noise(1)))).is_new
        for table in ("snapshots", "snapshot_bodies"):
            assert rows(tmp_path, f"SELECT count(*) FROM {table}") == [(1,)]


async def test_room_is_made_by_forgetting_the_very_version_that_comes_again(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with opened(tmp_path, clock, budget=8000) as store:
        first = version(0, noise(0))
        for each in (first, version(1, noise(1)), version(2, noise(2), page="b")):
            await store.pages.store_event(each)
        assert await store.pages.store_event(first) == Stored(version=1, is_new=False)
        assert await store.history.parsed(JOB, url("a"), 1) is None
        await store.pages.store_event(version(3, noise(3), page="c"))
        with pytest.raises(StorageFull):
            await store.pages.store_event(first)
        assert rows(tmp_path, "SELECT count(*) FROM snapshots") == [(3,)]


async def test_what_is_used_is_what_the_tables_hold(
    tmp_path: Path, store: Watching, clock: FakeClock
) -> None:
    chance = random.Random(5)
    for step in range(60):
        number = chance.randrange(20)
        await store.pages.store_event(
            version(
                number,
                noise(number, 300),
                page=chance.choice("abc"),
                claimed=chance.choice([0, 3, 9]),
                is_change=chance.random() < 0.5,
                price=chance.choice([None, price(number)]),
            )
        )
        clock.advance(DAY)
        if step % 7 == 0:
            await store.storage.prune()
    used = {each.collection: each for each in await store.storage.usage()}
    [(items, size, superseded)] = rows(
        tmp_path,
        "SELECT count(*), sum(length(body)), sum(expire_at IS NOT NULL) "
        "FROM snapshot_bodies JOIN snapshots USING (id)",
    )
    assert (used["snapshots"].items, used["snapshots"].superseded_items) == (items, superseded)
    [(versions,)] = rows(tmp_path, "SELECT count(*) FROM snapshots")
    assert used["snapshots"].bytes == size + 200 * versions
    for table in ("pages", "price_history", "change_logs", "job_runs"):
        assert [(used[table].items,)] == rows(tmp_path, f"SELECT count(*) FROM {table}")
        assert used[table].bytes > 0 or used[table].items == 0


async def test_a_search_that_finds_little_goes_on_page_by_page(
    store: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_scan, "MOST_SCANNED", 5)
    for number in range(23):
        await store.pages.store_event(version(number, page=f"{number}"))
    found: list[str] = []
    cursor: str | None = None
    steps = 0
    while True:
        page, cursor = await store.pages.list_pages(PageFilter(text="/3"), limit=2, cursor=cursor)
        found += [each.url for each in page]
        steps += 1
        if cursor is None:
            break
    assert found == [url("3")]
    assert steps == 5


# The layout.


async def test_a_file_from_before_watches_takes_them(tmp_path: Path, clock: FakeClock) -> None:
    file = tmp_path / "webloom.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(TABLES + COPIES + IMPORTS)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 3")
    for number in range(2):
        async with opened(tmp_path, clock) as store:
            stored = await store.pages.store_event(version(number))
            assert stored == Stored(version=number + 1, is_new=True)
    assert rows(tmp_path, "PRAGMA user_version") == [(VERSION,)]


async def test_change_logs_of_before_get_a_key_where_they_share_a_time(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with opened(tmp_path, clock) as store:
        for number, at in enumerate((0, 0, 0, 1)):
            each = version(number, f"text {at} {number}", is_change=True)
            await store.pages.store_event(replace(each, ts=at))
    with closing(sqlite3.connect(tmp_path / "webloom.db")) as connection:
        connection.execute("ALTER TABLE change_logs DROP COLUMN is_keyed")
    for _ in range(2):
        async with opened(tmp_path, clock) as store:
            found, _ = await store.history.change_logs(ChangeFilter(), limit=9)
            keys = [each.key for each in found]  # the latest first
            assert (keys[0], keys[3]) == (None, None)
            assert len(set(keys[1:])) == 3
    async with opened(tmp_path, clock) as store:
        each = replace(version(7, is_change=True), ts=0)
        await store.pages.store_event(each)
        found, _ = await store.history.change_logs(ChangeFilter(), limit=9)
        assert len({(each.timestamp, each.key) for each in found}) == 5


async def test_a_run_that_is_in_progress_when_the_file_gets_its_layout_is_notified(
    tmp_path: Path, clock: FakeClock
) -> None:
    file = tmp_path / "webloom.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(TABLES + COPIES + IMPORTS + WATCHES)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 4")
        for run, status in (
            ("r1", "in_progress"),
            ("r2", "completed"),
            ("r3", "in_progress"),  # its notice is made
        ):
            connection.execute(
                "INSERT INTO job_runs (run_id, watch_id, status, trigger, started_at, updated_at) "
                "VALUES (?, 'w', ?, 'manual', 0, 0)",
                (run, status),
            )
            connection.execute(
                "INSERT INTO change_logs (page, job_id, ts, rank, run_id, body, expire_at) "
                "VALUES (1, 'w', 0, 0, ?, x'', 0)",
                (run,),
            )
        connection.execute(
            "INSERT INTO notices (notice_id, watch_id, target_url, run_id, due_at, lines, "
            "attempts, given_up) VALUES ('n', 'w', 'json://t', 'r3', 0, '[]', 0, 0)"
        )
        connection.commit()
    async with opened(tmp_path, clock) as store:
        assert await store.alerts.assign_batch("w", "r1", "one") == ["one"]
        assert await store.alerts.assign_batch("w", "r2", "two") == []
        assert await store.alerts.assign_batch("w", "r3", "three") == []
        [pending] = await store.notifications.due(clock.now(), limit=9)
        assert pending.batch == "r3"
    assert rows(tmp_path, "SELECT run_id, batch FROM change_logs WHERE batch = 'r3'")


async def test_watches_of_an_earlier_layout_get_the_metrics_of_what_is_kept(
    tmp_path: Path, clock: FakeClock
) -> None:
    file = tmp_path / "webloom.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(TABLES + COPIES + IMPORTS + WATCHES + ALERTS)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 5")
        config = '{"name": "ours", "urls": ["https://a.test/"], "schedule": {"every_minutes": 60}}'
        connection.execute(
            "INSERT INTO watches (watch_id, name, config, created_at, updated_at, failures) "
            "VALUES ('ours', 'ours', ?, 0, 0, 0)",
            (config,),
        )
        for run, watch, status, trigger in (
            ("r1", "ours", "completed", "manual"),
            ("r2", "ours", "in_progress", "manual"),  # is added when it ends
            ("theirs:1970-01-01", "theirs", "completed", "events"),
            ("theirs:1970-01-02", "theirs", "completed", "events"),
        ):
            connection.execute(
                "INSERT INTO job_runs (run_id, watch_id, status, trigger, started_at, updated_at, "
                "finished_at, processed, changes, price_changes) VALUES (?, ?, ?, ?, 1, 2, 3, 4, "
                "2, 1)",
                (run, watch, status, trigger),
            )
        connection.commit()
    async with opened(tmp_path, clock) as store:
        found, _ = await store.watches.watches(limit=9)
        assert [(each.watch_id, each.is_external, each.metrics) for each in found] == [
            ("ours", False, Metrics(pages_processed=4, changes=2, price_changes=1)),
            ("theirs", True, Metrics(pages_processed=8, changes=4, price_changes=2)),
        ]
        assert (found[1].config, found[1].next_run_at) == (external_config("theirs"), None)
        assert found[1].last_status is RunStatus.COMPLETED
