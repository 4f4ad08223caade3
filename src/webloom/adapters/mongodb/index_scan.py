"""A page of a listing, read by scanning one index in its order.

What the index can't answer of a filter is tested document by document. After `most_scanned` of them
the page ends where it is, and says where to continue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from itertools import islice

from pymongo import DESCENDING
from pymongo.asynchronous.cursor import AsyncCursor

from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.indexes import Collection
from webloom.domain.listing import MOST_SCANNED, Count, counted_to
from webloom.stores.cursors import cursor_of, values_of

Index = list[tuple[str, int]]
Fields = dict[str, bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanPlan:
    """Which index answers a filter, and what is left to test."""

    index: Index
    found: Document  # what the index knows
    accepts: Callable[[Document], bool] | None  # what it does not know; None: nothing
    second_range: Document | None = None  # another range of the index, as `found`
    stretches: Sequence[Document] = ()  # `found` in parts that are quicker to count one by one


async def scan_index(
    collection: Collection,
    plan: ScanPlan,
    *,
    bounds: Document,  # of the page, in the order of the listing
    order: Index,  # or from its other end
    oldest_first: bool = False,
    limit: int,
    most_scanned: int = MOST_SCANNED,
    filter_fields: Fields,  # what `plan.accepts` needs
    shown: Fields | None,
) -> tuple[list[Document], Document | None]:
    """Up to `limit` documents, and the last one that was scanned if there may be more. The last
    field of `order` is descending, and decides between two ranges."""
    accepts = plan.accepts
    if oldest_first:
        order = [(name, -direction) for name, direction in order]
    most = limit + 1 if accepts is None else most_scanned
    at_once = max(2 * limit + 2, most // 2)
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
                    batch_size=at_once,
                )
            )
            for each in (plan.found, plan.second_range)
            if each is not None
        ]
        found = await stack.enter_async_context(aclosing(_merged(cursors, order[-1], at_once)))
        async for documents in found:
            documents = documents[: most - scanned]
            scanned, last = scanned + len(documents), documents[-1]
            accepted = documents if accepts is None else filter(accepts, documents)
            picked += islice(accepted, limit + 1 - len(picked))
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


async def count_index(
    collection: Collection,
    plan: ScanPlan,
    *,
    bounds: Document,
    order: Index,
    filter_fields: Fields,  # what `plan.accepts` needs
    most: int,
) -> Count:
    """How many there are, `most` at most. What the index does not know is counted among the first
    MOST_SCANNED."""
    ranges = [each | bounds for each in (plan.found, plan.second_range) if each is not None]
    if plan.accepts is not None:
        return await _count_accepted(collection, plan, ranges, order, filter_fields, most)
    count = 0
    for query in [each | bounds for each in plan.stretches] or ranges:
        if count <= most:
            counted = await collection.database.command(
                "count",
                collection.name,
                query=query,
                limit=most + 1 - count,
                hint=dict(plan.index),
            )
            count += counted["n"]
    return counted_to(most, count)


def counted_by_scan(documents: list[Document], last: Document | None, limit: int) -> Count | None:
    """What `count_index` would find, after a first page that has looked at MOST_SCANNED and is not
    full."""
    is_full = last is None or len(documents) >= limit
    return None if is_full else Count(len(documents), is_exact=False)


async def _count_accepted(
    collection: Collection,
    plan: ScanPlan,
    ranges: list[Document],
    order: Index,
    shown: Fields,
    most: int,
) -> Count:
    count, left = 0, MOST_SCANNED
    for query in ranges:
        found = collection.find(
            query, shown, sort=order, hint=plan.index, limit=left + 1, batch_size=left + 1
        )
        for document in await found.to_list():
            if left == 0:
                return counted_to(most, count, is_all=False)
            left -= 1
            count += plan.accepts is None or plan.accepts(document)
    return counted_to(most, count)


async def _merged(
    cursors: list[AsyncCursor[Document]], by: tuple[str, int], at_once: int
) -> AsyncGenerator[list[Document], None]:
    """Lists of documents, as waiting for each one would take longer than reading it."""
    field, direction = by
    pick = max if direction == DESCENDING else min
    heads = [(each, deque(await each.to_list(at_once))) for each in cursors]
    while heads := [(cursor, head) for cursor, head in heads if head]:
        merged = []
        while all(head for _, head in heads):
            _, first = pick(heads, key=lambda each: each[1][0][field])
            merged.append(first.popleft())
        yield merged
        for cursor, head in heads:
            if not head:
                head.extend(await cursor.to_list(at_once))


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


# Cursors of listings that are ordered by a number and the key, both descending or both ascending


def behind(name: str, cursor: str | None, *, oldest_first: bool = False) -> Document:
    """Raises BadCursor."""
    if cursor is None:
        return {}
    number, key = values_of(cursor, int, str, oldest_first=oldest_first)
    than = "$gt" if oldest_first else "$lt"
    return {name: {f"{than}e": number}, "$or": [{name: {than: number}}, {"_id": {than: key}}]}


def cursor_behind(name: str, last: Document | None, *, oldest_first: bool = False) -> str | None:
    if last is None:
        return None
    return cursor_of(int(last[name]), last["_id"], oldest_first=oldest_first)
