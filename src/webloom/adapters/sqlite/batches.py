"""Many rows in one statement.

Each step of a statement hands Python's interpreter lock over and waits to get it back, which a busy
event loop makes slow. So a batch travels into SQLite as one JSON array and comes out as one: the
work on its rows is done inside a single step, beside the event loop.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

import msgspec

Item = TypeVar("Item")
Result = TypeVar("Result")

_encoder = msgspec.json.Encoder()
_lists = msgspec.json.Decoder(list[list[Any]])


def as_json(values: object) -> str:
    return _encoder.encode(values).decode()


def given(*columns: str) -> str:
    """A common table expression over the rows of the JSON array `:rows`."""
    values = ", ".join(
        f"json_extract(value, '$[{place}]') AS {name}" for place, name in enumerate(columns)
    )
    return f"WITH given AS (SELECT {values} FROM json_each(:rows))"


def change(
    connection: sqlite3.Connection, statement: str, rows: Iterable[object], **values: object
) -> None:
    """Run a statement that starts with `given(...)`, unless there are no rows."""
    if encoded := list(rows):
        connection.execute(statement, values | {"rows": as_json(encoded)})


def select_all(
    connection: sqlite3.Connection,
    columns: str,
    source: str,
    decoder: msgspec.json.Decoder[Any] = _lists,
    **values: object,
) -> list[Any]:
    """All rows of `SELECT columns FROM source`, as lists or as the decoder makes them; the columns
    must be numbers, text or JSON."""
    [found] = connection.execute(
        f"SELECT CAST(json_group_array(json_array({columns})) AS BLOB) FROM {source}",
        values,
    ).fetchone()
    # SQLite takes any bytes for text; a row that somebody put in by hand must not hide the others.
    rows: list[Any] = decoder.decode(found.decode(errors="replace"))
    return rows


def for_each(
    run: Callable[[sqlite3.Connection, Item], Result],
) -> Callable[[sqlite3.Connection, list[Item]], list[Result]]:
    """A batch of writes that can't share statements."""
    return lambda connection, items: [run(connection, item) for item in items]


def update(connection: sqlite3.Connection, table: str, key: int, columns: dict[str, Any]) -> None:
    """Of the row with that id; nothing where no columns are given."""
    if columns:
        connection.execute(_update(table, tuple(columns)), (*columns.values(), key))


def upsert(
    connection: sqlite3.Connection, table: str, key: str, columns: dict[str, Any], **initial: Any
) -> None:
    """`initial` are columns that only a new row gets."""
    statement = _upsert(table, key, tuple(columns), tuple(initial))
    connection.execute(statement, (*columns.values(), *initial.values()))


# Each table has few sets of columns that are written together.


@cache
def _update(table: str, columns: tuple[str, ...]) -> str:
    names = ", ".join(f"{name} = ?" for name in columns)
    return f"UPDATE {table} SET {names} WHERE id = ?"


@cache
def _upsert(table: str, key: str, columns: tuple[str, ...], initial: tuple[str, ...]) -> str:
    names = (*columns, *initial)
    changed = ", ".join(f"{name} = excluded.{name}" for name in columns)
    return (
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) "
        f"ON CONFLICT ({key}) DO UPDATE SET {changed}"
    )


def plain(text: str) -> str:
    """Text as SQLite and its JSON can carry it: no lone surrogates, no NUL."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")
