"""Lists of versions, change logs and price records, the latest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pymongo import DESCENDING

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.index_scan import (
    MOST_SCANNED,
    Index,
    ScanPlan,
    behind,
    cursor_behind,
    scan_index,
)
from webloom.adapters.mongodb.indexes import (
    CHANGES_LATEST_FIRST,
    CHANGES_OF_BATCH,
    CHANGES_OF_JOB,
    CHANGES_OF_RUN,
)
from webloom.adapters.mongodb.page_codec import log_of, place_at, price_of, version_of
from webloom.adapters.mongodb.page_contents import Contents
from webloom.domain.price_history import PriceRecord
from webloom.ports.page_history import ChangeFilter, ChangeLog, Version
from webloom.stores.page_history import PricePlace, StoredPageHistory

_VERSION = dict.fromkeys(
    ("jobId", "url", "version", "snapshotHash", "createdAt", "base", "expireAt"), True
)
_LOOKED_AT = dict.fromkeys(("timestamp", "url", "jobId", "runId"), True)


class MongoPageHistory(StoredPageHistory):
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._contents = Contents(database)

    async def versions(
        self, job_id: str, url: str, *, limit: int, before: int | None = None
    ) -> list[Version]:
        wanted = _of_page(job_id, url) | {"bare": None}
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

    async def _bodies(self, job_id: str, url: str, version: int) -> Sequence[bytes] | None:
        wanted = _of_page(job_id, url) | {"version": version, "bare": None}
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
        elif chosen.job_id is not None:
            index, found = CHANGES_OF_JOB, {"jobId": plain(chosen.job_id)}
        with self._db.use():
            documents, last = await scan_index(
                self._db.change_logs,
                ScanPlan(index=index, found=found, accepts=_filter(chosen)),
                bounds=behind("timestamp", cursor),
                order=CHANGES_LATEST_FIRST,
                limit=limit,
                most_scanned=MOST_SCANNED,
                filter_fields=_LOOKED_AT,
                shown=None,
            )
        return [log_of(each) for each in documents], cursor_behind("timestamp", last)

    async def _price_records(
        self, job_id: str, url: str, limit: int, before: PricePlace | None
    ) -> list[tuple[str, PriceRecord]]:
        wanted = _of_page(job_id, url)
        if before is not None:
            wanted["place"] = {"$lt": place_at(before.ts, 0, before.key)}
        with self._db.use():
            prices = await self._db.price_history.find(
                wanted, sort=[("place", DESCENDING)], limit=limit
            ).to_list()
            keys = [each["versionKey"] for each in prices]
            found = self._db.snapshots.find({"_id": {"$in": keys}}, {"version": True})
            numbers = {each["_id"]: each["version"] for each in await found.to_list()}
        return [(each["_id"], price_of(each, numbers)) for each in prices]


def _of_page(job_id: str, url: str) -> Document:
    return {"jobId": plain(job_id), "url": plain(url)}


def _filter(chosen: ChangeFilter) -> Callable[[Document], bool] | None:
    """What no index knows of it."""
    wanted: Document = {}
    if chosen.url is not None:
        wanted["url"] = plain(chosen.url)
    if chosen.job_id is not None and chosen.run_id is not None:
        wanted["jobId"] = plain(chosen.job_id)
    if not wanted or chosen.batch is not None:
        return None
    return lambda document: all(document[name] == value for name, value in wanted.items())
