"""The inventory of a MongoDB database, whole: to be carried elsewhere, or brought here."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import bson
from bson.raw_bson import DEFAULT_RAW_BSON_OPTIONS, RawBSONDocument
from pymongo import ASCENDING, UpdateOne
from pymongo.errors import BulkWriteError

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import (
    Document,
    literal,
    moment_of,
    plain,
    plain_texts,
    plain_values,
)
from webloom.adapters.mongodb.errors import DUPLICATE_KEY
from webloom.adapters.mongodb.indexes import BY_CREATION
from webloom.adapters.mongodb.marks import Places
from webloom.adapters.mongodb.record_codec import WITH_SOURCE, new_document, record_of, state_of
from webloom.domain.inventory import shelf_of, url_key
from webloom.ports.archive import LARGE_SLICE, Fingerprint, Slice, StoredRecord

SCANNED_AT_ONCE = 1000
OLDEST_FIRST = [(name, ASCENDING) for name, _ in BY_CREATION]


class MongoInventoryArchive:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._records = database.records
        self._raw = database.records.with_options(codec_options=DEFAULT_RAW_BSON_OPTIONS)
        self._copies = database.copies
        self._places = Places()

    async def count(self) -> int:
        with self._db.use():
            return await self._records.estimated_document_count()

    async def read(self, position: str | None, limit: int) -> Slice[StoredRecord]:
        behind = {} if position is None else _behind(position)
        items: list[StoredRecord] = []
        size = 0
        with self._db.use():
            cursor = self._records.find(behind, WITH_SOURCE).sort(OLDEST_FIRST).limit(limit)
            async with cursor.batch_size(limit) as documents:
                async for document in documents:
                    items.append(_stored(document))
                    size += len(items[-1].metadata.page_source or "")
                    if len(items) == limit or size >= LARGE_SLICE:
                        return Slice(items=items, position=_position(document))
        return Slice(items=items, position=None)

    async def same_as(self, items: Sequence[StoredRecord]) -> list[StoredRecord | None]:
        keys = [url_key(item.url) for item in items]
        with self._db.use():
            cursor = self._records.find({"_id": {"$in": keys}}, WITH_SOURCE)
            documents = await cursor.batch_size(len(keys)).to_list()
        found = {document["_id"]: _stored(document) for document in documents}
        return [found.get(key) for key in keys]

    async def write(self, items: Sequence[StoredRecord]) -> Fingerprint:
        now = self._db.now()
        encoded = [
            bson.encode(_document(item, now=now, place=self._places.next(item.created_at)))
            for item in items
        ]
        documents = [RawBSONDocument(each) for each in encoded]
        with self._db.use():
            try:
                await self._raw.insert_many(documents, ordered=False)
            except BulkWriteError as error:
                failures = error.details["writeErrors"]
                if any(failure["code"] != DUPLICATE_KEY for failure in failures):
                    raise
                await self._replace([documents[failure["index"]] for failure in failures])
        return fingerprint_of(encoded)

    async def _replace(self, documents: list[RawBSONDocument]) -> None:
        """Those that are not newer here. A token never goes back."""
        await self._raw.bulk_write([_replacing(each) for each in documents], ordered=False)

    async def fingerprint(self, progress: Callable[[int], None]) -> Fingerprint:
        """In two halves at the same time: the server reads with one thread for each."""
        total = Fingerprint()
        for half in await asyncio.gather(
            self._fingerprint_of_keys("", "8", progress),  # keys are hexadecimal
            self._fingerprint_of_keys("8", "g", progress),
            return_exceptions=True,
        ):
            if isinstance(half, BaseException):
                raise half
            total += half
        return total

    async def _fingerprint_of_keys(
        self, first: str, end: str, progress: Callable[[int], None]
    ) -> Fingerprint:
        total = Fingerprint()
        reading = asyncio.create_task(self._scan({"$gte": first, "$lt": end}))
        try:
            while documents := await reading:
                last = RawBSONDocument(bytes(documents[-1]))["_id"]
                reading = asyncio.create_task(self._scan({"$gt": last, "$lt": end}))
                total += await asyncio.to_thread(fingerprint_of, documents)
                progress(len(documents))
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        return total

    async def _scan(self, keys: Document) -> list[memoryview]:
        with self._db.use():
            cursor = self._records.find_raw_batches({"_id": keys})
            ordered = cursor.sort("_id", 1).limit(SCANNED_AT_ONCE).batch_size(SCANNED_AT_ONCE)
            async with ordered as batches:
                batch: Any  # bytes, whatever the types say
                async for batch in batches:  # the first is as large as an answer may be
                    return list(split_batch(batch))
        return []

    def is_newer(self, one: StoredRecord, other: StoredRecord) -> bool:
        return (one.updated_at, one.token) > (other.updated_at, other.token)

    async def copied_until(self, source: str) -> str | None:
        with self._db.use():
            found = await self._copies.find_one({"_id": source})
        return None if found is None else str(found["position"])

    async def note_copied(self, source: str, position: str | None) -> None:
        with self._db.use():
            if position is None:
                await self._copies.delete_one({"_id": source})
            else:
                await self._copies.replace_one(
                    {"_id": source}, {"_id": source, "position": position}, upsert=True
                )


def _position(document: Document) -> str:
    return f"{document['place']} {document['_id']}"


def _behind(position: str) -> Document:
    """The index knows the millisecond; the rest is looked at."""
    number, _, key = position.partition(" ")
    place, moment = int(number), moment_of(int(number))
    later = [{"created_at": {"$gt": moment}}, {"place": {"$gt": place}}]
    return {
        "created_at": {"$gte": moment},
        "$or": [*later, {"place": place, "_id": {"$gt": key}}],
    }


def _replacing(document: RawBSONDocument) -> UpdateOne:
    updated_at, work = document["updated_at"], document["work"]
    is_older = [
        {"updated_at": {"$lt": updated_at}},
        {"updated_at": updated_at, "work.token": {"$lte": work["token"]}},
    ]
    token = {"token": {"$max": ["$work.token", work["token"]]}}
    merged = {"work": {"$mergeObjects": [literal(work), token]}}
    return UpdateOne(
        {"_id": document["_id"], "$or": is_older},
        [{"$replaceWith": {"$mergeObjects": [literal(document), merged]}}],
    )


def split_batch(batch: bytes) -> Iterator[memoryview]:
    """Documents that follow each other; each begins with its length."""
    view, place = memoryview(batch), 0
    while place < len(view):
        length = int.from_bytes(view[place : place + 4], "little")
        yield view[place : place + length]
        place += length


def fingerprint_of(documents: Sequence[bytes | memoryview]) -> Fingerprint:
    """MongoDB keeps a document byte for byte as it was sent."""
    hashes = (hashlib.blake2b(each, digest_size=16).digest() for each in documents)
    total = sum(int.from_bytes(each, "big") for each in hashes)
    return Fingerprint(items=len(documents), hash=total % (1 << 128))


def _stored(document: Document) -> StoredRecord:
    return StoredRecord.of(record_of(document), state_of(document, now=0.0))


def _document(item: StoredRecord, *, now: float, place: int) -> Document:
    """What waits for a message or a retry has been quiet since ever: the scheduler queues it at
    once."""
    metadata, processing = item.metadata, item.processing
    document = new_document(item.url, item.request_id, now=now, wall=item.created_at, place=place)
    document["work"] |= {
        "token": item.token,
        "background": item.background,
        "retry_due": 0.0 if item.waits else None,
        "touched": 0.0,
    }
    return document | {
        "status": item.status.value,
        "shelf": shelf_of(item.status),
        "metadata": {
            "status_code": metadata.status_code,
            "headers": metadata.headers and plain_texts(metadata.headers),
            "cookies": metadata.cookies and plain_texts(metadata.cookies),
            "page_source": metadata.page_source and plain(metadata.page_source),
            "final_url": metadata.final_url,
        },
        "processing": {
            "retry_count": processing.retry_count,
            "attempt_number": processing.attempt_number,
            "error_message": processing.error_message,
            "last_attempt_at": processing.last_attempt_at,
            "last_request_id": processing.last_request_id,
        },
        "additional_details": plain_values(item.additional_details),
        "updated_at": item.updated_at,
    }
