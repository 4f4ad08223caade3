"""The inventory in MongoDB: one document for each URL."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pymongo

from webloom.adapters.mongodb.attempts import Attempts, BeginAttempt, Begun
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import (
    OPEN,
    SHELVES,
    STATE_FIELDS,
    WITH_SOURCE,
    WITHOUT_SOURCE,
    Document,
    record_of,
    state_of,
    url_key,
)
from webloom.adapters.mongodb.gathering import Gathering
from webloom.adapters.mongodb.listing import records_page
from webloom.adapters.mongodb.marks import Marks, Places
from webloom.adapters.mongodb.outcomes import FinishAttempt, Outcomes
from webloom.adapters.mongodb.requests import Requests
from webloom.domain.errors import WebloomError
from webloom.domain.inventory import (
    Attempt,
    FetchRequest,
    GivenBack,
    Outcome,
    Record,
    RecordFilter,
    RecordPage,
    RequestState,
    Status,
)
from webloom.ports.inventory_store import LargeSource, NotedRequest

COUNT_SECONDS = 60.0
SOURCE = "page_source"
LINGER = 0.003  # seconds, of a worker's writes


class MongoInventoryStore:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        marks, places = Marks(), Places()
        self._requests = Requests(database, places)
        self._finding = database.gather(self._find)
        self._finding_whole = database.gather(self._find_whole)
        self._finding_small = database.gather(self._find_small)
        self._telling = database.gather(self._states)
        self._noting = database.gather(self._requests.note)
        self._beginning: Gathering[BeginAttempt, Begun] = database.gather(
            Attempts(database, marks, places).begin, linger=LINGER
        )
        self._finishing = database.gather(Outcomes(database, marks, places).finish, linger=LINGER)

    async def find(self, url: str, *, with_source: bool = True) -> Record | None:
        finding = self._finding_whole if with_source else self._finding
        document = await finding.ask(url_key(url))
        return None if document is None else record_of(document)

    async def find_up_to(self, url: str, most: int) -> Record | LargeSource | None:
        document = await self._finding_small.ask((url_key(url), most))
        if document is None:
            return None
        source = document["metadata"].pop(SOURCE, None)
        size = source if isinstance(source, int) else len((source or "").encode())
        if size > most:
            return LargeSource(record=record_of(document), size=size)
        document["metadata"][SOURCE] = source
        return record_of(document)

    async def states(self, urls: Sequence[str]) -> list[RequestState | None]:
        return await self._telling.ask([url_key(url) for url in urls])

    async def note_requests(self, noted: Sequence[NotedRequest]) -> None:
        await self._db.check_room()
        await self._noting.ask(noted)

    async def begin_attempt(self, request: FetchRequest, *, lease: float) -> Begun:
        return await self._beginning.ask(BeginAttempt(request, lease))

    async def renew_attempts(self, attempts: Sequence[Attempt], *, lease: float) -> None:
        await self._requests.renew(attempts, lease)

    async def finish_attempt(self, attempt: Attempt, outcome: Outcome) -> bool:
        if not isinstance(outcome, GivenBack):
            await self._db.check_room()
        return await self._finishing.ask(FinishAttempt(attempt, outcome))

    async def forget(self, url: str) -> bool:
        return await self._requests.forget(url)

    async def page_of_records(
        self, chosen: RecordFilter, *, limit: int, cursor: str | None = None
    ) -> RecordPage:
        return await records_page(self._db, chosen, limit, cursor)

    async def count_by_status(self) -> dict[Status, int]:
        """Records with a final status are counted in the index; the open ones are few."""
        with self._db.use(), pymongo.timeout(COUNT_SECONDS):
            counts = await asyncio.gather(
                *(self._count(shelf) for shelf in SHELVES if shelf != OPEN)
            )
            grouped = await self._db.records.aggregate(
                [
                    {"$match": {"shelf": OPEN}},
                    {"$group": {"_id": "$status", "count": {"$sum": 1}}},
                ]
            )
            found = {Status(each["_id"]): each["count"] for each in await grouped.to_list()}
        return dict.fromkeys(Status, 0) | found | dict(counts)

    async def _count(self, shelf: str) -> tuple[Status, int]:
        records = self._db.records
        counted = await records.database.command("count", records.name, query={"shelf": shelf})
        return Status(shelf), counted["n"]

    async def forgotten_requests(self, *, quiet_for: float, limit: int) -> list[FetchRequest]:
        return await self._requests.quiet(quiet_for, limit)

    async def touch_requests(self, requests: Sequence[FetchRequest]) -> None:
        await self._requests.touch(requests)

    # What follows serves many calls at once.

    async def _find(self, keys: list[str]) -> list[Document | WebloomError | None]:
        return await self._documents(keys, WITHOUT_SOURCE)

    async def _find_whole(self, keys: list[str]) -> list[Document | WebloomError | None]:
        return await self._documents(keys, WITH_SOURCE)

    async def _documents(
        self, keys: list[str], fields: dict[str, Any]
    ) -> list[Document | WebloomError | None]:
        with self._db.use():
            wanted = list(set(keys))
            found = self._db.records.find(
                {"_id": {"$in": wanted}}, fields, batch_size=len(wanted) + 1
            )
            by_key = {document["_id"]: document for document in await found.to_list()}
        return [by_key.get(key) for key in keys]

    async def _find_small(
        self, items: list[tuple[str, int]]
    ) -> list[Document | WebloomError | None]:
        """In the place of a source that is longer than anybody wants stands its size in bytes."""
        source = f"$metadata.{SOURCE}"
        size = {"$strLenBytes": {"$ifNull": [source, ""]}}
        longest = max(most for _, most in items)
        small = {"$cond": [{"$gt": [size, longest]}, size, source]}
        with self._db.use():
            found = await self._db.records.aggregate(
                [
                    {"$match": {"_id": {"$in": list({key for key, _ in items})}}},
                    {"$project": WITH_SOURCE},
                    {"$set": {f"metadata.{SOURCE}": small}},
                ]
            )
            by_key = {document["_id"]: document for document in await found.to_list()}
        return [by_key.get(key) for key, _ in items]

    async def _states(
        self, items: list[list[str]]
    ) -> list[list[RequestState | None] | WebloomError]:
        with self._db.use():
            wanted = list({key for keys in items for key in keys})
            found = self._db.records.find(
                {"_id": {"$in": wanted}}, STATE_FIELDS, batch_size=len(wanted) + 1
            )
            now = self._db.now()
            states = {each["_id"]: state_of(each, now) for each in await found.to_list()}
        return [[states.get(key) for key in keys] for keys in items]
