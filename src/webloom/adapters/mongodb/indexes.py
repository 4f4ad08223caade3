"""The indexes, made when the server is first reached; making them again changes nothing.

Each has the name that MongoDB gives by itself, so that one which an operator has made before
counts. A record's shelf is indexed and its status is not, as it changes three times and more while
the record is fetched. Every index of the listing ends in the order of the listing.

An index costs an insert of a posting 4 microseconds of the server and more; so what only closed
postings need is kept of them alone.
"""

from __future__ import annotations

from typing import Any

import pymongo
from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import OperationFailure

from webloom.adapters.mongodb.errors import DUPLICATE_KEY
from webloom.domain.errors import BackendRefused
from webloom.domain.listing import SortField
from webloom.domain.request_state import TOMBSTONE_SECONDS
from webloom.ports.heartbeats import SEEN_SECONDS

Collection = AsyncCollection[dict[str, Any]]

BUILD_SECONDS = 3600.0  # over a large collection that has none yet
LEDGER_SECONDS = 7 * 24 * 3600  # far longer than an import, or a message that waits, may take

NEWEST_FIRST = [("place", DESCENDING), ("_id", DESCENDING)]
BY_CREATION = [("created_at", DESCENDING), *NEWEST_FIRST]
BY_SHELF = [("shelf", ASCENDING), *NEWEST_FIRST]
BY_HOST = [("host", ASCENDING), *NEWEST_FIRST]
BY_WORD = [("words", ASCENDING), *NEWEST_FIRST]
REFRESHING = {"work.background": True}

LATEST_FIRST = [("place", DESCENDING)]
# Those without a date stand behind all others of their source, in their own order.
POSTINGS_BY_SOURCE = [("sourceUrl", ASCENDING), ("publishedAt", DESCENDING), *LATEST_FIRST]
WORD = [("words", ASCENDING)]
CLOSED_POSTINGS = [*LATEST_FIRST, ("closedBy", ASCENDING)]
BY_CLOSING = [("closedBy", ASCENDING)]
CLOSED = {"closedBy": {"$exists": True}}
IS_CLOSED = {"closedBy": {"$gte": ""}}  # which those indexes can tell without the posting

_EXISTS = 48
_CONFLICTS = (67, 85, 86)  # can't be made, made with other options, made with other keys


def of_records(*, is_sharded: bool) -> list[IndexModel]:
    """Behind a router only the shard key can be unique, which the hash of the URL is."""
    return [
        IndexModel("url", unique=not is_sharded),
        IndexModel(BY_CREATION),
        IndexModel(BY_SHELF),
        IndexModel(BY_HOST),
        IndexModel(BY_WORD),
        IndexModel("work.touched", partialFilterExpression=REFRESHING),
    ]


def of_jobs(*, is_sharded: bool) -> list[IndexModel]:
    """The key is part of the _id, which is unique anywhere."""
    return [
        IndexModel("dedupeKey", unique=not is_sharded),
        IndexModel(POSTINGS_BY_SOURCE),
        IndexModel(LATEST_FIRST),
        IndexModel(BY_CLOSING, partialFilterExpression=CLOSED),
        IndexModel(CLOSED_POSTINGS, partialFilterExpression=CLOSED),
    ]


OF_JOB_WORDS = [IndexModel(WORD)]
# Of what people configure, for its lists: an index for each order.
_OF_LISTS = [
    *(IndexModel([(each.value, ASCENDING), ("_id", ASCENDING)]) for each in SortField),
    IndexModel("tagKeys"),
]
OF_FEEDS = [
    *_OF_LISTS,
    IndexModel("url", unique=True),
    IndexModel("movedTo", unique=True, sparse=True),
    IndexModel("activeRunId", partialFilterExpression={"activeRunId": {"$type": "string"}}),
]
OF_IMPORT_LOGS = [
    IndexModel("runId", unique=True),
    IndexModel([("sourceUrl", ASCENDING), ("startedAt", DESCENDING)]),
    IndexModel([("sourceName", ASCENDING), ("startedAt", DESCENDING)]),
    IndexModel([("status", ASCENDING), ("startedAt", DESCENDING)]),
    IndexModel([("startedAt", DESCENDING)]),
    IndexModel("updatedAt"),
]
OF_IMPORT_BATCHES = [
    IndexModel([("runId", ASCENDING), ("batchIndex", ASCENDING)], unique=True),
    IndexModel("at", expireAfterSeconds=LEDGER_SECONDS),
]
OF_FORGOTTEN = [IndexModel("at", expireAfterSeconds=TOMBSTONE_SECONDS)]
OF_HEARTBEATS = [IndexModel("seen_at", expireAfterSeconds=SEEN_SECONDS)]


async def make_collection(collection: Collection) -> None:
    try:
        await collection.database.create_collection(collection.name, check_exists=False)
    except OperationFailure as error:
        if error.code != _EXISTS:
            raise


async def make(collection: Collection, indexes: list[IndexModel], address: str) -> None:
    try:
        with pymongo.timeout(BUILD_SECONDS):
            await collection.create_indexes(indexes)
    except OperationFailure as error:
        name, reason = collection.full_name, error.details or {}
        if error.code in _CONFLICTS:
            raise BackendRefused(
                f"MongoDB at {address}: the collection {name} has an index that is not as Webloom "
                f"needs it ({reason.get('errmsg', error)}): drop that index, or give Webloom "
                "another database or collection"
            ) from error
        if error.code == DUPLICATE_KEY:
            fields = ", ".join(reason.get("keyPattern", {}))
            raise BackendRefused(
                f"MongoDB at {address}: the collection {name} has several documents with the same "
                f"{fields}: remove all but one of them, or give Webloom "
                "another database or collection"
            ) from error
        raise


# What the watch pipeline keeps

PAGES_LATEST_FIRST = [("order", DESCENDING), ("_id", DESCENDING)]
PAGES_OF_WATCH = [("jobId", ASCENDING), *PAGES_LATEST_FIRST]
CHANGES_LATEST_FIRST = [("timestamp", DESCENDING), ("_id", DESCENDING)]
CHANGES_OF_WATCH = [("jobId", ASCENDING), *CHANGES_LATEST_FIRST]
CHANGES_OF_RUN = [("runId", ASCENDING), *CHANGES_LATEST_FIRST]
CHANGES_OF_BATCH = [("batch", ASCENDING), *CHANGES_LATEST_FIRST]
CHANGES_UNTOLD = [
    ("untold", ASCENDING),
    ("jobId", ASCENDING),
    ("runId", ASCENDING),
    ("batch", ASCENDING),
]
CHANGES_WAITING = [("inbox", ASCENDING), ("inboxAt", DESCENDING), ("_id", DESCENDING)]
CHANGES_WAITING_OF_WATCH = [("jobId", ASCENDING), *CHANGES_WAITING]
WAITS = {"inboxAt": {"$type": "long"}}
PAGES_MUTED = [("mutedAt", DESCENDING), ("_id", DESCENDING)]
WATCHES_COUNTED = [("enabled", ASCENDING), ("activeRunId", ASCENDING), ("failures", ASCENDING)]
RUNS_LATEST_FIRST = [("startedAt", DESCENDING), ("made", DESCENDING)]
RUNS_OF_WATCH = [("jobId", ASCENDING), *RUNS_LATEST_FIRST]
RUNS_BY_STATUS = [("status", ASCENDING), *RUNS_LATEST_FIRST]
NOTICES_TRIED = [("targetUrl", ASCENDING), ("made", DESCENDING)]
NOTICES_LATEST_FIRST = [("watchId", ASCENDING), ("made", DESCENDING)]
IN_PLACE = [("page", ASCENDING), ("place", ASCENDING)]
NOT_SUPERSEDED = [("page", ASCENDING), ("expireAt", ASCENDING)]
OF_NUMBER = [("jobId", ASCENDING), ("url", ASCENDING), ("version", DESCENDING)]
OF_LOG_NUMBER = [("jobId", ASCENDING), ("url", ASCENDING), ("version.current", DESCENDING)]
OF_PRICE = [("jobId", ASCENDING), ("url", ASCENDING), ("place", DESCENDING)]

_EXPIRING = IndexModel(
    "expireAt", expireAfterSeconds=0, partialFilterExpression={"expireAt": {"$exists": True}}
)


def of_pages(*, is_sharded: bool) -> list[IndexModel]:
    """The _id is made of both."""
    return [
        IndexModel([("jobId", ASCENDING), ("url", ASCENDING)], unique=not is_sharded),
        IndexModel(PAGES_LATEST_FIRST),
        IndexModel(PAGES_OF_WATCH),
        IndexModel(PAGES_MUTED, partialFilterExpression={"muted": True}),
    ]


def of_change_logs(*, is_sharded: bool) -> list[IndexModel]:
    """A log whose number another one still has waits without being `numbered`."""
    return [
        IndexModel(
            OF_LOG_NUMBER, unique=not is_sharded, partialFilterExpression={"numbered": True}
        ),
        IndexModel(CHANGES_LATEST_FIRST),
        IndexModel(CHANGES_OF_WATCH),
        IndexModel(CHANGES_OF_RUN, partialFilterExpression={"runId": {"$type": "string"}}),
        IndexModel(CHANGES_OF_BATCH, partialFilterExpression={"batch": {"$type": "string"}}),
        IndexModel(CHANGES_UNTOLD, partialFilterExpression={"untold": True}),
        IndexModel(CHANGES_WAITING, partialFilterExpression=WAITS),
        IndexModel(CHANGES_WAITING_OF_WATCH, partialFilterExpression=WAITS),
        _EXPIRING,
    ]


OF_SNAPSHOTS = [
    IndexModel(IN_PLACE),
    IndexModel(NOT_SUPERSEDED),
    IndexModel(OF_NUMBER),
    _EXPIRING,
]
OF_PRICE_HISTORY = [IndexModel(OF_PRICE), IndexModel(NOT_SUPERSEDED), _EXPIRING]
OF_JOB_RUNS = [
    IndexModel(RUNS_LATEST_FIRST),
    IndexModel(RUNS_OF_WATCH),
    IndexModel(RUNS_BY_STATUS),
    _EXPIRING,
]
OF_WATCHES = [
    *_OF_LISTS,
    IndexModel(WATCHES_COUNTED),
    IndexModel("activeRunId", partialFilterExpression={"activeRunId": {"$type": "string"}}),
]
OF_WATCH_LEDGER = [IndexModel("run"), _EXPIRING]
OF_NOTIFICATIONS = [
    IndexModel(NOTICES_LATEST_FIRST),
    IndexModel("dueAt", partialFilterExpression={"isOpen": True}),
    IndexModel(NOTICES_TRIED, partialFilterExpression={"attempts": {"$gt": 0}}),
    _EXPIRING,
]
LOGS_LATEST_FIRST = [("timestamp", DESCENDING), ("_id", DESCENDING)]
OF_WORKER_LOGS = [IndexModel(LOGS_LATEST_FIRST), _EXPIRING]
