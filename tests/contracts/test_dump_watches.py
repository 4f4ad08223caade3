"""Watches, pages and all that is kept of them, loaded from each backend into each."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from contracts.adapters import Whole
from contracts.page_samples import TS, URL, event, numbers, parsed, state_of
from contracts.page_samples import page as page_now
from contracts.watch_samples import MAY, REASONS, new_run, notification, run_now, url
from contracts.whole_samples import (
    ACROSS,
    JOB,
    ODD,
    PAIRS,
    TARGETS,
    carry,
    furnish_watches,
    held,
)
from fakes.clock import FakeClock
from webloom.domain.page_check import Checked, Validators
from webloom.domain.reason_words import sentences
from webloom.domain.storage_event import Place
from webloom.domain.watch import Outcome, RunStatus
from webloom.domain.watch_run import NOT_CHECKED
from webloom.ports.dump import WholeLog, WholePrice, WholeVersion
from webloom.ports.page_history import ChangeFilter
from webloom.ports.watch_run_listing import RunFilter
from webloom.stores.whole import line_of

pytestmark = pytest.mark.usefixtures("patient")


@pytest.fixture
def clock(clock_of_today: FakeClock) -> FakeClock:
    return clock_of_today


@PAIRS
async def test_readers_see_the_same_pages(source: Whole, target: Whole, clock: FakeClock) -> None:
    await furnish_watches(source.watching, clock)
    await carry(source, target, clock)
    pages = target.watching
    assert await state_of(pages) == await state_of(source.watching)
    seen = await page_now(pages, JOB, url("a"))
    assert seen.validators == Validators(etag='"a"', body_hash="b")
    assert (await page_now(pages, JOB, url("b"))).last_outcome is Outcome.FAILED
    summary = await pages.history.price_summary("abc123", URL, now=clock.now())
    assert summary is not None
    assert summary == await source.watching.history.price_summary("abc123", URL, now=clock.now())


@ACROSS
async def test_numbering_goes_on_as_before(source: Whole, target: Whole, clock: FakeClock) -> None:
    await furnish_watches(source.watching, clock)
    await carry(source, target, clock)
    news = [
        event("between", ts=TS + 4, is_change=True, price="11"),
        event("next", ts=TS + 8, is_change=True, price="8", previous="9.99"),
        event("one", version=1, price="10.00"),  # it is known
    ]
    for each in news:
        for whole in (source, target):
            await whole.watching.pages.store_event(each)
            records = (await held(whole, "price_history"))["price_history"]
            latest = [each for each in records if each.url == URL and each.expires_at is None]
            assert len(latest) == 1
    found = await numbers(target.watching)
    assert found == await numbers(source.watching)
    assert [text for _, text in found] == ["one", "late", "between", "five", "six", "next"]
    assert await state_of(target.watching) == await state_of(source.watching)


@ACROSS
async def test_a_run_in_progress_arrives_as_ended_and_its_watch_is_due(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_watches(source.watching, clock)
    await carry(source, target, clock)
    run = await run_now(target.watching, "running")
    assert (run.status, run.tally.processed, run.tally.failed) == (RunStatus.PARTIAL, 3, 2)
    assert [(each.url, each.reason) for each in run.failures] == [
        (url("b"), "nö"),
        (url("c"), NOT_CHECKED),
    ]
    watch = await target.watching.watches.find_watch(JOB)
    assert watch is not None
    assert (watch.active_run_id, watch.last_run_id) == (None, "ended")
    assert await target.watching.runs.active_runs(limit=9) == []
    due = await target.watching.watches.due_watches(clock.now() + timedelta(hours=1), limit=9)
    assert [each.watch_id for each in due] == [JOB]
    again = await target.watching.runs.start_run(JOB, new_run("again"))
    assert again is not None
    assert again.status is RunStatus.IN_PROGRESS
    assert all(verdict.holds for verdict in (await carry(source, target, clock)).values())
    watch = await target.watching.watches.find_watch(JOB)
    assert watch is not None
    assert watch.active_run_id == "again"
    runs, _ = await target.watching.runs.runs(RunFilter(watch_id=JOB), limit=9)
    assert [each.run_id for each in runs][:2] == ["again", "running"]


@ACROSS
async def test_only_what_is_not_sent_is_sent_again(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_watches(source.watching, clock)
    await carry(source, target, clock)
    due = await target.watching.notifications.due(clock.now(), limit=9)
    assert {(each.notification_id, each.attempts) for each in due} == {
        ("notice open", 0),
        ("notice tried", 1),
    }
    await target.watching.notifications.note_sent(
        [each.notification_id for each in due], clock.now()
    )
    verdict = (await carry(source, target, clock))["notices"]
    assert (verdict.newer, verdict.holds) == (2, True)
    assert await target.watching.notifications.due(clock.now(), limit=9) == []


@ACROSS
async def test_what_was_not_announced_is_announced_by_the_target(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    """Also what a run in progress has found, and a batch that was begun."""
    await furnish_watches(source.watching, clock)
    more = replace(event("c2", watch_id=JOB, url=url("a"), is_change=True), run_id="running")
    await source.watching.pages.store_event(replace(more, alerts=["b"]))
    assert await source.watching.alerts.assign_batch(JOB, "ended", "batch") == ["batch"]
    await carry(source, target, clock)
    alerts = target.watching.alerts
    assert {each.run_id for each in await alerts.pending(limit=9)} == {"ended", "running"}
    assert await alerts.assign_batch(JOB, "ended", "other") == ["batch"]
    assert await alerts.assign_batch(JOB, "running", "new") == ["new"]
    await source.watching.alerts.note_notified("batch")
    assert (await carry(source, target, clock))["change_logs"].holds
    assert await alerts.assign_batch(JOB, "ended", "other") == []
    assert await alerts.assign_batch(JOB, "running", "other") == ["new"]


@ACROSS
async def test_reasons_and_the_words_for_the_previous_version_arrive(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_watches(source.watching, clock)
    await carry(source, target, clock)
    logs, _ = await target.watching.history.change_logs(ChangeFilter(run_id="ended"), limit=9)
    assert [each.reasons for each in logs] == [REASONS]
    found = await held(target, "change_logs", "notices")
    [log] = [each for each in found["change_logs"] if each.reasons]
    assert log.alerts == sentences(REASONS)
    notices = {each.notification_id: each for each in found["notices"]}
    assert notices["notice open"] == replace(
        notification("open"), due_at=notices["notice open"].due_at
    )


@pytest.mark.parametrize("without", ["reasons", "changes"])
def test_a_dump_of_the_previous_version_has_no_reasons(without: str) -> None:
    log = WholeLog(
        key="0" * 32,
        watch_id=JOB,
        url=URL,
        number=1,
        place=Place(1, 1, "a"),
        run_id=None,
        changes={},
        alerts=["the price fell"],
        expires_at=MAY,
    )
    item: Any = log if without == "reasons" else replace(notification("open"), changes=[])
    line = msgspec.json.decode(line_of(item).raw)
    del line[without]
    assert msgspec.json.decode(msgspec.json.encode(line), type=type(item)) == item


@ACROSS
async def test_what_has_gone_on_in_the_target_stays(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_watches(source.watching, clock)
    await carry(source, target, clock)
    clock.advance(60)
    await target.watching.pages.store_event(event("next", ts=TS + 8, price="8", is_change=True))
    edited = replace(ODD, name="edited")
    await target.watching.watches.edit_watch("odd", edited, next_run_at=None)
    state = await state_of(target.watching)
    verdicts = await carry(source, target, clock)
    assert all(verdict.holds for verdict in verdicts.values())
    assert (verdicts["watches"].newer, verdicts["pages"].newer) == (2, 1)
    assert await state_of(target.watching) == state
    watch = await target.watching.watches.find_watch("odd")
    assert watch is not None
    assert watch.config.name == "edited"


@ACROSS
async def test_what_has_gone_on_in_the_source_arrives_too(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    await furnish_watches(source.watching, clock)
    await carry(source, target, clock)
    clock.advance(60)
    for each in (
        event("next", ts=TS + 8, price="8", is_change=True),
        event("between", ts=TS + 4, version=5, is_change=True),
        event("bare", ts=TS + 7),
    ):
        await source.watching.pages.store_event(each)
    await source.watching.pages.note_checked(
        Checked(
            watch_id=JOB, url=url("a"), run_id="none", at=clock.now(), outcome=Outcome.UNCHANGED
        )
    )
    verdicts = await carry(source, target, clock)
    assert [name for name, each in verdicts.items() if not each.holds or each.newer] == []
    assert await state_of(target.watching) == await state_of(source.watching)


def version(number: int, expires_at: datetime | None) -> WholeVersion:
    made = event(f"text {number}", ts=TS + number)
    return WholeVersion(
        key=made.snapshot_key,
        watch_id=made.watch_id,
        url=made.url,
        number=number,
        place=made.place,
        content=dict(made.parsed or {}),
        expires_at=expires_at,
    )


@TARGETS
async def test_many_versions_are_packed_by_the_target(target: Whole, clock: FakeClock) -> None:
    """In batches; and all of them can be read."""
    day = clock.now() + timedelta(days=1)
    superseded = [version(number, day + timedelta(seconds=number)) for number in range(129, 0, -1)]
    made = [version(130, None), *superseded]
    for start in range(0, len(made), 70):
        part = made[start : start + 70]
        assert await target.whole.put_if_newer("snapshots", part) == part
    assert sorted((await held(target, "snapshots"))["snapshots"], key=_number) == made[::-1]
    assert await target.watching.history.parsed(made[-1].watch_id, URL, 1) == parsed("text 1")
    listed = await target.watching.history.versions(made[-1].watch_id, URL, limit=200)
    assert [each.version for each in listed] == list(range(130, 0, -1))
    assert not listed[0].is_delta
    assert 3 <= sum(not each.is_delta for each in listed) <= 5  # two batches, and chains end


def _number(version: WholeVersion) -> int:
    return version.number


@TARGETS
async def test_a_version_never_depends_on_one_that_goes_before_it(
    target: Whole, clock: FakeClock
) -> None:
    days = [clock.now() + timedelta(days=days) for days in (3, 2, 4)]
    made = [version(number, day) for number, day in zip((3, 2, 1), days, strict=True)]
    whole = [version(4, None), *made]
    assert await target.whole.put_if_newer("snapshots", whole) == whole
    listed = await target.watching.history.versions(made[0].watch_id, URL, limit=9)
    assert [each.is_delta for each in listed] == [False, True, True, False]


@TARGETS
async def test_versions_that_were_read_while_others_wrote_are_set_right(
    target: Whole, clock: FakeClock
) -> None:
    """Without snapshots, two may come as the newest, or none; and a price likewise."""
    day = clock.now() + timedelta(days=1)
    await target.whole.put_if_newer("snapshots", [version(2, None), version(1, None)])
    kept = (await held(target, "snapshots"))["snapshots"]
    assert {(each.number, each.expires_at is None) for each in kept} == {(2, True), (1, False)}
    shown = await page_now(target.watching)
    assert (shown.version, shown.text, shown.last_updated) == (2, parsed("text 2")["text"], TS + 2)
    [newest] = await target.whole.put_if_newer("snapshots", [version(3, day)])
    assert newest == version(3, None)
    assert (await page_now(target.watching)).version == 3
    for ts, expires_at in ((TS + 1, None), (TS + 2, day)):
        await target.whole.put_if_newer("price_history", [price(ts, expires_at)])
    prices = (await held(target, "price_history"))["price_history"]
    assert {(each.ts, each.expires_at is None) for each in prices} == {
        (TS + 1, False),
        (TS + 2, True),
    }


def price(ts: int, expires_at: datetime | None) -> WholePrice:
    made = event("text", ts=ts, price="9.5")
    return WholePrice(
        key=made.price_key,
        watch_id=made.watch_id,
        url=made.url,
        ts=ts,
        price=Decimal("9.5"),
        currency="INR",
        change_percent=None,
        claimed=0,
        version_key=made.snapshot_key,
        expires_at=expires_at,
    )


@TARGETS
async def test_only_the_latest_price_does_not_expire_however_many_come_at_once(
    target: Whole, clock: FakeClock
) -> None:
    day = clock.now() + timedelta(days=1)
    for ts in (TS + 1, TS + 3):
        await target.watching.pages.store_event(event("text", ts=ts, price="9.5"))
    news = [price(TS + 9, None), price(TS + 8, day), price(TS + 7, day), price(TS + 2, day)]
    await target.whole.put_if_newer("price_history", news)
    prices = (await held(target, "price_history"))["price_history"]
    assert len(prices) == 6
    assert [each.ts for each in prices if each.expires_at is None] == [TS + 9]


@TARGETS
async def test_a_change_outlives_its_version(target: Whole, clock: FakeClock) -> None:
    gone = version(7, None)
    log = WholeLog(
        key=gone.key,
        watch_id=gone.watch_id,
        url=gone.url,
        number=7,
        place=gone.place,
        run_id=None,
        changes={"textChanged": True},
        alerts=[],
        expires_at=clock.now() + timedelta(days=1),
    )
    for _ in range(2):
        assert await target.whole.put_if_newer("change_logs", [log]) == [log]
    assert (await held(target, "snapshots"))["snapshots"] == []
    [reported], _ = await target.watching.history.change_logs(
        ChangeFilter(watch_id=log.watch_id), limit=9
    )
    assert (reported.previous, reported.current, reported.timestamp) == (6, 7, gone.place.ts)


@PAIRS
async def test_what_is_about_to_expire_is_left_out(
    source: Whole, target: Whole, clock: FakeClock
) -> None:
    stays = [version(3, None), version(2, clock.now() + timedelta(minutes=90))]
    goes = version(1, clock.now() + timedelta(minutes=30))
    await source.whole.put_if_newer("snapshots", [*stays, goes])
    verdict = (await carry(source, target, clock))["snapshots"]
    assert (verdict.items, verdict.equal, verdict.expired, verdict.holds) == (3, 2, 1, True)
    assert sorted((await held(target, "snapshots"))["snapshots"], key=_number) == stays[::-1]
