"""Documents of `worker_logs`.

    {_id, timestamp, level, role, host, pid, message, fields: [{name, value}], expireAt}

`_id` keeps the entries in order that a process logs within a millisecond. Names of fields are
values: they may contain dots and dollars.

Other programs write here, too. Of their documents what can be read is shown, within the bounds of
our own; those without a time, or that are too large, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from bson.codec_options import DatetimeConversion
from bson.objectid import ObjectId

from webloom.adapters.mongodb.cursors import LatestFirst
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.indexes import LOGS_LATEST_FIRST
from webloom.adapters.mongodb.values import document_of
from webloom.domain.retention import Retention
from webloom.domain.worker_log import MOST_STORED, Level, LogEntry, bounded
from webloom.ports.worker_logs import LogFilter

_LISTING = LatestFirst("timestamp", "_id")
LARGEST = 32_768  # bytes of a document that is read
_A_DATE: Final = {
    "$gte": datetime.min.replace(tzinfo=UTC),
    "$lte": datetime.max.replace(tzinfo=UTC),
}
_OURS = ("_id", "timestamp", "level", "role", "host", "pid", "message", "fields", "expireAt")
_SPELLINGS: Final = {
    Level.INFO: ("info",),
    Level.WARNING: ("warning", "warn"),
    Level.ERROR: ("error", "err", "critical", "fatal"),
}
_LEVELS = {spelling: level for level, some in _SPELLINGS.items() for spelling in some}


class MongoWorkerLogs:
    def __init__(self, database: MongoDatabase, *, retention: Retention) -> None:
        self._db = database
        any_date = database.worker_logs.codec_options.with_options(
            datetime_conversion=DatetimeConversion.DATETIME_AUTO  # of others, out of our range
        )
        self._logs = database.worker_logs.with_options(codec_options=any_date)
        self._keep = timedelta(days=retention.worker_logs)

    async def add(self, entries: Sequence[LogEntry]) -> None:
        if not entries:
            return
        await self._db.check_room()
        expire_at = self._db.wall() + self._keep
        with self._db.use():
            await self._db.worker_logs.insert_many(
                [_document(entry) | {"expireAt": expire_at} for entry in entries]
            )
            await self._drop_oldest()

    async def _drop_oldest(self) -> None:
        logs = self._db.worker_logs
        if await logs.estimated_document_count() <= MOST_STORED * 1.1:
            return
        found = logs.find(
            {}, {"timestamp": True}, sort=LOGS_LATEST_FIRST, skip=MOST_STORED, limit=1
        )
        for latest in await found.to_list():
            time = latest.get("timestamp")
            is_later = {"$gt": time} if isinstance(time, datetime) else {"$type": "date"}
            await logs.delete_many({"timestamp": {"$not": is_later}})

    async def entries(
        self, chosen: LogFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[LogEntry], str | None]:
        now = self._db.wall()
        not_expired = [
            {"expireAt": {"$gt": now}},
            {"expireAt": {"$not": {"$type": "date"}}, "timestamp": {"$gt": now - self._keep}},
        ]
        wanted: list[Document] = [
            {"timestamp": _A_DATE, "_id": {"$type": "objectId"}},
            {"$or": not_expired},
            {"$expr": {"$lte": [{"$bsonSize": "$$ROOT"}, LARGEST]}},
        ]
        if chosen.level is not Level.INFO:
            wanted.append({"level": {"$in": [*_spelt(chosen.level.and_above)]}})
        if chosen.role is not None:
            wanted.append({"role": plain(chosen.role)})
        if chosen.since is not None:
            wanted.append({"timestamp": {"$gte": chosen.since}})
        if cursor is not None:
            wanted.append(_LISTING.behind(cursor))
        with self._db.use():
            found = self._logs.find({"$and": wanted}, sort=LOGS_LATEST_FIRST, limit=limit + 1)
            documents = await found.to_list()
        shown, following = _LISTING.page(documents, limit)
        return [_entry(each) for each in shown], following


def _document(entry: LogEntry) -> Document:
    fields = [{"name": plain(name), "value": plain(value)} for name, value in entry.fields.items()]
    kept = document_of(entry, without=("at", "fields"))
    return {"_id": ObjectId(), "timestamp": entry.at, **kept, "fields": fields}


def _spelt(levels: Sequence[Level]) -> Iterator[str]:
    for spelling in (each for level in levels for each in _SPELLINGS[level]):
        yield from (spelling, spelling.upper(), spelling.capitalize())


def _entry(document: Document) -> LogEntry:
    pid = document.get("pid")
    return bounded(
        LogEntry(
            at=document["timestamp"],
            level=_LEVELS.get(_text(document.get("level")).lower(), Level.INFO),
            role=_text(document.get("role")),
            host=_text(document.get("host")),
            pid=int(pid) if isinstance(pid, int) else 0,
            message=_text(document.get("message")),
            fields=dict(_fields(document)),
        )
    )


def _fields(document: Document) -> Iterator[tuple[str, str]]:
    """Our own are a list of names and values."""
    fields = document.get("fields")
    if isinstance(fields, list):
        for each in fields:
            if isinstance(each, dict) and each.keys() == {"name", "value"}:
                yield _text(each["name"]), _text(each["value"])
            else:
                yield "fields", _text(each)
    elif isinstance(fields, dict):
        yield from ((name, _text(value)) for name, value in fields.items())
    elif fields is not None:
        yield "fields", _text(fields)
    yield from ((name, _text(value)) for name, value in document.items() if name not in _OURS)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)
