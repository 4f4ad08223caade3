"""Feeds, runs and postings of a SQLite file, whole: to be carried elsewhere, or brought here.

The ledger is not carried. A run that was under way comes with its counters as they stood and in
nobody's hands; who takes it up begins with its first batch, and the postings say what was counted.
"""

from __future__ import annotations

import hashlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any, Generic, TypeVar

from webloom.adapters.sqlite import import_feeds, import_runs_rows, posting_keys
from webloom.adapters.sqlite.archive import SCANNED_AT_ONCE, note_position
from webloom.adapters.sqlite.batches import as_json
from webloom.adapters.sqlite.database import Database, Verb
from webloom.adapters.sqlite.import_feeds import feed_of
from webloom.adapters.sqlite.posting_rows import (
    FROM_STORED,
    STORED,
    Words,
    add_words,
    first_place,
    stored_of,
    words_of,
)
from webloom.adapters.sqlite.posting_writes import Writing
from webloom.adapters.sqlite.values import encoded, milliseconds
from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun
from webloom.ports.archive import LARGE_SLICE, Fingerprint, Slice
from webloom.ports.import_store import StoredPosting

Item = TypeVar("Item")
Row = Sequence[Any]


class _SqliteArchive(ABC, Generic[Item]):
    """One table. Its items stand in the order of a column that never changes."""

    name: str  # of the collection
    table: str
    place: str  # the column of the order
    first: int | str  # is before all others in it
    columns: str  # that say all of an item
    source: str

    def __init__(self, database: Database) -> None:
        self._db = database
        self._writing = Verb(run=self._write)
        self._noting = Verb(run=note_position)

    @abstractmethod
    def item(self, row: Row) -> Item: ...

    @abstractmethod
    def row(self, item: Item) -> Row:
        """As `columns` will be read."""

    @abstractmethod
    def moment(self, item: Item) -> datetime: ...

    @abstractmethod
    def find(self, connection: sqlite3.Connection, items: Sequence[Item]) -> dict[int, Any]:
        """The order's column of those that are here, by their number in `items`."""

    @abstractmethod
    def put(
        self, connection: sqlite3.Connection, items: list[tuple[Item, Any, Item | None]]
    ) -> None:
        """Each with the order's column and the item that is here, if there is one."""

    async def count(self) -> int:
        def query(connection: sqlite3.Connection) -> int:
            return int(connection.execute(f"SELECT count(*) FROM {self.table}").fetchone()[0])

        return await self._db.scan(query)

    async def read(self, position: str | None, limit: int) -> Slice[Item]:
        after = self.first if position is None else type(self.first)(position)

        def query(connection: sqlite3.Connection) -> Slice[Item]:
            items: list[Item] = []
            for place, row in self._rows(connection, after, limit):
                items.append(self.item(row))
                last = place
            return Slice(items=items, position=str(last) if items else None)

        return await self._db.scan(query)

    def _rows(
        self, connection: sqlite3.Connection, after: int | str, limit: int
    ) -> Iterable[tuple[Any, Row]]:
        """So many, or fewer where they are large."""
        size = 0
        rows = connection.execute(
            f"""
            SELECT {self.place}, {self.columns} FROM {self.source}
            WHERE {self.place} > ? ORDER BY {self.place} LIMIT ?
            """,
            (after, limit),
        )
        with closing(rows):
            for place, *row in rows:
                yield place, row
                size += sum(len(value) for value in row if isinstance(value, str))
                if size >= LARGE_SLICE:
                    return

    async def same_as(self, items: Sequence[Item]) -> list[Item | None]:
        def query(connection: sqlite3.Connection) -> list[Item | None]:
            here = self._here(connection, self.find(connection, items))
            return [here.get(number) for number in range(len(items))]

        return await self._db.scan(query)

    def _here(self, connection: sqlite3.Connection, places: dict[int, Any]) -> dict[int, Item]:
        rows = connection.execute(
            f"""
            SELECT {self.place}, {self.columns} FROM {self.source}
            WHERE {self.place} IN (SELECT value FROM json_each(?))
            """,
            (as_json(list(places.values())),),
        )
        found = {place: self.item(row) for place, *row in rows}
        return {number: found[place] for number, place in places.items() if place in found}

    async def write(self, items: Sequence[Item]) -> Fingerprint:
        return await self._db.write(self._writing, items)

    def _write(
        self, connection: sqlite3.Connection, batches: list[Sequence[Item]]
    ) -> list[Fingerprint]:
        return [self._write_one(connection, items) for items in batches]

    def _write_one(self, connection: sqlite3.Connection, items: Sequence[Item]) -> Fingerprint:
        places = self.find(connection, items)
        here = self._here(connection, places)
        self.put(
            connection,
            [
                (item, places.get(number), here.get(number))
                for number, item in enumerate(items)
                if number not in here or not self.is_newer(here[number], item)
            ],
        )
        return _fingerprint(self.row(item) for item in items)

    async def fingerprint(self, progress: Callable[[int], None]) -> Fingerprint:
        total, last = Fingerprint(), self.first

        def query(connection: sqlite3.Connection) -> list[tuple[Any, Row]]:
            return list(self._rows(connection, last, SCANNED_AT_ONCE))

        while rows := await self._db.scan(query):
            total += _fingerprint(row for _, row in rows)
            last = rows[-1][0]
            progress(len(rows))
        return total

    def is_newer(self, one: Item, other: Item) -> bool:
        return self.moment(one) > self.moment(other)

    async def copied_until(self, source: str) -> str | None:
        def query(connection: sqlite3.Connection) -> str | None:
            row = connection.execute(
                "SELECT position FROM copies WHERE source = ?", (f"{self.name} {source}",)
            ).fetchone()
            return None if row is None else str(row[0])

        return await self._db.read(query)

    async def note_copied(self, source: str, position: str | None) -> None:
        await self._db.write(self._noting, (f"{self.name} {source}", position))


def _fingerprint(rows: Iterable[Row]) -> Fingerprint:
    items = total = 0
    for row in rows:
        hashed = hashlib.blake2b(as_json(row).encode(), digest_size=16).digest()
        total += int.from_bytes(hashed, "big")
        items += 1
    return Fingerprint(items=items, hash=total % (1 << 128))


class SqliteFeedArchive(_SqliteArchive[Feed]):
    name = table = source = "feeds"
    place, first = "feed_id", ""
    columns = import_feeds.COLUMNS

    def item(self, row: Row) -> Feed:
        return feed_of(row)

    def row(self, item: Feed) -> Row:
        return import_feeds.row_of(item)

    def moment(self, item: Feed) -> datetime:
        return max(item.updated_at, item.last_run_at or item.updated_at)

    def find(self, connection: sqlite3.Connection, items: Sequence[Feed]) -> dict[int, str]:
        return {number: item.feed_id for number, item in enumerate(items)}

    def put(
        self, connection: sqlite3.Connection, items: list[tuple[Feed, str, Feed | None]]
    ) -> None:
        for feed, _, _ in items:
            import_feeds.put(connection, feed)


class SqliteRunArchive(_SqliteArchive[ImportRun]):
    name = "import_logs"
    table = source = "import_runs"
    place, first = "run", 0
    columns = "body"

    def item(self, row: Row) -> ImportRun:
        return import_runs_rows.decode(row[0])

    def row(self, item: ImportRun) -> Row:
        return [encoded(item)]

    def moment(self, item: ImportRun) -> datetime:
        return item.updated_at

    def find(self, connection: sqlite3.Connection, items: Sequence[ImportRun]) -> dict[int, int]:
        found = [import_runs_rows.number_of(connection, item.run_id) for item in items]
        return {number: run for number, run in enumerate(found) if run is not None}

    def put(
        self, connection: sqlite3.Connection, items: list[tuple[ImportRun, int, ImportRun | None]]
    ) -> None:
        """Whose hands a run is in stays as it is here."""
        for run, number, known in items:
            if known is None:
                import_runs_rows.insert(
                    connection, run, revision=0, started=run.started_at.timestamp()
                )
            else:
                import_runs_rows.write(connection, number, run)


class SqlitePostingArchive(_SqliteArchive[StoredPosting]):
    name = "jobs"
    table = "postings"
    source = FROM_STORED
    place, first = "postings.id", 0
    columns = STORED

    def item(self, row: Row) -> StoredPosting:
        return stored_of(row)

    def row(self, item: StoredPosting) -> Row:
        return [
            encoded(item.posting),
            milliseconds(item.created_at),
            milliseconds(item.updated_at),
            *item.created_by,
            *item.changed_by,
            milliseconds(item.closed_at),
            item.closed_by,
        ]

    def moment(self, item: StoredPosting) -> datetime:
        return max(item.updated_at, item.closed_at or item.updated_at)

    def find(
        self, connection: sqlite3.Connection, items: Sequence[StoredPosting]
    ) -> dict[int, int]:
        """A key that is no hash is of another store's; there is none such here."""
        keys = [posting_keys.key_bytes(item.posting.dedupe_key) for item in items]
        numbers = [number for number, key in enumerate(keys) if key is not None]
        rows = posting_keys.find(
            connection,
            [
                posting_keys.source_of(connection, items[each].posting.source_url)
                for each in numbers
            ],
            [key for key in keys if key is not None],
            "id",
        )
        return {numbers[row[0]]: row[1] for row in rows}

    def put(
        self,
        connection: sqlite3.Connection,
        items: list[tuple[StoredPosting, int, StoredPosting | None]],
    ) -> None:
        writing = Writing(connection, 0)
        [newest] = connection.execute("SELECT coalesce(max(id), 0) FROM posting_bodies").fetchone()
        words: list[tuple[str | None, Words]] = []
        rows, bodies, fresh = [], [], []
        for item, number, known in items:
            key = posting_keys.key_bytes(item.posting.dedupe_key)
            if key is None:
                continue
            source = writing.source(item.posting.source_url)
            if known is not None:
                place = first_place(_time(known)) | number
                words.append(("delete", words_of(place, known.posting, source)))
            else:
                newest += 1
                number = newest
                fresh.append((source, key, number))
            time = _time(item)
            place = first_place(time) | number
            words.append((None, words_of(place, item.posting, source)))
            bodies.append((number, encoded(item.posting)))
            closed_by = item.closed_by and import_runs_rows.numbered(connection, item.closed_by)
            rows.append(
                (
                    number,
                    source,
                    key,
                    item.posting.content_hash,
                    time,
                    import_runs_rows.numbered(connection, item.created_by.run_id),
                    item.created_by.batch_index,
                    import_runs_rows.numbered(connection, item.changed_by.run_id),
                    item.changed_by.batch_index,
                    milliseconds(item.created_at),
                    milliseconds(item.updated_at),
                    milliseconds(item.closed_at),
                    closed_by,
                    None if closed_by is None else place,
                )
            )
        connection.executemany("INSERT OR REPLACE INTO posting_bodies VALUES (?, ?)", bodies)
        connection.executemany(
            f"INSERT OR REPLACE INTO postings VALUES ({', '.join('?' * 14)})", rows
        )
        posting_keys.add(connection, fresh)
        posting_keys.settle(connection)
        if words:
            add_words(connection, words)


def _time(item: StoredPosting) -> int:
    return milliseconds(item.posting.published_at or item.created_at)
