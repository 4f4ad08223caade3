"""What lists of watches and feeds need besides their rows: tags, words, an index for each order.

It is added to any file that lacks it. A Webloom that does not know it continues with the file, and
leaves tags and words as they are. So each row notes in `searched` which edit its words come from;
if that is not the latest, `make_searchable` writes them.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.domain.feed import FeedConfig
from webloom.domain.watch import WatchConfig

log = logging.getLogger(__name__)

WRITTEN_AT_ONCE = 1000  # rows of a table

_tags = msgspec.json.Decoder(list[str]).decode

# With the key of each, and what its configuration is decoded by.
TABLES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "watches": ("watch_id", msgspec.json.Decoder(WatchConfig).decode),
    "feeds": ("feed_id", msgspec.json.Decoder(FeedConfig).decode),
}


def columns(table: str) -> str:
    """Tags as JSON; their keys, each between two newlines; and what is searched."""
    return f"""
ALTER TABLE {table} ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE {table} ADD COLUMN tag_keys TEXT NOT NULL DEFAULT '';
ALTER TABLE {table} ADD COLUMN search TEXT;
"""


def searched(table: str) -> str:
    """When the edit was made that `search` comes from, as `updated_at`."""
    return f"ALTER TABLE {table} ADD COLUMN searched INTEGER;"


# Watches have it already.
ENABLED = """
ALTER TABLE feeds ADD COLUMN enabled INTEGER
    GENERATED ALWAYS AS (json_extract(config, '$.enabled')) VIRTUAL;
CREATE INDEX feeds_counted ON feeds (enabled, active_run_id, failures);
CREATE INDEX feeds_active ON feeds (active_run_id) WHERE active_run_id IS NOT NULL;
"""


_IS_EDITED = "searched IS NOT updated_at"
INDEXES = "".join(
    f"""
CREATE INDEX IF NOT EXISTS {table}_tagged ON {table} (tag_keys, tags) WHERE tag_keys <> '';
CREATE INDEX IF NOT EXISTS {table}_by_search ON {table} (search);
CREATE INDEX IF NOT EXISTS {table}_unsearched ON {table} (searched) WHERE {_IS_EDITED};
"""
    + "".join(
        f"CREATE INDEX IF NOT EXISTS {table}_by_{column} ON {table} ({column}, {key});\n"
        for column in ("name", "next_run_at", "last_run_at", "failures", "created_at")
    )
    for table, (key, _) in TABLES.items()
)
INDEXES += "CREATE INDEX IF NOT EXISTS import_runs_by_search ON import_runs (search, started_at);"


def make_searchable(connection: sqlite3.Connection) -> int:
    """Of a few rows that were added or edited without their words; returns how many there were."""
    done = 0
    for table, (key, decode) in TABLES.items():
        rows = connection.execute(
            f"""
            SELECT {key}, config, tags, updated_at FROM {table} INDEXED BY {table}_unsearched
            WHERE {_IS_EDITED} LIMIT {WRITTEN_AT_ONCE}
            """
        ).fetchall()
        connection.executemany(
            f"UPDATE {table} SET search = ?, searched = ? WHERE {key} = ?",
            [(_words(table, row, decode), row[-1], row[0]) for row in rows],
        )
        done += len(rows)
    return done


def _words(table: str, row: tuple[Any, ...], decode: Callable[[str], Any]) -> str:
    """Empty if the row can't be decoded, so that it can still be edited."""
    key, config, tags, _ = row
    try:
        return plain(replace(decode(config), tags=_tags(tags)).searchable)
    except (ValueError, TypeError) as error:
        log.warning(
            "a row of a list can't be read and is not found by its words",
            extra={"table": table, "key": key, "error": str(error)},
        )
        return ""
