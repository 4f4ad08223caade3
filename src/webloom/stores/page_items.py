"""Price records and change logs of an event, as a dump holds them and as readers see them."""

from __future__ import annotations

from datetime import datetime

from webloom.domain.inbox import arrived
from webloom.domain.price_history import PriceRecord
from webloom.domain.storage_event import StorageEvent
from webloom.parsing.reasons import reasons_of, stored_reasons
from webloom.ports.dump import WholeLog, WholePrice
from webloom.ports.page_history import ChangeLog


def price_of(event: StorageEvent, version_key: str) -> WholePrice | None:
    price = event.price
    if price is None:
        return None
    return WholePrice(
        key=event.price_key,
        watch_id=event.watch_id,
        url=event.url,
        ts=event.ts,
        price=price.current,
        currency=price.currency,
        change_percent=price.change_percent,
        claimed=event.claimed,
        version_key=version_key,
        expires_at=None,
    )


def price_record(item: WholePrice, version: int | None) -> PriceRecord:
    """`version`: the number of its version, if that is still stored."""
    return PriceRecord(
        watch_id=item.watch_id,
        url=item.url,
        price=item.price,
        currency=item.currency,
        change_percent=item.change_percent,
        timestamp=item.ts,
        version=version or item.claimed or None,
    )


def log_of(
    event: StorageEvent, key: str, expires_at: datetime, *, is_muted: bool = False
) -> WholeLog:
    """Without its number, which the store decides. `is_muted`: its page is."""
    return WholeLog(
        key=key,
        watch_id=event.watch_id,
        url=event.url,
        number=0,
        place=event.place,
        run_id=event.run_id,
        changes=dict(event.changes),
        reasons=stored_reasons(event.reasons),
        alerts=event.alerts,
        expires_at=expires_at,
        is_pending=bool(event.alerts),
        is_keyed=True,
        triage=arrived(event.ts, is_muted=is_muted),
    )


def change_log(item: WholeLog, previous: int) -> ChangeLog:
    return ChangeLog(
        watch_id=item.watch_id,
        url=item.url,
        changes=item.changes,
        previous=previous,
        current=item.number,
        timestamp=item.place.ts,
        run_id=item.run_id,
        reasons=reasons_of(item.reasons, alerts=item.alerts),
        alerts=item.alerts,
        key=item.key if item.is_keyed else None,
    )
