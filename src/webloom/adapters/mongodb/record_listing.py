"""Pages of records, the newest first; counts; requests that nothing happens to.

A page is read along one index, which is already in the order of the listing, from behind the last
record of the page before. What the index does not know of a filter is looked at record by record;
after MOST_SCANNED of them the page ends where it is, and says where to go on.
"""

from __future__ import annotations

import asyncio
from datetime import datetime

import pymongo

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, first_place_of, plain
from webloom.adapters.mongodb.index_scan import ScanPlan, scan_index
from webloom.adapters.mongodb.indexes import (
    BY_HOST,
    BY_SHELF,
    BY_WORD,
    NEWEST_FIRST,
    REFRESHING,
    Collection,
)
from webloom.adapters.mongodb.record_codec import WITHOUT_SOURCE, record_of
from webloom.adapters.mongodb.words import Phrase, words_with_prefix
from webloom.domain.inventory import (
    OPEN,
    SHELVES,
    FetchRequest,
    RecordFilter,
    RecordPage,
    Status,
    shelf_of,
)
from webloom.domain.request_state import NotedRequest
from webloom.stores.cursors import cursor_of, values_of

COUNT_SECONDS = 60.0
MOST_SCANNED = 1000  # records looked at for one page
_SHOWN = {"url": True, "host": True, "status": True, "place": True}


async def records_page(
    db: MongoDatabase, chosen: RecordFilter, limit: int, cursor: str | None
) -> RecordPage:
    start = None if cursor is None else values_of(cursor, int, str)
    with db.use():
        plan = await _plan(db.records, chosen)
        if plan is None:
            return RecordPage(records=[], next_cursor=None)
        documents, last = await scan_index(
            db.records,
            plan,
            bounds=_period(chosen, start),
            order=NEWEST_FIRST,
            limit=limit,
            most_scanned=MOST_SCANNED,
            filter_fields=_SHOWN,
            shown=WITHOUT_SOURCE,
        )
    return RecordPage(
        records=[record_of(document) for document in documents],
        next_cursor=None if last is None else cursor_of(int(last["place"]), last["_id"]),
    )


async def _plan(records: Collection, chosen: RecordFilter) -> ScanPlan | None:
    """None: nothing can be found."""
    if chosen.text is not None:
        return await _plan_by_words(records, chosen, Phrase.parse(plain(chosen.text)))

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
    return ScanPlan(index=BY_SHELF, found=found, accepts=None if is_known else accepts)


async def _plan_by_words(
    records: Collection, chosen: RecordFilter, phrase: Phrase
) -> ScanPlan | None:
    if not phrase.words:
        return None

    def accepts(document: Document) -> bool:
        return (
            chosen.status in (None, document["status"])
            and chosen.host in (None, document["host"])
            and phrase.is_in(document["url"])
        )

    is_known = chosen.status is None and chosen.host is None and len(phrase.words) == 1
    if phrase.whole_words:
        found: Document = {"words": max(phrase.whole_words, key=len)}
    else:
        words = await words_with_prefix(records, BY_WORD, phrase.words[0])
        if words is None:
            return ScanPlan(index=BY_SHELF, found={"shelf": {"$in": SHELVES}}, accepts=accepts)
        found = {"words": {"$in": words}}
    return ScanPlan(index=BY_WORD, found=found, accepts=None if is_known else accepts)


def _period(chosen: RecordFilter, start: tuple[int, str] | None) -> Document:
    """As places: they begin with the moment of creation."""
    places: Document = {}
    if chosen.created_from is not None:
        places["$gte"] = _place(chosen.created_from)
    if chosen.created_to is not None:
        places["$lt"] = _place(chosen.created_to)
    if start is None:
        return {"place": places} if places else {}
    place, key = start
    behind = {"$or": [{"place": {"$lt": place}}, {"_id": {"$lt": key}}]}
    return {"place": places | {"$lte": place}} | behind


def _place(moment: datetime) -> int:
    return max(-(1 << 63), min(first_place_of(moment), (1 << 63) - 1))


async def counts(db: MongoDatabase) -> dict[Status, int]:
    """Records with a final status are counted in the index; the open ones are few."""
    with db.use(), pymongo.timeout(COUNT_SECONDS):
        final = await asyncio.gather(
            *(_count(db.records, each) for each in SHELVES if each != OPEN)
        )
        grouped = await db.records.aggregate(
            [{"$match": {"shelf": OPEN}}, {"$group": {"_id": "$status", "count": {"$sum": 1}}}]
        )
        found = {Status(each["_id"]): each["count"] for each in await grouped.to_list()}
    return dict.fromkeys(Status, 0) | found | dict(final)


async def _count(records: Collection, shelf: str) -> tuple[Status, int]:
    counted = await records.database.command("count", records.name, query={"shelf": shelf})
    return Status(shelf), counted["n"]


async def quiet_requests(db: MongoDatabase, before: float, limit: int) -> list[NotedRequest]:
    """Requests that nothing has happened to since `before`, on the timeline. Open records are few;
    refreshes behind readable ones have an index."""
    not_later = {"$not": {"$gt": before}}
    quiet = {
        "work.request_id": {"$ne": None},
        "work.touched": {"$lte": before},
        "work.lease": not_later,
        "work.retry_due": not_later,
    }
    behind = REFRESHING | {"shelf": {"$ne": OPEN}}
    documents: list[Document] = []
    with db.use():
        for where in ({"shelf": OPEN}, behind):
            found = db.records.find(
                where | quiet,
                {"url": True, "work": True},
                sort={"work.touched": 1},
                limit=limit,
            )
            documents += await found.to_list()
    documents.sort(key=lambda document: document["work"]["touched"])
    return [_noted(document["url"], document["work"]) for document in documents[:limit]]


def _noted(url: str, work: Document) -> NotedRequest:
    request = FetchRequest(url=url, request_id=work["request_id"], background=work["background"])
    return NotedRequest(request, work["token"])
