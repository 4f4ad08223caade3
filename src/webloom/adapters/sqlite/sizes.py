from __future__ import annotations

import sqlite3
import time

from webloom.adapters.sqlite.database import Database
from webloom.ports.room import CollectionSize, DatabaseSize

SHARE = 0.02

# Tables that together are what MongoDB has as one collection; others go by their own names.
_COLLECTIONS = {
    "records": "metadata",
    "page_sources": "metadata",
    "forgotten": "metadata",
    "messages": "queues",
    "dead_letters": "queues",
    "large_bodies": "queues",
    "postings": "jobs",
    "posting_bodies": "jobs",
    "posting_keys": "jobs",
    "fresh_keys": "jobs",
    "sources": "jobs",
    "import_runs": "import_logs",
    "import_batches": "import_logs",
    "run_names": "import_logs",
    "snapshot_bodies": "snapshots",
    "page_checks": "pages",
    "run_urls": "job_runs",
    "went_unread": "change_logs",
}


class SqliteSizes:
    """See ports/room.py."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._known: list[CollectionSize] = []
        self._known_until = 0.0

    async def size(self) -> DatabaseSize:
        total = await self._db.bytes_in_use()
        self._db.room.note_size(total)
        room = self._db.room
        return DatabaseSize(
            bytes=total, limit=room.limit, full=room.full, collections=await self._collections()
        )

    async def _collections(self) -> list[CollectionSize]:
        """To find out, SQLite looks at every page of the file: that takes a share of the time."""
        started = time.monotonic()
        if started >= self._known_until:
            self._known = await self._db.scan(_collections)
            took = time.monotonic() - started
            self._known_until = time.monotonic() + took / SHARE
        return self._known


def _collections(connection: sqlite3.Connection) -> list[CollectionSize]:
    """None where SQLite was built without the table that tells."""
    try:
        rows = connection.execute(
            """
            SELECT coalesce(schema.tbl_name, stat.name), sum(stat.pgsize)
            FROM dbstat('main', 1) AS stat
            LEFT JOIN sqlite_schema AS schema ON schema.name = stat.name
            GROUP BY 1
            """
        ).fetchall()
    except sqlite3.OperationalError:
        return []
    sizes: dict[str, int] = {}
    for table, size in rows:
        name = _COLLECTIONS.get(table, table)
        if name.startswith("posting_words"):
            name = "jobs"
        sizes[name] = sizes.get(name, 0) + size
    largest = sorted(sizes.items(), key=lambda item: item[1], reverse=True)
    return [CollectionSize(name=name, bytes=size, is_ours=True) for name, size in largest]
