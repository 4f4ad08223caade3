"""What a person may decide about a watch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from fakes.clock import NOON, FakeClock
from webloom.adapters.cron import next_match
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.pages import SqlitePages
from webloom.adapters.sqlite.watch_runs import SqliteWatchRuns
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.application.watch.manage_watches import (
    MOST_TARGETS,
    MOST_URLS,
    ManageWatches,
    all_watches,
)
from webloom.domain.errors import UrlRefused, WatchRefused
from webloom.domain.page import Selection
from webloom.domain.retention import Retention
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import Target, Watch
from webloom.domain.watch_run import NewRun, NextRun

URL = "https://shop.test/1"


def checked(url: str) -> str:
    if " " in url:
        raise UrlRefused("it has a space")
    return url.lower()


def shown(url: str) -> str:
    return url.rpartition("/")[0] + "/…"


@pytest.fixture
def store(database: Database) -> SqliteWatches:
    return SqliteWatches(database, retention=Retention())


@pytest.fixture
def manage(database: Database, store: SqliteWatches, clock: FakeClock) -> ManageWatches:
    return ManageWatches(
        store=store,
        pages=SqlitePages(database, retention=Retention(), budget=1 << 40),
        clock=clock,
        cron=next_match,
        check=checked,
        check_target=lambda url: None,
        shown_target=shown,
        usual_minutes=30.0,
    )


async def made(manage: ManageWatches, urls: Sequence[str] = (URL,), **given: Any) -> Watch:
    watch, is_new = await manage.add(list(urls), **given)
    assert is_new
    return watch


async def edited(manage: ManageWatches, watch: Watch, **changes: Any) -> Watch:
    result = await manage.edit(watch.watch_id, **changes)
    assert result is not None
    return result


async def test_a_new_watch_has_the_usual_schedule_and_is_due_at_once(manage: ManageWatches) -> None:
    watch = await made(manage, ["https://SHOP.test/1", URL, "https://shop.test/2"])
    assert watch.config.urls == [URL, "https://shop.test/2"]
    assert watch.config.name == URL
    assert watch.config.schedule == Schedule(every_minutes=30.0)
    assert watch.next_run_at == NOON
    assert (await made(manage, enabled=False)).next_run_at is None


async def test_a_watch_without_a_name_may_have_a_long_address(
    manage: ManageWatches,
) -> None:
    watch = await made(manage, [f"https://shop.test/{'x' * 500}"])
    assert len(watch.config.name) == 200
    assert len(watch.config.urls[0]) > 500


async def test_with_an_id_that_is_there_the_watch_stays_as_it_is(manage: ManageWatches) -> None:
    first = await made(manage, watch_id="mine", name="One")
    again, is_new = await manage.add(["https://other.test/"], watch_id="mine", name="Two")
    assert (again, is_new) == (first, False)


async def test_the_next_run_moves_only_with_the_schedule(
    manage: ManageWatches, database: Database, clock: FakeClock
) -> None:
    watch = await made(manage)
    due = NOON + timedelta(hours=5)
    runs = SqliteWatchRuns(database, retention=Retention())
    run = await runs.start_run(watch.watch_id, NewRun(run_id="run", trigger="manual"))
    assert run is not None
    await runs.finish_run(run.run_id, NextRun(due, watch.next_run_at))
    clock.advance(60)
    assert (await edited(manage, watch, name="Other")).next_run_at == due
    sooner = await edited(manage, watch, schedule=Schedule(every_minutes=10.0))
    assert sooner.next_run_at is not None
    assert timedelta(minutes=10) <= sooner.next_run_at - clock.now() <= timedelta(minutes=11)
    assert (await edited(manage, watch, enabled=False)).next_run_at is None
    assert await manage.edit("unknown", name="x") is None


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"urls": []}, "urls: "),
    ({"urls": ["a b"]}, "urls: a b: it has a space"),
    ({"urls": [URL] * (MOST_URLS + 1)}, "urls: 10,001"),
    ({"name": "  "}, "name: "),
    ({"name": "a\ud800"}, "name: "),
    ({"schedule": Schedule(every_minutes=float("nan"))}, "schedule: "),
    ({"targets": [Target(url="https://h.test/x")] * (MOST_TARGETS + 1)}, "targets: more than 20"),
    ({"targets": [Target(url="https://h.test/x", secret="s" * 1001)]}, "targets: a secret"),
    ({"targets": [Target(url="https://h.test/…")]}, "targets: https://h.test/… is not"),
]


@pytest.mark.parametrize(("changes", "said"), REFUSED, ids=[said for _, said in REFUSED])
async def test_what_is_refused_is_named_and_changes_nothing(
    manage: ManageWatches, store: SqliteWatches, changes: dict[str, Any], said: str
) -> None:
    watch = await made(manage, name="One")
    with pytest.raises(WatchRefused) as refused:
        await manage.edit(watch.watch_id, **changes)
    assert str(refused.value).startswith(said)
    assert await store.find_watch(watch.watch_id) == watch


async def test_targets_that_are_given_as_they_are_shown_stay_what_they_are(
    manage: ManageWatches,
) -> None:
    one, two = (Target(url=f"https://h.test/{each}", secret=each) for each in ("one", "two"))
    other = Target(url="https://other.test/three")
    watch = await made(manage, targets=[one, other, two])
    hidden = [Target(url=shown(each.url)) for each in (one, other, two)]
    assert (await edited(manage, watch, targets=hidden)).config.targets == [one, other, two]
    signed = [hidden[0], Target(url=shown(other.url), secret="new", digest_minutes=5), hidden[2]]
    changed = await edited(manage, watch, targets=signed)
    assert changed.config.targets[1] == Target(url=other.url, secret="new", digest_minutes=5)
    with pytest.raises(WatchRefused, match="whole URL"):  # which of both is meant?
        await manage.edit(watch.watch_id, targets=[hidden[0], hidden[1]])
    assert (await edited(manage, watch, targets=[hidden[1]])).config.targets == [
        Target(url=other.url, secret="new")
    ]


async def test_only_the_name_and_targets_of_an_external_watch_are_changed(
    manage: ManageWatches, database: Database
) -> None:
    pages = SqlitePages(database, retention=Retention(), budget=1 << 40)
    await pages.store_event(StorageEvent(watch_id="theirs", url=URL, snapshot_hash="a", ts=0))
    known = await manage.edit("theirs", name="Their shop", targets=[Target(url="json://a/b")])
    assert known is not None
    assert (known.config.name, known.is_external) == ("Their shop", True)
    as_it_is = await manage.edit("theirs", urls=[], enabled=False, selection=Selection())
    assert as_it_is is not None
    refused: list[dict[str, Any]] = [
        {"urls": [URL]},
        {"enabled": True},
        {"schedule": Schedule(every_minutes=5)},
        {"selection": Selection(keep=["main"])},
    ]
    for changes in refused:
        with pytest.raises(WatchRefused, match=f"{next(iter(changes))}: another program"):
            await manage.edit("theirs", **changes)
    assert as_it_is.config == known.config


async def test_all_watches_are_listed_however_many(
    manage: ManageWatches, store: SqliteWatches
) -> None:
    await asyncio.gather(*(made(manage, name=f"{number:03d}") for number in range(450)))
    names = [each.config.name async for each in all_watches(store)]
    assert names == [f"{number:03d}" for number in range(450)]
