"""Documents of `notices`.

    {_id, watchId, targetUrl, runId, dueAt, lines, changes: [{url, reasons}], batch, attempts,
     error, sentAt, givenUp, made, isOpen, expireAt, writeId}

`made` keeps those in order that are added within a millisecond.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from bson.objectid import ObjectId
from pymongo import ASCENDING

from webloom.adapters.mongodb.cursors import object_id
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.indexes import NOTICES_LATEST_FIRST, NOTICES_TRIED
from webloom.adapters.mongodb.primitives import Codec, MongoDocuments
from webloom.adapters.mongodb.values import document_of, value_of
from webloom.domain.notification import Notification, NotifiedChange
from webloom.domain.retention import Retention
from webloom.ports.notifications import DueTarget
from webloom.stores.cursors import page_of, values_of
from webloom.stores.notifications import StoredNotifications


def notification_of(document: Document) -> Notification:
    key, expires_at = document["_id"], document.get("expireAt")
    return value_of(
        Notification,
        document,
        notification_id=key,
        expires_at=expires_at,
        changes=msgspec.convert(document.get("changes", []), list[NotifiedChange]),
    )


def notification_document(notification: Notification) -> Document:
    """Without its _id and `made`."""
    document = document_of(notification, without=("notification_id", "expires_at"))
    document["isOpen"] = notification.is_pending
    if notification.expires_at is not None:
        document["expireAt"] = notification.expires_at
    return document


def notification_codec(database: MongoDatabase) -> Codec[Notification]:
    return Codec(
        database.notices,
        decode=notification_of,
        encode=notification_document,
        guards=("attempts", "isOpen"),
        inserted=lambda: {"made": ObjectId()},
    )


class MongoNotifications(StoredNotifications):
    def __init__(self, database: MongoDatabase, *, retention: Retention) -> None:
        super().__init__(
            MongoDocuments(database, notification_codec(database)), keep=retention.kept_runs
        )
        self._db = database

    async def due_targets(self, now: datetime, *, limit: int) -> list[DueTarget]:
        first_due = {
            "_id": "$targetUrl",
            "dueAt": {"$min": "$dueAt"},
            "made": {"$min": "$made"},
            "attempts": {"$max": "$attempts"},
        }
        with self._db.use():
            found = await self._db.notices.aggregate(
                [
                    {"$match": {"isOpen": True}},
                    {"$group": first_due},
                    {"$match": {"dueAt": {"$lte": now}}},
                    {"$sort": {"dueAt": ASCENDING, "made": ASCENDING}},
                    {"$limit": limit},
                ]
            )
            targets = await found.to_list()
        return [DueTarget(url=each["_id"], has_failed=each["attempts"] > 0) for each in targets]

    async def due(
        self, now: datetime, *, limit: int, target_url: str | None = None
    ) -> list[Notification]:
        of_target = {} if target_url is None else {"targetUrl": plain(target_url)}
        with self._db.use():
            found = self._db.notices.find(
                {"isOpen": True, "dueAt": {"$lte": now}} | of_target,
                sort=[("dueAt", ASCENDING), ("made", ASCENDING)],
                limit=limit,
            )
            return [notification_of(each) for each in await found.to_list()]

    async def failing(self, *, limit: int) -> list[Notification]:
        """An index has them by target, the latest first."""
        latest = {"_id": "$targetUrl", "key": {"$first": "$_id"}, "sentAt": {"$first": "$sentAt"}}
        with self._db.use():
            tried = await self._db.notices.aggregate(
                [
                    {"$match": {"attempts": {"$gt": 0}}},
                    {"$sort": dict(NOTICES_TRIED)},
                    {"$group": latest},
                    {"$match": {"sentAt": None}},
                    {"$sort": {"_id": ASCENDING}},
                    {"$limit": limit},
                ],
                hint=dict(NOTICES_TRIED),
            )
            keys = [each["key"] for each in await tried.to_list()]
            found = self._db.notices.find({"_id": {"$in": keys}}, sort=[("targetUrl", ASCENDING)])
            now = self._db.wall()
            return [
                notification_of(each)
                for each in await found.to_list()
                if each.get("expireAt") is None or each["expireAt"] > now
            ]

    async def of_watch(
        self, watch_id: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[Notification], str | None]:
        wanted: Document = {"watchId": plain(watch_id)}
        if cursor is not None:
            wanted["made"] = {"$lt": object_id(values_of(cursor, str)[0], cursor)}
        with self._db.use():
            documents = await self._db.notices.find(
                wanted, sort=NOTICES_LATEST_FIRST, limit=limit + 1
            ).to_list()
        shown, following = page_of(documents, limit, lambda each: [str(each["made"])])
        return [notification_of(each) for each in shown], following
