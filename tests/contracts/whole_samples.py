"""A store with every kind of item that there is, for the suite of dumps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

import topologies
from contracts.adapters import FIRST_TOPOLOGIES, WHOLE, PortAdapter, Watching, Whole
from contracts.import_samples import (
    MAY,
    add_feed,
    all_read,
    apply,
    claimed,
    failure,
    import_all,
    key_of,
    posting,
    postings,
    reading,
    started,
)
from contracts.import_samples import (
    begin as begin_import,
)
from contracts.import_samples import (
    end as end_import,
)
from contracts.import_samples import (
    later as later_on,
)
from contracts.inventory_samples import (
    COMPLETED,
    FAILED,
    RECEIVED,
    begin,
    begin_any,
    complete,
    later,
    note,
    request,
    state_of,
    with_source,
)
from contracts.page_samples import TS
from contracts.page_samples import event as page_event
from contracts.watch_samples import REASONS, notification
from contracts.watch_samples import check as check_page
from contracts.watch_samples import config as watch_config
from contracts.watch_samples import end as end_watch_run
from contracts.watch_samples import new_run as new_watch_run
from contracts.watch_samples import url as page_url
from fakes.clock import FakeClock
from webloom.application.move.load import Load, Verdict, scanned
from webloom.domain.feed import LastFetch
from webloom.domain.inventory import Completed, Failed, FetchRequest, GivenBack, GiveUp
from webloom.domain.page import Selection
from webloom.domain.page_check import Validators
from webloom.domain.reason_words import sentences
from webloom.domain.watch import Target, Thresholds
from webloom.parsing.job_posting import Salary
from webloom.ports.clock import Clock
from webloom.ports.dump import COLLECTIONS
from webloom.ports.imports import Imports
from webloom.ports.inventory_store import InventoryStore

SITE = "http://site.example/"
JOB = "id of shop"
MILLION = "aä€😀\n" * 200_000

ONE_OF_EACH = [each for each in WHOLE if each.backend in FIRST_TOPOLOGIES]
SQLITE, *OTHERS = ONE_OF_EACH


def between(
    pairs: Iterable[tuple[PortAdapter[Whole], PortAdapter[Whole]]],
) -> pytest.MarkDecorator:
    named = [
        pytest.param(*pair, id=f"{pair[0].name}-to-{pair[1].name}", marks=topologies.marks(*pair))
        for pair in pairs
    ]
    return pytest.mark.parametrize(("source", "target"), named, indirect=True)


_ACROSS = [pair for each in OTHERS for pair in ((SQLITE, each), (each, SQLITE))]
PAIRS = between([(SQLITE, SQLITE), *_ACROSS])
ACROSS = between(_ACROSS)
SOURCES = pytest.mark.parametrize("source", topologies.each(ONE_OF_EACH), indirect=True)
TARGETS = pytest.mark.parametrize("target", topologies.each(ONE_OF_EACH), indirect=True)
EVERY_SOURCE = pytest.mark.parametrize("source", topologies.each(WHOLE), indirect=True)


async def furnish(source: Whole, clock: FakeClock) -> None:
    await furnish_inventory(source.inventory, clock)
    await furnish_imports(source.imports, clock)
    await furnish_watches(source.watching, clock)


async def held(store: Whole, *collections: str) -> dict[str, list[Any]]:
    """All items, by collection, in an order that does not depend on the store."""
    found = {}
    async with store.whole.snapshot() as snapshot:
        for name in collections or COLLECTIONS:
            lines = [line async for lines in snapshot.scan(name) for line in lines]
            found[name] = [line.item for line in sorted(lines, key=lambda each: each.raw)]
    return found


async def carry(source: Whole, target: Whole, clock: Clock) -> dict[str, Verdict]:
    """As `webloom copy` does."""
    load = Load(
        target=target.whole, name="source", now=clock.now(), progress=lambda name, items: None
    )
    async with source.whole.snapshot() as snapshot:
        return await load.run(lambda: scanned(snapshot), resume=True)


def by_kind(items: list[Any]) -> dict[str, Any]:
    return {item.url.removeprefix(SITE): item for item in items}


# What a store can hold: each kind is the name of a URL.

ANSWERED: dict[str, Completed | Failed] = {
    "page": COMPLETED,
    "empty-page": with_source(""),
    "no-page": with_source(None),
    "long-page": with_source(MILLION),
    "page-with-nul": with_source("a\0b\0"),
    "not-found": FAILED,
    "server-error": Failed(
        reason="ein Fehler: ä \0 \U0001f9ff",
        retry_count=2,
        received=replace(RECEIVED, status_code=503),
    ),
    "odd-names": Completed(
        received=replace(
            RECEIVED,
            headers={"": "", "a.b": "$c", "$set": "{}", ".": "\0", "$": "\u202e\u2028", "ä😀": "é"},
            cookies={"": "x", "$ref": "a", "$id": "b", "__proto__": "\x01"},
            final_url="http://site.example/?q=%00&$where=1",
            details={
                "": {"": [[], {}, [[None, True, 0.5]], {"a.b": {"$c": ""}}]},
                "numbers": [0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 1e300, 5e-324, -0.0, 1.0],
                "$ref": "a collection",
                "$id": 1,
                "texts": ["", "\0", "$a", "\U0010ffff", "é"],
                "nothing": None,
            },
        )
    ),
    "nothing-inside": Completed(
        received=replace(RECEIVED, headers={}, cookies={}, details={}, page_source="")
    ),
}  # fmt: skip
OUTSTANDING = {  # and whether as a background refresh
    "waiting": False,
    "again": False,
    "running": False,
    "running-again": False,
    "given-back": False,
    "retrying": False,
    "refresh-waiting": True,
    "refresh-running": True,
    "refresh-retrying": True,
}
RUNNING = {"running", "running-again", "refresh-running"}
LOST = "worker-died-thrice"
KINDS = (*ANSWERED, *OUTSTANDING, LOST)


def url(kind: str) -> str:
    return SITE + kind


def wanted(kind: str) -> FetchRequest:
    """The latest request of this kind's record."""
    return request(f"latest of {kind}", url=url(kind), background=OUTSTANDING.get(kind, False))


async def furnish_inventory(store: InventoryStore, clock: FakeClock) -> None:
    """One record of each kind, each made some milliseconds after the one before."""
    for kind in KINDS:
        clock.advance(0.007)
        if kind in ANSWERED:
            assert await store.finish_attempt(await begin(store, wanted(kind)), ANSWERED[kind])
        elif kind == LOST:
            for _ in range(3):
                await begin(store, wanted(kind), lease=1)
                clock.advance(2)
            assert isinstance(await begin_any(store, wanted(kind)), GiveUp)
        else:
            await _request(store, kind)


async def _request(store: InventoryStore, kind: str) -> None:
    request = wanted(kind)
    if request.background or kind == "again":
        await complete(store, request.url)
        await note(store, request, (await state_of(store, request.url)).token)
    elif kind == "waiting":
        await note(store, request)
    if kind in ("waiting", "again", "refresh-waiting"):
        return
    attempt = await begin(store, request, lease=3600)
    if kind in ("retrying", "refresh-retrying"):
        assert await store.finish_attempt(attempt, later(30))
    elif kind == "given-back":
        assert await store.finish_attempt(attempt, GivenBack())
    elif kind == "running-again":
        assert await store.finish_attempt(attempt, later(0))
        await begin(store, request, lease=3600)


# Imports

WHOLE_POSTING = posting(
    "whole",
    company="Ä & Söhne",
    location="Köln",
    remote=False,
    salary=Salary(min=1, max=2.5, currency="EUR"),
    categories=["$a.b", ""],
    published_at=MAY,
    expires_at=later_on(1),
)


async def furnish_imports(store: Imports, clock: FakeClock) -> None:
    """Every kind of feed, run and posting that there is."""
    odd = {"mapping": {"$t": "a.b"}, "interval_minutes": 5.5, "enabled": False}
    await add_feed(store, "never", due=MAY, **odd)
    await add_feed(store, "moved", moved_to="http://new.example/feed.xml", tags=["Ä", "b c"])
    await import_all(store, [WHOLE_POSTING, *postings("same", "changed", "closed"), posting("old")])
    clock.advance(60)
    claim = await begin_import(store)
    await apply(store, claim, 0, [posting("changed", "again")], failures=[failure("nö", "\0", 3)])
    await store.postings.close(claim, [key_of("closed")])
    read = all_read(4, 2, repairs={"a.b": 1}, bytes_total=1 << 40, format="rss")
    fetched = LastFetch(etag="$e", content_hash="ab")
    await end_import(store, claim, read, error="ö", next_run_at=later_on(9), last_fetch=fetched)
    clock.advance(60)
    await add_feed(store, "running")
    run = await started(store, "running")
    claim = await claimed(store, run_id=run.run_id, lease=3600)
    await apply(store, claim, 0, [posting("half", source_url="http://running.example/feed.xml")])
    await store.runs.note_reading(claim, reading(fetched=2, published=2))


# Watches

ODD = watch_config(
    "Ä & Söhne",
    "ab",
    enabled=False,
    selection=Selection(keep=["$a.b"], ignore_pattern=["^ö"], sort_lines=True),
    thresholds=Thresholds(price_below=Decimal("10.00"), price_change_percent=Decimal("2.50")),
    targets=[Target(url="json://$hook/", secret="s", digest_minutes=5)],
    tags=["on sale", "Ü"],
)


async def furnish_watches(store: Watching, clock: FakeClock) -> None:
    """Every kind of item that there is."""
    now = clock.now()
    await store.watches.add_watch("odd", ODD, next_run_at=None)
    await store.watches.add_watch(JOB, watch_config(), next_run_at=now)
    run = await store.runs.start_run(JOB, new_watch_run("ended"))
    assert run is not None
    await check_page(store, run, "a", validators=Validators(etag='"a"', body_hash="b"), at=now)
    await check_page(store, run, "b", "it said \0 nö", at=now)
    changed = page_event(
        "c1", watch_id=JOB, url=page_url("c"), price="12.50", previous="13", is_change=True
    )
    worded = sentences(REASONS)
    changed = replace(changed, run_id=run.run_id, reasons=REASONS, alerts=worded)
    await store.pages.store_event(changed)
    await end_watch_run(store, run, next_run_at=now + timedelta(hours=1))
    await store.notifications.add([notification(name) for name in ("sent", "open", "tried")])
    await store.notifications.note_sent(["notice sent"], now)
    await store.notifications.note_failed(["notice tried"], error="nö", retry_at=now)
    clock.advance(60)
    for each in (
        page_event(
            "one", version=1, price="10.00", classification={"type": "product", "$x": [1, 2.5]}
        ),
        page_event("five", version=5, ts=TS + 5, is_change=True, availability="in_stock"),
        page_event(
            "six", ts=TS + 6, price="9.99", previous="10", content={"title": 1, "more\0": "\0ä"}
        ),
        page_event("bare", ts=TS + 7, has_content=False, is_change=True),
        page_event("late", ts=TS + 3, is_change=True),
        page_event("only", url="http://price.example/", has_content=False, price="1"),
    ):
        clock.advance(1)
        await store.pages.store_event(each)
    running = await store.runs.start_run(JOB, new_watch_run("running"))
    assert running is not None
    await check_page(store, running, "a", at=clock.now())
    await check_page(store, running, "b", "nö", at=clock.now())
