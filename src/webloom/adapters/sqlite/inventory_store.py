"""The inventory in SQLite: one row for each URL, its page source compressed beside it."""

from __future__ import annotations

from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.record_codec import find_records
from webloom.adapters.sqlite.record_listing import SqliteRecordListing
from webloom.adapters.sqlite.records import SqliteRecords
from webloom.domain.inventory import Record, url_key
from webloom.stores.inventory import StoredInventory

WHOLE = 1 << 62  # bytes: more than any source has


class SqliteInventoryStore(StoredInventory, SqliteRecordListing):
    def __init__(self, database: Database) -> None:
        StoredInventory.__init__(self, SqliteRecords(database))
        SqliteRecordListing.__init__(self, database)
        self._finding = Operation(run=find_records)

    async def find(self, url: str, *, most: int | None = None) -> Record | None:
        return await self._db.look_up(
            self._finding, (url_key(url), WHOLE if most is None else most)
        )
