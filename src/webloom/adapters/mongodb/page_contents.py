"""Contents of versions: whole, or as a delta against a newer one.

The content of a version never changes, only how it is kept. So it can be used after it was read,
whatever others do meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

from pymongo import UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.deltas import applied, compressed, delta, restored
from webloom.domain.retention import Retention
from webloom.stores.page_contents import LONGEST_CHAIN, joined

EMPTIED = "emptied"  # `bare` of a version whose content has expired
_KEPT = {"parsed": True, "base": True}
_SHORT = 20_000  # bytes, which take less time than to hand them to another thread


def is_kept_whole(number: int, next_number: int) -> bool:
    """So that no version is further than LONGEST_CHAIN from a whole one."""
    return number // LONGEST_CHAIN != next_number // LONGEST_CHAIN


async def packed(content: bytes) -> bytes:
    if len(content) < _SHORT:
        return compressed(content)
    return await asyncio.to_thread(compressed, content)


async def unpacked(stored: bytes) -> bytes:
    if len(stored) < _SHORT:
        return restored(stored)
    return await asyncio.to_thread(restored, stored)


async def difference(content: bytes, newer: bytes) -> bytes:
    if len(content) + len(newer) < _SHORT:
        return delta(content, newer)
    return await asyncio.to_thread(delta, content, newer)


def superseded_by(
    key: str, newer_key: str, difference: bytes, expires: datetime, place: str
) -> UpdateOne:
    """Of a version that is whole."""
    return UpdateOne(
        {"_id": key, "base": None, "place": place},
        {"$set": {"parsed": difference, "base": newer_key, "expireAt": expires}},
    )


def expiry(now: datetime, days: float) -> datetime:
    return now + timedelta(days=days)


def emptying(now: datetime, keep: Retention) -> Document:
    """What is left of a version tells that an event of it has been stored."""
    left = {"bare": EMPTIED, "expireAt": expiry(now, keep.emptied_versions)}
    return {"$set": left, "$unset": {"parsed": True, "base": True}}


class Contents:
    """To be called within `use`."""

    def __init__(self, database: MongoDatabase) -> None:
        self._snapshots = database.snapshots

    async def bodies(
        self, key: str, session: AsyncClientSession | None = None
    ) -> list[bytes] | None:
        """For `joined`. None: the version is gone, or what it was made with."""
        bodies: list[bytes] = []
        wanted: str | None = key
        seen: set[str] = set()
        while wanted is not None:
            if wanted in seen:
                return None
            seen.add(wanted)
            found: Document | None = await self._snapshots.find_one(
                {"_id": wanted}, _KEPT, session=session
            )
            if found is None or "parsed" not in found:
                return None
            bodies.insert(0, found["parsed"])
            wanted = found.get("base")
        return bodies

    async def along(
        self, documents: AsyncIterator[Document], session: AsyncClientSession | None = None
    ) -> AsyncIterator[tuple[Document, bytes | None]]:
        """Of a page's versions, the newest first: each is read with the content of the one before,
        where it is a delta against that. None: as `bodies`."""
        base, data = None, b""
        async for document in documents:
            try:
                content = await self._content(document, base, data, session)
            except ValueError as error:
                version, url = document["version"], document["url"]
                raise ValueError(f"version {version} of {url} can't be read: {error}") from error
            if content is not None:
                base, data = document["_id"], content
            yield document, content

    async def _content(
        self, document: Document, newer: str | None, data: bytes, session: AsyncClientSession | None
    ) -> bytes | None:
        """`data` is the content of the version `newer`."""
        if "parsed" not in document:
            return None
        if "base" not in document:
            return await unpacked(document["parsed"])
        if document["base"] == newer:
            return await asyncio.to_thread(applied, document["parsed"], data)
        return await self.read(document["_id"], session)

    async def read(self, key: str, session: AsyncClientSession | None = None) -> bytes | None:
        bodies = await self.bodies(key, session)
        return None if bodies is None else await asyncio.to_thread(joined, bodies)
