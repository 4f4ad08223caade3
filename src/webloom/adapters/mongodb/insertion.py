from __future__ import annotations

from collections.abc import Collection as Sized

from pymongo.errors import BulkWriteError

from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.errors import DUPLICATE_KEY
from webloom.adapters.mongodb.indexes import Collection


async def insert_new(collection: Collection, documents: Sized[Document]) -> int:
    """Those that do not exist; returns how many."""
    if not documents:
        return 0
    try:
        inserted = await collection.insert_many(documents, ordered=False)
    except BulkWriteError as error:
        details = error.details
        if details["writeConcernErrors"] or any(
            each["code"] != DUPLICATE_KEY for each in details["writeErrors"]
        ):
            raise
        return int(details["nInserted"])
    return len(inserted.inserted_ids)
