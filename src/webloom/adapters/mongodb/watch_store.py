"""Watches, their runs, and what is to be told of them, in MongoDB."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from bson.errors import InvalidId
from bson.objectid import ObjectId
from pymongo import ASCENDING, ReturnDocument, UpdateOne
from pymongo.errors import DuplicateKeyError

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, literal, plain
from webloom.adapters.mongodb.indexes import (
    NOTICES_LATEST_FIRST,
    RUNS_LATEST_FIRST,
    WATCHES_COUNTED,
)
from webloom.adapters.mongodb.insertion import insert_new
from webloom.adapters.mongodb.page_documents import place_at, validator_fields
from webloom.adapters.mongodb.watch_documents import (
    config_document,
    moment,
    new_watch,
    notice_document,
    notice_of,
    run_of,
    selection_document,
    watch_of,
)
from webloom.adapters.mongodb.watch_ledger import WatchLedger
from webloom.adapters.mongodb.watch_runs import WatchRuns
from webloom.domain.errors import BadCursor
from webloom.domain.storage_event import milliseconds_of, moment_of
from webloom.domain.watch import Watch, WatchConfig, WatchRun
from webloom.ports.page_store import Retention
from webloom.ports.watch_store import (
    Attended,
    DueTarget,
    NewRun,
    Notice,
    RunFilter,
    WatchCounts,
)

_BY_NAME = [("name", ASCENDING), ("_id", ASCENDING)]
_WITHOUT_RUN = {"activeRun": False, "openCounts": False}
_COUNTS: Document = {
    "all": {"$sum": 1},
    "enabled": {"$sum": {"$cond": ["$enabled", 1, 0]}},
    "checking": {"$sum": {"$cond": ["$activeRunId", 1, 0]}},
    "failing": {"$sum": {"$cond": ["$failures", 1, 0]}},
}


class MongoWatchStore:
    def __init__(self, database: MongoDatabase, *, retention: Retention) -> None:
        self._db = database
        self._keep = timedelta(days=retention.job_runs)
        self._runs = WatchRuns(database, WatchLedger(database, self._keep), self._keep)

    # Watches

    async def add_watch(
        self, watch_id: str, config: WatchConfig, *, next_run_at: datetime | None
    ) -> tuple[Watch, bool]:
        document = new_watch(watch_id, config, now=self._db.wall(), next_run_at=next_run_at)
        with self._db.use():
            while True:
                try:
                    await self._db.watches.insert_one(document)
                except DuplicateKeyError:
                    wanted = {"_id": document["_id"]}
                    found = await self._db.watches.find_one(wanted, _WITHOUT_RUN)
                    if found is not None:
                        return watch_of(found), False
                else:
                    return watch_of(document), True

    async def find_watch(self, watch_id: str) -> Watch | None:
        with self._db.use():
            found = await self._db.watches.find_one({"_id": plain(watch_id)}, _WITHOUT_RUN)
        return None if found is None else watch_of(found)

    async def watches(
        self, *, limit: int, cursor: str | None = None
    ) -> tuple[list[Watch], str | None]:
        wanted: Document = {}
        if cursor is not None:
            name, key = _values(cursor, str, str)
            behind = [{"name": {"$gt": name}}, {"_id": {"$gt": key}}]
            wanted = {"name": {"$gte": name}, "$or": behind}
        with self._db.use():
            found = self._db.watches.find(wanted, _WITHOUT_RUN, sort=_BY_NAME, limit=limit + 1)
            documents = await found.to_list()
        is_last = len(documents) <= limit
        last = documents[:limit][-1] if documents else {}
        following = None if is_last else _cursor(last["name"], last["_id"])
        return [watch_of(each) for each in documents[:limit]], following

    async def count_watches(self) -> WatchCounts:
        with self._db.use():
            grouped = await self._db.watches.aggregate(
                [{"$group": {"_id": None, **_COUNTS}}], hint=dict(WATCHES_COUNTED)
            )
            counted = (await grouped.to_list() or [dict.fromkeys(_COUNTS, 0)])[0]
        return WatchCounts(**{name: counted[name] for name in _COUNTS})

    async def edit_watch(
        self, watch_id: str, config: WatchConfig, *, next_run_at: datetime | None
    ) -> Watch | None:
        wanted = {"_id": plain(watch_id)}
        fields: Document = {name: literal(each) for name, each in config_document(config).items()}
        timing = [{"$eq": [f"${name}", fields[name]]} for name in ("enabled", "schedule")]
        fields["nextRunAt"] = {"$cond": [{"$and": timing}, "$nextRunAt", moment(next_run_at)]}
        fields["updatedAt"] = self._db.wall()
        with self._db.use():
            known = await self._db.watches.find_one(wanted, {"selection": True})
            if known is None:
                return None
            # Before, so that a process which dies in between leaves this to be done again; and
            # after, for a check that came in between.
            is_other = known["selection"] != selection_document(config.selection)
            if is_other:
                await self._forget_validators(watch_id)
            edited = await self._db.watches.find_one_and_update(
                wanted, [{"$set": fields}], _WITHOUT_RUN, return_document=ReturnDocument.AFTER
            )
            if is_other:
                await self._forget_validators(watch_id)
        return None if edited is None else watch_of(edited)

    async def _forget_validators(self, watch_id: str) -> None:
        """What a check before this moment brings later is not taken either."""
        now = place_at(milliseconds_of(self._db.wall()))
        await self._db.pages.update_many(
            {"jobId": plain(watch_id)}, {"$set": validator_fields({}) | {"places.validators": now}}
        )

    async def remove_watch(self, watch_id: str) -> bool:
        return await self._runs.remove_watch(watch_id)

    async def due_watches(self, now: datetime, *, limit: int) -> list[Watch]:
        with self._db.use():
            found = self._db.watches.find(
                {"nextRunAt": {"$lte": now}, "activeRunId": None},
                _WITHOUT_RUN,
                # And not by _id: 100,000 that are due at one moment would all be sorted.
                sort=[("nextRunAt", ASCENDING)],
                limit=limit,
            )
            return [watch_of(each) for each in await found.to_list()]

    # Runs

    async def start_run(self, watch_id: str, new: NewRun) -> WatchRun | None:
        return await self._runs.start(watch_id, new)

    async def attended(self, *, limit: int) -> list[Attended]:
        return await self._runs.attended(limit)

    async def unchecked(self, run_id: str) -> list[str]:
        return await self._runs.unchecked(run_id)

    async def is_open(self, run_id: str, url: str) -> bool:
        return await self._runs.is_open(run_id, url)

    async def note_published(self, run_id: str, at: datetime) -> None:
        await self._runs.note_published(run_id, at)

    async def finish_run(
        self, run_id: str, *, next_run_at: datetime | None, instead_of: datetime | None
    ) -> WatchRun | None:
        return await self._runs.finish(run_id, next_run_at, instead_of)

    async def close_idle_runs(self, idle_since: datetime) -> int:
        return await self._runs.close_idle(idle_since)

    async def find_run(self, run_id: str) -> WatchRun | None:
        return await self._runs.find(run_id)

    async def runs(
        self, chosen: RunFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[WatchRun], str | None]:
        wanted: Document = {}
        if chosen.watch_id is not None:
            wanted["jobId"] = plain(chosen.watch_id)
        if chosen.status is not None:
            wanted["status"] = chosen.status.value
        if cursor is not None:
            started, made = _values(cursor, int, str)
            at, key = _moment(started, cursor), _object_id(made, cursor)
            wanted["startedAt"] = {"$lte": at}
            wanted["$or"] = [{"startedAt": {"$lt": at}}, {"made": {"$lt": key}}]
        with self._db.use():
            found = self._db.job_runs.find(wanted, sort=RUNS_LATEST_FIRST, limit=limit + 1)
            documents = await found.to_list()
        is_last = len(documents) <= limit
        documents = documents[:limit]
        following = None
        if not is_last:
            started = milliseconds_of(documents[-1]["startedAt"])
            following = _cursor(started, str(documents[-1]["made"]))
        return [run_of(each) for each in documents], following

    # What people are told

    async def add_notices(self, notices: Sequence[Notice]) -> None:
        with self._db.use():
            await insert_new(self._db.notices, [notice_document(each) for each in notices])

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

    async def due_notices(
        self, now: datetime, *, limit: int, target_url: str | None = None
    ) -> list[Notice]:
        of_target = {} if target_url is None else {"targetUrl": plain(target_url)}
        with self._db.use():
            found = self._db.notices.find(
                {"isOpen": True, "dueAt": {"$lte": now}} | of_target,
                sort=[("dueAt", ASCENDING), ("made", ASCENDING)],
                limit=limit,
            )
            return [notice_of(each) for each in await found.to_list()]

    async def note_sent(self, notice_ids: Sequence[str], at: datetime) -> None:
        expires = self._db.server_time() + self._keep
        sent = {"sentAt": moment(at), "error": None, "isOpen": False, "expireAt": expires}
        if not notice_ids:
            return
        with self._db.use():
            await self._db.notices.bulk_write(
                [
                    UpdateOne(
                        {"_id": plain(each), "isOpen": True},
                        {"$set": sent, "$inc": {"attempts": 1}},
                    )
                    for each in notice_ids
                ]
            )

    async def note_unsent(
        self, notice_ids: Sequence[str], *, error: str, due_at: datetime | None
    ) -> None:
        """By one command, which only the death of the server itself can cut: then a digest goes on
        in two parts."""
        fields: Document = {"error": plain(error)}
        if due_at is not None:
            fields["dueAt"] = moment(due_at)
        else:
            expires = self._db.server_time() + self._keep
            fields |= {"givenUp": True, "isOpen": False, "expireAt": expires}
        with self._db.use():
            await self._db.notices.update_many(
                {"_id": {"$in": [plain(each) for each in notice_ids]}, "isOpen": True},
                {"$set": fields, "$inc": {"attempts": 1}},
            )

    async def notices(
        self, watch_id: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[Notice], str | None]:
        wanted: Document = {"watchId": plain(watch_id)}
        if cursor is not None:
            wanted["made"] = {"$lt": _object_id(_values(cursor, str)[0], cursor)}
        with self._db.use():
            found = self._db.notices.find(wanted, sort=NOTICES_LATEST_FIRST, limit=limit + 1)
            documents = await found.to_list()
        is_last = len(documents) <= limit
        documents = documents[:limit]
        following = None if is_last else _cursor(str(documents[-1]["made"]))
        return [notice_of(each) for each in documents], following


def _cursor(*values: str | int) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(values)).decode().rstrip("=")


def _values(cursor: str, *kinds: type) -> list[Any]:
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        values = msgspec.json.decode(raw, type=list[str | int])
    except (ValueError, msgspec.MsgspecError) as error:
        raise _bad(cursor) from error
    if [type(value) for value in values] != list(kinds):
        raise _bad(cursor)
    return values


def _object_id(text: str, cursor: str) -> ObjectId:
    try:
        return ObjectId(text)
    except InvalidId as error:
        raise _bad(cursor) from error


def _moment(milliseconds: int, cursor: str) -> datetime:
    try:
        return moment_of(milliseconds)
    except OverflowError as error:
        raise _bad(cursor) from error


def _bad(cursor: str) -> BadCursor:
    return BadCursor(f"{cursor!r} is not a cursor of this listing")
