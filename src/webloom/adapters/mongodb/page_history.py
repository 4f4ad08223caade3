"""Lists of versions, change logs and price records, the latest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pymongo import DESCENDING

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.index_scan import (
    Index,
    ScanPlan,
    behind,
    cursor_behind,
    scan_index,
)
from webloom.adapters.mongodb.indexes import (
    CHANGES_LATEST_FIRST,
    CHANGES_OF_BATCH,
    CHANGES_OF_RUN,
    CHANGES_OF_WATCH,
)
from webloom.adapters.mongodb.page_codec import place_at, version_of, whole_log, whole_price
from webloom.adapters.mongodb.page_contents import Contents
from webloom.ports.dump import WholePrice
from webloom.ports.page_history import ChangeFilter, ChangeLog, Version
from webloom.stores.page_history import PricePlace, StoredPageHistory
from webloom.stores.page_items import change_log

_VERSION = dict.fromkeys(
    ("jobId", "url", "version", "snapshotHash", "createdAt", "base", "expireAt"), True
)
_LOOKED_AT = dict.fromkeys(("timestamp", "url", "jobId", "runId"), True)


class MongoPageHistory(StoredPageHistory):
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._contents = Contents(database)

    async def versions(
        self, watch_id: str, url: str, *, limit: int, before: int | None = None
    ) -> list[Version]:
        wanted = _of_page(watch_id, url) | {"bare": None}
        if before is not None:
            wanted["version"] = {"$lt": before}
        with self._db.use():
            found = self._db.snapshots.find(
                wanted,
                _VERSION | {"bytes": {"$binarySize": "$parsed"}},
                sort=[("version", DESCENDING)],
                limit=limit,
            )
            return [version_of(each) for each in await found.to_list()]

    async def _bodies(self, watch_id: str, url: str, version: int) -> Sequence[bytes] | None:
        wanted = _of_page(watch_id, url) | {"version": version, "bare": None}
        with self._db.use():
            found = await self._db.snapshots.find_one(wanted, {"_id": True})
            return None if found is None else await self._contents.bodies(found["_id"])

    async def change_logs(
        self, chosen: ChangeFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[ChangeLog], str | None]:
        index: Index = CHANGES_LATEST_FIRST
        found: Document = {}
        if chosen.batch is not None:
            index, found = CHANGES_OF_BATCH, {"batch": plain(chosen.batch)}
        elif chosen.run_id is not None:
            index, found = CHANGES_OF_RUN, {"runId": plain(chosen.run_id)}
        elif chosen.watch_id is not None:
            index, found = CHANGES_OF_WATCH, {"jobId": plain(chosen.watch_id)}
        with self._db.use():
            documents, last = await scan_index(
                self._db.change_logs,
                ScanPlan(index=index, found=found, accepts=_filter(chosen)),
                bounds=behind("timestamp", cursor),
                order=CHANGES_LATEST_FIRST,
                limit=limit,
                filter_fields=_LOOKED_AT,
                shown=None,
            )
        logs = [change_log(whole_log(each), each["version"]["previous"]) for each in documents]
        return logs, cursor_behind("timestamp", last)

    async def _price_records(
        self, watch_id: str, url: str, limit: int, before: PricePlace | None
    ) -> list[tuple[WholePrice, int | None]]:
        wanted = _of_page(watch_id, url)
        if before is not None:
            wanted["place"] = {"$lt": place_at(before.ts, 0, before.key)}
        with self._db.use():
            prices = await self._db.price_history.find(
                wanted, sort=[("place", DESCENDING)], limit=limit
            ).to_list()
            keys = [each["versionKey"] for each in prices]
            found = self._db.snapshots.find({"_id": {"$in": keys}}, {"version": True})
            numbers = {each["_id"]: each["version"] for each in await found.to_list()}
        return [(whole_price(each), numbers.get(each["versionKey"])) for each in prices]


def _of_page(watch_id: str, url: str) -> Document:
    return {"jobId": plain(watch_id), "url": plain(url)}


def _filter(chosen: ChangeFilter) -> Callable[[Document], bool] | None:
    """What no index knows of it."""
    wanted: Document = {}
    if chosen.url is not None:
        wanted["url"] = plain(chosen.url)
    if chosen.watch_id is not None and chosen.run_id is not None:
        wanted["jobId"] = plain(chosen.watch_id)
    if not wanted or chosen.batch is not None:
        return None
    return lambda document: all(document[name] == value for name, value in wanted.items())
