"""Feeds as documents.

    {_id, url, name, format, intervalMinutes, enabled, mapping: [{field, path}], closeMissing,
     movedTo?, tags, tagKeys, search, searchedAt, createdAt, updatedAt, nextRunAt, activeRunId,
     lastRunId, lastStatus, lastError, lastRunAt, failures,
     lastFetch: {etag, lastModified, contentHash}, revision, activeRun, writeId}

`movedTo` is missing unless the feed has moved. `activeRunId` decides which run is the feed's;
`activeRun` is that run as it began, from which its document is made when it is found missing.
`revision` grows with every edit.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from pymongo import ASCENDING
from pymongo.errors import DuplicateKeyError

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.import_run_codec import run_codec, state_document, state_of
from webloom.adapters.mongodb.primitives import Codec, MongoDocuments
from webloom.adapters.mongodb.sorted_list import SortedList, derived
from webloom.adapters.mongodb.values import document_of, value_of
from webloom.domain.feed import Feed, FeedConfig, LastFetch
from webloom.domain.import_run import RunStatus
from webloom.domain.import_transitions import FeedState
from webloom.stores.feeds import StoredFeeds

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


class MongoFeeds(StoredFeeds):
    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(
            MongoDocuments(database, feed_codec(database)),
            MongoDocuments(database, run_codec(database)),
            SortedList(database, database.feeds, WITHOUT_RUN, feed_state),
        )
        self._db = database
        self._feeds = database.feeds

    def _now(self) -> datetime:
        return self._db.wall()

    async def _at(self, url: str) -> list[FeedState]:
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
        old, whole = feed_document(before.feed), feed_document(after.feed)
        # A run may have changed what the edit does not change.
        edited = {name: whole[name] for name in _EDITED if whole[name] != old[name]}
        fields = config_document(after.feed) | edited
        update: Document = {"$set": fields | {"revision": after.revision}}
        if after.feed.config.moved_to is None:
            update["$unset"] = {"movedTo": ""}
        unchanged = {"_id": plain(after.feed.feed_id), "revision": before.revision}
        with self._db.use(), suppress(DuplicateKeyError):
            return (await self._feeds.update_one(unchanged, update)).matched_count == 1
        return False


def config_document(feed: Feed) -> Document:
    config = feed.config
    pairs = [{"field": plain(name), "path": plain(path)} for name, path in config.mapping.items()]
    fields = document_of(config) | {"mapping": pairs} | derived(config, feed.updated_at)
    if config.moved_to is None:
        del fields["movedTo"]
    return fields


def feed_document(feed: Feed) -> Document:
    """Of a new feed, without its active run, which has a document of its own."""
    fields = document_of(feed)
    del fields["feedId"], fields["config"]
    key = {"_id": plain(feed.feed_id)}
    return key | config_document(feed) | fields | {"revision": 0}


def feed_of(document: Document) -> Feed:
    mapping = {pair["field"]: pair["path"] for pair in document["mapping"]}
    status = document["lastStatus"]
    return value_of(
        Feed,
        document,
        feed_id=document["_id"],
        config=value_of(FeedConfig, document, mapping=mapping),
        last_status=None if status is None else RunStatus(status),
        last_fetch=value_of(LastFetch, document["lastFetch"]),
    )
