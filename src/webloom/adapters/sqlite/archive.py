"""The inventory of a SQLite file, whole: to be carried elsewhere, or brought here."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, overload

from webloom.adapters.sqlite.batches import as_json, change, given, plain, select_all
from webloom.adapters.sqlite.database import Database, Verb
from webloom.adapters.sqlite.page_sources import compress, decompress, write_sources
from webloom.adapters.sqlite.record_codec import (
    RECORD_COLUMNS,
    STATE_COLUMNS,
    record_of,
    state_of,
)
from webloom.domain.inventory import shelf_of, url_key
from webloom.parsing.web_url import host_of
from webloom.ports.archive import LARGE_SLICE, Fingerprint, Slice, StoredRecord

COLUMNS_READ = f"{RECORD_COLUMNS}, {STATE_COLUMNS}"
SCANNED_AT_ONCE = 1000
COLUMNS_WRITTEN = (
    "url_key", "url", "host", "status", "shelf", "token", "request_id", "background",
    "attempt_number", "retry_count", "error_message", "last_attempt_at", "last_request_id",
    "status_code", "final_url", "headers", "cookies", "details", "created_at", "updated_at",
)  # fmt: skip


@dataclass(kw_only=True, slots=True)
class _Write:
    records: Sequence[StoredRecord]
    sources: list[bytes | None] | None = None  # compressed


class SqliteInventoryArchive:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._writing = Verb(run=self._write, prepare=_pack)
        self._noting = Verb(run=note_position)

    async def count(self) -> int:
        def query(connection: sqlite3.Connection) -> int:
            return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])

        return await self._db.scan(query)

    async def read(self, position: str | None, limit: int) -> Slice[StoredRecord]:
        def query(connection: sqlite3.Connection) -> Slice[StoredRecord]:
            items: list[StoredRecord] = []
            size = 0
            rows = connection.execute(
                f"""
                SELECT source, {COLUMNS_READ} FROM records LEFT JOIN page_sources ON record_id = id
                WHERE id > ? ORDER BY id LIMIT ?
                """,
                (int(position or 0), limit),
            )
            with closing(rows):
                for row in rows:
                    items.append(_stored(row))
                    size += len(items[-1].metadata.page_source or "")
                    if len(items) == limit or size >= LARGE_SLICE:
                        return Slice(items=items, position=str(row[1]))
            return Slice(items=items, position=None)

        return await self._db.scan(query)

    async def same_as(self, items: Sequence[StoredRecord]) -> list[StoredRecord | None]:
        keys = [url_key(item.url) for item in items]

        def query(connection: sqlite3.Connection) -> list[StoredRecord | None]:
            rows = connection.execute(
                f"""
                SELECT url_key, source, {COLUMNS_READ}
                FROM records LEFT JOIN page_sources ON record_id = id
                WHERE url_key IN (SELECT value FROM json_each(?))
                """,
                (as_json(keys),),
            )
            found = {row[0]: _stored(row[1:]) for row in rows}
            return [found.get(key) for key in keys]

        return await self._db.scan(query)

    async def write(self, items: Sequence[StoredRecord]) -> Fingerprint:
        return await self._db.write(self._writing, _Write(records=items))

    async def fingerprint(self, progress: Callable[[int], None]) -> Fingerprint:
        total, last = Fingerprint(), 0

        def query(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            found: list[tuple[Any, ...]] = []
            size = 0
            rows = connection.execute(
                f"""
                SELECT id, source, {", ".join(COLUMNS_WRITTEN)}, retry_due IS NOT NULL
                FROM records LEFT JOIN page_sources ON record_id = id
                WHERE id > ? ORDER BY id LIMIT ?
                """,
                (last, SCANNED_AT_ONCE),
            )
            with closing(rows):
                for row in rows:
                    found.append(row)
                    size += len(row[1] or b"")
                    if size >= LARGE_SLICE:
                        break
            return found

        while rows := await self._db.scan(query):
            total += _fingerprint((row[2:], row[1]) for row in rows)
            last = rows[-1][0]
            progress(len(rows))
        return total

    def is_newer(self, one: StoredRecord, other: StoredRecord) -> bool:
        return (one.updated_at, one.token) > (other.updated_at, other.token)

    async def copied_until(self, source: str) -> str | None:
        def query(connection: sqlite3.Connection) -> str | None:
            row = connection.execute(
                "SELECT position FROM copies WHERE source = ?", (source,)
            ).fetchone()
            return None if row is None else str(row[0])

        return await self._db.read(query)

    async def note_copied(self, source: str, position: str | None) -> None:
        await self._db.write(self._noting, (source, position))

    def _write(self, connection: sqlite3.Connection, items: list[_Write]) -> list[Fingerprint]:
        return [_write_records(connection, item) for item in items]


def _stored(row: Sequence[Any]) -> StoredRecord:
    source = None if row[0] is None else decompress(row[0])
    state = state_of(row[-len(STATE_COLUMNS.split(",")) :], now=0.0)
    return StoredRecord.of(record_of(row[1:], source), state)


def _pack(items: list[_Write]) -> None:
    for item in items:
        item.sources = compress([record.metadata.page_source for record in item.records])


def _write_records(connection: sqlite3.Connection, item: _Write) -> Fingerprint:
    stored = select_all(
        connection,
        "url_key, updated_at, token",
        "records WHERE url_key IN (SELECT value FROM json_each(:keys))",
        keys=as_json([url_key(record.url) for record in item.records]),
    )
    here = {key: (updated_at, token) for key, updated_at, token in stored}
    rows, sources = [], {}
    for record, source in zip(item.records, item.sources or (), strict=True):
        key, age = url_key(record.url), (_milliseconds(record.updated_at), record.token)
        if here.get(key, age) <= age:
            rows.append(_row(key, record))
            sources[key] = source
    [newest] = connection.execute("SELECT coalesce(max(id), 0) FROM records").fetchone()
    columns = ", ".join(COLUMNS_WRITTEN)
    # What waits for a message or a retry has been quiet since ever, so that the scheduler queues it
    # at once. A token never goes back.
    change(
        connection,
        given(*COLUMNS_WRITTEN, "waits")
        + f"""
        INSERT INTO records ({columns}, touched, retry_due)
        SELECT {columns}, 0, iif(waits, 0, NULL) FROM given WHERE true
        ON CONFLICT (url_key) DO UPDATE SET lease = NULL, touched = 0,
            retry_due = excluded.retry_due, token = max(token, excluded.token),
            {", ".join(f"{name} = excluded.{name}" for name in COLUMNS_WRITTEN if name != "token")}
        """,
        rows,
    )
    connection.execute(
        "INSERT INTO record_words (rowid, url) SELECT id, url FROM records WHERE id > ?", (newest,)
    )
    ids = select_all(
        connection,
        "url_key, id",
        "records WHERE url_key IN (SELECT value FROM json_each(:keys))",
        keys=as_json(list(sources)),
    )
    write_sources(connection, {row: sources[key] for key, row in ids})
    return _fingerprint(
        (_row(url_key(record.url), record), source)
        for record, source in zip(item.records, item.sources or (), strict=True)
    )


def _fingerprint(rows: Iterable[tuple[Sequence[object], bytes | None]]) -> Fingerprint:
    """Of rows and page sources as the tables hold them."""
    items = total = 0
    for row, source in rows:
        hashed = hashlib.blake2b(as_json(row).encode(), digest_size=16)
        hashed.update(b"" if source is None else source)
        total += int.from_bytes(hashed.digest(), "big")
        items += 1
    return Fingerprint(items=items, hash=total % (1 << 128))


def _row(key: str, record: StoredRecord) -> tuple[object, ...]:
    metadata, processing = record.metadata, record.processing
    return (
        key,
        record.url,
        host_of(record.url),
        record.status,
        shelf_of(record.status),
        record.token,
        record.request_id,
        int(record.background),
        processing.attempt_number,
        processing.retry_count,
        processing.error_message and plain(processing.error_message),
        _milliseconds(processing.last_attempt_at),
        processing.last_request_id,
        metadata.status_code,
        metadata.final_url,
        _json(metadata.headers),
        _json(metadata.cookies),
        _json(record.additional_details),
        _milliseconds(record.created_at),
        _milliseconds(record.updated_at),
        int(record.waits),
    )


def _json(value: object) -> str | None:
    return None if value is None else as_json(value)


@overload
def _milliseconds(time: datetime) -> int: ...
@overload
def _milliseconds(time: datetime | None) -> int | None: ...
def _milliseconds(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)


def note_position(
    connection: sqlite3.Connection, items: list[tuple[str, str | None]]
) -> list[None]:
    for source, position in items:
        connection.execute("DELETE FROM copies WHERE source = ?", (source,))
        if position is not None:
            connection.execute("INSERT INTO copies VALUES (?, ?)", (source, position))
    return [None] * len(items)
