"""The inventory in SQLite: one row for each URL, its page source compressed beside it."""

from __future__ import annotations

from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.record_codec import find_records
from webloom.adapters.sqlite.record_listing import counts, quiet_requests, records_page
from webloom.adapters.sqlite.records import SqliteRecords
from webloom.domain.inventory import Record, RecordFilter, RecordPage, Status, url_key
from webloom.domain.request_state import NotedRequest
from webloom.stores.inventory import StoredInventory

WHOLE = 1 << 62  # bytes: more than any source has


class SqliteInventoryStore(StoredInventory):
    def __init__(self, database: Database) -> None:
        super().__init__(SqliteRecords(database))
        self._db = database
        self._finding = Operation(run=find_records)

    async def find(self, url: str, *, most: int | None = None) -> Record | None:
        return await self._db.look_up(
            self._finding, (url_key(url), WHOLE if most is None else most)
        )

    async def page_of_records(
        self, chosen: RecordFilter, *, limit: int, cursor: str | None = None
    ) -> RecordPage:
        return await self._db.scan(records_page(chosen, limit, cursor))

    async def count_by_status(self) -> dict[Status, int]:
        return await self._db.scan(counts)

    async def forgotten_requests(self, *, quiet_for: float, limit: int) -> list[NotedRequest]:
        return await self._db.scan(quiet_requests(self._db.now() - quiet_for, limit))
