from __future__ import annotations

from collections.abc import Collection as Sized
from collections.abc import Iterable
from typing import Any, NamedTuple

from pymongo.errors import BulkWriteError

from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.errors import DUPLICATE_KEY
from webloom.adapters.mongodb.indexes import Collection


class Problem(NamedTuple):
    """Why one of several writes was not made."""

    place: int
    code: int
    reason: str


def problems_of(error: BulkWriteError, *codes: int) -> list[Problem]:
    """Raises the error unless all of its problems are duplicate keys or have one of the codes."""
    found = error.details["writeErrors"]
    problems = [Problem(each["index"], each["code"], each["errmsg"]) for each in found]
    are_expected = {each.code for each in problems} <= {DUPLICATE_KEY, *codes}
    if error.details["writeConcernErrors"] or not are_expected:
        raise error
    return problems


async def insert_each(collection: Any, documents: Iterable[Any], *codes: int) -> list[Problem]:
    """Those that can be inserted; returns why others can't, as `problems_of`."""
    try:
        await collection.insert_many(documents, ordered=False)
    except BulkWriteError as error:
        return problems_of(error, *codes)
    return []


async def insert_new(collection: Collection, documents: Sized[Document]) -> int:
    """Those that do not exist; returns how many."""
    if not documents:
        return 0
    return len(documents) - len(await insert_each(collection, documents))
