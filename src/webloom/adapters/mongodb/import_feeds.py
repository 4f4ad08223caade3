"""Feeds as documents.

    {_id, url, name, format, intervalMinutes, enabled, mapping: [{field, path}], closeMissing,
     movedTo?, createdAt, updatedAt, nextRunAt, activeRunId, lastRunId, lastStatus, lastError,
     lastRunAt, failures, lastFetch: {etag, lastModified, contentHash},
     revision, activeRun}

`movedTo` is missing unless the feed has moved. `activeRunId` decides which run is the feed's;
`activeRun` is that run as it began, from which its document is made when it is found missing.
`revision` grows with every edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from pymongo import ASCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.import_runs_documents import whole_milliseconds
from webloom.domain.feed import Feed, FeedConfig, LastFetch, UrlTaken, decide_edit
from webloom.domain.import_run import RunStatus

WITHOUT_RUN = {"activeRun": False}


class Feeds:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._feeds = database.feeds

    async def add(
        self, feed_id: str, config: FeedConfig, next_run_at: datetime | None
    ) -> tuple[Feed, bool]:
        now = self._db.wall()
        feed = Feed(
            feed_id=feed_id, config=config, created_at=now, updated_at=now, next_run_at=next_run_at
        )
        document = feed_document(feed)
        same = {"$or": [*_at(document["url"]), {"_id": document["_id"]}]}
        with self._db.use():
            while True:
                found = await self._feeds.find_one(same, WITHOUT_RUN)
                if found is not None:
                    return feed_of(found), False
                with suppress(DuplicateKeyError):
                    await self._feeds.insert_one(document)
                    return feed_of(document), True

    async def find(self, feed_id: str) -> Feed | None:
        return await self._one({"_id": plain(feed_id)})

    async def of_url(self, url: str) -> Feed | None:
        return await self._one({"$or": _at(plain(url))})

    async def _one(self, wanted: Document) -> Feed | None:
        with self._db.use():
            document = await self._feeds.find_one(wanted, WITHOUT_RUN)
        return None if document is None else feed_of(document)

    async def all(self) -> list[Feed]:
        with self._db.use():
            documents = await self._feeds.find({}, WITHOUT_RUN, batch_size=10_000).to_list()
        feeds = [feed_of(document) for document in documents]
        return sorted(feeds, key=lambda feed: (feed.config.name, feed.config.url))

    async def edit(
        self, feed_id: str, config: FeedConfig, next_run_at: datetime | None
    ) -> Feed | UrlTaken | None:
        wanted = {"$or": _at(plain(config.fetch_url))}
        with self._db.use():
            while True:
                found = await self._feeds.find_one({"_id": plain(feed_id)}, WITHOUT_RUN)
                if found is None:
                    return None
                holders = await self._feeds.find(wanted, WITHOUT_RUN).to_list()
                decided = decide_edit(feed_of(found), config, map(feed_of, holders))
                if isinstance(decided, UrlTaken):
                    return decided
                if edited := await self._write_edit(found, decided, next_run_at):
                    return feed_of(edited)

    async def _write_edit(
        self, found: Document, config: FeedConfig, next_run_at: datetime | None
    ) -> Document | None:
        """None: there was another edit meanwhile, or another feed has moved to that URL."""
        changed = config_document(config) | {
            "nextRunAt": next_run_at,
            "updatedAt": self._db.wall(),
            "lastFetch": fetch_document(LastFetch()),
        }
        update: Document = {"$set": changed, "$inc": {"revision": 1}}
        if config.moved_to is None:
            update["$unset"] = {"movedTo": ""}
        with suppress(DuplicateKeyError):
            return await self._feeds.find_one_and_update(
                {"_id": found["_id"], "revision": found["revision"]},
                update,
                WITHOUT_RUN,
                return_document=ReturnDocument.AFTER,
            )
        return None

    async def due(self, now: datetime, limit: int) -> list[Feed]:
        with self._db.use():
            found = self._feeds.find(
                {"nextRunAt": {"$lte": now}, "activeRunId": None},
                WITHOUT_RUN,
                sort=[("nextRunAt", ASCENDING), ("_id", ASCENDING)],
                limit=limit,
            )
            return [feed_of(document) for document in await found.to_list()]


def _at(url: str) -> list[Document]:
    return [{"url": url}, {"movedTo": url}]


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


def fetch_document(fetch: LastFetch) -> Document:
    return {
        "etag": fetch.etag and plain(fetch.etag),
        "lastModified": fetch.last_modified and plain(fetch.last_modified),
        "contentHash": fetch.content_hash and plain(fetch.content_hash),
    }


def feed_document(feed: Feed) -> Document:
    """Without its active run, which has a document of its own."""
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
    fetch, status = document["lastFetch"], document["lastStatus"]
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
        last_fetch=LastFetch(
            etag=fetch["etag"],
            last_modified=fetch["lastModified"],
            content_hash=fetch["contentHash"],
        ),
    )


def _mapping(pairs: Sequence[Document]) -> dict[str, str]:
    return {pair["field"]: pair["path"] for pair in pairs}
