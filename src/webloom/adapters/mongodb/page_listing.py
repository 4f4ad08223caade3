"""Pages of listings, each read along one index."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from pymongo import DESCENDING

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.index_scan import Index, ScanPlan, scan_index
from webloom.adapters.mongodb.indexes import (
    CHANGES_LATEST_FIRST,
    CHANGES_OF_BATCH,
    CHANGES_OF_JOB,
    CHANGES_OF_RUN,
    PAGES_LATEST_FIRST,
    PAGES_OF_JOB,
)
from webloom.adapters.mongodb.page_documents import (
    decimal_of,
    log_of,
    page_of,
    price_of,
    version_of,
)
from webloom.domain.errors import BadCursor
from webloom.domain.storage_event import page_key
from webloom.ports.page_store import (
    ChangeFilter,
    ChangeLog,
    PageFilter,
    PriceRecord,
    PriceSummary,
    StoredPage,
    Version,
)

MOST_SCANNED = 1000  # documents looked at for one page
MOST_SUMMED_UP = 100_000  # price records

_SHORT = dict.fromkeys(("text", "metadata", "links", "exact"), False)
_LOOKED_AT = dict.fromkeys(("order", "url", "title", "classification.type", "lastOutcome"), True)
_LOG_LOOKED_AT = dict.fromkeys(("timestamp", "url", "jobId", "runId"), True)
_NUMBER_AND_KEY = re.compile(r"(-?\d{1,19}) ([0-9a-f]{32})")
_KEY = re.compile(r"([0-9a-f]{32})")


class PageListing:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database

    async def pages(
        self, chosen: PageFilter, limit: int, cursor: str | None
    ) -> tuple[list[StoredPage], str | None]:
        within = _behind("order", cursor)
        if chosen.changed_since is not None:
            within = {"$and": [within, {"order": {"$gte": chosen.changed_since}}]}
        index, found = PAGES_LATEST_FIRST, {}
        if chosen.job_id is not None:
            index, found = PAGES_OF_JOB, {"jobId": plain(chosen.job_id)}
            if chosen.url is not None:
                found["_id"] = page_key(chosen.job_id, chosen.url)
        plan = ScanPlan(index=index, found=found, accepts=_page_filter(chosen))
        with self._db.use():
            documents, last = await scan_index(
                self._db.pages,
                plan,
                bounds=within,
                order=PAGES_LATEST_FIRST,
                limit=limit,
                most_scanned=MOST_SCANNED,
                filter_fields=_LOOKED_AT,
                shown=_SHORT,
            )
        return [page_of(each) for each in documents], _cursor("order", last)

    async def versions(
        self, job_id: str, url: str, limit: int, before: int | None
    ) -> list[Version]:
        wanted: Document = {"jobId": plain(job_id), "url": plain(url), "bare": None}
        if before is not None:
            wanted["version"] = {"$lt": before}
        shown: Document = dict.fromkeys(
            ("jobId", "url", "version", "snapshotHash", "createdAt", "base", "expireAt"), True
        )
        with self._db.use():
            found = self._db.snapshots.find(
                wanted,
                shown | {"bytes": {"$binarySize": "$parsed"}},
                sort=[("version", DESCENDING)],
                limit=limit,
            )
            return [version_of(each) for each in await found.to_list()]

    async def change_logs(
        self, chosen: ChangeFilter, limit: int, cursor: str | None
    ) -> tuple[list[ChangeLog], str | None]:
        within = _behind("timestamp", cursor)
        index: Index = CHANGES_LATEST_FIRST
        found: Document = {}
        if chosen.batch is not None:
            index, found = CHANGES_OF_BATCH, {"batch": plain(chosen.batch)}
        elif chosen.run_id is not None:
            index, found = CHANGES_OF_RUN, {"runId": plain(chosen.run_id)}
        elif chosen.job_id is not None:
            index, found = CHANGES_OF_JOB, {"jobId": plain(chosen.job_id)}
        with self._db.use():
            documents, last = await scan_index(
                self._db.change_logs,
                ScanPlan(index=index, found=found, accepts=_log_filter(chosen)),
                bounds=within,
                order=CHANGES_LATEST_FIRST,
                limit=limit,
                most_scanned=MOST_SCANNED,
                filter_fields=_LOG_LOOKED_AT,
                shown=None,
            )
        return [log_of(each) for each in documents], _cursor("timestamp", last)

    async def prices(
        self, job_id: str, url: str, limit: int, cursor: str | None
    ) -> tuple[list[PriceRecord], str | None]:
        wanted: Document = {"jobId": plain(job_id), "url": plain(url)}
        with self._db.use():
            if cursor is not None:
                key = _parsed(cursor, _KEY)[1]
                start = await self._db.price_history.find_one({"_id": key}, {"place": True})
                if start is None:
                    raise BadCursor(f"{cursor!r} is not a cursor of this listing, or has expired")
                wanted["place"] = {"$lt": start["place"]}
            found = self._db.price_history.find(
                wanted, sort=[("place", DESCENDING)], limit=limit + 1
            )
            documents = await found.to_list()
            numbers = await self._numbers(documents)
        more = documents[limit - 1]["_id"] if len(documents) > limit else None
        next_cursor = None if more is None else _encoded(more)
        return [price_of(each, numbers) for each in documents[:limit]], next_cursor

    async def _numbers(self, prices: list[Document]) -> dict[str, int]:
        """Of the versions that prices came with, by their keys."""
        keys = [each["versionKey"] for each in prices]
        found = self._db.snapshots.find({"_id": {"$in": keys}}, {"version": True})
        return {each["_id"]: each["version"] for each in await found.to_list()}

    async def price_summary(self, job_id: str, url: str) -> PriceSummary | None:
        with self._db.use():
            found = self._db.price_history.find(
                {"jobId": plain(job_id), "url": plain(url)},
                sort=[("place", DESCENDING)],
                limit=MOST_SUMMED_UP,
            )
            documents = await found.to_list()
            if not documents:
                return None
            currency = documents[0]["currency"]
            documents = [each for each in documents if each["currency"] == currency]
            values = [decimal_of(each["price"]) for each in documents]
            places = range(len(values) - 1)
            changed = next((i for i in places if values[i] != values[i + 1]), None)
            told = [documents[0], *([] if changed is None else [documents[changed]])]
            numbers = await self._numbers(told)
        last, *change = [price_of(each, numbers) for each in told]
        amounts = sorted(value for value in values if value is not None)
        low, high = amounts[(len(amounts) - 1) // 2], amounts[len(amounts) // 2]
        return PriceSummary(
            records=len(documents),
            currency=currency,
            minimum=amounts[0],
            maximum=amounts[-1],
            median=low if low == high else (low + high) / 2,
            last=last,
            last_change=change[0] if change else None,
        )


def _page_filter(chosen: PageFilter) -> Callable[[Document], bool] | None:
    """What no index knows of it."""
    only_url = chosen.url if chosen.job_id is None else None
    if only_url is None and not chosen.text and chosen.type is None and chosen.outcome is None:
        return None
    text = plain(chosen.text or "").casefold()

    def accepts(document: Document) -> bool:
        kind = (document.get("classification") or {}).get("type")
        return (
            only_url in (None, document["url"])
            and chosen.type in (None, kind)
            and chosen.outcome in (None, document.get("lastOutcome"))
            and any(text in (document.get(name) or "").casefold() for name in ("url", "title"))
        )

    return accepts


def _log_filter(chosen: ChangeFilter) -> Callable[[Document], bool] | None:
    wanted = {
        name: plain(value)
        for name, value in (("url", chosen.url), ("jobId", chosen.job_id))
        if value is not None
    }
    if chosen.run_id is None:
        wanted.pop("jobId", None)
    if not wanted:
        return None
    return lambda document: all(document[name] == value for name, value in wanted.items())


# Cursors: the number by which a listing is ordered, and the key, of the last one shown


def _behind(name: str, cursor: str | None) -> Document:
    if cursor is None:
        return {}
    parts = _parsed(cursor, _NUMBER_AND_KEY)
    number = max(-(1 << 63), min(int(parts[1]), (1 << 63) - 1))
    return {
        name: {"$lte": number},
        "$or": [{name: {"$lt": number}}, {"_id": {"$lt": parts[2]}}],
    }


def _cursor(name: str, last: Document | None) -> str | None:
    return None if last is None else _encoded(f"{int(last[name])} {last['_id']}")


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _parsed(cursor: str, form: re.Pattern[str]) -> re.Match[str]:
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except ValueError as error:
        raise BadCursor(f"{cursor!r} is not a cursor of this listing") from error
    parts = form.fullmatch(raw)
    if parts is None:
        raise BadCursor(f"{cursor!r} is not a cursor of this listing")
    return parts
