"""How an event is stored, by writes of single documents that may each be made again:

    read the page and its newest version
      -> the version, the price record, the change log   (at the same time)
      -> the page
      -> read them and their neighbours: is all as it was read before?
           yes, and the version is the newest: the one before becomes a delta
           no, or the version was there: `Versions.settle`
           the prices that are superseded get their date of expiry
         and the run's counters

What is read first is only a guess, to be right at once in the usual case. A process that dies
between two writes leaves an event that comes again and does what is left.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import NamedTuple
from weakref import WeakValueDictionary

from pymongo import UpdateOne

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.page_codec import (
    Parts,
    content_fields,
    json_bytes,
    log_codec,
    log_document,
    logged_change,
    page_update,
    parts_of,
    price_document,
    superseding,
    triage_fields,
    version_document,
)
from webloom.adapters.mongodb.page_contents import (
    EMPTIED,
    difference,
    expiry,
    is_kept_whole,
    packed,
    superseded_by,
    unpacked,
)
from webloom.adapters.mongodb.page_versions import Versions, log_numbers
from webloom.adapters.mongodb.page_writes import Inserted, PageUpdate, PageWrites, VersionRange
from webloom.adapters.mongodb.primitives import MongoDocuments
from webloom.adapters.mongodb.watch_ledger import WatchLedger
from webloom.domain.change_log import LoggedChange, earliest
from webloom.domain.inbox import arrived
from webloom.domain.retention import Retention
from webloom.domain.storage_event import StorageEvent, next_number, page_key, with_first_time
from webloom.ports.pages import Stored
from webloom.stores.page_items import log_of, price_of
from webloom.stores.primitives import Now

_NO_LINK = {"key": None, "number": 0}


class _Made(NamedTuple):
    """An event as documents, without what depends on others."""

    event: StorageEvent
    page: str
    content: bytes | None
    parts: Parts
    version: Document | None
    price: Document | None
    log: Document | None


class _Begun(NamedTuple):
    """What was found, and what was made of it."""

    before: Document | None  # the newest version that was there
    is_newest: bool  # the event's version, by what was read
    is_first: bool  # nothing of its version was there, and no other version had its number
    is_new: bool


class EventWriter:
    def __init__(
        self, database: MongoDatabase, writes: PageWrites, ledger: WatchLedger, keep: Retention
    ) -> None:
        self._db = database
        self._retention = keep
        self._writes = writes
        self._ledger = ledger
        self._versions = Versions(database, keep.snapshots)
        self._logs = MongoDocuments(database, log_codec(database.change_logs))
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def store(self, event: StorageEvent) -> Stored:
        page = page_key(event.watch_id, event.url)
        # Events of one page that come to this process at once would only get in each other's way.
        async with self._turns.setdefault(page, asyncio.Lock()):
            event = await self._timed(event)
            expires = self._expiry(self._retention.change_logs)
            made = await _made(event, log_expires=expires)
            begun = await self._begin(made)
            if isinstance(begun, Stored):
                return begun
            number, _ = await asyncio.gather(self._settle(made, begun), self._ledger.count(event))
        return Stored(version=None if made.content is None else number, is_new=begun.is_new)

    async def needs_room(self, event: StorageEvent) -> bool:
        version = price = None
        with self._db.use():
            version = await self._db.snapshots.find_one({"_id": event.snapshot_key}, {"bare": True})
            if event.price is not None:
                price = await self._db.price_history.find_one({"_id": event.price_key}, {"_id": 1})
        bare = True if version is None else version.get("bare")
        if bare == EMPTIED and event.has_version:
            return False
        return event.needs_room(has_content=bare is not True, has_price=price is not None)

    async def _timed(self, event: StorageEvent) -> StorageEvent:
        if event.has_ts:
            return event
        version = price = None
        with self._db.use():
            version = await self._db.snapshots.find_one(
                {"_id": event.snapshot_key}, {"createdAt": True}
            )
            if event.price is not None:
                price = await self._db.price_history.find_one(
                    {"_id": event.price_key}, {"timestamp": True}
                )
        return with_first_time(
            event,
            None if version is None else int(version["createdAt"]),
            None if price is None else int(price["timestamp"]),
        )

    async def _begin(self, made: _Made) -> _Begun | Stored:
        head, newest = await asyncio.gather(
            self._writes.heads.ask(made.page), self._writes.newest.ask(made.page)
        )
        if made.log is not None and head is not None and head.get("muted"):
            made.log.update(triage_fields(arrived(made.event.ts, is_muted=True)))
        before = newest[-1] if newest else None
        is_newest = made.version is not None and (
            before is None or before["place"] < made.version["place"]
        )
        if made.version is not None and not is_newest:
            with self._db.use():
                emptied = await self._db.snapshots.find_one(
                    {"_id": made.version["_id"], "bare": EMPTIED}, {"version": True}
                )
            if emptied is not None:
                number = None if made.content is None else int(emptied["version"])
                return Stored(version=number, is_new=False)
        self._guess_number(made, before if is_newest else None)
        version, price, log = await asyncio.gather(
            self._insert_version(made), self._insert_price(made), self._insert_log(made)
        )
        is_joined = version is Inserted.EXISTS and await self._join(made)
        is_known = head is not None and _is_known(made, head)
        if not is_known:
            await self._update_page(made)
        return _Begun(
            before=before,
            is_newest=is_newest,
            is_first=version is Inserted.CREATED and log is not Inserted.CONFLICT,
            is_new=is_joined or not is_known or Inserted.CREATED in (version, price, log),
        )

    async def _settle(self, made: _Made, begun: _Begun) -> int | None:
        """The number of the version."""
        start = None
        if begun.is_first and begun.is_newest and made.content is not None:
            start = "" if begun.before is None else begun.before["place"]
        head, rows = await asyncio.gather(
            self._writes.heads.ask(made.page), self._rows(made.page, start)
        )
        number, _ = await asyncio.gather(
            self._settle_version(made, begun, head, rows), self._supersede_prices(made, head)
        )
        return number

    async def _rows(self, page: str, start: str | None) -> list[Document]:
        return [] if start is None else await self._writes.rows.ask(VersionRange(page, start))

    # The version

    def _guess_number(self, made: _Made, before: Document | None) -> None:
        """For all documents that have one."""
        if made.version is None:
            return
        link: Document = dict(_NO_LINK)
        if before is not None:
            link = {"key": before["_id"], "number": before["version"]}
        number = next_number(made.version["claimed"], link["number"])
        made.version.update(version=number, previous=link)
        if made.content is None:
            made.version["expireAt"] = self._expiry(self._retention.emptied_versions)
        else:
            made.parts["content"][1]["version"] = number
            if made.price is not None:
                made.price["version"] = number
        if made.log is not None:
            made.log["version"] = log_numbers(number, link["number"])

    async def _insert_version(self, made: _Made) -> Inserted | None:
        return None if made.version is None else await self._writes.versions.ask(made.version)

    async def _insert_log(self, made: _Made) -> Inserted | None:
        if made.log is None:
            return None
        inserted = await self._writes.logs.ask(made.log)
        if inserted is Inserted.CONFLICT:
            waiting = await self._writes.logs.ask(made.log | {"numbered": False})
            inserted = Inserted.EXISTS if waiting is Inserted.EXISTS else Inserted.CONFLICT
        if inserted is Inserted.EXISTS:
            await self._logs.change(_keep_earliest, [(made.log["_id"], logged_change(made.log))])
        return inserted

    async def _join(self, made: _Made) -> bool:
        """The version was there: it has the earliest place that it came with, and the first
        content. The page shows it if it is the newest, as `settle` finds. Whether anything has
        changed."""
        version = made.version
        assert version is not None  # noqa: S101 - it is what was there
        made.parts.pop("content", None)
        earlier = {name: version[name] for name in ("place", "createdAt")}
        changes = [
            UpdateOne(
                {"_id": version["_id"], "place": {"$gt": version["place"]}},
                {"$set": earlier | {"previous": _NO_LINK, "moved": True}},
            )
        ]
        if "parsed" in version:
            changes.append(
                UpdateOne(
                    {"_id": version["_id"], "bare": True},
                    {
                        "$set": {"parsed": version["parsed"]},
                        "$unset": {"bare": True, "expireAt": True},
                    },
                )
            )
        with self._db.use():
            joined = await self._db.snapshots.bulk_write(changes)
        return joined.modified_count > 0

    async def _settle_version(
        self, made: _Made, begun: _Begun, head: Document | None, rows: list[Document]
    ) -> int | None:
        if made.version is None:
            return None
        if not _is_as_guessed(made, begun.before, head, rows):
            with self._db.use():
                return await self._versions.settle(made.version["_id"], to_end=not begun.is_first)
        if begun.before is not None:
            await self._supersede(begun.before, made)
        return int(made.version["version"])

    async def _supersede(self, before: Document, made: _Made) -> None:
        assert made.version is not None  # noqa: S101 - it is what supersedes
        assert made.content is not None  # noqa: S101 - as above
        key, expires = before["_id"], self._expiry(self._retention.snapshots)
        place = before["place"]
        if is_kept_whole(before["version"], made.version["version"]) or "moved" in before:
            update = UpdateOne(
                {"_id": key, "expireAt": None, "place": place}, {"$set": {"expireAt": expires}}
            )
        else:
            old = await unpacked(before["parsed"])
            smaller = await difference(old, made.content)
            update = superseded_by(key, made.version["_id"], smaller, expires, place)
        await self._writes.change_versions.ask(update)

    # The page and its price

    async def _update_page(self, made: _Made) -> None:
        event = made.event
        update = page_update(event.watch_id, event.url, made.parts, event.ts)
        await self._writes.pages.ask(PageUpdate(made.page, update))

    async def _insert_price(self, made: _Made) -> Inserted | None:
        if made.price is None:
            return None
        inserted = await self._writes.prices.ask(made.price)
        if inserted is Inserted.EXISTS:
            names = ("currency", "changePercent", "version", "claimed", "versionKey", "rank")
            as_first = {"_id": made.price["_id"], "rank": {"$gt": made.price["rank"]}}
            fields = {name: made.price[name] for name in names}
            await self._writes.change_prices.ask(UpdateOne(as_first, {"$set": fields}))
            await self._take_price_place(made.price, made.parts)
        return inserted

    async def _take_price_place(self, price: Document, parts: Parts) -> None:
        """Of the record that was there: it may have another time."""
        with self._db.use():
            found = await self._db.price_history.find_one({"_id": price["_id"]}, {"place": True})
        if found is not None:
            price["place"] = found["place"]
            parts["record"] = found["place"], {}

    async def _supersede_prices(self, made: _Made, head: Document | None) -> None:
        """All that are earlier than the latest, which the page knows: of two records that come at
        the same time, the earlier finds the later one there."""
        if made.price is None:
            return
        latest = made.price["place"] if head is None else head["places"]["record"]
        expires = self._expiry(self._retention.prices)
        await self._writes.change_prices.ask(superseding(made.page, latest, expires))

    def _expiry(self, days: float) -> datetime:
        return expiry(self._db.server_time(), days)


def _keep_earliest(
    known: LoggedChange | None, new: LoggedChange, now: Now
) -> tuple[LoggedChange | None, None]:
    """One that has expired meanwhile stays away."""
    return None if known is None else earliest(known, new), None


async def _made(event: StorageEvent, *, log_expires: datetime) -> _Made:
    """Raises EventRefused."""
    key = event.snapshot_key
    content = fields = version = price = log = None
    if event.parsed is not None:
        content = json_bytes(event.parsed)
        fields = content_fields(event.parsed, content, event.snapshot_hash, key)
        version = version_document(event, key, await packed(content))
    elif event.has_version:
        version = version_document(event, key, None)
    if (recorded := price_of(event, key)) is not None:
        price = price_document(recorded)
    if event.is_change:
        log = log_document(log_of(event, key, log_expires))
    return _Made(
        event=event,
        page=page_key(event.watch_id, event.url),
        content=content,
        parts=parts_of(event, fields),
        version=version,
        price=price,
        log=log,
    )


def _is_known(made: _Made, head: Document) -> bool:
    """Whether the page has all of it, or later ones."""
    places = head["places"]
    return head.get("lastUpdated", -1) >= made.event.ts and all(
        places.get(name, "") >= place for name, (place, _) in made.parts.items()
    )


def _is_as_guessed(
    made: _Made, before: Document | None, head: Document | None, rows: list[Document]
) -> bool:
    if made.version is None or head is None or not rows:
        return False
    *others, own = rows
    if own["_id"] != made.version["_id"] or own["version"] != made.version["version"]:
        return False
    if (head.get("contentKey"), head.get("version")) != (own["_id"], own["version"]):
        return False
    if before is None:
        return not others
    return len(others) == 1 and all(
        others[0].get(name) == before.get(name)
        for name in ("_id", "place", "version", "base", "expireAt")
    )
