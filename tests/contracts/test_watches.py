"""The contracts of Watches and Notifications."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from contracts.adapters import Processes, Watching
from contracts.watch_samples import (
    HOUR,
    MAY,
    add_watch,
    begin,
    check,
    config,
    end,
    event,
    notification,
    started,
    url,
    watch_now,
)
from webloom.domain.errors import BadCursor
from webloom.domain.notification import Notification
from webloom.domain.page import Selection
from webloom.domain.page_check import Validators
from webloom.domain.schedule import Schedule
from webloom.domain.watch import Target, Thresholds, Watch
from webloom.domain.watch_run import NewRun
from webloom.ports.watches import WatchCounts

FULL = config(
    "Every field \U0001f4a1",
    schedule=Schedule(cron="0 7 * * mon", time_zone="Europe/Paris"),
    enabled=False,
    selection=Selection(
        keep=["main"],
        drop=["//aside"],
        ignore_text=["Ads"],
        ignore_pattern=["^[0-9]+$"],
        sort_lines=True,
        unique_lines=True,
    ),
    thresholds=Thresholds(
        text_contains=["sold"],
        price_below=Decimal("19.99"),
        price_change_percent=Decimal(5),
    ),
    targets=[Target(url="https://hook.example/", secret="s", digest_minutes=1.5), Target(url="x")],
    accepts_events=True,
    tags=["on sale", "Ü"],
)


async def test_a_watch_is_kept_as_it_was_given(watching: Watching) -> None:
    watch, is_new = await watching.watches.add_watch("full", FULL, next_run_at=MAY)
    assert is_new
    assert watch == Watch(
        watch_id="full",
        config=FULL,
        created_at=watch.created_at,
        updated_at=watch.created_at,
        next_run_at=MAY,
    )
    assert await watching.watches.find_watch("full") == watch
    assert await watching.watches.find_watch("other") is None


async def test_the_names_of_those_that_exist(watching: Watching) -> None:
    for name in ("one", "two"):
        await watching.watches.add_watch(name, config(f"Name of {name}"), next_run_at=None)
    found = await watching.watches.names(["two", "none", "two", "half \ud800"])
    assert found == {"two": "Name of two"}
    assert await watching.watches.names(set()) == {}


async def test_a_watch_that_is_there_stays_as_it_is(watchings: Processes[Watching]) -> None:
    async with watchings.open() as one, watchings.open() as two:
        made = await asyncio.gather(
            *(
                store.watches.add_watch("id", config(f"name {n}"), next_run_at=None)
                for n in range(5)
                for store in (one, two)
            )
        )
        assert sum(is_new for _, is_new in made) == 1
        assert len({watch.config.name for watch, _ in made}) == 1
        await watchings.pass_time(1)
        again = await one.watches.add_watch("id", FULL, next_run_at=MAY)
        assert again == (made[0][0], False)
        assert await two.watches.find_watch("id") == made[0][0]


async def test_an_edit_replaces_what_a_person_decides(watchings: Processes[Watching]) -> None:
    async with watchings.open() as store:
        before = await add_watch(store)
        run = await started(store)
        await watchings.pass_time(2)
        edited = await store.watches.edit_watch(before.watch_id, FULL, next_run_at=MAY)
        assert edited == replace(
            before,
            config=FULL,
            next_run_at=MAY,
            updated_at=before.updated_at + timedelta(seconds=2),
            active_run_id=run.run_id,
        )
        assert await watch_now(store) == edited
        assert await store.watches.edit_watch("other", FULL, next_run_at=MAY) is None
        assert await store.watches.find_watch("other") is None


@pytest.mark.parametrize("is_other", [True, False], ids=["another selection", "the same"])
async def test_validators_are_forgotten_where_the_selection_is_another(
    watchings: Processes[Watching], is_other: bool
) -> None:
    known = Validators(etag='"e"', last_modified="yesterday", body_hash="ab")
    async with watchings.open() as store:
        for name in ("shop", "other"):
            run = await begin(store, name)
            await check(store, run, "a", at=watchings.clock.now(), validators=known)
        await watchings.pass_time(1)
        selection = Selection(keep=["main"]) if is_other else Selection()
        await store.watches.edit_watch(
            "id of shop", config("new name", selection=selection), next_run_at=None
        )
        left = Validators() if is_other else known
        for name, expected in (("shop", left), ("other", known)):
            page = await store.pages.find_page(f"id of {name}", url("a"))
            assert page is not None
            assert page.validators == expected
            assert page.last_checked is not None


async def test_a_removed_watch_leaves_its_runs_and_pages(watching: Watching) -> None:
    run = await begin(watching)
    await check(watching, run, "a")
    assert await watching.watches.remove_watch(run.watch_id)
    assert not await watching.watches.remove_watch(run.watch_id)
    assert await watching.watches.find_watch(run.watch_id) is None
    ended = await watching.runs.find_run(run.run_id)
    assert ended is not None
    assert ended.finished_at is not None
    assert await watching.runs.active_runs(limit=10) == []
    assert not await watching.runs.is_open(run.run_id, url("b"))
    assert await watching.pages.find_page(run.watch_id, url("a")) is not None
    await add_watch(watching)
    assert (await started(watching)).run_id != run.run_id


async def test_watches_are_listed_by_name_and_id(watching: Watching) -> None:
    names = ["b", "a", "é", "b", "", "Z"]
    for number, name in enumerate(names):
        await watching.watches.add_watch(f"{number}", config(name), next_run_at=None)
    expected = ["4", "5", "1", "0", "3", "2"]
    for limit in (1, 2, 5, 6, 100):
        found: list[str] = []
        cursor: str | None = None
        while True:
            page, cursor = await watching.watches.watches(limit=limit, cursor=cursor)
            assert len(page) <= limit
            found += [watch.watch_id for watch in page]
            if cursor is None:
                break
        assert found == expected


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "bm9uZQ", "é", "WzEsMl0", "W10"])
async def test_a_cursor_of_nobody_is_refused(watching: Watching, cursor: str) -> None:
    with pytest.raises(BadCursor):
        await watching.watches.watches(limit=5, cursor=cursor)


async def test_watches_are_counted_by_their_state(watching: Watching) -> None:
    store = watching.watches
    assert await store.count_watches() == WatchCounts(all=0, enabled=0, checking=0, failing=0)
    for name in ("idle", "checked", "failed", "paused"):
        await add_watch(watching, name, pages="a")
    await store.edit_watch("id of paused", config("paused", enabled=False), next_run_at=None)
    run = await started(watching, "failed")
    await check(watching, run, "a", "it is away")
    await end(watching, run)
    await started(watching, "checked")
    assert await store.count_watches() == WatchCounts(all=4, enabled=3, checking=1, failing=1)
    await store.remove_watch("id of checked")
    assert await store.count_watches() == WatchCounts(all=3, enabled=2, checking=0, failing=1)


async def test_due_watches_come_the_longest_overdue_first(watching: Watching) -> None:
    times = {"late": 2, "later": 3, "now": 0, "soon": -1, "busy": 4}
    for name, hours in times.items():
        await add_watch(watching, name, due=MAY - hours * HOUR)
    await add_watch(watching, "paused")
    await started(watching, "busy")
    found = await watching.watches.due_watches(MAY, limit=10)
    assert [watch.config.name for watch in found] == ["later", "late", "now"]
    assert found[0] == await watch_now(watching, "later")
    assert [w.config.name for w in await watching.watches.due_watches(MAY, limit=1)] == ["later"]


# Notifications


async def test_notices_are_due_until_they_are_sent(watching: Watching) -> None:
    first, second, later = (
        notification("1", due=MAY),
        notification("2", due=MAY - HOUR),
        notification("3", due=MAY),
    )
    later = replace(later, due_at=MAY + HOUR)
    await watching.notifications.add([first, second, later])
    assert await watching.notifications.due(MAY, limit=10) == [second, first]
    assert await watching.notifications.due(MAY, limit=1) == [second]
    await watching.notifications.note_sent(
        [second.notification_id, first.notification_id, "unknown"], MAY
    )
    assert await watching.notifications.due(MAY, limit=10) == []
    found, _ = await watching.notifications.of_watch("id of shop", limit=10)
    sent = {each.notification_id: each.sent_at for each in found}
    assert sent == {"notice 1": MAY, "notice 2": MAY, "notice 3": None}
    await watching.notifications.note_sent([first.notification_id], MAY + HOUR)
    assert {
        e.sent_at for e in (await watching.notifications.of_watch("id of shop", limit=10))[0]
    } == {
        MAY,
        None,
    }


async def test_targets_are_due_while_one_of_their_notices_is(watching: Watching) -> None:
    hook, mail, chat = "json://hook.example/", "mailto://mail.example", "slack://chat.example"

    def to(target_url: str, name: str, due: datetime) -> Notification:
        return replace(notification(name, due=due), target_url=target_url)

    at_hook = [to(hook, "1", MAY), to(hook, "2", MAY - HOUR), to(hook, "3", MAY + HOUR)]
    await watching.notifications.add(
        [*at_hook, to(mail, "4", MAY - 2 * HOUR), to(chat, "5", MAY + HOUR)]
    )
    due = await watching.notifications.due_targets(MAY, limit=10)
    assert [(each.url, each.has_failed) for each in due] == [(mail, False), (hook, False)]
    assert await watching.notifications.due_targets(MAY, limit=1) == due[:1]
    found = await watching.notifications.due(MAY, limit=10, target_url=hook)
    assert found == [at_hook[1], at_hook[0]]
    await watching.notifications.note_failed(["notice 2"], error="away", retry_at=MAY + HOUR)
    await watching.notifications.note_sent(["notice 4"], MAY)
    due = await watching.notifications.due_targets(MAY, limit=10)
    assert [(each.url, each.has_failed) for each in due] == [(hook, True)]
    await watching.notifications.note_sent(["notice 1"], MAY)
    assert await watching.notifications.due_targets(MAY, limit=10) == []


async def test_a_target_fails_until_something_is_sent_to_it_again(watching: Watching) -> None:
    notifications = watching.notifications
    hook, mail, chat = "json://hook.example/", "mailto://mail.example", "slack://chat.example"
    targets = {"1": hook, "2": hook, "3": mail, "4": chat, "5": hook}
    for name, target in targets.items():  # the order of what is added together is not defined
        await notifications.add([replace(notification(name), target_url=target)])
    assert await notifications.failing(limit=10) == []
    await notifications.note_sent(["notice 1", "notice 3"], MAY)
    await notifications.note_failed(["notice 2"], error="away", retry_at=MAY + HOUR)
    await notifications.note_failed(["notice 4"], error="wrong token", retry_at=None)
    found = await notifications.failing(limit=10)
    assert [(each.notification_id, each.error) for each in found] == [
        ("notice 2", "away"),
        ("notice 4", "wrong token"),
    ]
    assert await notifications.failing(limit=1) == found[:1]
    await notifications.note_sent(["notice 5"], MAY)
    assert await notifications.failing(limit=10) == found[1:]


async def test_a_notice_that_is_there_is_left_alone(watching: Watching) -> None:
    open_one, sent = notification("open"), notification("sent")
    await watching.notifications.add([open_one, sent])
    await watching.notifications.note_sent([sent.notification_id], MAY)
    again = [replace(each, lines=["another"], due_at=MAY - HOUR) for each in (sent, open_one)]
    await watching.notifications.add([*again, notification("new"), notification("new")])
    await watching.notifications.add([])
    due = await watching.notifications.due(MAY, limit=10)
    assert sorted(each.notification_id for each in due) == ["notice new", "notice open"]
    assert open_one in due


async def test_a_notice_is_tried_again_and_at_last_given_up(watching: Watching) -> None:
    await watching.notifications.add([notification("1"), notification("2")])
    await watching.notifications.note_failed(["notice 1"], error="no answer", retry_at=MAY + HOUR)
    due = await watching.notifications.due(MAY, limit=10)
    assert [each.notification_id for each in due] == ["notice 2"]
    [_, again] = await watching.notifications.due(MAY + HOUR, limit=10)
    assert again == replace(notification("1"), attempts=1, error="no answer", due_at=MAY + HOUR)
    await watching.notifications.note_failed(["notice 1"], error="refused", retry_at=None)
    due = await watching.notifications.due(MAY + HOUR, limit=10)
    assert [each.notification_id for each in due] == ["notice 2"]
    found, _ = await watching.notifications.of_watch("id of shop", limit=10)
    [given_up] = [each for each in found if each.notification_id == "notice 1"]
    assert (given_up.given_up, given_up.attempts, given_up.error) == (True, 2, "refused")
    assert given_up.sent_at is None
    await watching.notifications.note_failed(["unknown"], error="no", retry_at=MAY)


async def test_notices_of_a_watch_are_listed_the_latest_first(
    watchings: Processes[Watching],
) -> None:
    async with watchings.open() as store:
        for number in range(5):
            await store.notifications.add(
                [notification(f"{number}"), notification(f"x{number}", watch="x")]
            )
            await watchings.pass_time(1)
        for limit in (1, 2, 5, 9):
            found: list[Notification] = []
            cursor: str | None = None
            while True:
                page, cursor = await store.notifications.of_watch(
                    "id of shop", limit=limit, cursor=cursor
                )
                assert len(page) <= limit
                found += page
                if cursor is None:
                    break
            assert found == [notification(f"{number}") for number in (4, 3, 2, 1, 0)]
        with pytest.raises(BadCursor):
            await store.notifications.of_watch("id of shop", limit=1, cursor="no")


async def test_texts_that_no_database_can_carry_are_mended(watching: Watching) -> None:
    odd = "a\0b\ud800c"
    await watching.watches.add_watch(odd, config(odd), next_run_at=None)
    watch = await watching.watches.find_watch(odd)
    assert watch is not None
    run = await watching.runs.start_run(odd, NewRun(run_id=odd, trigger="manual"))
    assert run is not None
    await watching.pages.store_event(event("a", watch_id=odd, run_id=odd))
    found = await watching.runs.find_run(odd)
    assert found is not None
    assert found.tally.processed == 1
    await watching.notifications.add([replace(notification("n"), lines=[odd], watch_id=odd)])
    assert len((await watching.notifications.of_watch(odd, limit=5))[0]) == 1
