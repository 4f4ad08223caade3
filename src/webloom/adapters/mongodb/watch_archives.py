"""Watches, their runs and what is to be told of a MongoDB database, whole: to be carried elsewhere,
or brought here. What was told already and the ledger of runs are not carried.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Generic, TypeVar

from pymongo import UpdateOne

from webloom.adapters.mongodb.archive import SCANNED_AT_ONCE
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.notifications import made, notification_document, notification_of
from webloom.adapters.mongodb.page_writes import bulk
from webloom.adapters.mongodb.watch_codec import (
    METRICS,
    metrics_fields,
    tally_fields,
    watch_document,
    watch_of,
)
from webloom.adapters.mongodb.watch_ledger import WatchLedger
from webloom.adapters.mongodb.watch_run_codec import run_document, run_of
from webloom.domain.notification import Notification
from webloom.domain.watch import EVENTS, RunStatus, Watch, WatchRun
from webloom.domain.watch_run import RunState
from webloom.ports.archive import LARGE_SLICE, Fingerprint, Slice
from webloom.ports.watch_archive import (
    KEPT_IN_PROGRESS,
    SOON,
    WholeRun,
    carried_run,
    carried_watch,
    fingerprint_by_reading,
    fingerprint_of,
    is_newer_notice,
    is_newer_run,
    is_newer_watch,
    moment_of_watch,
)

Item = TypeVar("Item")


class WatchArchive(ABC, Generic[Item]):
    """One collection, in the order of the _id."""

    def __init__(self, database: MongoDatabase, collection: Collection) -> None:
        self._db = database
        self._documents = collection
        self._copies = database.copies

    @abstractmethod
    def key(self, item: Item) -> str: ...

    @abstractmethod
    async def items(self, documents: list[Document]) -> list[Item]:
        """One for each. To be called within `use`."""

    @abstractmethod
    async def put(self, items: Sequence[Item]) -> None:
        """Unless those here are newer. To be called within `use`."""

    @abstractmethod
    def is_newer(self, one: Item, other: Item) -> bool: ...

    def carried(self) -> Document:
        """Which documents are items."""
        soon = self._db.server_time() + SOON
        return {"$or": [{"expireAt": None}, {"expireAt": {"$gt": soon}}]}

    async def count(self) -> int:
        with self._db.use():
            return await self._documents.count_documents(self.carried())

    async def read(self, position: str | None, limit: int) -> Slice[Item]:
        behind = {} if position is None else {"_id": {"$gt": position}}
        documents: list[Document] = []
        size = 0
        with self._db.use():
            async with self._documents.find(
                self.carried() | behind, sort={"_id": 1}, limit=limit, batch_size=limit
            ) as found:
                async for document in found:
                    documents.append(document)
                    size += self.size(document)
                    if size >= LARGE_SLICE:
                        break
            items = await self.items(documents)
        is_last = len(documents) < limit and size < LARGE_SLICE
        return Slice(items=items, position=None if is_last else documents[-1]["_id"])

    def size(self, document: Document) -> int:
        """About, in bytes: of what may be large in it."""
        return 0

    async def same_as(self, items: Sequence[Item]) -> list[Item | None]:
        keys = [self.key(item) for item in items]
        with self._db.use():
            documents = await self._documents.find({"_id": {"$in": keys}}).to_list()
            found = await self.items(documents)
        by_key = {each["_id"]: item for each, item in zip(documents, found, strict=True)}
        return [by_key.get(key) for key in keys]

    async def write(self, items: Sequence[Item]) -> Fingerprint:
        with self._db.use():
            await self.put(items)
        return fingerprint_of(items)

    async def fingerprint(self, progress: Callable[[int], None]) -> Fingerprint:
        return await fingerprint_by_reading(self, SCANNED_AT_ONCE, progress)

    async def copied_until(self, source: str) -> str | None:
        with self._db.use():
            found = await self._copies.find_one({"_id": self._place_of(source)})
        return None if found is None else str(found["position"])

    async def note_copied(self, source: str, position: str | None) -> None:
        place = {"_id": self._place_of(source)}
        with self._db.use():
            if position is None:
                await self._copies.delete_one(place)
            else:
                await self._copies.replace_one(place, place | {"position": position}, upsert=True)

    def _place_of(self, source: str) -> str:
        return f"{self._documents.name} {plain(source)}"


async def put_documents(
    collection: Collection, documents: Sequence[Document], replacing: Sequence[UpdateOne]
) -> None:
    """Each where there is none; `replacing` is for those that are there."""
    missing = [
        UpdateOne({"_id": each["_id"]}, {"$setOnInsert": each}, upsert=True) for each in documents
    ]
    await bulk(collection, missing)
    await bulk(collection, replacing)


class MongoWatchArchive(WatchArchive[Watch]):
    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, database.watches)

    def carried(self) -> Document:
        return {}

    def key(self, item: Watch) -> str:
        return plain(item.watch_id)

    async def items(self, documents: list[Document]) -> list[Watch]:
        return [carried_watch(watch_of(each)) for each in documents]

    async def put(self, items: Sequence[Watch]) -> None:
        """A run that is active here stays so, and metrics never get smaller."""
        documents = [{"_id": self.key(each)} | watch_document(each) for each in items]
        latest = {"$max": ["$updatedAt", "$lastRunAt"]}
        replacing = []
        for item, document in zip(items, documents, strict=True):
            kept = {"activeRunId", "activeRun", *METRICS}
            wanted = {name: value for name, value in document.items() if name not in kept}
            counted = {name: document[name] for name in METRICS}
            here = {
                "_id": document["_id"],
                "$expr": {"$lte": [latest, moment_of_watch(item)]},
            }
            replacing.append(UpdateOne(here, {"$set": wanted, "$max": counted}))
        await put_documents(self._documents, documents, replacing)

    def is_newer(self, one: Watch, other: Watch) -> bool:
        return is_newer_watch(one, other)


class MongoWatchRunArchive(WatchArchive[WholeRun]):
    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, database.job_runs)
        self._ledger = WatchLedger(database, timedelta())

    def carried(self) -> Document:
        soon = self._db.server_time() + SOON
        heard_of = {"expireAt": None, "updatedAt": {"$gt": soon - KEPT_IN_PROGRESS}}
        return {"$or": [{"expireAt": {"$gt": soon}}, heard_of]}

    def key(self, item: WholeRun) -> str:
        return plain(item.run.run_id)

    async def items(self, documents: list[Document]) -> list[WholeRun]:
        return [await self._item(each) for each in documents]

    async def _item(self, document: Document) -> WholeRun:
        run, missed = run_of(document), list[str]()
        if run.status is RunStatus.IN_PROGRESS:
            sums = await self._ledger.sums(run.run_id)
            run = replace(run, tally=sums.tally, failures=sums.failures)
            missed = await self._ledger.unchecked(run.run_id)
        return carried_run(run, document.get("expireAt"), lambda: missed)

    async def put(self, items: Sequence[WholeRun]) -> None:
        """One that is in progress here stays so."""
        documents = [_run_document(each) for each in items]
        ended = {"$ne": RunStatus.IN_PROGRESS.value}
        replacing = [
            UpdateOne(
                {"_id": each["_id"], "updatedAt": {"$lte": each["updatedAt"]}, "status": ended},
                {"$set": {name: value for name, value in each.items() if name != "made"}},
            )
            for each in documents
        ]
        await put_documents(self._documents, documents, replacing)

    def is_newer(self, one: WholeRun, other: WholeRun) -> bool:
        return is_newer_run(one, other)


def _run_document(item: WholeRun) -> Document:
    document = {"_id": plain(item.run.run_id)} | run_document(
        RunState(run=item.run, expires_at=item.expires_at)
    )
    more = _carried_counts(item.run) if item.run.trigger == EVENTS else {}
    return document | {"nextRunAt": None} | made() | more


def _carried_counts(run: WatchRun) -> Document:
    """Its ledger is not carried: what it counts here is added. The metrics of its watch, which come
    along, contain it."""
    return {
        "lastEventAt": run.finished_at,
        "carried": tally_fields(run.tally),
        "inMetrics": metrics_fields(run.tally.metrics),
    }


class MongoNoticeArchive(WatchArchive[Notification]):
    """Those that are not sent."""

    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, database.notices)

    def carried(self) -> Document:
        return {"isOpen": True}

    def key(self, item: Notification) -> str:
        return plain(item.notification_id)

    async def items(self, documents: list[Document]) -> list[Notification]:
        return [_carried(notification_of(each)) for each in documents]

    async def put(self, items: Sequence[Notification]) -> None:
        await put_documents(
            self._documents,
            [{"_id": self.key(each)} | notification_document(each) | made() for each in items],
            [],
        )

    def is_newer(self, one: Notification, other: Notification) -> bool:
        return is_newer_notice(one, other)


def _carried(notification: Notification) -> Notification:
    """SQLite can't hold a NUL."""
    error = notification.error and notification.error.replace("\0", "\ufffd")
    return replace(notification, error=error)
