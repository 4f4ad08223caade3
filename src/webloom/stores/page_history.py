from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from webloom.domain.price_history import PriceRecord, PriceSummary, summarize
from webloom.stores.cursors import bad_cursor, cursor_of, values_of
from webloom.stores.page_contents import decoded, joined

MOST_SUMMARIZED = 100_000  # price records, the latest of a page

_KEY = re.compile("[0-9a-f]{32}")


class PricePlace(NamedTuple):
    """Where a price record stands among those of its page."""

    ts: int
    key: str


class StoredPageHistory(ABC):
    """Half of the port `PageHistory`; a backend adds the queries, `versions` and `change_logs`."""

    @abstractmethod
    async def _bodies(self, job_id: str, url: str, version: int) -> Sequence[bytes] | None:
        """What the content of a version is `joined` from; None: it has none."""

    @abstractmethod
    async def _price_records(
        self, job_id: str, url: str, limit: int, before: PricePlace | None
    ) -> list[tuple[str, PriceRecord]]:
        """With their keys, the latest first."""

    async def parsed(self, job_id: str, url: str, version: int) -> Mapping[str, Any] | None:
        bodies = await self._bodies(job_id, url, version)
        return None if bodies is None else await asyncio.to_thread(_content, bodies)

    async def prices(
        self, job_id: str, url: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[PriceRecord], str | None]:
        before = None if cursor is None else _price_place(cursor)
        found = await self._price_records(job_id, url, limit + 1, before)
        records = [record for _, record in found[:limit]]
        if len(found) <= limit:
            return records, None
        return records, cursor_of(records[-1].timestamp, found[limit - 1][0])

    async def price_summary(self, job_id: str, url: str) -> PriceSummary | None:
        found = await self._price_records(job_id, url, MOST_SUMMARIZED, None)
        return summarize([record for _, record in found])


def _content(bodies: Sequence[bytes]) -> Mapping[str, Any]:
    content: Mapping[str, Any] = decoded(joined(bodies))
    return content


def _price_place(cursor: str) -> PricePlace:
    place = PricePlace(*values_of(cursor, int, str))
    if _KEY.fullmatch(place.key) is None:
        raise bad_cursor(cursor)
    return place
