"""The collections of pages, versions, prices and changes, for a dump."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from bson.int64 import Int64
from pymongo import DESCENDING, UpdateOne

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.dump import Kind, Session
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.page_codec import (
    MOST_BYTES,
    NO_ORDER,
    amount,
    bson_fields,
    checked_part,
    content_fields,
    decimal_of,
    json_bytes,
    log_of,
    page_of,
    place_at,
    price_fields,
    validator_fields,
)
from webloom.adapters.mongodb.page_contents import Contents, expiry, is_kept_whole
from webloom.adapters.mongodb.page_contents import packed as compress
from webloom.adapters.mongodb.page_versions import log_numbers
from webloom.adapters.mongodb.page_writes import ROW, bulk
from webloom.deltas import applied
from webloom.domain.errors import EventRefused, StoreUnavailable
from webloom.domain.retention import Retention
from webloom.domain.storage_event import EventPrice, Place, milliseconds_of, next_number, page_key
from webloom.ports.dump import PagePart, PagePrice, WholeLog, WholePage, WholePrice, WholeVersion
from webloom.stores.whole import (
    json_value,
    mended,
    packed,
    plain_amount,
    plain_price,
    without_nul,
)

_PREFIX = 32  # characters of a place that hold its numbers
_TS_BITS = 1 << 62


def _place_in(text: str) -> Place:
    """What `place_at` was given; nothing may follow."""
    ts, claimed = int(text[:16], 16) - _TS_BITS, int(text[16:_PREFIX], 16)
    return Place(ts, claimed, text[_PREFIX + 1 :].replace("\0", "\ufffd"))


def _keyed_place(text: str) -> Place:
    """Of a version, a log or a price: its key or its amount follows."""
    return _place_in(text.rpartition("\0")[0])


class _PageKind(Kind):
    def __init__(self, database: MongoDatabase, collection: Collection, keep: Retention) -> None:
        super().__init__(database, collection)
        self.keep = keep

    def key(self, item: Any) -> str:
        return str(item.key)


class _Pages(_PageKind):
    def key(self, item: WholePage) -> str:
        return page_key(item.job_id, item.url)

    def item(self, document: Document) -> WholePage:
        page, places = page_of(document), document["places"]

        def part(name: str, value: Any) -> PagePart | None:
            if value is None:
                return None
            return PagePart(place=_place_in(places[name]), value=mended(value))

        price = None
        if page.price is not None:
            given = EventPrice(
                current=page.price,
                list=page.list_price,
                currency=page.currency,
                change_percent=page.change_percent,
            )
            price = PagePrice(place=_keyed_place(places["price"]), price=plain_price(given))
        validated = places.get("validators")
        return WholePage(
            job_id=page.job_id,
            url=page.url,
            last_updated=page.last_updated,
            classification=part("classification", page.classification),
            price=price,
            availability=part("availability", page.availability),
            checked_at=None if page.last_checked is None else milliseconds_of(page.last_checked),
            outcome=page.last_outcome,
            error=without_nul(page.last_error),
            validated_at=None if validated is None else _place_in(validated).ts,
            validators=page.validators,
        )

    def document(self, item: WholePage) -> Document:
        places: dict[str, str] = {}
        document: Document = {
            "_id": page_key(item.job_id, item.url),
            "jobId": plain(item.job_id),
            "url": plain(item.url),
            "order": NO_ORDER,
            "places": places,
        }
        if item.last_updated is not None:
            document["lastUpdated"] = document["order"] = Int64(item.last_updated)
        if (part := item.classification) is not None:
            fields = {"classification": part.value}
            kept = bson_fields(fields, json_bytes(fields), "the classification")
            document |= {"classificationExact": kept.pop("exact", None), **kept}
            places["classification"] = place_at(*part.place)
        if item.price is not None:
            document |= price_fields(item.price.price)
            tie = f"{item.price.price.current.normalize():040f}"
            places["price"] = f"{place_at(*item.price.place)}\0{tie}"
        if (part := item.availability) is not None:
            document["availability"] = part.value
            places["availability"] = place_at(*part.place)
        if item.checked_at is not None and item.outcome is not None:
            places["checked"], fields = checked_part(item.checked_at, item.outcome, item.error)
            document |= fields
        if item.validated_at is not None:
            document |= validator_fields(item.validators)
            places["validators"] = place_at(item.validated_at)
        return document

    def replacement(self, new: Document, here: Document) -> Document:
        """What it shows of its newest version stays."""
        return here | new | {"places": here["places"] | new["places"]}


class _Versions(_PageKind):
    settles = True
    sort = (("page", DESCENDING), ("place", DESCENDING))
    kept = ("previous",)

    def __init__(self, database: MongoDatabase, collection: Collection, keep: Retention) -> None:
        super().__init__(database, collection, keep)
        self._contents = Contents(database)

    def behind(self, document: Document) -> Document:
        page, place = document["page"], document["place"]
        return {"page": {"$lte": page}, "$nor": [{"page": page, "place": {"$gte": place}}]}

    async def items(
        self, documents: AsyncIterator[Document], session: Session
    ) -> AsyncIterator[tuple[Document, Any]]:
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
            yield (
                document,
                WholeVersion(
                    key=document["_id"],
                    job_id=document["jobId"],
                    url=document["url"],
                    number=int(document["version"]),
                    place=_keyed_place(document["place"]),
                    content=content,
                    expires_at=document.get("expireAt"),
                ),
            )

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

    async def documents(
        self, items: Sequence[WholeVersion], *, are_new: bool = True
    ) -> list[Document]:
        """One that is replaced is whole: it may move."""
        rule = _may_be_delta if are_new else _never
        made = await asyncio.to_thread(packed, items, rule)
        documents = []
        for item in items:
            document = self.document(item)
            pack = made.get(item.key)
            if pack is None:
                document["bare"] = True
            elif len(pack.body) > MOST_BYTES:
                raise EventRefused(
                    f"version {item.number} of {item.url} takes {len(pack.body):,} bytes, and "
                    f"MongoDB holds {MOST_BYTES:,} in a document"
                )
            else:
                document |= {"parsed": pack.body} | ({"base": pack.base} if pack.base else {})
            documents.append(document)
        return documents

    def document(self, item: WholeVersion) -> Document:
        expires = {} if item.expires_at is None else {"expireAt": item.expires_at}
        return expires | {
            "_id": item.key,
            "jobId": plain(item.job_id),
            "url": plain(item.url),
            "page": page_key(item.job_id, item.url),
            "place": place_at(*item.place, item.key),
            "snapshotHash": plain(item.place.snapshot_hash),
            "createdAt": Int64(item.place.ts),
            "claimed": item.place.claimed,
            "version": item.number,
            "previous": {"key": None, "number": item.number - 1},
        }

    def replacement(self, new: Document, here: Document) -> Document:
        """Others may be deltas against one that moves: it stays whole."""
        moved = {"moved": True} if new["place"] < here["place"] or "moved" in here else {}
        return super().replacement(new, here) | moved

    async def settle(self, items: Sequence[WholeVersion]) -> None:
        for job_id, url in dict.fromkeys((each.job_id, each.url) for each in items):
            await self._settle(job_id, url)

    async def _settle(self, job_id: str, url: str) -> None:
        """Links to the version before; numbers of versions that only this store has; what the page
        shows; what is superseded."""
        page = page_key(job_id, url)
        rows = await self.collection.find({"page": page}, ROW, sort=[("place", 1)]).to_list()
        keys = {None, *(row["_id"] for row in rows)}
        changes, before = [], {"key": None, "number": 0}
        newest = next((row["_id"] for row in reversed(rows) if "bare" not in row), None)
        for row in rows:
            number, link = int(row["version"]), row["previous"]
            expected = next_number(row["claimed"], int(before["number"] or 0))
            if number <= int(before["number"] or 0):
                number = expected
            if link["key"] in keys:  # otherwise the version before has gone
                gap = {"key": None, "number": number - 1}
                link = before if number == expected else gap
            wanted = {"version": number, "previous": link}
            if "bare" not in row and "expireAt" not in row and row["_id"] != newest:
                wanted["expireAt"] = expiry(self.db.server_time(), self.keep.snapshots)
            if any(row.get(name) != value for name, value in wanted.items()):
                changes.append(UpdateOne({"_id": row["_id"]}, {"$set": wanted}))
            before = {"key": row["_id"], "number": number}
        await bulk(self.collection, changes)
        if newest is not None:
            await self._show(job_id, url, newest)

    async def _show(self, job_id: str, url: str, newest: str) -> None:
        """The newest version is whole and does not expire."""
        shown = {"_id": page_key(job_id, url)}
        version = await self.collection.find_one({"_id": newest})
        content = None if version is None else await self._content(version, None, None)
        if version is None or content is None:
            return
        if "base" in version or "expireAt" in version:
            whole = {"$set": {"parsed": await compress(content)}}
            unset = {"$unset": {"base": True, "expireAt": True}}
            await self.collection.update_one({"_id": newest}, whole | unset)
        fields = content_fields(json_value(content), content, version["snapshotHash"], newest)
        fields |= {"version": version["version"], "places.content": version["place"]}
        ts = Int64(version["createdAt"])
        await self.db.pages.update_one(
            shown,
            {
                "$set": fields,
                "$max": {"lastUpdated": ts, "order": ts},
                "$setOnInsert": {"jobId": plain(job_id), "url": plain(url)},
            },
            upsert=True,
        )


def _may_be_delta(version: WholeVersion, newer: WholeVersion) -> bool:
    """Its base goes later."""
    if is_kept_whole(version.number, newer.number):
        return False
    if newer.expires_at is None or version.expires_at is None:
        return newer.expires_at is None
    return version.expires_at < newer.expires_at


def _never(version: WholeVersion, newer: WholeVersion) -> bool:
    return False


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
        expires = {} if item.expires_at is None else {"expireAt": item.expires_at}
        tie = (item.version_key, str(item.currency), str(item.change_percent))
        return expires | {
            "_id": item.key,
            "jobId": plain(item.job_id),
            "url": plain(item.url),
            "page": page_key(item.job_id, item.url),
            "place": place_at(item.ts, 0, item.key),
            "price": amount(item.price),
            "currency": item.currency and plain(item.currency),
            "changePercent": amount(item.change_percent),
            "timestamp": Int64(item.ts),
            "version": item.claimed or None,
            "claimed": item.claimed or None,
            "versionKey": item.version_key,
            "rank": place_at(0, item.claimed, *tie),
        }

    async def documents(
        self, items: Sequence[WholePrice], *, are_new: bool = True
    ) -> list[Document]:
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
            place=_keyed_place(document["place"]),
            run_id=log.run_id,
            changes=mended(log.changes),
            alerts=log.alerts,
            expires_at=document["expireAt"],
            batch=document.get("batch"),
            untold=document.get("untold", False),
            is_keyed=document.get("keyed", False),
        )

    def document(self, item: WholeLog) -> Document:
        changes = {"changes": item.changes}
        return {
            "_id": item.key,
            "jobId": plain(item.job_id),
            "url": plain(item.url),
            "page": page_key(item.job_id, item.url),
            "place": place_at(*item.place, item.key),
            **bson_fields(changes, json_bytes(changes), f"the change of {item.url}"),
            "timestamp": Int64(item.place.ts),
            "runId": item.run_id and plain(item.run_id),
            "alerts": [plain(each) for each in item.alerts],
            "batch": item.batch and plain(item.batch),
            "untold": item.untold,
            "numbered": False,
            "keyed": item.is_keyed,
            "version": log_numbers(item.number, 0),
            "expireAt": item.expires_at,
        }

    async def settle(self, items: Sequence[WholeLog]) -> None:
        """Numbers as their versions have them, the highest first: no two logs of a page may have
        the same."""
        keys = [each.key for each in items]
        found = self.db.snapshots.find({"_id": {"$in": keys}}, {"version": 1, "previous": 1})
        versions = {each["_id"]: each async for each in found}
        changes = []
        for item in sorted(items, key=lambda each: -each.number):
            number, before = item.number, 0
            if (version := versions.get(item.key)) is not None:
                number, before = version["version"], version["previous"]["number"]
            numbers = {"version": log_numbers(number, before), "numbered": True}
            changes.append(UpdateOne({"_id": item.key}, {"$set": numbers}))
        for _ in range(2):  # the second time, others have given up their numbers
            changes = [changes[index] for index in await bulk(self.collection, changes)]


def page_kinds(database: MongoDatabase, keep: Retention) -> dict[str, Kind]:
    return {
        "pages": _Pages(database, database.pages, keep),
        "snapshots": _Versions(database, database.snapshots, keep),
        "price_history": _Prices(database, database.price_history, keep),
        "change_logs": _Logs(database, database.change_logs, keep),
    }
