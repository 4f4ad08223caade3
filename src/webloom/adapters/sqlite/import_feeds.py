"""Rows of `feeds`. What a person decides is one JSON object."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.domain.feed import Feed, FeedConfig, LastFetch, UrlTaken, decide_edit
from webloom.domain.import_run import RunStatus

COLUMNS = (
    "feed_id, config, created_at, updated_at, next_run_at, active_run_id, last_run_id, "
    "last_status, last_error, last_run_at, failures, last_fetch"
)
MOVED_TO = "json_extract(config, '$.moved_to')"  # as the index has it

_configs = msgspec.json.Decoder(FeedConfig)
_fetches = msgspec.json.Decoder(LastFetch)


def _encoded_config(config: FeedConfig) -> str:
    """A feed that has not moved is written as by versions that know of no move."""
    fields = msgspec.to_builtins(config)
    if config.moved_to is None:
        del fields["moved_to"]
    return encoded(fields)


def feed_of(row: Sequence[Any]) -> Feed:
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


def find(connection: sqlite3.Connection, where: str, *values: object) -> list[Feed]:
    rows = connection.execute(f"SELECT {COLUMNS} FROM feeds WHERE {where}", values)
    return [feed_of(row) for row in rows]


def of_url(connection: sqlite3.Connection, url: str) -> list[Feed]:
    """The feed with that URL first, then those that have moved to it."""
    return find(
        connection,
        f"url = ?1 OR {MOVED_TO} = ?1 ORDER BY url <> ?1, feed_id",
        plain(url),
    )


def one(connection: sqlite3.Connection, feed_id: str) -> Feed | None:
    return next(iter(find(connection, "feed_id = ?", plain(feed_id))), None)


def add(
    connection: sqlite3.Connection,
    feed_id: str,
    config: FeedConfig,
    next_run_at: datetime | None,
    wall: int,
) -> tuple[Feed, bool]:
    known = of_url(connection, config.url) or find(connection, "feed_id = ?", plain(feed_id))
    if known:
        return known[0], False
    connection.execute(
        """
        INSERT INTO feeds (feed_id, url, name, config, revision, created_at, updated_at,
                           next_run_at, failures, last_fetch)
        VALUES (?, ?, ?, ?, 0, ?, ?, ?, 0, '{}')
        """,
        (
            plain(feed_id),
            plain(config.url),
            plain(config.name),
            _encoded_config(config),
            wall,
            wall,
            milliseconds(next_run_at),
        ),
    )
    [feed] = find(connection, "feed_id = ?", plain(feed_id))
    return feed, True


def edit(
    connection: sqlite3.Connection,
    feed_id: str,
    config: FeedConfig,
    next_run_at: datetime | None,
    wall: int,
) -> Feed | UrlTaken | None:
    feed = one(connection, feed_id)
    if feed is None:
        return None
    decided = decide_edit(feed, config, of_url(connection, config.fetch_url))
    if isinstance(decided, UrlTaken):
        return decided
    connection.execute(
        """
        UPDATE feeds SET config = ?, name = ?, next_run_at = ?, updated_at = ?,
                         last_fetch = '{}', revision = revision + 1
        WHERE feed_id = ?
        """,
        (
            _encoded_config(decided),
            plain(decided.name),
            milliseconds(next_run_at),
            wall,
            plain(feed_id),
        ),
    )
    return one(connection, feed_id)


def due(connection: sqlite3.Connection, now: datetime, limit: int) -> list[Feed]:
    return find(
        connection,
        "next_run_at <= ? AND active_run_id IS NULL ORDER BY next_run_at, feed_id LIMIT ?",
        milliseconds(now),
        limit,
    )


def row_of(feed: Feed) -> tuple[Any, ...]:
    """Of COLUMNS."""
    return (
        plain(feed.feed_id),
        _encoded_config(feed.config),
        milliseconds(feed.created_at),
        milliseconds(feed.updated_at),
        milliseconds(feed.next_run_at),
        feed.active_run_id,
        feed.last_run_id,
        feed.last_status,
        feed.last_error and plain(feed.last_error),
        milliseconds(feed.last_run_at),
        feed.failures,
        encoded(feed.last_fetch),
    )


def put(connection: sqlite3.Connection, feed: Feed) -> None:
    """Whole, as it is given; one with another id and its URL is left alone."""
    connection.execute(
        f"""
        INSERT INTO feeds ({COLUMNS}, url, name, revision)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
        ON CONFLICT (feed_id) DO UPDATE SET
            {", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", ")[1:])},
            name = excluded.name, revision = revision + 1
        ON CONFLICT (url) DO NOTHING
        """,
        (*row_of(feed), plain(feed.config.url), plain(feed.config.name)),
    )
