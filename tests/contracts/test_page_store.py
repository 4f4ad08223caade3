"""The PageStores's contract: the storage agent's rules one by one, and what can be read."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from contracts.adapters import Watching, WatchProcesses
from contracts.page_samples import (
    JOB,
    TS,
    URL,
    event,
    logs,
    numbers,
    page,
    parsed,
    prices,
    state_of,
)
from contracts.search_examples import ACCENTED, EXAMPLES, OF_ACCENTED, TEXT, results
from contracts.watch_samples import REASONS
from webloom.domain.errors import BadCursor
from webloom.domain.listing import Count
from webloom.domain.page_check import Checked, Validators
from webloom.domain.reason_words import sentences
from webloom.domain.schedule import Schedule
from webloom.domain.watch import Outcome, PageFailure, RunStatus, Tally, WatchConfig
from webloom.domain.watch_run import NewRun, NextRun
from webloom.ports.page_history import ChangeFilter, ChangeLog
from webloom.ports.page_stores import PageStores
from webloom.ports.pages import PageFilter, Stored

AT = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)


async def start_run(store: Watching, *urls: str, run_id: str = "run 1") -> None:
    config = WatchConfig(name="shop", urls=list(urls), schedule=Schedule(every_minutes=60))
    await store.watches.add_watch(JOB, config, next_run_at=None)
    run = await store.runs.start_run(JOB, NewRun(run_id=run_id, trigger="manual"))
    assert run is not None
    assert run.run_id == run_id


async def tally(store: Watching, run_id: str = "run 1") -> Tally:
    run = await store.runs.find_run(run_id)
    assert run is not None
    return run.tally


def checked(outcome: Outcome, **more: object) -> Checked:
    known = Checked(watch_id=JOB, url=URL, run_id="run 1", at=AT, outcome=outcome)
    return replace(known, **more)  # type: ignore[arg-type]  # names and types are the test's


# What an event leaves


async def test_the_page_has_all_that_the_event_says(page_store: PageStores) -> None:
    given = event("13", version=3, price="79999", previous="82000", availability="in_stock")
    given = replace(
        given,
        classification={"type": "product", "confidence": 0.92},
        validators={"etag": '"x"', "bodyHash": "00"},
    )
    assert given.price is not None
    given = replace(given, price=replace(given.price, list=Decimal("90000.50")))
    assert await page_store.pages.store_event(given) == Stored(version=3, is_new=True)
    stored = await page(page_store)
    content = parsed("13")
    assert (stored.title, stored.text) == (content["title"], content["text"])
    assert (stored.images, stored.links) == (content["images"], content["links"])
    assert stored.metadata == content["metadata"]
    assert stored.classification == {"type": "product", "confidence": 0.92}
    assert (stored.version, stored.snapshot_hash, stored.last_updated) == (3, "13", TS)
    assert (stored.price, stored.currency) == (Decimal(79999), "INR")
    assert (stored.list_price, stored.change_percent) == (Decimal("90000.50"), None)
    assert stored.availability == "in_stock"
    assert stored.validators == Validators(etag='"x"', body_hash="00")
    assert stored.last_outcome is Outcome.CHANGED


async def test_a_hash_and_version_is_written_once(page_store: PageStores) -> None:
    first = event("a", version=3, is_change=True, price="5")
    assert (await page_store.pages.store_event(first)).is_new
    before = await state_of(page_store)
    assert await page_store.pages.store_event(first) == Stored(version=3, is_new=False)
    assert await state_of(page_store) == before
    await page_store.pages.store_event(event("a", version=3, ts=TS + 5, is_change=True))
    assert await numbers(page_store) == [(3, "a")]
    assert len(await logs(page_store)) == 1


async def test_the_first_of_two_change_logs_with_one_version_and_time_is_kept(
    page_store: PageStores,
) -> None:
    first = event("a", version=1, is_change=True, run_id="run")
    await page_store.pages.store_event(first)
    other = replace(first, changes={"a": "lower"}, run_id="a run")
    assert not (await page_store.pages.store_event(other)).is_new
    [log] = await logs(page_store)
    assert (log.changes, log.run_id) == (first.changes, "run")


async def test_a_price_with_the_same_time_and_value_is_written_once(page_store: PageStores) -> None:
    await page_store.pages.store_event(event("a", version=1, price="5"))
    await page_store.pages.store_event(event("b", version=2, price="5.00"))
    assert len(await prices(page_store)) == 1
    await page_store.pages.store_event(event("b", version=2, ts=TS + 1, price="5"))
    await page_store.pages.store_event(event("c", version=3, ts=TS + 1, price="4"))
    found = await prices(page_store)
    assert sorted((each.timestamp, each.price) for each in found) == [
        (TS, Decimal(5)),
        (TS + 1, Decimal(4)),
        (TS + 1, Decimal(5)),
    ]


@pytest.mark.parametrize("order", [1, -1])
async def test_a_price_that_comes_again_at_another_time_keeps_its_first_time(
    page_store: PageStores, order: int
) -> None:
    """As of a check that another worker repeats; and the latest record stays the one that does not
    expire."""
    again = [event("a", version=1, ts=TS + n, price="5", run_id="r") for n in (0, 9)][::order]
    between = event("b", version=2, ts=TS + 5, price="6", run_id="r")
    for each in (again[0], between, again[1]):
        await page_store.pages.store_event(each)
    found = await prices(page_store)
    assert {(each.timestamp, each.price) for each in found} == {
        (again[0].ts, Decimal(5)),
        (TS + 5, Decimal(6)),
    }
    assert not (await page_store.pages.store_event(again[1])).is_new
    usage = {each.collection: each for each in await page_store.storage.usage()}
    assert usage["price_history"].superseded_items == 1


async def test_a_version_number_that_is_taken_is_computed_again(page_store: PageStores) -> None:
    for text, version, ts in (("a", 3, 30), ("b", 3, 20), ("c", 3, 40), ("d", 1, 50)):
        await page_store.pages.store_event(event(text, version=version, ts=ts, is_change=True))
    assert await numbers(page_store) == [(3, "b"), (4, "a"), (5, "c"), (6, "d")]
    reported = [
        (each.previous, each.current, each.changes["to"]) for each in await logs(page_store)
    ]
    assert reported == [(2, 3, "b"), (3, 4, "a"), (4, 5, "c"), (5, 6, "d")]
    assert (await page(page_store)).version == 6


async def test_what_comes_late_does_not_overwrite_the_page(page_store: PageStores) -> None:
    await page_store.pages.store_event(event("new", version=5, ts=500, price="5"))
    assert (
        await page_store.pages.store_event(event("old", version=2, ts=200, price="2"))
    ).version == 2
    stored = await page(page_store)
    assert (stored.snapshot_hash, stored.version, stored.price) == ("new", 5, Decimal(5))
    assert stored.last_updated == 500
    assert await page_store.history.parsed(JOB, URL, 2) == parsed("old")


async def test_parts_that_are_missing_leave_what_is_known(page_store: PageStores) -> None:
    await page_store.pages.store_event(
        event("a", version=1, ts=1, price="7", availability="in_stock")
    )
    bare = event("x", ts=2, has_content=False)
    assert (await page_store.pages.store_event(bare)).version is None
    stored = await page(page_store)
    assert (stored.version, stored.price, stored.availability) == (1, Decimal(7), "in_stock")
    assert stored.last_updated == 2
    await page_store.pages.store_event(event("y", ts=3, has_content=False, price="8"))
    assert (await page(page_store)).price == Decimal(8)
    assert await numbers(page_store) == [(1, "a")]


async def test_a_change_without_content_is_logged(page_store: PageStores) -> None:
    stored = await page_store.pages.store_event(
        event("x", version=3, has_content=False, is_change=True)
    )
    assert stored == Stored(version=None, is_new=True)
    [log] = await logs(page_store)
    assert (log.previous, log.current, log.changes["to"]) == (2, 3, "x")
    assert await numbers(page_store) == []
    assert (await page(page_store)).version is None
    await page_store.pages.store_event(event("x", version=3, is_change=True))
    assert len(await logs(page_store)) == 1
    assert await numbers(page_store) == [(3, "x")]


async def test_an_event_without_a_time_has_that_of_its_first_delivery(
    page_store: PageStores,
) -> None:
    first = event("a", version=1, ts=100, has_ts=False, price="1", is_change=True)
    await page_store.pages.store_event(first)
    await page_store.pages.store_event(event("b", version=2, ts=200, has_ts=False, price="2"))
    before = await state_of(page_store)
    assert not (await page_store.pages.store_event(replace(first, ts=300))).is_new
    assert await state_of(page_store) == before
    assert (await page(page_store)).snapshot_hash == "b"


async def test_the_newest_is_whole_and_stays_and_others_are_deltas(page_store: PageStores) -> None:
    for n in range(5):
        await page_store.pages.store_event(event(f"{n}", version=n + 1, ts=n))
    found = await page_store.history.versions(JOB, URL, limit=10)
    assert [each.is_delta for each in found] == [False, True, True, True, True]
    assert found[0].expires_at is None
    assert all(each.expires_at is not None for each in found[1:])
    for n in range(5):
        assert await page_store.history.parsed(JOB, URL, n + 1) == parsed(f"{n}")
    assert await page_store.history.parsed(JOB, URL, 6) is None
    older = await page_store.history.versions(JOB, URL, limit=2, before=4)
    assert [each.version for each in older] == [3, 2]


# Runs


async def test_a_run_counts_each_page_once(watchings: WatchProcesses) -> None:
    async with watchings.open() as opened:
        other = "https://example.com/other"
        await start_run(opened, URL, other)
        given = event("a", version=2, is_change=True, price="4", previous="5", run_id="run 1")
        await asyncio.gather(*(opened.pages.store_event(given) for _ in range(3)))
        await opened.pages.store_event(replace(given, ts=TS + 1, claimed=3, snapshot_hash="b"))
        await opened.pages.note_checked(checked(Outcome.UNCHANGED))
        assert await tally(opened) == Tally(processed=1, changes=1, price_changes=1)
        await opened.pages.note_checked(checked(Outcome.FAILED, url=other, error="it is away"))
        assert await tally(opened) == Tally(processed=2, failed=1, changes=1, price_changes=1)
        run = await opened.runs.find_run("run 1")
        assert run is not None
        assert run.failures == [PageFailure(url=other, reason="it is away")]


async def test_events_of_a_run_that_has_ended_count_for_nothing(
    watchings: WatchProcesses,
) -> None:
    async with watchings.open() as opened:
        await start_run(opened, URL)
        await opened.pages.note_checked(checked(Outcome.UNCHANGED))
        await opened.runs.finish_run("run 1", NextRun(None, None))
        late = event("a", is_change=True, run_id="run 1", url="https://example.com/2")
        await opened.pages.store_event(late)
        assert await tally(opened) == Tally(processed=1)
        assert await numbers(opened, JOB, late.url) == [(1, "a")]


async def test_events_that_name_no_run_count_for_their_day(watchings: WatchProcesses) -> None:
    async with watchings.open() as opened:
        first = event("a", version=1, price="5")
        second = event("b", version=2, ts=TS + 1, is_change=True, price="4", previous="5")
        for each in (first, second, second, first):
            await opened.pages.store_event(each)
        run = await opened.runs.find_run(f"{JOB}:2024-04-05")
        assert run is not None
        assert (run.status, run.trigger) == (RunStatus.COMPLETED, "events")
        assert (run.pages_total, run.watch_id) == (None, JOB)
        assert run.tally == Tally(processed=2, changes=1, price_changes=1)


async def test_a_check_leaves_its_time_and_nothing_else(watchings: WatchProcesses) -> None:
    async with watchings.open() as opened:
        given = event("a", version=1, price="3", validators={"etag": "1"})
        await opened.pages.store_event(given)
        before = await page(opened)
        validators = Validators(etag="2", last_modified="yesterday", body_hash="ff")
        seen = checked(Outcome.UNCHANGED, validators=validators)
        await opened.pages.note_checked(seen)
        assert await page(opened) == replace(
            before, last_checked=AT, last_outcome=Outcome.UNCHANGED, validators=validators
        )
        later = AT + timedelta(minutes=1)
        await opened.pages.note_checked(checked(Outcome.FAILED, at=later, error="away"))
        await opened.pages.note_checked(seen)
        assert await page(opened) == replace(
            before,
            last_checked=later,
            last_outcome=Outcome.FAILED,
            last_error="away",
            validators=validators,
        )
        assert len(await opened.history.versions(JOB, URL, limit=5)) == 1


async def test_a_page_that_was_only_checked_is_there_without_content(
    page_store: PageStores,
) -> None:
    await page_store.pages.note_checked(checked(Outcome.FAILED, error="no such host"))
    stored = await page(page_store)
    assert (stored.version, stored.text, stored.last_updated) == (None, None, None)
    assert stored.last_error == "no such host"
    await page_store.pages.store_event(event("a", ts=5))
    found, _ = await page_store.pages.list_pages(PageFilter(), limit=5)
    assert [(each.version, each.last_updated) for each in found] == [(1, 5)]


# Listings


async def test_pages_are_listed_the_latest_first_and_filtered(page_store: PageStores) -> None:
    for n in range(7):
        kind = "product" if n % 2 else "article"
        await page_store.pages.store_event(
            event(
                f"Title {n}",
                ts=100 + n,
                watch_id=f"job {n // 4}",
                url=f"https://example.com/{n}",
                classification={"type": kind},
            )
        )
    await page_store.pages.note_checked(
        checked(Outcome.FAILED, url="https://example.com/x", watch_id="z")
    )

    async def in_order(chosen: PageFilter, limit: int, *, oldest_first: bool) -> list[str]:
        urls: list[str] = []
        cursor = None
        while True:
            found, cursor = await page_store.pages.list_pages(
                chosen, limit=limit, cursor=cursor, oldest_first=oldest_first
            )
            assert len(found) <= limit
            assert all(each.text is None and each.metadata is None for each in found)
            urls += [each.url.rpartition("/")[2] for each in found]
            if cursor is None:
                return urls

    async def listed(chosen: PageFilter, limit: int = 3) -> list[str]:
        """Those of the other direction are the same ones."""
        urls = await in_order(chosen, limit, oldest_first=False)
        assert await in_order(chosen, limit, oldest_first=True) == urls[::-1]
        return urls

    for chosen, count in (
        (PageFilter(), Count(5, is_exact=False)),  # of 8: counting stops
        (PageFilter(watch_id="job 0"), Count(4)),
        (PageFilter(watch_id="job 1", url="https://example.com/5"), Count(1)),
        (PageFilter(changed_since=105), Count(2)),
        (PageFilter(text="title"), Count(5, is_exact=False)),  # of 7
        (PageFilter(type="product"), Count(3)),
        (PageFilter(outcome=Outcome.FAILED), Count(1)),
    ):
        assert await page_store.pages.count_chosen(chosen, most=5) == count, chosen
    assert await listed(PageFilter()) == ["6", "5", "4", "3", "2", "1", "0", "x"]
    assert await listed(PageFilter(watch_id="job 0")) == ["3", "2", "1", "0"]
    assert await listed(PageFilter(type="product")) == ["5", "3", "1"]
    assert await listed(PageFilter(text="4 TITL")) == ["4"]
    assert await listed(PageFilter(text="example.COM/2")) == ["2"]
    assert await listed(PageFilter(outcome=Outcome.FAILED)) == ["x"]
    assert await listed(PageFilter(changed_since=105)) == ["6", "5"]
    only = PageFilter(watch_id="job 1", url="https://example.com/5")
    assert await listed(only) == ["5"]
    assert await listed(PageFilter(url="https://example.com/1")) == ["1"]
    with pytest.raises(BadCursor):
        await page_store.pages.list_pages(PageFilter(), limit=3, cursor="x")
    for oldest_first in (False, True):
        _, following = await page_store.pages.list_pages(
            PageFilter(), limit=3, oldest_first=oldest_first
        )
        with pytest.raises(BadCursor):
            await page_store.pages.list_pages(
                PageFilter(), limit=3, cursor=following, oldest_first=not oldest_first
            )


async def test_the_beginnings_of_words_find_a_page(page_store: PageStores) -> None:
    texts = {"title": TEXT, TEXT: "nothing", "accent": ACCENTED, "other": "other"}
    for path, title in texts.items():
        await page_store.pages.store_event(
            event(path, url=f"https://example.com/{path}", content={"title": title, "text": ""})
        )

    async def found(query: str) -> set[str]:
        pages, _ = await page_store.pages.list_pages(PageFilter(text=query), limit=10)
        return {each.url.removeprefix("https://example.com/") for each in pages}

    async def is_found(query: str) -> bool:
        if names := await found(query):
            assert {"title", TEXT} <= names
        return bool(names)

    async def is_accent_found(query: str) -> bool:
        return await found(query) == {"accent"}

    assert await results(EXAMPLES, is_found) == EXAMPLES
    assert await results(OF_ACCENTED, is_accent_found) == OF_ACCENTED


async def test_a_change_keeps_its_reasons_of_which_the_earliest_event_decides(
    page_store: PageStores,
) -> None:
    async def logged() -> ChangeLog:
        [log], _ = await page_store.history.change_logs(ChangeFilter(), limit=9)
        return log

    first = event("a", version=2, ts=TS, is_change=True, reasons=REASONS, alerts=["worded"])
    await page_store.pages.store_event(first)
    log = await logged()
    assert (log.reasons, log.alerts) == (REASONS, ["worded"])
    assert log.sentences == sentences(REASONS)
    given = replace(first, ts=TS - 1, reasons=[], alerts=["another program's text"])
    await page_store.pages.store_event(given)
    log = await logged()
    assert (log.reasons, log.sentences) == ([], ["another program's text"])
    await page_store.pages.store_event(replace(first, ts=TS - 2, reasons=REASONS[1:]))
    assert (await logged()).reasons == REASONS[1:]


async def test_change_logs_are_listed_the_latest_first_and_filtered(
    page_store: PageStores,
) -> None:
    for n in range(6):
        await page_store.pages.store_event(
            event(
                f"{n}",
                version=n + 2,
                ts=100 + n,
                watch_id="even" if n % 2 == 0 else "odd",
                is_change=True,
                run_id="run" if n < 3 else None,
                alerts=[f"alert {n}"],
            )
        )

    async def listed(chosen: ChangeFilter) -> list[str]:
        reported: list[str] = []
        cursor = None
        while True:
            found, cursor = await page_store.history.change_logs(chosen, limit=2, cursor=cursor)
            reported += [each.changes["to"] for each in found]
            assert all(each.alerts == [f"alert {each.changes['to']}"] for each in found)
            if cursor is None:
                return reported

    assert await listed(ChangeFilter()) == ["5", "4", "3", "2", "1", "0"]
    assert await listed(ChangeFilter(watch_id="odd")) == ["5", "3", "1"]
    assert await listed(ChangeFilter(watch_id="even", url=URL)) == ["4", "2", "0"]
    assert await listed(ChangeFilter(run_id="run")) == ["2", "1", "0"]
    assert await listed(ChangeFilter(run_id="run", watch_id="even")) == ["2", "0"]
    assert await listed(ChangeFilter(url="https://example.com/none")) == []
    with pytest.raises(BadCursor):
        await page_store.history.change_logs(ChangeFilter(), limit=3, cursor="é")


async def test_no_two_changes_have_the_same_time_and_key(page_store: PageStores) -> None:
    """Also of a page that changes back and forth within a millisecond, and when versions that come
    late get numbers of their own, and when a job begins again."""

    async def reported(url: str = URL) -> dict[str, tuple[int, str | None]]:
        found, _ = await page_store.history.change_logs(ChangeFilter(url=url), limit=99)
        return {str(each.current): (each.timestamp, each.key) for each in found}

    same = [event(text, version=n + 2, is_change=True) for n, text in enumerate("abab")]
    for each in [*same, *same]:
        await page_store.pages.store_event(each)
    first = await reported()
    assert len(set(first.values())) == 4
    await page_store.pages.store_event(event("late", version=2, ts=TS - 1, is_change=True))
    later = await reported()
    assert len(set(later.values())) == 5
    assert set(first.values()) < set(later.values())
    assert set(later) > set(first)
    await page_store.pages.store_event(event("a", version=2, ts=TS, is_change=True, url=f"{URL}/2"))
    assert set((await reported(f"{URL}/2")).values()).isdisjoint(later.values())
    await page_store.pages.forget_watch(JOB)
    await page_store.pages.store_event(event("a", version=2, ts=TS + 1, is_change=True))
    assert set((await reported()).values()).isdisjoint(later.values())


async def test_prices_are_listed_and_summed_up(page_store: PageStores) -> None:
    now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=90, milliseconds=102)
    assert await page_store.history.price_summary(JOB, URL, now=now) is None
    for n, price in enumerate(["10", "8.5", "8.5", "12", "12"]):
        await page_store.pages.store_event(event(f"{n}", ts=100 + n, price=price))
    summary = await page_store.history.price_summary(JOB, URL, now=now)
    assert summary is not None
    assert (summary.records, summary.currency) == (5, "INR")
    assert (summary.minimum, summary.maximum) == (Decimal("8.5"), Decimal(12))
    assert (summary.median, summary.last.timestamp) == (Decimal(10), 104)
    assert summary.last_change is not None
    assert summary.last_change.timestamp == 103
    assert (summary.recent_minimum.price, summary.recent_minimum.timestamp) == (Decimal("8.5"), 102)
    found, cursor = await page_store.history.prices(JOB, URL, limit=3)
    assert [each.timestamp for each in found] == [104, 103, 102]
    found, cursor = await page_store.history.prices(JOB, URL, limit=3, cursor=cursor)
    assert ([each.timestamp for each in found], cursor) == ([101, 100], None)
    assert [each.version for each in found] == [2, 1]
    with pytest.raises(BadCursor):
        await page_store.history.prices(JOB, URL, limit=3, cursor="nonsense")


async def test_a_price_curve_has_the_changes_since_a_time_and_what_was_in_force_then(
    page_store: PageStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webloom.stores.page_history.READ_AT_ONCE", 2)

    async def curve(since: int | None) -> tuple[int, list[tuple[int, Decimal, int | None]]]:
        found = await page_store.history.price_curve(JOB, URL, since=since, points=10)
        points = [(each.timestamp, each.price, each.version) for each in found.points]
        return found.records, points

    assert await curve(None) == (0, [])
    for n, price in enumerate(["10", "8.5", "8.5", "12", "12"]):
        await page_store.pages.store_event(event(f"{n}", ts=100 + n, price=price))
    changes = [(100, Decimal(10), 1), (101, Decimal("8.5"), 2), (103, Decimal(12), 4)]
    assert await curve(None) == (5, changes)
    assert await curve(101) == (4, changes[1:])
    assert await curve(102) == (3, [(102, Decimal("8.5"), 3), (103, Decimal(12), 4)])
    assert await curve(200) == (0, [(104, Decimal(12), 5)])


async def test_a_forgotten_job_leaves_nothing_and_others_stay(page_store: PageStores) -> None:
    for watch_id in (JOB, "other"):
        for n in range(2):
            await page_store.pages.store_event(
                event(f"{n}", ts=n, watch_id=watch_id, price=f"{n}", is_change=True)
            )
    before = await state_of(page_store)
    await page_store.pages.forget_watch(JOB)
    assert await state_of(page_store) == {key: before[key] for key in before if key[0] == "other"}
    assert await logs(page_store) == []
    assert await prices(page_store) == []
    assert await numbers(page_store) == []
    assert await page_store.pages.find_page(JOB, URL) is None


async def test_the_usage_says_what_is_superseded(page_store: PageStores) -> None:
    for n in range(3):
        await page_store.pages.store_event(event(f"{n}", ts=n, price=f"{n}"))
    usage = {each.collection: each for each in await page_store.storage.usage()}
    assert (usage["pages"].items, usage["pages"].superseded_items) == (1, 0)
    assert (usage["snapshots"].items, usage["snapshots"].superseded_items) == (3, 2)
    assert (usage["price_history"].items, usage["price_history"].superseded_items) == (3, 2)
    assert usage["snapshots"].superseded_bytes > 0
    sizes = {
        each.collection: each.items
        for each in await page_store.storage.usage(with_superseded=False)
    }
    assert sizes == {name: each.items for name, each in usage.items()}
    assert not await page_store.storage.is_full()
    assert await page_store.storage.prune() == 0
