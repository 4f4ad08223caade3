"""A SQLite file as a whole: read from one snapshot, filled item by item.

Aggregates that are `Documents` are read and written by their codecs. For the others a table says
how its rows are read, how one is found, and how items are put.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from webloom.adapters.sqlite import primitives
from webloom.adapters.sqlite.batches import for_each
from webloom.adapters.sqlite.connecting import connect
from webloom.adapters.sqlite.database import Database, Operation, Result
from webloom.adapters.sqlite.feeds import FEEDS, SqliteFeeds
from webloom.adapters.sqlite.import_run_codec import RUNS
from webloom.adapters.sqlite.notifications import NOTIFICATIONS
from webloom.adapters.sqlite.primitives import Row, SqliteDocuments
from webloom.adapters.sqlite.watch_codec import WATCHES
from webloom.adapters.sqlite.watch_run_codec import COUNTED_RUNS
from webloom.domain.errors import StoreUnavailable
from webloom.ports.dump import Line
from webloom.stores.dump import AGGREGATES, StoredDump
from webloom.stores.whole import chunks, merged

ReadRows = Callable[[sqlite3.Connection, Iterable[Row]], Iterator[Any]]

CODECS: dict[str, primitives.Table[Any]] = {
    "feeds": FEEDS,
    "import_logs": RUNS,
    "job_runs": COUNTED_RUNS,
    "watches": WATCHES,
    "notices": NOTIFICATIONS,
}
_NOTES = primitives.Table(
    "copies",
    key="source",
    columns=("position",),
    decode=lambda row: str(row[1]),
    encode=lambda text: {"position": text},
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """How a collection is read."""

    columns: str
    source: str  # of SELECT
    order: str
    items: ReadRows
    carried: str = "true"  # rows that are items


@dataclass(frozen=True, kw_only=True, slots=True)
class Table(Rows):
    """How a collection is filled, too."""

    find_by: str  # a unique column
    put: Callable[[sqlite3.Connection, list[Any], Any], None]
    # Of an item, in that column
    key: Callable[[sqlite3.Connection, Any], object] = lambda _, item: bytes.fromhex(item.key)
    prepare: Callable[[list[Any]], Any] = lambda items: None  # for `put`; outside the transaction

    def find(self, connection: sqlite3.Connection, item: Any) -> Any:
        found = connection.execute(
            f"SELECT {self.columns} FROM {self.source} WHERE {self.find_by} = ?",
            (self.key(connection, item),),
        )
        return next(self.items(connection, found.fetchall()), None)


def each(item: Callable[[Row], Any]) -> ReadRows:
    return lambda connection, rows: map(item, rows)


def _rows_of(collection: str, codec: primitives.Table[Any]) -> Rows:
    item = AGGREGATES[collection].item
    return Rows(
        columns=codec.columns,
        source=codec.name,
        order="rowid",
        items=lambda connection, rows: (item(codec.decode(connection, row)) for row in rows),
    )


@dataclass(kw_only=True, slots=True)
class _Put:
    table: Table
    items: list[Any]
    prepared: Any = None


class SqliteDump(StoredDump):
    def __init__(self, database: Database, tables: Mapping[str, Table]) -> None:
        super().__init__(
            {name: SqliteDocuments(database, codec) for name, codec in CODECS.items()},
            SqliteFeeds(database),
            SqliteDocuments(database, _NOTES),
        )
        self._db = database
        self._tables = tables
        self._putting = Operation(run=for_each(_put), prepare=_prepare)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[_Snapshot]:
        rows = {name: _rows_of(name, codec) for name, codec in CODECS.items()} | dict(self._tables)
        with ThreadPoolExecutor(1, "webloom-dump") as thread:
            snapshot = _Snapshot(self._db, rows, thread)
            await snapshot.run(snapshot.open)
            try:
                yield snapshot
            finally:  # also if this is cancelled, once more
                await asyncio.shield(snapshot.run(snapshot.close))

    async def _put(self, collection: str, items: Sequence[Any]) -> list[Any]:
        table = self._tables[collection]

        def read(connection: sqlite3.Connection) -> list[Any]:
            return [table.find(connection, item) for item in items]

        found = await self._db.scan(read)
        news = [new for here, new in zip(found, items, strict=True) if merged(here, new) != here]
        if not news:
            return found
        await self._db.write(self._putting, _Put(table=table, items=news))
        return await self._db.scan(read)


class _Snapshot:
    """One read transaction, on a connection and a thread of its own."""

    def __init__(
        self, database: Database, rows: Mapping[str, Rows], thread: ThreadPoolExecutor
    ) -> None:
        self._path = database.path
        self._rows = rows
        self._thread = thread
        self._cursors: list[sqlite3.Cursor] = []

    def open(self) -> None:
        self._connection = connect(self._path)
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # its moment

    def close(self) -> None:
        """A cursor that was left in its middle would keep the transaction open."""
        for cursor in self._cursors:
            cursor.close()
        self._connection.close()

    async def run(self, work: Callable[[], Result]) -> Result:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{self._path}: {error}") from error

    def _selected(self, query: str) -> sqlite3.Cursor:
        self._cursors.append(self._connection.execute(query))
        return self._cursors[-1]

    async def count(self, collection: str) -> int:
        rows = self._rows[collection]
        query = f"SELECT count(*) FROM {rows.source} WHERE {rows.carried}"
        [number] = await self.run(lambda: self._connection.execute(query).fetchone())
        return int(number)

    async def scan(self, collection: str) -> AsyncIterator[list[Line]]:
        rows = self._rows[collection]
        query = (
            f"SELECT {rows.columns} FROM {rows.source} WHERE {rows.carried} ORDER BY {rows.order}"
        )
        found = await self.run(lambda: self._selected(query))
        lists = chunks(rows.items(self._connection, found))
        while lines := await self.run(partial(next, lists, None)):
            yield lines


def _prepare(puts: list[_Put]) -> None:
    for put in puts:
        put.prepared = put.table.prepare(put.items)


def _put(connection: sqlite3.Connection, put: _Put) -> None:
    pairs = [(put.table.find(connection, item), item) for item in put.items]
    news = [new for here, item in pairs if (new := merged(here, item)) != here]
    put.table.put(connection, news, put.prepared)
