"""Feeds as documents.

    {_id, url, name, format, intervalMinutes, enabled, mapping: [{field, path}], closeMissing,
     movedTo?, createdAt, updatedAt, nextRunAt, activeRunId, lastRunId, lastStatus, lastError,
     lastRunAt, failures, lastFetch: {etag, lastModified, contentHash},
     revision, activeRun, writeId}

`movedTo` is missing unless the feed has moved. `activeRunId` decides which run is the feed's;
`activeRun` is that run as it began, from which its document is made when it is found missing.
`revision` grows with every edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from pymongo import ASCENDING
from pymongo.errors import DuplicateKeyError

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.import_run_documents import (
    fetch_document,
    fetch_of,
    state_document,
    state_of,
    whole_milliseconds,
)
from webloom.adapters.mongodb.primitives import Codec
from webloom.domain.feed import Feed, FeedConfig
from webloom.domain.import_run import RunStatus
from webloom.domain.import_transitions import FeedState

WITHOUT_RUN = {"activeRun": False}
_EDITED = ("nextRunAt", "updatedAt", "lastFetch")
_BY_RUNS = (
    "nextRunAt",
    "activeRunId",
    "lastRunId",
    "lastStatus",
    "lastError",
    "lastRunAt",
    "failures",
    "lastFetch",
)


def feed_codec(database: MongoDatabase) -> Codec[FeedState]:
    """Edits have a write of their own, in which URLs are unique."""
    return Codec(
        database.feeds,
        decode=feed_state,
        encode=_run_fields,
        guards=("revision", "activeRunId", "lastRunId", "nextRunAt"),
    )


def feed_state(document: Document) -> FeedState:
    begun = document.get("activeRun")
    return FeedState(
        feed=feed_of(document),
        revision=document["revision"],
        begun=None if begun is None else state_of(begun),
    )


def _run_fields(state: FeedState) -> Document:
    fields = feed_document(state.feed)
    begun = None if state.begun is None else state_document(state.begun)
    return {name: fields[name] for name in _BY_RUNS} | {"activeRun": begun}


class MongoFeedQueries:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._feeds = database.feeds

    def now(self) -> datetime:
        return self._db.wall()

    async def at(self, url: str) -> list[FeedState]:
        url = plain(url)
        with self._db.use():
            found = await self._feeds.find({"$or": [{"url": url}, {"movedTo": url}]}).to_list()
        return [feed_state(each) for each in sorted(found, key=lambda each: each["url"] != url)]

    async def all(self) -> list[Feed]:
        with self._db.use():
            documents = await self._feeds.find({}, WITHOUT_RUN, batch_size=10_000).to_list()
        feeds = [feed_of(document) for document in documents]
        return sorted(feeds, key=lambda feed: (feed.config.name, feed.config.url))

    async def due(self, now: datetime, *, limit: int) -> list[Feed]:
        with self._db.use():
            found = self._feeds.find(
                {"nextRunAt": {"$lte": now}, "activeRunId": None},
                WITHOUT_RUN,
                sort=[("nextRunAt", ASCENDING), ("_id", ASCENDING)],
                limit=limit,
            )
            return [feed_of(document) for document in await found.to_list()]

    async def insert(self, state: FeedState) -> bool:
        with self._db.use(), suppress(DuplicateKeyError):
            await self._feeds.insert_one(feed_document(state.feed))
            return True
        return False

    async def replace(self, before: FeedState, after: FeedState) -> bool:
        whole = feed_document(after.feed)
        fields = config_document(after.feed.config) | {name: whole[name] for name in _EDITED}
        update: Document = {"$set": fields | {"revision": after.revision}}
        if after.feed.config.moved_to is None:
            update["$unset"] = {"movedTo": ""}
        unchanged = {"_id": plain(after.feed.feed_id), "revision": before.revision}
        with self._db.use(), suppress(DuplicateKeyError):
            return (await self._feeds.update_one(unchanged, update)).matched_count == 1
        return False


def config_document(config: FeedConfig) -> Document:
    moved = {} if config.moved_to is None else {"movedTo": plain(config.moved_to)}
    return moved | {
        "name": plain(config.name),
        "format": plain(config.format),
        "intervalMinutes": config.interval_minutes,
        "enabled": config.enabled,
        "mapping": [
            {"field": plain(name), "path": plain(path)} for name, path in config.mapping.items()
        ],
        "closeMissing": config.close_missing,
    }


def feed_document(feed: Feed) -> Document:
    """Of a new feed, without its active run, which has a document of its own."""
    return {
        "_id": plain(feed.feed_id),
        "url": plain(feed.config.url),
        **config_document(feed.config),
        "createdAt": feed.created_at,
        "updatedAt": feed.updated_at,
        "nextRunAt": feed.next_run_at and whole_milliseconds(feed.next_run_at),
        "activeRunId": feed.active_run_id and plain(feed.active_run_id),
        "lastRunId": feed.last_run_id and plain(feed.last_run_id),
        "lastStatus": feed.last_status and feed.last_status.value,
        "lastError": feed.last_error and plain(feed.last_error),
        "lastRunAt": feed.last_run_at,
        "failures": feed.failures,
        "lastFetch": fetch_document(feed.last_fetch),
        "revision": 0,
    }


def feed_of(document: Document) -> Feed:
    status = document["lastStatus"]
    return Feed(
        feed_id=document["_id"],
        config=FeedConfig(
            url=document["url"],
            name=document["name"],
            format=document["format"],
            interval_minutes=document["intervalMinutes"],
            enabled=document["enabled"],
            mapping=_mapping(document["mapping"]),
            close_missing=document["closeMissing"],
            moved_to=document.get("movedTo"),
        ),
        created_at=document["createdAt"],
        updated_at=document["updatedAt"],
        next_run_at=document["nextRunAt"],
        active_run_id=document["activeRunId"],
        last_run_id=document["lastRunId"],
        last_status=None if status is None else RunStatus(status),
        last_error=document["lastError"],
        last_run_at=document["lastRunAt"],
        failures=document["failures"],
        last_fetch=fetch_of(document["lastFetch"]),
    )


def _mapping(pairs: Sequence[Document]) -> dict[str, str]:
    return {pair["field"]: pair["path"] for pair in pairs}
