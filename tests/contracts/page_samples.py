"""Events for the PageStores's suites, and what must be stored of a set of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from webloom.domain.price_history import PriceRecord
from webloom.domain.storage_event import (
    EventPrice,
    StorageEvent,
    moment_of,
    next_number,
)
from webloom.domain.watch import Outcome
from webloom.ports.page_history import ChangeFilter, ChangeLog, PageHistory
from webloom.ports.page_stores import PageStores
from webloom.ports.pages import PageFilter, StoredPage

JOB, URL = "abc123", "https://example.com/product/5"
TS = 1_712_345_678_910
MANY = 1000


def parsed(text: str) -> dict[str, Any]:
    return {
        "title": f"iPhone {text}",
        "text": f"{text}\n" + "a line that stays\n" * 20,
        "images": [f"https://example.com/{text}.png"],
        "links": ["https://example.com/"],
        "metadata": {"description": text, "openGraph": {"og:title": text}},
    }


def event(
    text: str = "13",
    *,
    version: int = 0,
    ts: int = TS,
    watch_id: str = JOB,
    url: str = URL,
    price: str | None = None,
    previous: str | None = None,
    content: Mapping[str, Any] | None = None,
    has_content: bool = True,
    is_change: bool = False,
    **more: Any,
) -> StorageEvent:
    """`text` is all the content, and the hash."""
    return StorageEvent(
        watch_id=watch_id,
        url=url,
        snapshot_hash=text,
        ts=ts,
        claimed=version,
        parsed=(content or parsed(text)) if has_content else None,
        is_change=is_change,
        changes={"textChanged": True, "to": text} if is_change else {},
        price=None
        if price is None
        else EventPrice(
            current=Decimal(price),
            previous=None if previous is None else Decimal(previous),
            currency="INR",
        ),
        **more,
    )


async def numbers(
    store: PageStores | PageHistory, watch_id: str = JOB, url: str = URL
) -> list[tuple[int, str]]:
    """Of all versions, the oldest first, with their hashes."""
    history = store.history if isinstance(store, PageStores) else store
    found = await history.versions(watch_id, url, limit=MANY)
    return [(each.version, each.snapshot_hash) for each in reversed(found)]


async def page(store: PageStores, watch_id: str = JOB, url: str = URL) -> StoredPage:
    found = await store.pages.find_page(watch_id, url)
    assert found is not None
    return found


async def logs(store: PageStores, watch_id: str = JOB, url: str = URL) -> list[ChangeLog]:
    """The oldest version first."""
    found, cursor = await store.history.change_logs(
        ChangeFilter(watch_id=watch_id, url=url), limit=MANY
    )
    assert cursor is None
    return sorted(found, key=lambda each: each.current)


async def prices(store: PageStores, watch_id: str = JOB, url: str = URL) -> list[PriceRecord]:
    """The oldest first."""
    found, cursor = await store.history.prices(watch_id, url, limit=MANY)
    assert cursor is None
    return found[::-1]


@dataclass(kw_only=True)
class PageState:
    """What can be seen of a page, in plain values."""

    versions: list[tuple[int, str, int]] = field(default_factory=list)  # number, hash, ts
    contents: list[Any] = field(default_factory=list)
    logs: list[tuple[int, int, int, Any, str | None]] = field(default_factory=list)
    prices: list[tuple[int, Decimal, str | None, int | None]] = field(default_factory=list)
    shown: dict[str, Any] = field(default_factory=dict)


State = dict[tuple[str, str], PageState]


async def state_of(store: PageStores) -> State:
    found, cursor = await store.pages.list_pages(PageFilter(), limit=MANY)
    assert cursor is None
    return {(each.watch_id, each.url): await _page_state(store, each) for each in found}


async def _page_state(store: PageStores, listed: StoredPage) -> PageState:
    watch_id, url = listed.watch_id, listed.url
    shown = await page(store, watch_id, url)
    versions = (await store.history.versions(watch_id, url, limit=MANY))[::-1]
    assert [each.expires_at is None for each in versions] == [
        each is versions[-1] for each in versions
    ]
    return PageState(
        versions=[(each.version, each.snapshot_hash, each.created_at) for each in versions],
        contents=[await store.history.parsed(watch_id, url, each.version) for each in versions],
        logs=[
            (each.previous, each.current, each.timestamp, each.changes, each.run_id)
            for each in await logs(store, watch_id, url)
        ],
        prices=[
            (each.timestamp, each.price, each.currency, each.version)
            for each in await prices(store, watch_id, url)
        ],
        shown={
            "text": shown.text,
            "version": shown.version,
            "hash": shown.snapshot_hash,
            "last_updated": shown.last_updated,
            "price": shown.price,
            "availability": shown.availability,
            "classification": shown.classification,
            "last_checked": shown.last_checked,
            "last_outcome": shown.last_outcome,
        },
    )


# What must be there: computed from the set of the events, whatever their order


def expected(events: Sequence[StorageEvent]) -> State:
    by_page: dict[tuple[str, str], list[StorageEvent]] = {}
    for each in events:
        by_page.setdefault((each.watch_id, each.url), []).append(each)
    return {key: _expected_page(of_page) for key, of_page in by_page.items()}


def _expected_page(events: list[StorageEvent]) -> PageState:
    by_key: dict[str, list[StorageEvent]] = {}
    for each in sorted(events, key=lambda one: one.place):
        if each.parsed is not None or each.is_change:
            by_key.setdefault(each.snapshot_key, []).append(each)
    # A version stands where the earliest of its events stands.
    in_order = sorted(by_key.items(), key=lambda item: (item[1][0].place, item[0]))
    number_of: dict[str, int] = {}
    for key, of_key in in_order:
        number_of[key] = next_number(of_key[0].claimed, max(number_of.values(), default=0))
    state = PageState()
    before = 0
    for key, of_key in in_order:
        content = next((each for each in of_key if each.parsed is not None), None)
        if content is not None:
            state.versions.append((number_of[key], of_key[0].snapshot_hash, of_key[0].ts))
            state.contents.append(content.parsed)
            state.shown |= {
                "text": (content.parsed or {})["text"],
                "version": number_of[key],
                "hash": content.snapshot_hash,
            }
        if change := next((each for each in of_key if each.is_change), None):
            number = number_of[key]
            reported = (
                before or number - 1,
                number,
                change.ts,
                dict(change.changes),
                change.run_id,
            )
            state.logs.append(reported)
        before = number_of[key]
    records: dict[str, StorageEvent] = {}
    for each in sorted(events, key=lambda one: (one.claimed, one.snapshot_key)):
        if each.price is not None:
            records.setdefault(each.price_key, each)
    for _, each in sorted(records.items(), key=lambda item: (item[1].ts, item[0])):
        assert each.price is not None
        version = number_of.get(each.snapshot_key, each.claimed or None)
        state.prices.append((each.ts, each.price.current, each.price.currency, version))
    state.shown = {"text": None, "version": None, "hash": None} | state.shown | _parts(events)
    return state


def _parts(events: list[StorageEvent]) -> dict[str, Any]:
    def latest(name: str) -> Any:
        having = [each for each in events if getattr(each, name) is not None]
        return getattr(max(having, key=lambda one: one.place), name) if having else None

    price = latest("price")
    last = max(each.ts for each in events)
    return {
        "last_updated": last,
        "price": None if price is None else price.current,
        "availability": latest("availability"),
        "classification": latest("classification"),
        "last_checked": moment_of(last),
        "last_outcome": Outcome.CHANGED,
    }
