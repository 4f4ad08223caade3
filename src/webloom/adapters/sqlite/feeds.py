"""Rows of `feeds`. What a person decides is one JSON object."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import datetime
from typing import Any

from webloom.adapters.sqlite.batches import for_each, plain
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.import_run_codec import RUNS
from webloom.adapters.sqlite.primitives import Row, SqliteDocuments, Table
from webloom.adapters.sqlite.sorted_list import (
    SortedList,
    config_without_tags,
    derived,
    tags_of,
    words_of,
)
from webloom.adapters.sqlite.values import Columns, instant, milliseconds
from webloom.domain.feed import Feed, FeedConfig
from webloom.domain.import_transitions import FeedState
from webloom.stores.feeds import StoredFeeds

MOVED_TO = "json_extract(config, '$.moved_to')"  # as the index has it

_FEED = Columns(Feed)


def _config(config: FeedConfig) -> str:
    """A feed that has not moved is written as by versions that know of no move."""
    return config_without_tags(config, *(["moved_to"] if config.moved_to is None else []))


def _encode(state: FeedState) -> dict[str, Any]:
    config = state.feed.config
    columns = _FEED.encode(state.feed) | derived(config, state.feed.updated_at)
    return columns | {"url": config.url, "name": config.name, "revision": state.revision}


def _decode(row: Row) -> FeedState:
    feed, tags = _FEED.decode(row), row[-2]
    if tags != "[]":
        feed = replace(feed, config=replace(feed.config, tags=tags_of(tags)))
    return FeedState(feed=feed, revision=row[-1])


FEEDS = Table(
    "feeds",
    key="feed_id",
    columns=(*_FEED.names[1:], "tags", "revision"),
    decode=_decode,
    encode=_encode,
    convert={"config": _config, "search": words_of},
)


class SqliteFeeds(StoredFeeds):
    def __init__(self, database: Database) -> None:
        super().__init__(
            SqliteDocuments(database, FEEDS),
            SqliteDocuments(database, RUNS),
            SortedList(database, FEEDS),
        )
        self._db = database
        self._inserting = Operation(run=for_each(_insert))
        self._replacing = Operation(run=for_each(_replace))

    def _now(self) -> datetime:
        return instant(self._db.wall_ms())

    async def _at(self, url: str) -> list[FeedState]:
        where = f"url = ?1 OR {MOVED_TO} = ?1 ORDER BY url <> ?1, feed_id"
        return await self._find(where, plain(url))

    async def all(self) -> list[Feed]:
        return [each.feed for each in await self._find("true ORDER BY name, url")]

    async def due(self, now: datetime, *, limit: int) -> list[Feed]:
        where = "next_run_at <= ? AND active_run_id IS NULL ORDER BY next_run_at, feed_id LIMIT ?"
        return [each.feed for each in await self._find(where, milliseconds(now), limit)]

    async def insert(self, state: FeedState) -> bool:
        return await self._db.write(self._inserting, state)

    async def replace(self, before: FeedState, after: FeedState) -> bool:
        return await self._db.write(self._replacing, (before, after))

    async def _find(self, where: str, *values: object) -> list[FeedState]:
        query = f"SELECT {FEEDS.columns} FROM feeds WHERE {where}"
        rows = await self._db.read(lambda connection: connection.execute(query, values).fetchall())
        return [_decode(row) for row in rows]


def _insert(connection: sqlite3.Connection, state: FeedState) -> bool:
    columns = FEEDS.encode(state)
    names = [*columns]
    inserted = connection.execute(
        f"""
        INSERT OR IGNORE INTO feeds ({", ".join(names)})
        SELECT {", ".join(f":{name}" for name in names)}
        WHERE NOT EXISTS (SELECT 1 FROM feeds WHERE {MOVED_TO} = :url)
        """,
        columns,
    )
    return inserted.rowcount == 1


def _replace(connection: sqlite3.Connection, edit: tuple[FeedState, FeedState]) -> bool:
    """Only what the edit changes is written: a run may have changed the rest."""
    before, after = edit
    url, old = after.feed.config.fetch_url, FEEDS.encode(before)
    new = FEEDS.encode(after)
    columns = {name: new[name] for name in new if name == "search" or new[name] != old[name]}
    replaced = connection.execute(
        f"""
        UPDATE feeds SET {", ".join(f"{name} = :{name}" for name in columns)}
        WHERE feed_id = :feed_id AND revision = :before AND NOT (:is_moving AND EXISTS (
            SELECT 1 FROM feeds WHERE feed_id <> :feed_id AND (url = :to OR {MOVED_TO} = :to)))
        """,
        columns
        | {
            "feed_id": old["feed_id"],
            "before": before.revision,
            "is_moving": url != before.feed.config.fetch_url,
            "to": plain(url),
        },
    )
    return replaced.rowcount == 1
