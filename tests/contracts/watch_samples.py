"""Watches, runs and checks for the suites of the watch stores."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

from contracts.adapters import Watching
from webloom.domain.notification import Notification, NotifiedChange
from webloom.domain.page_check import Checked, Validators
from webloom.domain.price import Availability
from webloom.domain.reason import AvailabilityReason, PageReason, PriceReason, Reason, TextReason
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import EventPrice, StorageEvent, milliseconds_of
from webloom.domain.watch import Outcome, Watch, WatchConfig, WatchRun
from webloom.domain.watch_run import NewRun, NextRun
from webloom.parsing.reasons import stored_reasons

MAY = datetime(2026, 5, 1, 12, 0, 0, 250_000, tzinfo=UTC)
HOUR = timedelta(hours=1)

_numbers = count(1)


def url(name: str) -> str:
    return f"http://shop.example/{name}"


def config(name: str = "shop", pages: str = "abc", **changes: Any) -> WatchConfig:
    made = WatchConfig(
        name=name, urls=[url(each) for each in pages], schedule=Schedule(every_minutes=60.0)
    )
    return replace(made, **changes)


async def add_watch(
    store: Watching, name: str = "shop", *, due: datetime | None = None, pages: str = "abc"
) -> Watch:
    watch, is_new = await store.watches.add_watch(
        f"id of {name}", config(name, pages), next_run_at=due
    )
    assert is_new
    return watch


async def watch_now(store: Watching, name: str = "shop") -> Watch:
    watch = await store.watches.find_watch(f"id of {name}")
    assert watch is not None
    return watch


async def run_now(store: Watching, run_id: str) -> WatchRun:
    run = await store.runs.find_run(run_id)
    assert run is not None
    return run


def new_run(run_id: str | None = None, **changes: Any) -> NewRun:
    new = NewRun(run_id=run_id or f"run {next(_numbers)}", trigger="schedule")
    return replace(new, **changes)


async def started(store: Watching, name: str = "shop", new: NewRun | None = None) -> WatchRun:
    run = await store.runs.start_run(f"id of {name}", new or new_run())
    assert run is not None
    return run


async def begin(store: Watching, name: str = "shop", pages: str = "abc") -> WatchRun:
    await add_watch(store, name, pages=pages)
    return await started(store, name)


async def end(store: Watching, run: WatchRun, *, next_run_at: datetime | None = None) -> WatchRun:
    watch = await store.watches.find_watch(run.watch_id)
    seen = None if watch is None else watch.next_run_at
    ended = await store.runs.finish_run(run.run_id, NextRun(next_run_at, seen))
    assert ended is not None
    return ended


async def check(
    store: Watching,
    run: WatchRun,
    page: str,
    error: str | None = None,
    *,
    at: datetime = MAY,
    validators: Validators | None = None,
) -> None:
    await store.pages.note_checked(
        Checked(
            watch_id=run.watch_id,
            url=url(page),
            run_id=run.run_id,
            at=at,
            outcome=Outcome.UNCHANGED if error is None else Outcome.FAILED,
            error=error,
            validators=validators,
        )
    )


def event(page: str, *, text: str = "some", at: datetime = MAY, **changes: Any) -> StorageEvent:
    made = StorageEvent(
        watch_id="id of shop",
        url=url(page),
        snapshot_hash=f"hash of {text}",
        ts=milliseconds_of(at),
        parsed={"title": page, "text": text},
    )
    return replace(made, **changes)


def price(current: int, previous: int | None = None) -> EventPrice:
    return EventPrice(
        current=Decimal(current),
        previous=None if previous is None else Decimal(previous),
        currency="EUR",
    )


def notification(name: str, *, due: datetime = MAY, watch: str = "shop") -> Notification:
    return Notification(
        notification_id=f"notice {name}",
        watch_id=f"id of {watch}",
        target_url="json://hook.example/",
        run_id="run",
        due_at=due,
        lines=[f"line {name}"],
        changes=[NotifiedChange(url=f"https://{name}.example/", reasons=stored_reasons(REASONS))],
    )


REASONS: list[Reason] = [
    PriceReason(previous=Decimal("84.20"), current=Decimal("79.99"), currency="€", below=None),
    PriceReason(previous=None, current=Decimal("0.000001"), currency=None, below=Decimal(10) ** 15),
    AvailabilityReason(previous=Availability.OUT_OF_STOCK, current=Availability.IN_STOCK),
    TextReason(phrases=("Straße", "$a.b")),
    PageReason(),
]
