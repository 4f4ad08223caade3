"""Lists of versions, change logs and price records, the latest first."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from webloom.adapters.sqlite import page_logs, page_prices
from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.index_scan import LAST, conditions, consistent_read, scan_index
from webloom.adapters.sqlite.page_codec import number_of
from webloom.adapters.sqlite.page_contents import bodies_of
from webloom.adapters.sqlite.page_versions import by_number
from webloom.adapters.sqlite.values import instant
from webloom.ports.dump import WholePrice
from webloom.ports.page_history import ChangeFilter, ChangeLog, Version
from webloom.stores.cursors import values_of
from webloom.stores.page_history import PricePlace, StoredPageHistory
from webloom.stores.page_items import change_log


class SqlitePageHistory(StoredPageHistory):
    def __init__(self, database: Database) -> None:
        self._db = database

    async def versions(
        self, watch_id: str, url: str, *, limit: int, before: int | None = None
    ) -> list[Version]:
        def query(connection: sqlite3.Connection) -> list[Version]:
            rows = connection.execute(
                """
                SELECT number, hash, ts, bytes, base IS NOT NULL, expire_at FROM snapshots
                WHERE page = ? AND number < ? AND bytes > 0 ORDER BY number DESC LIMIT ?
                """,
                (number_of(connection, watch_id, url), LAST if before is None else before, limit),
            )
            return [
                Version(
                    watch_id=watch_id,
                    url=url,
                    version=number,
                    snapshot_hash=snapshot_hash,
                    created_at=ts,
                    bytes=size,
                    is_delta=bool(is_delta),
                    expires_at=instant(expire_at),
                )
                for number, snapshot_hash, ts, size, is_delta, expire_at in rows
            ]

        return await self._db.read(query)

    async def _bodies(self, watch_id: str, url: str, version: int) -> Sequence[bytes] | None:
        def query(connection: sqlite3.Connection) -> list[bytes] | None:
            with consistent_read(connection):
                page = number_of(connection, watch_id, url)
                slot = None if page is None else by_number(connection, page, version)
                has_content = slot is not None and slot.size
                return bodies_of(connection, slot.id) if slot and has_content else None

        return await self._db.read(query)

    async def change_logs(
        self, chosen: ChangeFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[ChangeLog], str | None]:
        behind = None if cursor is None else values_of(cursor, int, int)
        values: dict[str, Any] = {
            "run_id": chosen.run_id and plain(chosen.run_id),
            "job_id": chosen.watch_id and plain(chosen.watch_id),
            "url": chosen.url and plain(chosen.url),
            "batch": chosen.batch and plain(chosen.batch),
        }
        of_watch = "job_id = :job_id"
        pages = conditions(values, url="url = :url", job_id=of_watch)
        of_url = f"page IN (SELECT id FROM pages WHERE {pages})"
        source, tested = f"change_logs WHERE {conditions(values, job_id=of_watch)}", "true"
        if chosen.batch is not None:
            source = "change_logs WHERE batch = :batch"
        elif chosen.run_id is not None:
            source = "change_logs WHERE run_id = :run_id"
            tested = conditions(values, job_id=of_watch, url=of_url)
        elif chosen.url is not None:
            source = f"change_logs INDEXED BY change_logs_by_page WHERE {of_url}"

        def query(connection: sqlite3.Connection) -> tuple[list[ChangeLog], str | None]:
            with consistent_read(connection):
                ids, following = scan_index(
                    connection,
                    source=source,
                    place=("ts", "snapshot"),
                    chosen=tested,
                    values=values,
                    limit=limit,
                    behind=behind,
                )
                return [_change_log(connection, each) for each in ids], following

        return await self._db.scan(query)

    async def _price_records(
        self, watch_id: str, url: str, limit: int, before: PricePlace | None
    ) -> list[tuple[WholePrice, int | None]]:
        ts, key = (LAST, "") if before is None else before

        def query(connection: sqlite3.Connection) -> list[tuple[WholePrice, int | None]]:
            rows = connection.execute(
                f"""
                SELECT {page_prices.COLUMNS}, number
                FROM {page_prices.SOURCE} LEFT JOIN snapshots ON snapshots.key = version_key
                WHERE price_history.page = ? AND price_history.ts <= ?
                    AND (price_history.ts, price_history.key) < (?, ?)
                ORDER BY price_history.ts DESC, price_history.key DESC LIMIT ?
                """,
                (number_of(connection, watch_id, url), ts, ts, bytes.fromhex(key), limit),
            )
            return [(page_prices.price_of(row[:-1]), row[-1]) for row in rows]

        return await self._db.scan(query)


def _change_log(connection: sqlite3.Connection, snapshot: int) -> ChangeLog:
    found = page_logs.find(connection, snapshot)
    assert found is not None  # noqa: S101 - it was found in this transaction
    return change_log(*found)
