"""The result of a check, as a message for `storage-agent`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from webloom.domain.alerting import reasons_to_notify
from webloom.domain.page_check import Validators
from webloom.domain.price import change_percent
from webloom.domain.reason import Reason
from webloom.domain.reason_words import sentences
from webloom.domain.storage_event import EventPrice
from webloom.domain.watch import Watch
from webloom.parsing.pages.page import PageReading
from webloom.parsing.reasons import plain_reasons
from webloom.ports.fetcher import Downloaded
from webloom.ports.page_reader import PageRead
from webloom.ports.pages import StoredPage


def page_event(
    watch: Watch, page: StoredPage | None, got: Downloaded, read: PageRead
) -> dict[str, Any]:
    """Without the watch, its run, the URL and the time."""
    reading = read.reading
    price = _event_price(reading, page)
    diff, reasons = _changes(watch, page, read, price)
    return {
        "parsed": msgspec.to_builtins(reading.parsed),
        "classification": msgspec.to_builtins(reading.classification),
        "diff": diff,
        "price": None
        if price is None
        else {
            "current": price.current,
            "previous": price.previous,
            "changePercent": price.change_percent,
            "currency": price.currency,
            "list": price.list,
        },
        "availability": reading.availability.value,
        "snapshotHash": reading.snapshot_hash,
        "version": 1 if page is None else (page.version or 0) + 1,
        "reasons": plain_reasons(reasons),
        "alerts": sentences(reasons),  # for storage agents of the previous version: `StorageEvent`
        "validators": {
            name: value
            for name, value in (
                ("etag", got.etag),
                ("lastModified", got.last_modified),
                ("bodyHash", got.sha256),
            )
            if value is not None
        },
    }


def _changes(
    watch: Watch, page: StoredPage | None, read: PageRead, price: EventPrice | None
) -> tuple[dict[str, Any], list[Reason]]:
    """The changes and the reasons to notify people: none for the first version. Without validators,
    the version before comes from another selection or another program: then its text can't be
    compared, but price and availability can."""
    diff: dict[str, Any] = {"textChanged": False}
    if page is None or page.version is None:
        return diff, []
    reading = read.reading
    is_comparable = page.validators != Validators()
    if read.diff is not None and is_comparable:
        diff = msgspec.to_builtins(read.diff)
    changes: dict[str, Any] = {}
    if page.availability != reading.availability.value:
        changes["availability"] = _both(page.availability, reading.availability.value)
    if (old := _shown_price(page)) != (new := _shown_price(price)):
        changes["price"] = _both(old.get("current"), new.get("current"))
        changes["price"] |= {
            name: _both(old.get(name), new.get(name))
            for name in ("list", "currency")
            if old.get(name) != new.get(name)
        }
    if is_comparable and not changes and not diff["textChanged"]:
        changes["price"] = _both(None, new.get("current"))  # it was missing for a while
    reasons = reasons_to_notify(
        watch.config.thresholds,
        added_text=_added(page, reading.parsed.text) if is_comparable else "",
        is_change=is_comparable,
        price=price,
        previous_availability=page.availability,
        availability=reading.availability.value,
    )
    return diff | changes, reasons


def _both(previous: object, current: object) -> dict[str, Any]:
    return {"previous": previous, "current": current}


def _shown_price(seen: StoredPage | EventPrice | None) -> dict[str, Any]:
    """The price on a page; empty if it has none."""
    match seen:
        case StoredPage(price=Decimal()):
            return {"current": seen.price, "list": seen.list_price, "currency": seen.currency}
        case EventPrice():
            return {"current": seen.current, "list": seen.list, "currency": seen.currency}
    return {}


def _event_price(reading: PageReading, page: StoredPage | None) -> EventPrice | None:
    found = reading.price
    if found is None:
        return None
    previous: Decimal | None = None
    if page is not None and page.currency == found.currency:
        previous = page.price
    return EventPrice(
        current=found.current,
        previous=previous,
        change_percent=change_percent(previous, found.current),
        currency=found.currency,
        list=found.list,
    )


def _added(page: StoredPage, text: str) -> str:
    """The lines that are new."""
    known = set((page.text or "").splitlines())
    return "\n".join(line for line in text.splitlines() if line not in known)
