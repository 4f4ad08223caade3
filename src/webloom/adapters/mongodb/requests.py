"""Requests that are noted, renewed, forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from pymongo import UpdateOne

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import (
    OPEN,
    STATE_FIELDS,
    Document,
    literal,
    new_document,
    no_response,
    plain,
    url_key,
)
from webloom.adapters.mongodb.indexes import REFRESHING
from webloom.adapters.mongodb.insertion import insert_unless_deleted
from webloom.adapters.mongodb.marks import Places
from webloom.domain.inventory import Attempt, FetchRequest, Status
from webloom.ports.inventory_store import NotedRequest


class Requests:
    def __init__(self, database: MongoDatabase, places: Places) -> None:
        self._db = database
        self._places = places

    async def note(self, items: list[Sequence[NotedRequest]]) -> list[None]:
        noted = [each for several in items for each in several]
        with self._db.use():
            await self._insert([each.request for each in noted if each.token == 0])
            if changes := [self._reopening(each) for each in noted if each.token != 0]:
                await self._db.records.bulk_write(changes, ordered=False)
        return [None] * len(items)

    async def _insert(self, requests: list[FetchRequest]) -> None:
        """Make the records that are unknown."""
        if not requests:
            return
        now, wall = self._db.now(), self._db.wall()
        made: dict[str, Document] = {}
        for request in requests:
            key = url_key(request.url)
            if key not in made:
                place = self._places.next(wall)
                made[key] = new_document(
                    request.url, request.request_id, now=now, wall=wall, place=place
                )
        await insert_unless_deleted(self._db, made)

    def _reopening(self, noted: NotedRequest) -> UpdateOne:
        """For a record that has begun no attempt since the requester saw it."""
        now, request_id = self._db.now(), plain(noted.request.request_id)
        found = {"_id": url_key(noted.request.url), "work.token": noted.token}
        if noted.request.background:
            fields = {
                "work.request_id": request_id,
                "work.background": True,
                "work.touched": now,
            }
            return UpdateOne(
                found | {"work.request_id": None}, {"$set": fields, "$inc": {"work.version": 1}}
            )
        shown = {
            "$switch": {
                "branches": [
                    {
                        "case": {"$ne": ["$work.lease", None]},
                        "then": Status.IN_PROGRESS.value,
                    },
                    {
                        "case": {"$ne": ["$work.retry_due", None]},
                        "then": Status.FAILED_RETRYABLE.value,
                    },
                ],
                "default": Status.PENDING.value,
            }
        }
        changed = {
            "status": shown,
            "shelf": OPEN,
            "processing.error_message": None,
            "updated_at": self._db.wall(),
            "work.version": {"$add": ["$work.version", 1]},
            "work.request_id": {"$ifNull": ["$work.request_id", literal(request_id)]},
            "work.background": False,
            "work.touched": now,
        }
        free = {"$or": [{"work.request_id": None}, {"work.background": True}]}
        return UpdateOne(found | free, [{"$set": changed}])

    async def renew(self, attempts: Sequence[Attempt], lease: float) -> None:
        if not attempts:
            return
        with self._db.use():
            change = {"$set": {"work.lease": self._db.now() + lease}, "$inc": {"work.version": 1}}
            await self._db.records.bulk_write(
                [
                    UpdateOne(
                        {
                            "_id": url_key(each.url),
                            "work.token": each.token,
                            "work.lease": {"$ne": None},
                        },
                        change,
                    )
                    for each in attempts
                ],
                ordered=False,
            )

    async def touch(self, requests: Sequence[FetchRequest]) -> None:
        if not requests:
            return
        change = {"$set": {"work.touched": self._db.now()}, "$inc": {"work.version": 1}}
        with self._db.use():
            await self._db.records.bulk_write(
                [
                    UpdateOne(
                        {"_id": url_key(each.url), "work.request_id": plain(each.request_id)},
                        change,
                    )
                    for each in requests
                ],
                ordered=False,
            )

    async def forget(self, url: str) -> bool:
        """What was decided is written if nothing has changed since; otherwise decide again."""
        key = url_key(url)
        with self._db.use():
            while document := await self._db.records.find_one({"_id": key}, STATE_FIELDS):
                if document["work"]["request_id"] is None:
                    await self._leave_word(document)
                    result = await self._db.records.delete_one(_unchanged(document))
                    done = result.deleted_count
                else:
                    cleared = await self._db.records.update_one(
                        _unchanged(document), {"$set": self._cleared(document)}
                    )
                    done = cleared.matched_count
                if done:
                    return True
        return False

    async def _leave_word(self, document: Document) -> None:
        word = {
            "request_id": document["processing"]["last_request_id"],
            "token": document["work"]["token"],
            "at": self._db.server_time(),
        }
        await self._db.forgotten.replace_one({"_id": document["_id"]}, word, upsert=True)

    def _cleared(self, document: Document) -> Document:
        work, now = document["work"], self._db.now()
        if work["lease"] is not None:
            status = Status.IN_PROGRESS
        elif work["retry_due"] is not None:
            status = Status.FAILED_RETRYABLE
        else:
            status = Status.PENDING
        return {
            "status": status.value,
            "shelf": OPEN,
            **no_response(),
            "updated_at": self._db.wall(),
            "work": work | {"version": work["version"] + 1, "background": False, "touched": now},
        }

    async def quiet(self, quiet_for: float, limit: int) -> list[FetchRequest]:
        """Open records are few; refreshes behind readable ones have an index."""
        with self._db.use():
            before = self._db.now() - quiet_for
            not_later = {"$not": {"$gt": before}}
            quiet = {
                "work.request_id": {"$ne": None},
                "work.touched": {"$lte": before},
                "work.lease": not_later,
                "work.retry_due": not_later,
            }
            behind = REFRESHING | {"shelf": {"$ne": OPEN}}
            documents: list[Document] = []
            for where in ({"shelf": OPEN}, behind):
                found = self._db.records.find(
                    where | quiet,
                    {"url": True, "work": True},
                    sort={"work.touched": 1},
                    limit=limit,
                )
                documents += await found.to_list()
        documents.sort(key=lambda document: document["work"]["touched"])
        return [
            FetchRequest(
                url=document["url"],
                request_id=document["work"]["request_id"],
                background=document["work"]["background"],
            )
            for document in documents[:limit]
        ]


def _unchanged(document: Document) -> Document:
    """The filter for a document as it was read."""
    work = document["work"]
    return {
        "_id": document["_id"],
        "work.version": work["version"],
        "work.token": work["token"],
    }
