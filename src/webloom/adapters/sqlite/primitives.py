"""`Documents` and `Pairs` on SQLite: load, decide and save in the writer's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from webloom.adapters.sqlite.batches import as_json, plain
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.values import instant, stored
from webloom.stores.primitives import (
    Answer,
    BatchedDocuments,
    Call,
    DecidePair,
    Event,
    First,
    Now,
    Second,
)

State = TypeVar("State")
Row = Sequence[Any]


class Loaded(NamedTuple, Generic[State]):
    row: Row
    state: State


class Table(Generic[State]):
    """A codec: how the states of one aggregate are kept in the rows of a table."""

    def __init__(
        self,
        name: str,
        *,
        key: str,  # the column that identifies a row
        columns: Sequence[str],
        decode: Callable[[Row], State],  # of the key and the columns
        encode: Callable[[State], dict[str, Any]],  # columns that may be written, to be `stored`
        convert: Mapping[str, Callable[[Any], Any]] = MappingProxyType({}),  # instead of `stored`
    ) -> None:
        self.name = name
        self.key = key
        self.columns = ", ".join((key, *columns))
        self._decode = decode
        self._encode = encode
        self._convert = convert
        self._one = f"SELECT {self.columns} FROM {name} WHERE {key} = ?"
        self._many = (
            f"SELECT {self.columns} FROM {name} WHERE {key} IN (SELECT value FROM json_each(?))"
        )

    def decode(self, connection: sqlite3.Connection, row: Row) -> State:
        return self._decode(row)

    def load(
        self, connection: sqlite3.Connection, keys: Collection[str]
    ) -> dict[str, Loaded[State]]:
        """By key, as `plain` makes it."""
        if len(keys) == 1:
            rows = connection.execute(self._one, tuple(keys))
        else:
            rows = connection.execute(self._many, (as_json(list(keys)),))
        return {row[0]: Loaded(row, self.decode(connection, row)) for row in rows.fetchall()}

    def save(self, connection: sqlite3.Connection, changes: Iterable[Change[State]]) -> None:
        """One statement for each set of columns that changed."""
        statements: dict[str, list[tuple[Any, ...]]] = {}
        for key, before, after in changes:
            columns = {} if after is None else self._changed(before, after)
            names = ", ".join((*columns, self.key))
            if after is None:
                statement = f"DELETE FROM {self.name} WHERE {self.key} = ?"
            elif before is None:
                values = ", ".join("?" * (len(columns) + 1))
                statement = f"INSERT INTO {self.name} ({names}) VALUES ({values})"
            elif columns:
                assigned = ", ".join(f"{name} = ?" for name in columns)
                statement = f"UPDATE {self.name} SET {assigned} WHERE {self.key} = ?"
            else:
                continue
            statements.setdefault(statement, []).append((*columns.values(), key))
        for statement, rows in statements.items():
            if len(rows) == 1:
                connection.execute(statement, rows[0])
            else:
                connection.executemany(statement, rows)

    def encode(self, state: State) -> dict[str, Any]:
        """All columns that may be written, as they hold it."""
        return {
            name: self._convert.get(name, stored)(value)
            for name, value in self._encode(state).items()
        }

    def _saved(self, loaded: Loaded[State]) -> State:
        """As the row has it."""
        return loaded.state

    def _changed(self, before: Loaded[State] | None, after: State) -> dict[str, Any]:
        """Only what differs is converted to what a column holds."""
        known = {} if before is None else self._encode(self._saved(before))
        return {
            name: self._convert.get(name, stored)(value)
            for name, value in self._encode(after).items()
            if name != self.key and (before is None or known.get(name) != value)
        }


class Change(NamedTuple, Generic[State]):
    key: str
    before: Loaded[State] | None
    after: State | None


def now_of(database: Database) -> Now:
    wall = instant(database.wall_ms())
    return Now(wall, wall, database.now())


class SqliteDocuments(BatchedDocuments[State]):
    def __init__(self, database: Database, table: Table[State]) -> None:
        super().__init__(plain)
        self._db = database
        self._table = table
        self._durable: Operation[Call, list[Any]] = Operation(run=self._run)
        self._quick: Operation[Call, list[Any]] = Operation(run=self._run, durable=False)

    async def _read(self, keys: Collection[str]) -> dict[str, State]:
        found = await self._db.read(lambda connection: self._table.load(connection, keys))
        return {key: each.state for key, each in found.items()}

    async def _submit(self, call: Call, *, durable: bool) -> list[Any]:
        return await self._db.write(self._durable if durable else self._quick, call)

    def _run(self, connection: sqlite3.Connection, calls: list[Call]) -> list[list[Any]]:
        now = now_of(self._db)
        loaded = self._table.load(connection, {key for call in calls for key, _ in call.items})
        states: dict[str, State | None] = {key: each.state for key, each in loaded.items()}
        answers: list[list[Any]] = []
        for decide, items in calls:
            mine = []
            for key, event in items:
                states[key], answer = decide(states.get(key), event, now)
                mine.append(answer)
            answers.append(mine)
        self._table.save(connection, changes_of(loaded, states))
        return answers


def changes_of(
    loaded: dict[str, Loaded[State]], states: dict[str, State | None]
) -> Iterator[Change[State]]:
    for key, after in states.items():
        before = loaded.get(key)
        if after is not (None if before is None else before.state):
            yield Change(key, before, after)


class _PairCall(NamedTuple):
    decide: DecidePair[Any, Any, Any, Any]
    key: str
    event: Any
    second: Callable[[Any], str | None]


class SqlitePairs(Generic[First, Second]):
    def __init__(self, database: Database, first: Table[First], second: Table[Second]) -> None:
        self._db = database
        self._first = first
        self._second = second
        self._operation: Operation[_PairCall, Any] = Operation(run=self._run)

    async def change(
        self,
        decide: DecidePair[First, Second, Event, Answer],
        key: str,
        event: Event,
        *,
        second: Callable[[First | None], str | None],
    ) -> Answer:
        answer: Answer = await self._db.write(
            self._operation, _PairCall(decide, plain(key), event, second)
        )
        return answer

    def _run(self, connection: sqlite3.Connection, calls: list[_PairCall]) -> list[Any]:
        now = now_of(self._db)
        return [self._change(connection, call, now) for call in calls]

    def _change(self, connection: sqlite3.Connection, call: _PairCall, now: Now) -> Any:
        firsts = self._first.load(connection, [call.key])
        first = _state(firsts, call.key)
        named = call.second(first)
        key = None if named is None else plain(named)
        seconds = {} if key is None else self._second.load(connection, [key])
        after, second_after, answer = call.decide(first, _state(seconds, key), call.event, now)
        self._first.save(connection, changes_of(firsts, {call.key: after}))
        if key is not None:
            self._second.save(connection, changes_of(seconds, {key: second_after}))
        return answer


def _state(loaded: dict[str, Loaded[State]], key: str | None) -> State | None:
    return None if key is None or key not in loaded else loaded[key].state
