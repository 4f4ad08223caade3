"""A SQLite file as a whole: read from one snapshot, filled item by item.

A table says how its rows are read, how one is found, and what an item's row is. All the rest is the
same for all of them.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.connecting import connect
from webloom.adapters.sqlite.database import Database, Operation, Result
from webloom.domain.errors import StoreUnavailable
from webloom.ports.dump import Line
from webloom.stores.whole import chunks, merged

Row = Sequence[Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    columns: str
    source: str  # of SELECT
    order: str
    find_by: str  # a unique column, or how a row is found by `key`
    key: Callable[[sqlite3.Connection, Any], object]
    item: Callable[[Row], Any] = lambda row: row
    row: Callable[[Any], dict[str, Any]] = lambda item: {}
    stays_if: str = "false"  # a row that is not replaced
    carried: str = "true"  # rows that are items
    # Instead of `item`, `row` and upsert
    items: Callable[[sqlite3.Connection, Iterable[Row]], Iterator[Any]] | None = None
    put: Callable[[sqlite3.Connection, list[Any], Any], None] | None = None
    prepare: Callable[[list[Any]], Any] = lambda items: None  # for `put`; outside the transaction

    def read(self, connection: sqlite3.Connection, rows: Iterable[Row]) -> Iterator[Any]:
        return map(self.item, rows) if self.items is None else self.items(connection, rows)

    def find(self, connection: sqlite3.Connection, item: Any) -> Any:
        found = connection.execute(
            f"SELECT {self.columns} FROM {self.source} WHERE {self.find_by} = ?",
            (self.key(connection, item),),
        )
        return next(self.read(connection, found.fetchall()), None)

    def write(self, connection: sqlite3.Connection, items: list[Any], prepared: Any) -> None:
        if self.put is not None:
            self.put(connection, items, prepared)
            return
        for item in items:
            upsert(connection, self.source, self.find_by, self.row(item), unless=self.stays_if)


@dataclass(kw_only=True, slots=True)
class _Put:
    table: Table
    items: list[Any]
    prepared: Any = None


class SqliteDump:
    def __init__(self, database: Database, tables: dict[str, Table]) -> None:
        self._db = database
        self._tables = tables
        self._putting = Operation(run=_put, prepare=_prepare)
        self._noting = Operation(run=_note)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[_Snapshot]:
        with ThreadPoolExecutor(1, "webloom-dump") as thread:
            snapshot = _Snapshot(self._db, self._tables, thread)
            await snapshot.run(snapshot.open)
            try:
                yield snapshot
            finally:
                await snapshot.run(snapshot.close)

    async def put_if_newer(self, collection: str, items: Sequence[Any]) -> list[Any]:
        table = self._tables[collection]

        def read(connection: sqlite3.Connection) -> list[Any]:
            return [table.find(connection, item) for item in items]

        found = await self._db.scan(read)
        news = [new for here, new in zip(found, items, strict=True) if merged(here, new) != here]
        if not news:
            return found
        await self._db.write(self._putting, _Put(table=table, items=news))
        return await self._db.scan(read)

    async def noted(self, name: str) -> str | None:
        def query(connection: sqlite3.Connection) -> str | None:
            row = connection.execute(
                "SELECT position FROM copies WHERE source = ?", (plain(name),)
            ).fetchone()
            return None if row is None else str(row[0])

        return await self._db.read(query)

    async def note(self, name: str, text: str | None) -> None:
        await self._db.write(self._noting, (plain(name), text))


class _Snapshot:
    """One read transaction, on a connection and a thread of its own."""

    def __init__(
        self, database: Database, tables: dict[str, Table], thread: ThreadPoolExecutor
    ) -> None:
        self._path = database.path
        self._tables = tables
        self._thread = thread

    def open(self) -> None:
        self._connection = connect(self._path)
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # its moment

    def close(self) -> None:
        self._connection.close()

    async def run(self, work: Callable[[], Result]) -> Result:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{self._path}: {error}") from error

    async def count(self, collection: str) -> int:
        table = self._tables[collection]
        query = f"SELECT count(*) FROM {table.source} WHERE {table.carried}"
        [number] = await self.run(lambda: self._connection.execute(query).fetchone())
        return int(number)

    async def scan(self, collection: str) -> AsyncIterator[list[Line]]:
        table = self._tables[collection]
        query = f"SELECT {table.columns} FROM {table.source} WHERE {table.carried}"
        rows = await self.run(lambda: self._connection.execute(f"{query} ORDER BY {table.order}"))
        lists = chunks(table.read(self._connection, rows))
        while found := await self.run(partial(next, lists, None)):
            yield found


def _prepare(puts: list[_Put]) -> None:
    for put in puts:
        put.prepared = put.table.prepare(put.items)


def _put(connection: sqlite3.Connection, puts: list[_Put]) -> list[None]:
    for put in puts:
        pairs = [(put.table.find(connection, item), item) for item in put.items]
        news = [new for here, item in pairs if (new := merged(here, item)) != here]
        put.table.write(connection, news, put.prepared)
    return [None] * len(puts)


def _note(connection: sqlite3.Connection, notes: list[tuple[str, str | None]]) -> list[None]:
    for name, text in notes:
        connection.execute("DELETE FROM copies WHERE source = ?", (name,))
        if text is not None:
            connection.execute("INSERT INTO copies VALUES (?, ?)", (name, text))
    return [None] * len(notes)


def upsert(
    connection: sqlite3.Connection,
    table: str,
    key: str,
    row: dict[str, Any],
    *,
    unless: str = "false",
    **initial: Any,
) -> None:
    """`initial` are columns that only a new row gets."""
    names = [*row, *initial]
    connection.execute(
        f"""
        INSERT INTO {table} ({", ".join(names)}) VALUES ({", ".join("?" * len(names))})
        ON CONFLICT ({key}) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in row)}
        WHERE NOT ({unless})
        """,
        (*row.values(), *initial.values()),
    )
