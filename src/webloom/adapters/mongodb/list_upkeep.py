from __future__ import annotations

import logging
from collections.abc import Callable

from pymongo import UpdateOne

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.feeds import feed_of
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.watch_codec import watch_of
from webloom.domain.feed import FeedConfig
from webloom.domain.pipeline import Pipeline
from webloom.domain.watch import WatchConfig

log = logging.getLogger(__name__)

AT_ONCE = 500  # documents that are read together

ConfigOf = Callable[[Document], FeedConfig | WatchConfig]

_EDITED: Document = {
    "updatedAt": {"$type": "date"},
    "$expr": {"$ne": ["$searchedAt", "$updatedAt"]},
}
_READ = ("updatedAt", "name", "tags", "urls", "url", "movedTo")  # what its words come from


class MongoListUpkeep:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database

    async def make_searchable(self) -> int:
        with self._db.use():
            return await make_searchable(self._db)


async def make_searchable(database: MongoDatabase) -> int:
    lists: dict[Pipeline, tuple[Collection, ConfigOf]] = {
        Pipeline.IMPORTS: (database.feeds, lambda each: feed_of(each).config),
        Pipeline.WATCH: (database.watches, lambda each: watch_of(each).config),
    }
    done = 0
    for pipeline, (collection, config_of) in lists.items():
        if pipeline in database.pipelines:
            while some := await _some(collection, config_of):
                done += some
    return done


async def _some(collection: Collection, config_of: ConfigOf) -> int:
    """One that is edited meanwhile stays as it is, and is found again."""
    found = await collection.find(_EDITED, limit=AT_ONCE).to_list()
    if not found:
        return 0
    updates = [
        UpdateOne(
            {"_id": each["_id"]} | {name: {"$eq": each.get(name)} for name in _READ},
            {"$set": {"search": _words(each, config_of), "searchedAt": each["updatedAt"]}},
        )
        for each in found
    ]
    return (await collection.bulk_write(updates, ordered=False)).matched_count


def _words(document: Document, config_of: ConfigOf) -> str:
    """Empty if the document can't be decoded, so that it can still be edited."""
    try:
        return plain(config_of(document).searchable)
    except Exception as error:
        log.warning(
            "a document of a list can't be read and is not found by its words",
            extra={"key": str(document["_id"]), "error": repr(error)},
        )
        return ""
