"""Rows of `price_history`. The latest of a page does not expire."""

from __future__ import annotations

import sqlite3
from decimal import Decimal

from webloom.adapters.sqlite.batches import upsert
from webloom.adapters.sqlite.primitives import Row
from webloom.adapters.sqlite.values import columns_of, instant, milliseconds
from webloom.ports.dump import WholePrice
from webloom.stores.whole import plain_amount

COLUMNS = (
    "price_history.key, pages.job_id, pages.url, price_history.ts, price_history.price, currency, "
    "change_percent, price_history.claimed, version_key, price_history.expire_at"
)
SOURCE = "price_history JOIN pages ON pages.id = price_history.page"


def price_of(row: Row) -> WholePrice:
    key, watch_id, url, ts, price, currency, percent, claimed, version_key, expire_at = row
    return WholePrice(
        key=key.hex(),
        watch_id=watch_id,
        url=url,
        ts=ts,
        price=plain_amount(Decimal(price)),
        currency=currency,
        change_percent=None if percent is None else plain_amount(Decimal(percent)),
        claimed=claimed,
        version_key=version_key.hex(),
        expires_at=instant(expire_at),
    )


def by_key(connection: sqlite3.Connection, key: str) -> WholePrice | None:
    row = connection.execute(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE price_history.key = ?", (bytes.fromhex(key),)
    ).fetchone()
    return row and price_of(row)


def put(connection: sqlite3.Connection, page: int, item: WholePrice, expire_at: int) -> None:
    """Before `keep_latest`. `expire_at`: of a price that is superseded now."""
    row = columns_of(item, without=("job_id", "url", "expires_at")) | {
        "key": bytes.fromhex(item.key),
        "page": page,
        "version_key": bytes.fromhex(item.version_key),
        "expire_at": milliseconds(item.expires_at) or expire_at,
    }
    upsert(connection, "price_history", "key", row)


def keep_latest(connection: sqlite3.Connection, page: int, expire_at: int, *, new: int = 1) -> None:
    """The latest record has no expiry, and those that it supersedes have one: of so many new ones,
    and the one that was the latest before."""
    latest = connection.execute(
        """
        SELECT ts, key, expire_at FROM price_history WHERE page = ?
        ORDER BY ts DESC, key DESC LIMIT ?
        """,
        (page, new + 1),
    ).fetchall()
    for place, (ts, key, expires) in enumerate(latest):
        wanted = None if place == 0 else expires or expire_at
        if expires != wanted:
            connection.execute(
                "UPDATE price_history SET expire_at = ? WHERE page = ? AND ts = ? AND key = ?",
                (wanted, page, ts, key),
            )
