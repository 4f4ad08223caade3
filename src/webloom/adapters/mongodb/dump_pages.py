"""The collections of pages, versions, prices and changes, for a dump."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

from msgspec.structs import replace
from pymongo import DESCENDING, UpdateOne

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.dump import Items, Kind, Session
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.page_codec import (
    Parts,
    checked_part,
    log_document,
    muting_of,
    muting_part,
    page_of,
    page_update,
    parts_of,
    place_at,
    placed,
    price_document,
    superseding,
    validator_fields,
    version_document,
    whole_log,
    whole_price,
)
from webloom.adapters.mongodb.page_contents import EMPTIED, Contents, expiry
from webloom.adapters.mongodb.page_versions import Versions, log_numbers
from webloom.adapters.mongodb.page_writes import PageUpdate, bulk, update_pages
from webloom.deltas import compressed
from webloom.domain.errors import StoreUnavailable
from webloom.domain.page_parts import PARTS
from webloom.domain.retention import Retention
from webloom.domain.storage_event import page_key
from webloom.parsing.storage_event import canonical
from webloom.ports.dump import WholeLog, WholePage, WholePrice, WholeVersion
from webloom.stores.whole import (
    json_value,
    mended,
    part_events,
    whole_page,
)

AT_ONCE = 16  # pages that are settled: hundreds would wait for a connection until they fail


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
        turns = asyncio.Semaphore(AT_ONCE)

        async def settle(key: str) -> None:
            async with turns:
                await self._versions.settle(key, to_end=True)

        await asyncio.gather(*(settle(key) for key in oldest.values()))


class _Pages(_PageKind):
    def key(self, item: WholePage) -> str:
        return page_key(item.watch_id, item.url)

    def item(self, document: Document) -> WholePage:
        texts = document["places"]
        places = {
            name: placed(texts[name], more=name == "price") for name in PARTS if name in texts
        }
        validated = texts.get("validators")
        validated_at = None if validated is None else placed(validated).ts
        return whole_page(page_of(document), places, validated_at, muting_of(document))

    async def put(self, items: Sequence[WholePage]) -> list[Any]:
        """As an event does it: of each part the latest counts."""
        updates = (
            page_update(item.watch_id, item.url, _parts(item), item.last_updated) for item in items
        )
        await update_pages(self.collection, map(PageUpdate, map(self.key, items), updates))
        found = await self.find(items)
        return [found[self.key(item)][1] for item in items]


def _parts(page: WholePage) -> Parts:
    parts = {name: parts_of(event, None)[name] for name, event in part_events(page).items()}
    if page.checked_at is not None and page.outcome is not None:
        parts["checked"] = checked_part(page.checked_at, page.outcome, page.error)
    if page.validated_at is not None:
        place = place_at(page.validated_at, 0, *page.validators.order)
        parts["validators"] = place, validator_fields(page.validators)
    if page.muting is not None:
        parts["muting"] = muting_part(page.muting)
    return parts


class _Versions(_PageKind):
    settles = True
    sort = (("page", DESCENDING), ("place", DESCENDING))
    carried: ClassVar[Document] = {"bare": {"$ne": EMPTIED}}

    def __init__(self, database: MongoDatabase, collection: Collection, keep: Retention) -> None:
        super().__init__(database, collection, keep)
        self._contents = Contents(database)

    async def items(self, documents: AsyncIterator[Document], session: Session) -> Items:
        """Each is read with the content of the one before, where it is a delta against that. One
        whose content can't be read any more, as its base has expired, is left out."""
        try:
            async for document, content in self._contents.along(documents, session):
                if content is None and "parsed" in document:
                    continue
                item = WholeVersion(
                    key=document["_id"],
                    watch_id=document["jobId"],
                    url=document["url"],
                    number=int(document["version"]),
                    place=placed(document["place"], more=1),
                    content=None if content is None else json_value(content),
                    expires_at=document.get("expireAt"),
                )
                yield document, item
        except ValueError as error:
            raise StoreUnavailable(f"MongoDB at {self.db.address}: {error}") from error

    async def documents(self, items: Sequence[WholeVersion]) -> list[Document]:
        return await asyncio.to_thread(lambda: [_version_document(item) for item in items])

    def replacement(self, new: Document, here: Document) -> Document:
        """Others may be deltas against one that moves: it stays whole."""
        moved = {"moved": True} if new["place"] < here["place"] or "moved" in here else {}
        return new | moved

    async def settle(self, items: Sequence[WholeVersion]) -> None:
        """Numbers, deltas, what is superseded, and what the page shows, which may be new."""
        filled = [item for item in reversed(items) if item.content is not None]
        newest = {(item.watch_id, item.url): item.place.ts for item in filled}
        shown = (
            PageUpdate(page_key(*page), page_update(*page, {}, ts)) for page, ts in newest.items()
        )
        await update_pages(self.db.pages, shown)
        await self.settle_versions(items)


def _version_document(item: WholeVersion) -> Document:
    """Whole: `settle` makes deltas."""
    body = None if item.content is None else compressed(canonical(item.content))
    before = item.number - 1 if item.number > item.place.claimed else 0  # 0: whatever is there
    numbers = {"version": item.number, "previous": {"key": None, "number": before}}
    return version_document(item, item.key, body) | numbers | _expires(item)


def _expires(item: WholeVersion | WholePrice) -> Document:
    return {} if item.expires_at is None else {"expireAt": item.expires_at}


class _Prices(_PageKind):
    settles = True
    sort = (("jobId", 1), ("url", 1), ("place", DESCENDING))

    def item(self, document: Document) -> WholePrice:
        return whole_price(document)

    def document(self, item: WholePrice) -> Document:
        return price_document(item) | _expires(item)

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
        for page in {page_key(each.watch_id, each.url) for each in items}:
            latest = await self.collection.find_one({"page": page}, sort=[("place", DESCENDING)])
            if latest is None:
                continue
            if "expireAt" in latest:
                await self.collection.update_one(
                    {"_id": latest["_id"]}, {"$unset": {"expireAt": True}}
                )
            expires = expiry(self.db.server_time(), self.keep.prices)
            await self.collection.bulk_write([superseding(page, latest["place"], expires)])
            await self.db.pages.update_one(
                {"_id": page}, {"$max": {"places.record": latest["place"]}}
            )


class _Logs(_PageKind):
    settles = True

    def item(self, document: Document) -> WholeLog:
        log = whole_log(document)
        return replace(log, changes=mended(log.changes))

    def document(self, item: WholeLog) -> Document:
        return log_document(item) | {"numbered": False, "version": log_numbers(item.number, 0)}

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
