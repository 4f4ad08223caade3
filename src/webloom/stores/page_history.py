from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from webloom.domain.price_history import PriceCurve, PriceRecord, PriceSummary, curve, summarize
from webloom.domain.storage_event import milliseconds_of
from webloom.ports.dump import WholePrice
from webloom.stores.cursors import bad_cursor, cursor_of, values_of
from webloom.stores.page_contents import decoded, joined
from webloom.stores.page_items import price_record

MOST_SUMMARIZED = 100_000  # price records, the latest of a page
READ_AT_ONCE = 5_000  # price records, for a curve

_KEY = re.compile("[0-9a-f]{32}")


class PricePlace(NamedTuple):
    """Where a price record stands among those of its page."""

    ts: int
    key: str


class StoredPageHistory(ABC):
    """The port `PageHistory`; a backend adds its queries, with `versions` and `change_logs`."""

    @abstractmethod
    async def _bodies(self, watch_id: str, url: str, version: int) -> Sequence[bytes] | None:
        """The bodies that the content of a version is `joined` from; None: it has no content."""

    @abstractmethod
    async def _price_records(
        self, watch_id: str, url: str, limit: int, before: PricePlace | None
    ) -> list[tuple[WholePrice, int | None]]:
        """With the numbers of their versions, the latest first."""

    async def parsed(self, watch_id: str, url: str, version: int) -> Mapping[str, Any] | None:
        bodies = await self._bodies(watch_id, url, version)
        return None if bodies is None else await asyncio.to_thread(_content, bodies)

    async def prices(
        self, watch_id: str, url: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[PriceRecord], str | None]:
        before = None if cursor is None else _price_place(cursor)
        found = await self._price_records(watch_id, url, limit + 1, before)
        records = [price_record(*each) for each in found[:limit]]
        if len(found) <= limit:
            return records, None
        last, _ = found[limit - 1]
        return records, cursor_of(last.ts, last.key)

    async def price_summary(self, watch_id: str, url: str, *, now: datetime) -> PriceSummary | None:
        found = await self._price_records(watch_id, url, MOST_SUMMARIZED, None)
        records = [price_record(*each) for each in found]
        return await asyncio.to_thread(summarize, records, now=milliseconds_of(now))

    async def price_curve(
        self, watch_id: str, url: str, *, since: int | None, points: int
    ) -> PriceCurve:
        records: list[PriceRecord] = []
        cursor: str | None = None
        while len(records) < MOST_SUMMARIZED:
            found, cursor = await self.prices(watch_id, url, limit=READ_AT_ONCE, cursor=cursor)
            records += found
            if cursor is None or (since is not None and found[-1].timestamp <= since):
                break
        return await asyncio.to_thread(curve, records, since=since, most=points)


def _content(bodies: Sequence[bytes]) -> Mapping[str, Any]:
    content: Mapping[str, Any] = decoded(joined(bodies))
    return content


def _price_place(cursor: str) -> PricePlace:
    place = PricePlace(*values_of(cursor, int, str))
    if _KEY.fullmatch(place.key) is None:
        raise bad_cursor(cursor)
    return place
