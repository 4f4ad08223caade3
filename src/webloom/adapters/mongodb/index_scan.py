"""A page of a listing, read by scanning one index in its order.

What the index can't answer of a filter is tested document by document. After `most_scanned` of them
the page ends where it is, and says where to go on.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass

from pymongo.asynchronous.cursor import AsyncCursor

from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.indexes import Collection
from webloom.stores.cursors import cursor_of, values_of

MOST_SCANNED = 1000  # documents looked at for one page of a listing

Index = list[tuple[str, int]]
Fields = dict[str, bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanPlan:
    """Which index answers a filter, and what is left to test."""

    index: Index
    found: Document  # what the index knows
    accepts: Callable[[Document], bool] | None  # what it does not know; None: nothing
    second_range: Document | None = None  # another range of the index, as `found`


async def scan_index(
    collection: Collection,
    plan: ScanPlan,
    *,
    bounds: Document,  # of the page, in the order of the listing
    order: Index,
    limit: int,
    most_scanned: int,
    filter_fields: Fields,  # what `plan.accepts` needs
    shown: Fields | None,
) -> tuple[list[Document], Document | None]:
    """Up to `limit` documents, and the last one that was scanned if there may be more. The last
    field of `order` is descending, and decides between two ranges."""
    accepts = plan.accepts
    most = limit + 1 if accepts is None else most_scanned
    picked: list[Document] = []
    scanned, last = 0, None
    async with AsyncExitStack() as stack:
        cursors = [
            await stack.enter_async_context(
                collection.find(
                    each | bounds,
                    shown if accepts is None else filter_fields,
                    sort=order,
                    hint=plan.index,
                    limit=most,
                    batch_size=2 * limit + 2,
                )
            )
            for each in (plan.found, plan.second_range)
            if each is not None
        ]
        found = await stack.enter_async_context(aclosing(_merged(cursors, order[-1][0])))
        async for document in found:
            scanned, last = scanned + 1, document
            if accepts is None or accepts(document):
                picked.append(document)
            if len(picked) > limit:
                last = picked[limit - 1]
                picked = picked[:limit]
                break
            if scanned == most:
                break
        else:
            last = None
    if accepts is not None:
        picked = await _whole(collection, picked, accepts, shown)
    return picked, last


async def _merged(
    cursors: list[AsyncCursor[Document]], field: str
) -> AsyncGenerator[Document, None]:
    heads = [(each, await anext(each, None)) for each in cursors]
    there = {cursor: head for cursor, head in heads if head is not None}
    while there:
        cursor = max(there, key=lambda each: there[each][field])
        yield there.pop(cursor)
        if (following := await anext(cursor, None)) is not None:
            there[cursor] = following


async def _whole(
    collection: Collection,
    documents: list[Document],
    accepts: Callable[[Document], bool],
    shown: Fields | None,
) -> list[Document]:
    """In the same order; a document that has changed or gone since is left out."""
    keys = [document["_id"] for document in documents]
    found = collection.find({"_id": {"$in": keys}}, shown, batch_size=len(keys) + 1)
    by_key = {each["_id"]: each for each in await found.to_list() if accepts(each)}
    return [by_key[key] for key in keys if key in by_key]


# Cursors of listings that are ordered by a number and the key, both descending


def behind(name: str, cursor: str | None) -> Document:
    """Raises BadCursor."""
    if cursor is None:
        return {}
    number, key = values_of(cursor, int, str)
    return {name: {"$lte": number}, "$or": [{name: {"$lt": number}}, {"_id": {"$lt": key}}]}


def cursor_behind(name: str, last: Document | None) -> str | None:
    return None if last is None else cursor_of(int(last[name]), last["_id"])
