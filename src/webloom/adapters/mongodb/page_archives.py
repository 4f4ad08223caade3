"""Pages, their changes and prices of a MongoDB database, whole: to be carried elsewhere, or brought
here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from bson.int64 import Int64
from pymongo import ASCENDING, UpdateOne

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, as_written, plain
from webloom.adapters.mongodb.page_contents import Contents
from webloom.adapters.mongodb.page_contents import packed as compress
from webloom.adapters.mongodb.page_documents import (
    NO_ORDER,
    amount,
    bson_fields,
    checked_part,
    content_fields,
    decimal_of,
    from_json,
    json_bytes,
    log_of,
    page_of,
    place_at,
    price_fields,
    validator_fields,
)
from webloom.adapters.mongodb.page_versions import log_numbers, next_number
from webloom.adapters.mongodb.page_writes import bulk
from webloom.adapters.mongodb.version_archives import Link, keyed_place, place_in
from webloom.adapters.mongodb.watch_archives import WatchArchive, put_documents
from webloom.domain.errors import StoreUnavailable
from webloom.domain.storage_event import EventPrice, milliseconds_of, page_key
from webloom.ports.watch_archive import (
    PagePart,
    PagePrice,
    WholeLog,
    WholePage,
    WholePrice,
    is_newer_log,
    is_newer_page,
    is_newer_price,
    plain_amount,
    plain_json,
    plain_price,
)

_PAGES_AT_ONCE = 16


class MongoPageArchive(WatchArchive[WholePage]):
    """After the versions and the prices, of which a page shows some."""

    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, database.pages)
        self._contents = Contents(database)

    def carried(self) -> Document:
        return {}

    def key(self, item: WholePage) -> str:
        return page_key(item.job_id, item.url)

    async def items(self, documents: list[Document]) -> list[WholePage]:
        return [_page_of(each) for each in documents]

    async def put(self, items: Sequence[WholePage]) -> None:
        keys = [self.key(each) for each in items]
        found = await self._documents.find({"_id": {"$in": keys}}).to_list()
        here = {each["_id"]: each for each in found}
        for start in range(0, len(items), _PAGES_AT_ONCE):
            part = items[start : start + _PAGES_AT_ONCE]
            await asyncio.gather(*(self._put(each, here.get(self.key(each))) for each in part))

    async def _put(self, item: WholePage, known: Document | None) -> None:
        key = self.key(item)
        await self._link(key)
        if known is not None and self.is_newer(_page_of(known), item):
            return
        document = _page_document(item)
        places = document["places"]
        if item.newest is not None:
            shown, place = await self._shown(item.newest)
            document |= shown
            places["content"] = place
        latest = await self._db.price_history.find_one({"page": key, "expireAt": None})
        if latest is not None:
            places["record"] = latest["place"]
        as_read = {} if known is None else {"places": known["places"]}
        await self._documents.replace_one({"_id": key} | as_read, document, upsert=known is None)

    async def _link(self, page: str) -> None:
        """Each version to the one before it, unless that one has gone and was linked to. Versions
        that only this store has are numbered anew where they must."""
        rows = await self._db.snapshots.find(
            {"page": page}, {"claimed": 1, "version": 1, "previous": 1}, sort=[("place", ASCENDING)]
        ).to_list()
        keys = {None, *(row["_id"] for row in rows)}
        changes, before = [], Link(None, 0)
        for row in rows:
            number, link = int(row["version"]), dict(row["previous"])
            expected = next_number(row["claimed"], before.number)
            if number <= before.number:
                number = expected
            if link["key"] in keys:
                gap = Link(None, number - 1)  # others were here
                link = (before if number == expected else gap)._asdict()
            if (number, link) != (row["version"], row["previous"]):
                wanted = {"version": number, "previous": link}
                changes.append(UpdateOne({"_id": row["_id"]}, {"$set": wanted}))
            before = Link(row["_id"], number)
        await bulk(self._db.snapshots, changes)

    async def _shown(self, newest: str) -> tuple[Document, str]:
        """What the page has of its newest version, and where that one stands."""
        version = await self._db.snapshots.find_one(
            {"_id": newest}, {"version": 1, "place": 1, "snapshotHash": 1}
        )
        content = await self._contents.read(newest)
        if version is None or content is None:
            raise StoreUnavailable(
                f"MongoDB at {self._db.address}: the version {newest} of a page has gone since it "
                "was copied: copy again"
            )
        await self._db.snapshots.update_one(  # it is whole, and does not expire
            {"_id": newest, "expireAt": {"$exists": True}},
            {
                "$set": {"parsed": await compress(content)},
                "$unset": {"base": True, "expireAt": True},
            },
        )
        fields = content_fields(from_json(content), content, version["snapshotHash"], newest)
        return fields | {"version": version["version"]}, version["place"]

    def is_newer(self, one: WholePage, other: WholePage) -> bool:
        return is_newer_page(one, other)


def _page_of(document: Document) -> WholePage:
    page, places = page_of(document), document["places"]
    classification = availability = price = None
    if page.classification is not None:
        classification = PagePart(
            place=place_in(places["classification"]), value=plain_json(page.classification)
        )
    if page.availability is not None:
        availability = PagePart(
            place=place_in(places["availability"]), value=plain_json(page.availability)
        )
    if page.price is not None:
        given = EventPrice(
            current=page.price,
            list=page.list_price,
            currency=page.currency,
            change_percent=page.change_percent,
        )
        price = PagePrice(place=keyed_place(places["price"]), price=plain_price(given))
    validated = places.get("validators")
    return WholePage(
        job_id=page.job_id,
        url=page.url,
        newest=document.get("contentKey"),
        last_updated=page.last_updated,
        classification=classification,
        price=price,
        availability=availability,
        checked_at=None if page.last_checked is None else milliseconds_of(page.last_checked),
        outcome=page.last_outcome,
        error=page.last_error and page.last_error.replace("\0", "\ufffd"),
        validated_at=None if validated is None else place_in(validated).ts,
        validators=page.validators,
    )


def _page_document(page: WholePage) -> Document:
    places: dict[str, str] = {}
    document: Document = {
        "_id": page_key(page.job_id, page.url),
        "jobId": plain(page.job_id),
        "url": plain(page.url),
        "order": NO_ORDER,
        "places": places,
    }
    if page.last_updated is not None:
        document["lastUpdated"] = document["order"] = Int64(page.last_updated)
    if (part := page.classification) is not None:
        fields = {"classification": from_json(part.value)}
        kept = bson_fields(fields, json_bytes(fields), "the classification")
        document |= {"classificationExact": kept.pop("exact", None), **kept}
        places["classification"] = place_at(*part.place)
    if page.price is not None:
        document |= price_fields(page.price.price)
        tie = f"{page.price.price.current.normalize():040f}"
        places["price"] = f"{place_at(*page.price.place)}\0{tie}"
    if (part := page.availability) is not None:
        document["availability"] = from_json(part.value)
        places["availability"] = place_at(*part.place)
    if page.checked_at is not None and page.outcome is not None:
        places["checked"], fields = checked_part(page.checked_at, page.outcome, page.error)
        document |= fields
    if page.validated_at is not None:
        given = page.validators
        document |= validator_fields(
            {
                "etag": given.etag,
                "lastModified": given.last_modified,
                "bodyHash": given.body_hash,
            }
        )
        places["validators"] = place_at(page.validated_at)
    return document


class MongoChangeLogArchive(WatchArchive[WholeLog]):
    """After the pages, with which versions learn of the ones before."""

    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, database.change_logs)

    def key(self, item: WholeLog) -> str:
        return item.key

    def size(self, document: Document) -> int:
        return len(json_bytes(as_written(document["changes"])))

    async def items(self, documents: list[Document]) -> list[WholeLog]:
        return [_log_of(each) for each in documents]

    async def put(self, items: Sequence[WholeLog]) -> None:
        keys = [each.key for each in items]
        found = self._db.snapshots.find({"_id": {"$in": keys}}, {"previous": 1, "version": 1})
        versions = {each["_id"]: each for each in await found.to_list()}
        documents = [
            _log_document(each, versions.get(each.key))
            for each in sorted(items, key=lambda each: -each.number)
        ]
        # One whose number another log has still waits, and is asked for once more at the end.
        for make in (_added_log, _changed_log):
            taken = await bulk(self._documents, [make(each) for each in documents])
            waiting = [make(documents[index] | {"numbered": False}) for index in taken]
            await bulk(self._documents, waiting)
        await bulk(self._documents, [_changed_log(each) for each in documents])
        await bulk(self._documents, [_gathered_log(each) for each in items if each.batch])

    def is_newer(self, one: WholeLog, other: WholeLog) -> bool:
        return is_newer_log(one, other)


def _log_of(document: Document) -> WholeLog:
    log = log_of(document)
    return WholeLog(
        key=document["_id"],
        job_id=log.job_id,
        url=log.url,
        number=log.current,
        place=keyed_place(document["place"]),
        run_id=log.run_id,
        changes=plain_json(log.changes),
        alerts=log.alerts,
        expires_at=document["expireAt"],
        batch=document.get("batch"),
        untold=document.get("untold", False),
        is_keyed=document.get("keyed", False),
    )


def _log_document(log: WholeLog, version: Document | None) -> Document:
    """With the numbers that its version has here, if it is here."""
    number, before = log.number, 0
    if version is not None:
        number, before = version["version"], version["previous"]["number"]
    changes: dict[str, Any] = {"changes": from_json(log.changes)}
    return {
        "_id": log.key,
        "jobId": plain(log.job_id),
        "url": plain(log.url),
        "page": page_key(log.job_id, log.url),
        "place": place_at(*log.place, log.key),
        **bson_fields(changes, json_bytes(changes), f"the change of {log.url}"),
        "timestamp": Int64(log.place.ts),
        "runId": log.run_id and plain(log.run_id),
        "alerts": [plain(each) for each in log.alerts],
        "untold": log.untold,
        "numbered": True,
        "keyed": log.is_keyed,
        "version": log_numbers(number, before),
        "expireAt": log.expires_at,
    }


def _added_log(document: Document) -> UpdateOne:
    return UpdateOne({"_id": document["_id"]}, {"$setOnInsert": document}, upsert=True)


def _changed_log(document: Document) -> UpdateOne:
    """What people were told of here is told."""
    here = {"_id": document["_id"], "place": {"$gte": document["place"]}}
    fields = {name: value for name, value in document.items() if name != "untold"}
    return UpdateOne(here, {"$set": fields, "$min": {"untold": document["untold"]}})


def _gathered_log(log: WholeLog) -> UpdateOne:
    return UpdateOne({"_id": log.key, "batch": None}, {"$set": {"batch": log.batch}})


class MongoPriceArchive(WatchArchive[WholePrice]):
    """After the versions, whose numbers they show."""

    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, database.price_history)

    def key(self, item: WholePrice) -> str:
        return item.key

    async def items(self, documents: list[Document]) -> list[WholePrice]:
        return [_price_of(each) for each in documents]

    async def put(self, items: Sequence[WholePrice]) -> None:
        found = self._db.snapshots.find(
            {"_id": {"$in": [each.version_key for each in items]}}, {"version": 1}
        )
        numbers = {each["_id"]: each["version"] for each in await found.to_list()}
        documents = [_price_document(each, numbers.get(each.version_key)) for each in items]
        replacing = [
            UpdateOne(
                {
                    "_id": each["_id"],
                    "$or": [{"expireAt": None}, {"expireAt": {"$lte": each["expireAt"]}}],
                },
                {"$set": each},
            )
            for each in documents
            if "expireAt" in each
        ]
        await put_documents(self._documents, documents, replacing)

    def is_newer(self, one: WholePrice, other: WholePrice) -> bool:
        return is_newer_price(one, other)


def _price_of(document: Document) -> WholePrice:
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


def _price_document(price: WholePrice, number: int | None) -> Document:
    document: Document = {
        "_id": price.key,
        "jobId": plain(price.job_id),
        "url": plain(price.url),
        "page": page_key(price.job_id, price.url),
        "place": place_at(price.ts, 0, price.key),
        "price": amount(price.price),
        "currency": price.currency and plain(price.currency),
        "changePercent": amount(price.change_percent),
        "timestamp": Int64(price.ts),
        "version": number or price.claimed or None,
        "claimed": price.claimed or None,
        "versionKey": price.version_key,
        "rank": place_at(
            0, price.claimed, price.version_key, str(price.currency), str(price.change_percent)
        ),
    }
    return document if price.expires_at is None else document | {"expireAt": price.expires_at}
