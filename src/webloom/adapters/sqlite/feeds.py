"""Rows of `feeds`. What a person decides is one JSON object."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.primitives import Table
from webloom.adapters.sqlite.values import columns_of, encoded, instant, milliseconds
from webloom.domain.feed import Feed, FeedConfig, LastFetch
from webloom.domain.import_run import RunStatus
from webloom.domain.import_transitions import FeedState

COLUMNS = (
    "config",
    "created_at",
    "updated_at",
    "next_run_at",
    "active_run_id",
    "last_run_id",
    "last_status",
    "last_error",
    "last_run_at",
    "failures",
    "last_fetch",
)
MOVED_TO = "json_extract(config, '$.moved_to')"  # as the index has it

_configs = msgspec.json.Decoder(FeedConfig)
_fetches = msgspec.json.Decoder(LastFetch)


def feed_of(row: Sequence[Any]) -> Feed:
    """Of the id and COLUMNS."""
    return Feed(
        feed_id=row[0],
        config=_configs.decode(row[1]),
        created_at=instant(row[2]),
        updated_at=instant(row[3]),
        next_run_at=instant(row[4]),
        active_run_id=row[5],
        last_run_id=row[6],
        last_status=None if row[7] is None else RunStatus(row[7]),
        last_error=row[8],
        last_run_at=instant(row[9]),
        failures=row[10],
        last_fetch=_fetches.decode(row[11]),
    )


def feed_columns(feed: Feed) -> dict[str, Any]:
    """A feed that has not moved is written as by versions that know of no move."""
    config = msgspec.to_builtins(feed.config)
    if feed.config.moved_to is None:
        del config["moved_to"]
    return columns_of(feed, without=("feed_id", "config")) | {
        "url": plain(feed.config.url),
        "name": plain(feed.config.name),
        "config": encoded(config),
    }


def _encode(state: FeedState) -> dict[str, Any]:
    return feed_columns(state.feed) | {"revision": state.revision}


def _decode(row: Sequence[Any]) -> FeedState:
    return FeedState(feed=feed_of(row), revision=row[-1])


FEEDS = Table(
    "feeds",
    key="feed_id",
    columns=(*COLUMNS, "url", "name", "revision"),
    decode=_decode,
    encode=_encode,
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
    columns = _encode(state) | {"feed_id": plain(state.feed.feed_id)}
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
        _encode(after)
        | {
            "feed_id": plain(after.feed.feed_id),
            "before": before.revision,
            "is_moving": url != before.feed.config.fetch_url,
            "to": plain(url),
        },
    )
    return replaced.rowcount == 1
