"""Price records of a page, and what they add up to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from typing import Any

from webloom.adapters.sqlite.page_rows import number_of, one_view
from webloom.domain.errors import BadCursor
from webloom.ports.page_store import PriceRecord, PriceSummary
from webloom.stores.cursors import cursor_of, values_of

_COLUMNS = """
    price_history.ts, price_history.key, price, currency, change_percent,
    coalesce(number, nullif(price_history.claimed, 0))
"""
_SOURCE = "price_history LEFT JOIN snapshots ON snapshots.key = version_key"
_LATEST_FIRST = "ORDER BY price_history.ts DESC, price_history.key DESC"
_PLACE = "(price_history.ts, price_history.key)"


def prices(
    job_id: str, url: str, limit: int, cursor: str | None
) -> Callable[[sqlite3.Connection], tuple[list[PriceRecord], str | None]]:
    behind, values = "true", tuple[Any, ...]()
    if cursor is not None:
        ts, key = values_of(cursor, int, str)
        behind, values = f"price_history.ts <= ? AND {_PLACE} < (?, ?)", (ts, ts, _key(key, cursor))

    def query(connection: sqlite3.Connection) -> tuple[list[PriceRecord], str | None]:
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE price_history.page = ? AND {behind} "
            f"{_LATEST_FIRST} LIMIT ?",
            (number_of(connection, job_id, url), *values, limit + 1),
        ).fetchall()
        found = [_record(job_id, url, row) for row in rows[:limit]]
        is_last = len(rows) <= limit
        return found, None if is_last else cursor_of(rows[limit - 1][0], rows[limit - 1][1].hex())

    return query


def _key(text: str, cursor: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise BadCursor(f"{cursor!r} is not a cursor of this listing") from error


def _record(job_id: str, url: str, row: Sequence[Any]) -> PriceRecord:
    ts, _, price, currency, change_percent, version = row
    return PriceRecord(
        job_id=job_id,
        url=url,
        price=Decimal(price),
        currency=currency,
        change_percent=None if change_percent is None else Decimal(change_percent),
        timestamp=ts,
        version=version,
    )


def summary(connection: sqlite3.Connection, job_id: str, url: str) -> PriceSummary | None:
    with one_view(connection):
        page = number_of(connection, job_id, url)
        last = _first(connection, f"price_history.page = ? {_LATEST_FIRST}", page)
        if last is None:
            return None
        price, currency = last[2:4]
        of_currency = "price_history.page = ? AND currency IS ?"
        counted = connection.execute(
            f"SELECT price, count(*) FROM price_history WHERE {of_currency} GROUP BY price",
            (page, currency),
        ).fetchall()
        change = None
        other = _first(
            connection, f"{of_currency} AND price != ? {_LATEST_FIRST}", page, currency, price
        )
        if other is not None:
            change = _first(
                connection,
                f"{of_currency} AND {_PLACE} > (?, ?) ORDER BY price_history.ts, price_history.key",
                page,
                currency,
                *other[:2],
            )
    amounts = sorted((Decimal(amount), count) for amount, count in counted)
    return PriceSummary(
        records=sum(count for _, count in amounts),
        currency=currency,
        minimum=amounts[0][0],
        maximum=amounts[-1][0],
        median=_median(amounts),
        last=_record(job_id, url, last),
        last_change=None if change is None else _record(job_id, url, change),
    )


def _first(connection: sqlite3.Connection, where: str, *values: object) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = connection.execute(
        f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE {where} LIMIT 1", values
    ).fetchone()
    return row


def _median(amounts: Sequence[tuple[Decimal, int]]) -> Decimal:
    """Of amounts in their order, each as often as it is counted."""
    total = sum(count for _, count in amounts)
    low, high = _at(amounts, (total - 1) // 2), _at(amounts, total // 2)
    with localcontext() as context:
        context.prec = 60
        return low if low == high else (low + high) / 2


def _at(amounts: Sequence[tuple[Decimal, int]], place: int) -> Decimal:
    for amount, count in amounts:
        if place < count:
            return amount
        place -= count
    raise IndexError(place)
