"""Versions of pages of a MongoDB database, whole: to be carried elsewhere, or brought here.

They come with the latest of each page first, so that each is read with the one before it. One whose
content can't be read any more, as what it was made with has expired, is not carried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from bson.int64 import Int64
from pymongo import DESCENDING, UpdateOne

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.page_contents import Contents, is_kept_whole
from webloom.adapters.mongodb.page_contents import packed as compress
from webloom.adapters.mongodb.page_documents import (
    MOST_BYTES,
    place_at,
)
from webloom.adapters.mongodb.watch_archives import WatchArchive, put_documents
from webloom.deltas import applied
from webloom.domain.errors import EventRefused, StoreUnavailable
from webloom.domain.storage_event import Place, page_key
from webloom.ports.archive import LARGE_SLICE, Slice
from webloom.ports.watch_archive import (
    Packed,
    WholeVersion,
    is_newer_version,
    packed,
    plain_content,
)

_LATEST_FIRST = [("page", DESCENDING), ("place", DESCENDING)]
_PREFIX = 32  # characters of a place that say its numbers
_TS_BITS = 1 << 62


def place_in(text: str) -> Place:
    """Of what `place_at` makes of a place, and nothing more."""
    ts, claimed = int(text[:16], 16) - _TS_BITS, int(text[16:_PREFIX], 16)
    return Place(ts, claimed, text[_PREFIX + 1 :].replace("\0", "\ufffd"))


def keyed_place(text: str) -> Place:
    """Of a version or a log, which ends in its key."""
    return place_in(text.rpartition("\0")[0])


class Link(NamedTuple):
    """To the version before."""

    key: str | None
    number: int


class MongoVersionArchive(WatchArchive[WholeVersion]):
    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, database.snapshots)
        self._contents = Contents(database)

    def key(self, item: WholeVersion) -> str:
        return item.key

    async def read(self, position: str | None, limit: int) -> Slice[WholeVersion]:
        behind: Document = {}
        if position is not None:
            page, place = msgspec.json.decode(position)
            behind = {
                "page": {"$lte": page},
                "$nor": [{"page": page, "place": {"$gte": place}}],
            }
        items: list[WholeVersion] = []
        base, content = None, b""
        rows = size = 0
        with self._db.use():
            async with self._documents.find(
                self.carried() | behind, sort=_LATEST_FIRST, limit=limit
            ) as found:
                async for document in found:
                    rows += 1
                    last = document["page"], document["place"]
                    data = await self._content(document, base, content)
                    if data is not None:
                        base, content = document["_id"], data
                        size += len(data)
                    if data is not None or "bare" in document:
                        items.append(_version_of(document, data))
                    if size >= LARGE_SLICE:
                        break
        if rows < limit and size < LARGE_SLICE:
            return Slice(items=items, position=None)
        return Slice(items=items, position=msgspec.json.encode(last).decode())

    async def _content(self, document: Document, base: str | None, newer: bytes) -> bytes | None:
        """`newer` is the content of `base`. None: it has none, or it can't be read."""
        if "parsed" not in document:
            return None
        try:
            if base is not None and document.get("base") == base:
                return await asyncio.to_thread(applied, document["parsed"], newer)
            return await self._contents.read(document["_id"])
        except ValueError as error:
            raise StoreUnavailable(
                f"MongoDB at {self._db.address}: version {document['version']} of "
                f"{document['url']} can't be read: {error}"
            ) from error

    async def items(self, documents: list[Document]) -> list[WholeVersion]:
        """In the order of the reading, in which each is the base of the next."""
        documents.sort(key=lambda each: (each["page"], each["place"]), reverse=True)
        items: list[WholeVersion] = []
        base, content = None, b""
        for document in documents:
            data = await self._content(document, base, content)
            if data is not None:
                base, content = document["_id"], data
            items.append(_version_of(document, data))
        return items

    async def put(self, items: Sequence[WholeVersion]) -> None:
        keys = [each.key for each in items]
        found = await self._documents.find(
            {"_id": {"$in": keys}}, {"version": 1, "place": 1, "bare": 1, "expireAt": 1}
        ).to_list()
        here = {each["_id"]: each for each in found}
        new = [each for each in items if each.key not in here]
        made = await asyncio.to_thread(packed, new, _may_be_delta)
        documents = [_version_document(each, made.get(each.key)) for each in new]
        changes = [
            change
            for each in items
            if each.key in here
            for change in await _update(here[each.key], each)
        ]
        await put_documents(self._documents, documents, changes)

    def is_newer(self, one: WholeVersion, other: WholeVersion) -> bool:
        return is_newer_version(one, other)


def _version_of(document: Document, content: bytes | None) -> WholeVersion:
    return WholeVersion(
        key=document["_id"],
        job_id=document["jobId"],
        url=document["url"],
        number=int(document["version"]),
        place=keyed_place(document["place"]),
        content=None if content is None else plain_content(content),
        expires_at=document.get("expireAt"),
    )


def _may_be_delta(version: WholeVersion, newer: WholeVersion) -> bool:
    """What it is made with goes later."""
    if is_kept_whole(version.number, newer.number):
        return False
    if newer.expires_at is None or version.expires_at is None:
        return newer.expires_at is None
    return version.expires_at < newer.expires_at


def _version_document(version: WholeVersion, made: Packed | None) -> Document:
    """The link to the version before is made together with its page."""
    document: Document = {
        "_id": version.key,
        "jobId": plain(version.job_id),
        "url": plain(version.url),
        "page": page_key(version.job_id, version.url),
        "place": place_at(*version.place, version.key),
        "snapshotHash": plain(version.place.snapshot_hash),
        "createdAt": Int64(version.place.ts),
        "claimed": version.place.claimed,
        "version": version.number,
        "previous": {"key": None, "number": version.number - 1},
    }
    if version.expires_at is not None:
        document["expireAt"] = version.expires_at
    if made is None:
        return document | {"bare": True}
    if len(made.body) > MOST_BYTES:
        raise EventRefused(
            f"version {version.number} of {version.url} takes {len(made.body):,} bytes, and "
            f"MongoDB holds {MOST_BYTES:,} in a document: it can't be copied there"
        )
    document["parsed"] = made.body
    return document if made.base is None else document | {"base": made.base}


async def _update(here: Document, version: WholeVersion) -> list[UpdateOne]:
    """What the source knows better."""
    changes: Document = {}
    unset: Document = {}
    if version.number != here["version"]:
        changes["version"] = version.number
    place = place_at(*version.place, version.key)
    if place < here["place"]:
        changes |= {"place": place, "createdAt": Int64(version.place.ts), "moved": True}
    expires = here.get("expireAt")
    if version.expires_at is not None and (expires is None or expires < version.expires_at):
        changes["expireAt"] = version.expires_at
    if "bare" in here and version.content is not None:
        changes["parsed"] = await compress(version.content)
        unset = {"bare": True}
        if version.expires_at is None:
            unset["expireAt"] = True
        else:
            changes["expireAt"] = version.expires_at
    if not changes:
        return []
    update: Document = {"$set": changes}
    return [UpdateOne({"_id": version.key}, update | ({"$unset": unset} if unset else {}))]
