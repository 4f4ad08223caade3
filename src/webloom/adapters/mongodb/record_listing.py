"""Pages of records, the newest or the oldest first; counts; requests that nothing happens to.

A page is read along one index, which is already in the order of the listing, from behind the last
record of the page before. What the index does not know of a filter is looked at record by record;
after MOST_SCANNED of them the page ends where it is, and says where to continue.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

import pymongo

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, first_place_of, plain
from webloom.adapters.mongodb.index_scan import (
    ScanPlan,
    behind,
    count_index,
    counted_by_scan,
    cursor_behind,
    scan_index,
)
from webloom.adapters.mongodb.indexes import (
    BY_HOST,
    BY_SHELF,
    BY_WORD,
    NEWEST_FIRST,
    REFRESHING,
    Collection,
)
from webloom.adapters.mongodb.record_codec import WITHOUT_SOURCE, record_of
from webloom.adapters.mongodb.words import words_with_prefix
from webloom.domain.inventory import (
    OPEN,
    SHELVES,
    FetchRequest,
    RecordFilter,
    RecordPage,
    Status,
    shelf_of,
)
from webloom.domain.listing import Count
from webloom.domain.request_state import NotedRequest
from webloom.domain.search import (
    NOTHING,
    Term,
    driving_words,
    is_found,
    terms_of,
)

COUNT_SECONDS = 60.0
_SHOWN = {"url": True, "host": True, "status": True, "place": True}


class MongoRecordListing:
    """The port `RecordListing`."""

    def __init__(self, database: MongoDatabase) -> None:
        self._db = database

    async def page_of_records(
        self,
        chosen: RecordFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
        most_counted: int | None = None,
    ) -> RecordPage:
        within = behind("place", cursor, oldest_first=oldest_first)

        async def read(plan: ScanPlan) -> RecordPage:
            documents, last = await scan_index(
                self._db.records,
                plan,
                bounds={"$and": [_period(chosen), within]},
                order=NEWEST_FIRST,
                oldest_first=oldest_first,
                limit=limit,
                filter_fields=_SHOWN,
                shown=WITHOUT_SOURCE,
            )
            is_seen = plan.accepts is not None and cursor is None and not oldest_first
            return RecordPage(
                records=[record_of(document) for document in documents],
                next_cursor=cursor_behind("place", last, oldest_first=oldest_first),
                total=counted_by_scan(documents, last, limit) if is_seen else None,
            )

        with self._db.use():
            plan = await _plan(self._db.records, chosen)
            if plan is None:
                return RecordPage(records=[], next_cursor=None)
            if most_counted is None or plan.accepts is not None:
                return await read(plan)
            total, page = await asyncio.gather(
                self._count(plan, chosen, most=most_counted), read(plan)
            )
            return replace(page, total=total)

    async def count_chosen(self, chosen: RecordFilter, *, most: int) -> Count:
        with self._db.use():
            plan = await _plan(self._db.records, chosen)
            if plan is None:
                return Count(0)
            return await self._count(plan, chosen, most=most)

    async def _count(self, plan: ScanPlan, chosen: RecordFilter, *, most: int) -> Count:
        return await count_index(
            self._db.records,
            plan,
            bounds=_period(chosen),
            order=NEWEST_FIRST,
            filter_fields=_SHOWN,
            most=most,
        )

    async def count_by_status(self) -> dict[Status, int]:
        """Records with a final status are counted in the index; the open ones are few."""
        with self._db.use(), pymongo.timeout(COUNT_SECONDS):
            final = await asyncio.gather(
                *(_count(self._db.records, each) for each in SHELVES if each != OPEN)
            )
            grouped = await self._db.records.aggregate(
                [{"$match": {"shelf": OPEN}}, {"$group": {"_id": "$status", "count": {"$sum": 1}}}]
            )
            found = {Status(each["_id"]): each["count"] for each in await grouped.to_list()}
        return dict.fromkeys(Status, 0) | found | dict(final)

    async def forgotten_requests(self, *, quiet_for: float, limit: int) -> list[NotedRequest]:
        """Open records are few; refreshes behind readable ones have an index."""
        before = self._db.now() - quiet_for
        not_later = {"$not": {"$gt": before}}
        quiet = {
            "work.request_id": {"$ne": None},
            "work.touched": {"$lte": before},
            "work.lease": not_later,
            "work.retry_due": not_later,
        }
        refreshes = REFRESHING | {"shelf": {"$ne": OPEN}}
        documents: list[Document] = []
        with self._db.use():
            for where in ({"shelf": OPEN}, refreshes):
                found = self._db.records.find(
                    where | quiet,
                    {"url": True, "work": True},
                    sort={"work.touched": 1},
                    limit=limit,
                )
                documents += await found.to_list()
        documents.sort(key=lambda document: document["work"]["touched"])
        return [_noted(document["url"], document["work"]) for document in documents[:limit]]


async def _plan(records: Collection, chosen: RecordFilter) -> ScanPlan | None:
    """None: nothing can be found."""
    if terms := terms_of(plain(chosen.text or "")):
        return None if NOTHING in terms else await _plan_by_words(records, chosen, terms)

    def accepts(document: Document) -> bool:
        return bool(document["status"] == chosen.status)

    if chosen.host is not None:
        found: Document = {"host": plain(chosen.host)}
        return ScanPlan(
            index=BY_HOST, found=found, accepts=None if chosen.status is None else accepts
        )
    shelves = SHELVES if chosen.status is None else [shelf_of(chosen.status)]
    is_known = chosen.status is None or chosen.status.is_final
    found = {"shelf": {"$in": shelves}}
    return ScanPlan(
        index=BY_SHELF,
        found=found,
        accepts=None if is_known else accepts,
        stretches=[{"shelf": each} for each in shelves],
    )


async def _plan_by_words(records: Collection, chosen: RecordFilter, terms: list[Term]) -> ScanPlan:
    def accepts(document: Document) -> bool:
        return (
            chosen.status in (None, document["status"])
            and chosen.host in (None, document["host"])
            and is_found([document["url"]], terms)
        )

    is_one_word = len(terms) == 1 and len(terms[0].words) == 1
    is_known = chosen.status is None and chosen.host is None and is_one_word
    word, is_beginning = driving_words(terms)
    found: Document = {"words": word}
    if is_beginning:
        words = await words_with_prefix(records, BY_WORD, word)
        if words is None:
            return ScanPlan(index=BY_SHELF, found={"shelf": {"$in": SHELVES}}, accepts=accepts)
        found = {"words": {"$in": words}}
    return ScanPlan(index=BY_WORD, found=found, accepts=None if is_known else accepts)


def _period(chosen: RecordFilter) -> Document:
    """As places: they begin with the moment of creation."""
    places: Document = {}
    if chosen.created_from is not None:
        places["$gte"] = _place(chosen.created_from)
    if chosen.created_to is not None:
        places["$lt"] = _place(chosen.created_to)
    return {"place": places} if places else {}


def _place(moment: datetime) -> int:
    return max(-(1 << 63), min(first_place_of(moment), (1 << 63) - 1))


async def _count(records: Collection, shelf: str) -> tuple[Status, int]:
    counted = await records.database.command("count", records.name, query={"shelf": shelf})
    return Status(shelf), counted["n"]


def _noted(url: str, work: Document) -> NotedRequest:
    request = FetchRequest(url=url, request_id=work["request_id"], background=work["background"])
    return NotedRequest(request, work["token"])
