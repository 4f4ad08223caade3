"""The collections of pages, versions, prices and changes, for a dump."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from pymongo import DESCENDING, UpdateOne

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.dump import Items, Kind, Session
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.page_codec import (
    MOST_BYTES,
    Parts,
    checked_part,
    decimal_of,
    log_document,
    log_of,
    page_of,
    page_update,
    parts_of,
    place_at,
    price_document,
    validator_fields,
    version_document,
)
from webloom.adapters.mongodb.page_contents import Contents, expiry
from webloom.adapters.mongodb.page_versions import Versions, log_numbers
from webloom.adapters.mongodb.page_writes import bulk
from webloom.deltas import applied, compressed
from webloom.domain.errors import EventRefused, StoreUnavailable
from webloom.domain.retention import Retention
from webloom.domain.storage_event import EventPrice, Place, page_key
from webloom.parsing.storage_event import canonical
from webloom.ports.dump import WholeLog, WholePage, WholePrice, WholeVersion
from webloom.stores.whole import (
    event_of,
    json_value,
    mended,
    part_events,
    plain_amount,
    whole_page,
    without_nul,
)

_TS_BITS = 1 << 62


def _place(text: str, more: int = 0) -> Place:
    """What `place_at` was given, without so many texts at its end."""
    place = text.rsplit("\0", more)[0]
    ts, claimed = int(place[:16], 16) - _TS_BITS, int(place[16:32], 16)
    return Place(ts, claimed, without_nul(place[33:]) or "")


class _PageKind(Kind):
    def __init__(self, database: MongoDatabase, collection: Collection, keep: Retention) -> None:
        super().__init__(database, collection)
        self.keep = keep
        self._versions = Versions(database, keep.snapshots)

    def key(self, item: Any) -> str:
        return str(item.key)

    async def settle_versions(self, items: Sequence[WholeVersion | WholeLog]) -> None:
        """As after an event, from the oldest of each page on."""
        found = self.db.snapshots.find(
            {"_id": {"$in": [item.key for item in items]}},
            {"page": True},
            sort=[("place", DESCENDING)],
        )
        oldest = {each["page"]: each["_id"] async for each in found}
        await asyncio.gather(*(self._versions.settle(key, to_end=True) for key in oldest.values()))


class _Pages(_PageKind):
    def key(self, item: WholePage) -> str:
        return page_key(item.job_id, item.url)

    def item(self, document: Document) -> WholePage:
        texts = document["places"]
        places = {name: _place(texts[name]) for name in _PARTS & texts.keys()}
        if "price" in texts:
            places["price"] = _place(texts["price"], more=1)
        validated = texts.get("validators")
        validated_at = None if validated is None else _place(validated).ts
        return whole_page(page_of(document), places, validated_at)

    async def put(self, items: Sequence[WholePage]) -> list[Any]:
        """As an event does it: of each part the latest counts."""
        updates = [
            UpdateOne(
                {"_id": self.key(item)},
                page_update(item.job_id, item.url, _parts(item), item.last_updated),
                upsert=True,
            )
            for item in items
        ]
        if failed := await bulk(self.collection, updates):  # others made them just now
            await self.collection.bulk_write([updates[index] for index in failed])
        found = await self.find(items)
        return [found[self.key(item)][1] for item in items]


_PARTS = {"classification", "availability"}


def _parts(page: WholePage) -> Parts:
    parts = {name: parts_of(event, None)[name] for name, event in part_events(page).items()}
    if page.checked_at is not None and page.outcome is not None:
        parts["checked"] = checked_part(page.checked_at, page.outcome, page.error)
    if page.validated_at is not None:
        place = place_at(page.validated_at, 0, *page.validators.order)
        parts["validators"] = place, validator_fields(page.validators)
    return parts


class _Versions(_PageKind):
    settles = True
    sort = (("page", DESCENDING), ("place", DESCENDING))

    def __init__(self, database: MongoDatabase, collection: Collection, keep: Retention) -> None:
        super().__init__(database, collection, keep)
        self._contents = Contents(database)

    def behind(self, document: Document) -> Document:
        page, place = document["page"], document["place"]
        return {"page": {"$lte": page}, "$nor": [{"page": page, "place": {"$gte": place}}]}

    async def items(self, documents: AsyncIterator[Document], session: Session) -> Items:
        """Each is read with the content of the one before, where it is a delta against that. One
        whose content can't be read any more, as its base has expired, is left out."""
        base, data = None, b""
        async for document in documents:
            content = None
            if "parsed" in document:
                is_next = base is not None and document.get("base") == base
                found = await self._content(document, data if is_next else None, session)
                if found is None:
                    continue
                base, data = document["_id"], found
                content = json_value(data)
            item = WholeVersion(
                key=document["_id"],
                job_id=document["jobId"],
                url=document["url"],
                number=int(document["version"]),
                place=_place(document["place"], more=1),
                content=content,
                expires_at=document.get("expireAt"),
            )
            yield document, item

    async def _content(
        self, document: Document, newer: bytes | None, session: Session
    ) -> bytes | None:
        """`newer` is the content of its base."""
        try:
            if newer is not None:
                return await asyncio.to_thread(applied, document["parsed"], newer)
            return await self._contents.read(document["_id"], session)
        except ValueError as error:
            raise StoreUnavailable(
                f"MongoDB at {self.db.address}: version {document['version']} of "
                f"{document['url']} can't be read: {error}"
            ) from error

    async def documents(self, items: Sequence[WholeVersion]) -> list[Document]:
        return await asyncio.to_thread(lambda: [_version_document(item) for item in items])

    def replacement(self, new: Document, here: Document) -> Document:
        """Others may be deltas against one that moves: it stays whole."""
        moved = {"moved": True} if new["place"] < here["place"] or "moved" in here else {}
        return new | moved

    async def settle(self, items: Sequence[WholeVersion]) -> None:
        """Numbers, deltas, what is superseded, and what the page shows, which may be new."""
        filled = [item for item in reversed(items) if item.content is not None]
        newest = {(item.job_id, item.url): item.place.ts for item in filled}
        shown = [
            UpdateOne({"_id": page_key(*page)}, page_update(*page, {}, ts), upsert=True)
            for page, ts in newest.items()
        ]
        await bulk(self.db.pages, shown)
        await self.settle_versions(items)


def _version_document(item: WholeVersion) -> Document:
    """Whole: `settle` makes deltas."""
    body = None if item.content is None else compressed(canonical(item.content))
    if body is not None and len(body) > MOST_BYTES:
        raise EventRefused(
            f"version {item.number} of {item.url} takes {len(body):,} bytes, and MongoDB holds "
            f"{MOST_BYTES:,} in a document"
        )
    before = item.number - 1 if item.number > item.place.claimed else 0  # 0: whatever is there
    return (
        version_document(event_of(item, item.place), body)
        | _expires(item)
        | {
            "_id": item.key,
            "place": place_at(*item.place, item.key),
            "version": item.number,
            "previous": {"key": None, "number": before},
        }
    )


def _expires(item: WholeVersion | WholePrice) -> Document:
    return {} if item.expires_at is None else {"expireAt": item.expires_at}


class _Prices(_PageKind):
    settles = True
    sort = (("jobId", 1), ("url", 1), ("place", DESCENDING))

    def behind(self, document: Document) -> Document:
        job_id, url = document["jobId"], document["url"]
        others = [{"jobId": {"$gt": job_id}}, {"jobId": job_id, "url": {"$gt": url}}]
        earlier = {"jobId": job_id, "url": url, "place": {"$lt": document["place"]}}
        return {"$or": [*others, earlier]}

    def item(self, document: Document) -> WholePrice:
        price = plain_amount(decimal_of(document["price"]))
        assert price is not None  # noqa: S101 - a record without one is never written
        return WholePrice(
            key=document["_id"],
            job_id=document["jobId"],
            url=document["url"],
            ts=int(document["timestamp"]),
            price=price,
            currency=document["currency"],
            change_percent=plain_amount(decimal_of(document["changePercent"])),
            claimed=document["claimed"] or 0,
            version_key=document["versionKey"],
            expires_at=document.get("expireAt"),
        )

    def document(self, item: WholePrice) -> Document:
        price = EventPrice(
            current=item.price, currency=item.currency, change_percent=item.change_percent
        )
        tie = (item.version_key, str(item.currency), str(item.change_percent))
        own = {
            "_id": item.key,
            "place": place_at(item.ts, 0, item.key),
            "versionKey": item.version_key,
            "rank": place_at(0, item.claimed, *tie),
        }
        event = event_of(item, Place(item.ts, item.claimed, ""), price=price)
        return price_document(event, price) | own | _expires(item)

    async def documents(self, items: Sequence[WholePrice]) -> list[Document]:
        """With the numbers that their versions have here."""
        keys = [each.version_key for each in items]
        found = self.db.snapshots.find({"_id": {"$in": keys}}, {"version": 1})
        numbers = {each["_id"]: each["version"] async for each in found}
        documents = await super().documents(items)
        for document in documents:
            document["version"] = numbers.get(document["versionKey"], document["version"])
        return documents

    async def settle(self, items: Sequence[WholePrice]) -> None:
        """The latest of a page does not expire, all others do, and the page knows it."""
        for page in {page_key(each.job_id, each.url) for each in items}:
            latest = await self.collection.find_one({"page": page}, sort=[("place", DESCENDING)])
            if latest is None:
                continue
            if "expireAt" in latest:
                await self.collection.update_one(
                    {"_id": latest["_id"]}, {"$unset": {"expireAt": True}}
                )
            await self.collection.update_many(
                {"page": page, "expireAt": None, "_id": {"$ne": latest["_id"]}},
                {"$set": {"expireAt": expiry(self.db.server_time(), self.keep.prices)}},
            )
            await self.db.pages.update_one(
                {"_id": page}, {"$max": {"places.record": latest["place"]}}
            )


class _Logs(_PageKind):
    settles = True

    def item(self, document: Document) -> WholeLog:
        log = log_of(document)
        return WholeLog(
            key=document["_id"],
            job_id=log.job_id,
            url=log.url,
            number=log.current,
            place=_place(document["place"], more=1),
            run_id=log.run_id,
            changes=mended(log.changes),
            alerts=log.alerts,
            expires_at=document["expireAt"],
            batch=document.get("batch"),
            untold=document.get("untold", False),
            is_keyed=document.get("keyed", False),
        )

    def document(self, item: WholeLog) -> Document:
        event = event_of(
            item, item.place, run_id=item.run_id, changes=item.changes, alerts=item.alerts
        )
        return log_document(event) | {
            "_id": item.key,
            "place": place_at(*item.place, item.key),
            "batch": item.batch,
            "untold": item.untold,
            "numbered": False,
            "keyed": item.is_keyed,
            "version": log_numbers(item.number, 0),
            "expireAt": item.expires_at,
        }

    async def settle(self, items: Sequence[WholeLog]) -> None:
        """Numbers as their versions have them. That of a version which is gone stays."""
        await self.settle_versions(items)
        numbered = {"$set": {"numbered": True}}
        rest = [UpdateOne({"_id": item.key, "numbered": False}, numbered) for item in items]
        await bulk(self.collection, rest)


def page_kinds(database: MongoDatabase, keep: Retention) -> dict[str, Kind]:
    return {
        "pages": _Pages(database, database.pages, keep),
        "snapshots": _Versions(database, database.snapshots, keep),
        "price_history": _Prices(database, database.price_history, keep),
        "change_logs": _Logs(database, database.change_logs, keep),
    }
