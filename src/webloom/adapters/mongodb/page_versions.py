"""The versions of a page in their order: their numbers, and which of them are deltas.

An event inserts its version and looks at its neighbours afterwards; so of two events that come at
the same time, at least one sees the other's version. `settle` then sets right whatever does not
follow from the versions that are there: numbers, change logs, the page's number, deltas, dates of
expiry. Each write is made on the condition that the document is as it was read, and all is looked
at again until nothing is left to do. A process that died half way did not acknowledge the event: it
comes again, finds its version there, and looks at all versions behind it.

Numbers are computed from the version before. One that has expired has left its number with the
version behind it (`previous`). A version moves to an earlier place when an event with an earlier
time brings it once more; from then on it stays whole, as others may be deltas against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from pymongo import ASCENDING, DESCENDING, UpdateOne

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.page_codec import content_fields
from webloom.adapters.mongodb.page_contents import (
    Contents,
    difference,
    expiry,
    is_kept_whole,
    packed,
    superseded_by,
)
from webloom.adapters.mongodb.page_writes import ROW, bulk
from webloom.domain.errors import StoreUnavailable
from webloom.domain.retention import outlives
from webloom.domain.storage_event import next_number, previous_number
from webloom.stores.page_contents import decoded

MOST_PASSES = 200
_CHUNK = 200  # versions read at once
_TICK = timedelta(milliseconds=1)
_PACKED = dict.fromkeys(("parsed", "base", "version", "url"), True)


class Number(NamedTuple):
    """That a version should have."""

    number: int
    before: int  # of the version before it; 0: none is known
    link: Document  # to that version


@dataclass(kw_only=True, slots=True)
class _View:
    """Some versions of a page, in their order, and what should be true of them."""

    page: str
    predecessor: Document | None
    content_before: Document | None  # the last one before that has content
    rows: list[Document]  # the event's version and those behind it
    is_complete: bool  # to the newest
    numbers: dict[str | None, Number] = field(default_factory=dict)  # by key
    places: dict[str | None, str] = field(default_factory=dict)  # of all versions known of

    @property
    def contents(self) -> list[Document]:
        before = [] if self.content_before is None else [self.content_before]
        return [*before, *(row for row in self.rows if "bare" not in row)]

    def number_of(self, row: Document) -> int:
        known = self.numbers.get(row["_id"])
        return int(row["version"]) if known is None else known.number


def log_numbers(number: int, before: int) -> Document:
    return {"previous": previous_number(number, before), "current": number}


class Versions:
    """To be called within `use`."""

    def __init__(self, database: MongoDatabase, keep_days: float) -> None:
        self._db = database
        self._snapshots = database.snapshots
        self._contents = Contents(database)
        self._keep_days = keep_days

    async def settle(self, key: str, *, to_end: bool) -> int | None:
        """The number of the version; None: it is gone. `to_end`: an earlier call may have left
        something to do behind it."""
        for _ in range(MOST_PASSES):
            view = await self._view(key, to_end=to_end)
            if view is None:
                return None
            changed = await self._set_numbers(view)
            changed |= await self._set_logs(view)
            changed |= await self._set_page(view)
            changed |= await self._set_kept(view)
            if not changed:
                return view.number_of(view.rows[0])
        raise StoreUnavailable(
            f"MongoDB at {self._db.address}: the versions of a page are changed by others all the "
            "time"
        )

    # What is there

    async def _view(self, key: str, *, to_end: bool) -> _View | None:
        own: Document | None = await self._snapshots.find_one({"_id": key}, ROW)
        if own is None:
            return None
        page = own["page"]
        predecessor = content_before = await self._last_before(own)
        if predecessor is not None and "bare" in predecessor:
            content_before = await self._last_before(own, bare=None)
        view = _View(
            page=page,
            predecessor=predecessor,
            content_before=content_before,
            rows=[own],
            is_complete=False,
        )
        if content_before is not None:
            view.places[content_before["_id"]] = content_before["place"]
        await self._compute(view, view.predecessor, [own])
        while not view.is_complete:
            chunk = await self._snapshots.find(
                {"page": page, "place": {"$gt": view.rows[-1]["place"]}},
                ROW,
                sort=[("place", ASCENDING)],
                limit=_CHUNK,
            ).to_list()
            await self._compute(view, view.rows[-1], chunk)
            view.rows += chunk
            view.is_complete = len(chunk) < _CHUNK
            if chunk and not to_end and view.number_of(chunk[-1]) == chunk[-1]["version"]:
                break
        return view

    async def _last_before(self, row: Document, **wanted: None) -> Document | None:
        before: Document = {"page": row["page"], "place": {"$lt": row["place"]}, **wanted}
        found: Document | None = await self._snapshots.find_one(
            before, ROW, sort=[("place", DESCENDING)]
        )
        return found

    async def _compute(self, view: _View, last: Document | None, rows: list[Document]) -> None:
        """The numbers of rows that stand behind `last`."""
        for row in [*([last] if last else []), *rows]:
            view.places[row["_id"]] = row["place"]
        named = {row["previous"]["key"] for row in rows} | {row.get("base") for row in rows}
        if unknown := [key for key in named - view.places.keys() if key is not None]:
            found = self._snapshots.find({"_id": {"$in": unknown}}, {"place": True})
            view.places |= {each["_id"]: each["place"] for each in await found.to_list()}
        key = None if last is None else last["_id"]
        number = 0 if last is None else view.number_of(last)
        for row in rows:
            link = row["previous"]
            if link["key"] in view.places or link["number"] <= number:
                link = {"key": key, "number": number}
            before = link["number"]
            number = next_number(row["claimed"], before)
            view.numbers[row["_id"]] = Number(number, before, link)
            key = row["_id"]

    # What is to be

    async def _set_numbers(self, view: _View) -> bool:
        """The highest first: then none is there twice, except where a version has moved."""
        changes = [
            UpdateOne(
                {"_id": row["_id"], "version": row["version"], "place": row["place"]},
                {"$set": {"version": new.number, "previous": new.link}},
            )
            for row in reversed(view.rows)
            if (new := view.numbers[row["_id"]]).number != row["version"]
        ]
        await bulk(self._snapshots, changes, ordered=True)
        return bool(changes)

    async def _set_logs(self, view: _View) -> bool:
        logs = self._db.change_logs
        keys = [row["_id"] for row in view.rows]
        found = await logs.find(
            {"_id": {"$in": keys}}, {"version": True, "numbered": True}
        ).to_list()
        changes: list[tuple[Document, Document]] = []
        is_changed = False
        for log in sorted(found, key=lambda each: -view.numbers[each["_id"]].number):
            new = view.numbers[log["_id"]]
            wanted = log_numbers(new.number, new.before)
            if log["version"] != wanted or not log["numbered"]:
                changes.append((log, wanted))
        rest = changes
        while rest:
            failed = await bulk(
                logs,
                [
                    UpdateOne(log, {"$set": {"version": wanted, "numbered": True}})
                    for log, wanted in rest
                ],
                ordered=True,
            )
            index = min(failed, default=len(rest))
            is_changed |= index > 0
            if failed:  # another log has the number still
                log, wanted = rest[index]
                waiting = {"version": wanted, "numbered": False}
                if log != {"_id": log["_id"]} | waiting:
                    await logs.update_one(log, {"$set": waiting})
                    is_changed = True
            rest = rest[index + 1 :]
        return is_changed

    async def _set_page(self, view: _View) -> bool:
        """It shows the newest version. Where it shows one that is not there, another process is
        about to insert that."""
        page = await self._db.pages.find_one({"_id": view.page}, {"contentKey": 1, "version": 1})
        if page is None:
            return False
        shown, number = page.get("contentKey"), page.get("version")
        contents = view.contents
        as_read = {"_id": view.page, "contentKey": shown, "version": number}
        if not view.is_complete or not contents or shown == contents[-1]["_id"]:
            known = view.numbers.get(shown)
            if known is None or known.number == number:
                return False
            await self._db.pages.update_one(as_read, {"$set": {"version": known.number}})
            return True
        is_there = shown is None or shown in view.places
        if not is_there and await self._snapshots.find_one({"_id": shown}, {"_id": 1}) is None:
            return False
        return await self._show(as_read, contents[-1], view.number_of(contents[-1]))

    async def _show(self, as_read: Document, row: Document, number: int) -> bool:
        content = await self._contents.read(row["_id"])
        whole = await self._snapshots.find_one({"_id": row["_id"]}, {"snapshotHash": 1})
        if content is None or whole is None:
            return False
        fields = content_fields(decoded(content), content, whole["snapshotHash"], row["_id"])
        fields |= {"version": number, "places.content": row["place"]}
        shown = await self._db.pages.update_one(as_read, {"$set": fields})
        return shown.modified_count > 0

    async def _set_kept(self, view: _View) -> bool:
        contents = view.contents
        changes: list[UpdateOne] = []
        newest = contents[-1] if contents and view.is_complete else None
        for row in contents:
            if row is newest and ("base" in row or "expireAt" in row):
                changes += await self._whole(row, is_newest=True)
            elif view.places.get(row.get("base"), row["place"]) < row["place"]:
                changes += await self._whole(row, is_newest=False)
        if changes:  # first: two versions are never to be deltas against each other
            await bulk(self._snapshots, changes)
            return True
        superseded = []
        for row, newer in pairwise(contents):
            is_whole = is_kept_whole(view.number_of(row), view.number_of(newer)) or "moved" in row
            if "base" not in row and not is_whole and not _outlives(row, newer):
                superseded.append((row, newer))
            elif "expireAt" not in row:
                expires = self._expiry(row, newer)
                as_read = {"_id": row["_id"], "expireAt": None, "place": row["place"]}
                changes.append(UpdateOne(as_read, {"$set": {"expireAt": expires}}))
        changes += await self._deltas(view.page, superseded)
        await bulk(self._snapshots, changes)
        return bool(changes)

    async def _whole(self, row: Document, *, is_newest: bool) -> list[UpdateOne]:
        content = await self._contents.read(row["_id"])
        unset = {"base": True} | ({"expireAt": True} if is_newest else {})
        update: Document = {"$unset": unset}
        if "base" in row:
            if content is None:
                return []
            update["$set"] = {"parsed": await packed(content)}
        as_read = {name: row.get(name) for name in ("_id", "base", "place", "bare")}
        return [UpdateOne(as_read, update)]

    async def _deltas(
        self, page: str, superseded: list[tuple[Document, Document]]
    ) -> list[UpdateOne]:
        """Of versions, each with the next newer one."""
        if not superseded:
            return []
        newer_of = {row["_id"]: (row, newer) for row, newer in superseded}
        places = {each["place"] for pair in superseded for each in pair}
        found = self._snapshots.find(
            {"page": page, "place": {"$in": list(places)}}, _PACKED, sort=[("place", DESCENDING)]
        )
        changes: list[UpdateOne] = []
        newer_key, newer_content = None, b""
        async for document, content in self._contents.along(found):
            if content is None:
                continue
            row, newer = newer_of.get(document["_id"], (None, None))
            if row is not None and newer is not None and newer["_id"] == newer_key:
                made = await difference(content, newer_content)
                expires = self._expiry(row, newer)
                changes.append(superseded_by(row["_id"], newer["_id"], made, expires, row["place"]))
            newer_key, newer_content = document["_id"], content
        return changes

    def _expiry(self, row: Document, newer: Document) -> datetime:
        """Never after that of a version which it is a delta against."""
        expires: datetime = row.get("expireAt") or expiry(self._db.server_time(), self._keep_days)
        if "expireAt" in newer:
            expires = min(expires, newer["expireAt"] - _TICK)
        return expires


def _outlives(row: Document, newer: Document) -> bool:
    return outlives(row.get("expireAt"), newer.get("expireAt"))
