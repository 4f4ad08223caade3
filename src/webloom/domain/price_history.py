"""The prices that a page has had, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, localcontext
from itertools import groupby, pairwise

RECENT = timedelta(days=90)

_DIGITS = 60  # as many as an amount may have


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceRecord:
    watch_id: str
    url: str
    price: Decimal
    currency: str | None
    change_percent: Decimal | None
    timestamp: int  # `ts` of its event
    version: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceSummary:
    """Of the records of a page in its latest currency."""

    records: int
    currency: str | None
    minimum: Decimal
    maximum: Decimal
    median: Decimal
    last: PriceRecord
    last_change: PriceRecord | None  # the latest whose price differs from the one before
    recent_minimum: PriceRecord  # the lowest that was in force in the last 90 days; the latest such


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceCurve:
    """Of the records of a page since a time, in its latest currency: how the price changed.

    A price is in force until the next point. The first may be older than that time.
    """

    currency: str | None
    records: int  # since that time
    points: list[PriceRecord]  # the oldest first
    is_thinned: bool  # there were more changes


def summarize(records: Sequence[PriceRecord], *, now: int) -> PriceSummary | None:
    """Of records in their order, the latest first; `now` in milliseconds, as their timestamps."""
    if not records:
        return None
    last = records[0]
    counted = [each for each in records if each.currency == last.currency]
    amounts = sorted(each.price for each in counted)
    changes = (each for each, before in pairwise(counted) if each.price != before.price)
    return PriceSummary(
        records=len(counted),
        currency=last.currency,
        minimum=amounts[0],
        maximum=amounts[-1],
        median=_median(amounts),
        last=last,
        last_change=next(changes, None),
        recent_minimum=min(
            in_force(counted, now - RECENT // timedelta(milliseconds=1)),
            key=lambda each: each.price,
        ),
    )


def in_force(records: Sequence[PriceRecord], since: int) -> Sequence[PriceRecord]:
    """Of records in their order, the latest first: those since that time, and the one before."""
    earlier = (index for index, each in enumerate(records) if each.timestamp <= since)
    return records[: next(earlier, len(records)) + 1]


def curve(records: Sequence[PriceRecord], *, since: int | None, most: int) -> PriceCurve:
    """Of records in their order, the latest first; with at most so many points, 4 or more."""
    currency = records[0].currency if records else None
    counted = [each for each in records if each.currency == currency]
    if since is not None:
        counted = [*in_force(counted, since)]
    oldest_first = reversed(counted)
    changes = [next(group) for _, group in groupby(oldest_first, key=lambda each: each.price)]
    points = changes if len(changes) <= most else _thinned(changes, most)
    return PriceCurve(
        currency=currency,
        records=sum(since is None or each.timestamp >= since for each in counted),
        points=points,
        is_thinned=len(points) < len(changes),
    )


def _thinned(records: Sequence[PriceRecord], most: int) -> list[PriceRecord]:
    """The first record, and the lowest, the highest and the last of each interval of time."""
    first, *others = records
    start, end = others[0].timestamp, others[-1].timestamp
    intervals = (most - 1) // 3

    def interval(record: PriceRecord) -> int:
        return (record.timestamp - start) * intervals // (end - start + 1)

    kept = [first]
    for _, group in groupby(others, key=interval):
        some = list(group)
        places = sorted(range(len(some)), key=lambda place: some[place].price)
        kept += [some[place] for place in sorted({places[0], places[-1], len(some) - 1})]
    return kept


def _median(amounts: Sequence[Decimal]) -> Decimal:
    low, high = amounts[(len(amounts) - 1) // 2], amounts[len(amounts) // 2]
    with localcontext() as context:
        context.prec = _DIGITS
        return low if low == high else (low + high) / 2
