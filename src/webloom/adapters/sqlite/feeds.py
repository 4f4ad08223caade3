"""Rows of `feeds`. What a person decides is one JSON object."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.primitives import Row, Table
from webloom.adapters.sqlite.values import Columns, encoded, instant, milliseconds
from webloom.domain.feed import Feed, FeedConfig
from webloom.domain.import_transitions import FeedState

MOVED_TO = "json_extract(config, '$.moved_to')"  # as the index has it

_FEED = Columns(Feed)
COLUMNS = _FEED.names[1:]
feed_of = _FEED.decode


def _config(config: FeedConfig) -> str:
    """A feed that has not moved is written as by versions that know of no move."""
    fields = msgspec.to_builtins(config)
    if config.moved_to is None:
        del fields["moved_to"]
    return encoded(fields)


def _encode(state: FeedState) -> dict[str, Any]:
    config = state.feed.config
    derived = {"url": config.url, "name": config.name, "revision": state.revision}
    return _FEED.encode(state.feed) | derived


def _decode(row: Row) -> FeedState:
    return FeedState(feed=feed_of(row), revision=row[-1])


FEEDS = Table(
    "feeds",
    key="feed_id",
    columns=(*COLUMNS, "url", "name", "revision"),
    decode=_decode,
    encode=_encode,
    convert={"config": _config},
)


class SqliteFeedQueries:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._inserting: Operation[FeedState, bool] = Operation(
            run=lambda connection, items: [_insert(connection, each) for each in items]
        )
        self._replacing: Operation[tuple[FeedState, FeedState], bool] = Operation(
            run=lambda connection, items: [_replace(connection, *each) for each in items]
        )

    def now(self) -> datetime:
        return instant(self._db.wall_ms())

    async def at(self, url: str) -> list[FeedState]:
        """The feed with that URL first, then those that have moved to it."""
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


def _replace(connection: sqlite3.Connection, before: FeedState, after: FeedState) -> bool:
    url = after.feed.config.fetch_url
    replaced = connection.execute(
        f"""
        UPDATE feeds SET config = :config, name = :name, next_run_at = :next_run_at,
                         updated_at = :updated_at, last_fetch = :last_fetch, revision = :revision
        WHERE feed_id = :feed_id AND revision = :before AND NOT (:is_moving AND EXISTS (
            SELECT 1 FROM feeds WHERE feed_id <> :feed_id AND (url = :to OR {MOVED_TO} = :to)))
        """,
        FEEDS.encode(after)
        | {
            "before": before.revision,
            "is_moving": url != before.feed.config.fetch_url,
            "to": plain(url),
        },
    )
    return replaced.rowcount == 1
