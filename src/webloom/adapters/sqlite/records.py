"""Records by URL: their states are loaded, decided and saved in the writer's transaction.

All calls that wait are one SELECT, the decisions in Python, and one UPDATE for each set of columns
that changed. Page sources are compressed before the transaction begins.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter, ne
from typing import Any, NamedTuple

import msgspec

from webloom.adapters.sqlite.batches import as_json, change, given, plain, select_all
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.page_sources import compress, write_sources
from webloom.adapters.sqlite.primitives import now_of
from webloom.adapters.sqlite.record_codec import STATE_COLUMNS, state_of
from webloom.adapters.sqlite.values import milliseconds
from webloom.domain.inventory import Completed, Failed, Status, shelf_of, url_key
from webloom.domain.request_state import FinishAttempt, Known, RequestState, Tombstone
from webloom.parsing.web_url import host_of
from webloom.stores.inventory import Decided, Guess
from webloom.stores.primitives import Answer, Decide, Event, Now

TOMBSTONE_SECONDS = 3600.0

_RESPONSE = ("status_code", "final_url", "headers", "cookies", "details")
_LOADED = STATE_COLUMNS.split(", ")  # in the order of the state's fields, then the shared ones:
_SHARED = {"last_attempt_at": ":wall", "updated_at": ":wall", "touched": ":now"}
_FIELDS = (*_LOADED, *_SHARED, "response", "is_cleared")
_NEW = RequestState(Status.PENDING, 0)
_ONE = f"SELECT id, {STATE_COLUMNS} FROM records WHERE url_key = ?"
_ADD_WORDS = """
INSERT INTO record_words (rowid, url)
SELECT id, url FROM records WHERE id > last_insert_rowid() - ?
"""
_rows = msgspec.json.Decoder(list[tuple[str, int, RequestState]], strict=False)


@dataclass(kw_only=True, slots=True)
class _Call:
    decide: Decide[Any, Any, Any]
    items: Sequence[tuple[str, Any]]
    sources: dict[int, bytes | None] = field(default_factory=dict)  # by id of the response


class SqliteRecords:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._reading = Operation(run=self._read)
        self._durable: Operation[_Call, list[Any]] = Operation(run=self._change)
        self._quick: Operation[_Call, list[Any]] = Operation(
            run=self._change, prepare=_compress_sources, durable=False
        )

    async def read(self, urls: Sequence[str]) -> dict[str, RequestState]:
        return await self._db.look_up(self._reading, urls)

    async def change(
        self,
        decide: Decide[Decided, Event, Answer],
        items: Sequence[tuple[str, Event]],
        *,
        guess: Guess[Event] | None = None,
        durable: bool = True,
    ) -> list[Answer]:
        """To read is cheap here: nothing is guessed."""
        call = _Call(decide=decide, items=items)
        return await self._db.write(self._durable if durable else self._quick, call)

    async def check_room(self) -> None:
        await self._db.check_room()

    def text(self, text: str) -> str:
        return plain(text)

    # What follows runs in the threads of the database.

    def _read(
        self, connection: sqlite3.Connection, items: list[Sequence[str]]
    ) -> list[dict[str, RequestState]]:
        keys = {url: url_key(url) for urls in items for url in urls}
        found, now = _load(connection, keys.values()), self._db.now()
        return [
            {url: found[key][1]._replace(as_of=now) for url in urls if (key := keys[url]) in found}
            for urls in items
        ]

    def _change(self, connection: sqlite3.Connection, calls: list[_Call]) -> list[list[Any]]:
        now = now_of(self._db)
        keys = {url: url_key(url) for call in calls for url, _ in call.items}
        loaded = _load(connection, keys.values())
        states: dict[str, Known] = {key: state for key, (_, state) in loaded.items()}
        if len(states) < len(keys):
            states |= _tombstones(connection, [key for key in keys.values() if key not in states])
        changed: dict[str, tuple[str, RequestState]] = {}  # with their URLs, by key
        sources: dict[int, bytes | None] = {}
        results = []
        for call in calls:
            decide, answers = call.decide, []
            for url, event in call.items:
                key = keys[url]
                before = states.get(key)
                after, answer = decide(before, event, now)
                answers.append(answer)
                if after is before:
                    continue
                states[key] = after
                if isinstance(after, RequestState):
                    changed[key] = (url, after)
                elif key in loaded:
                    _delete(connection, key, loaded.pop(key)[0], url, after, now)
                    changed.pop(key, None)
            sources |= call.sources
            results.append(answers)
        if changed:
            _save(connection, loaded, changed, sources, now)
        return results


def _compress_sources(calls: list[_Call]) -> None:
    received = [
        (call, event.outcome.received)
        for call in calls
        for _, event in call.items
        if isinstance(event, FinishAttempt)
        and isinstance(event.outcome, (Completed, Failed))
        and event.outcome.received is not None
    ]
    if received:
        packed = compress([each.page_source for _, each in received])
        for (call, each), source in zip(received, packed, strict=True):
            call.sources[id(each)] = source


def _load(
    connection: sqlite3.Connection, keys: Collection[str]
) -> dict[str, tuple[int, RequestState]]:
    if len(keys) == 1:
        [key] = keys
        row = connection.execute(_ONE, (key,)).fetchone()
        return {} if row is None else {key: (row[0], state_of(row[1:], 0.0))}
    rows = select_all(
        connection,
        f"url_key, id, json_array({STATE_COLUMNS})",
        "records WHERE url_key IN (SELECT value FROM json_each(:keys))",
        _rows,
        keys=as_json(list(keys)),
    )
    return {key: (row, state) for key, row, state in rows}


def _tombstones(connection: sqlite3.Connection, keys: list[str]) -> dict[str, Known]:
    if len(keys) == 1:
        row = connection.execute("SELECT request_id FROM forgotten WHERE url_key = ?", keys)
        return {key: Tombstone(request_id) for key, [request_id] in zip(keys, row, strict=False)}
    rows = select_all(
        connection,
        "url_key, request_id",
        "forgotten WHERE url_key IN (SELECT value FROM json_each(:keys))",
        keys=as_json(keys),
    )
    return {key: Tombstone(request_id) for key, request_id in rows}


def _save(
    connection: sqlite3.Connection,
    loaded: dict[str, tuple[int, RequestState]],
    changed: dict[str, tuple[str, RequestState]],
    compressed: dict[int, bytes | None],
    now: Now,
) -> None:
    """One statement for each set of columns that changed."""
    times = {"now": now.timeline, "wall": milliseconds(now.wall)}
    updates: dict[_Shape, list[list[Any]]] = {}
    inserts: dict[_Shape, list[list[Any]]] = {}
    sources: dict[int, bytes | None] = {}
    for key, (url, after) in changed.items():
        if key in loaded:
            row, before = loaded[key]
            shape = _shape_of(before, after)
            updates.setdefault(shape, []).append([row, *shape.values(after)])
            if after.response is not None or after.is_cleared:
                sources[row] = compressed.get(id(after.response))
        else:
            shape = _shape_of(_NEW, after)
            inserts.setdefault(shape, []).append([key, url, host_of(url), *shape.values(after)])
    for shape, rows in updates.items():
        _execute(connection, shape.update(len(rows) == 1), rows, times)
    for shape, rows in inserts.items():
        _execute(connection, shape.insertion(len(rows) == 1), rows, times)
        connection.execute(_ADD_WORDS, (len(rows),))
    if sources:
        write_sources(connection, sources)


def _execute(
    connection: sqlite3.Connection,
    statement: _Statement,
    rows: list[list[Any]],
    times: dict[str, Any],
) -> None:
    if len(rows) == 1:
        own = dict(zip(statement.columns, rows[0], strict=True))
        connection.execute(statement.text, own | times)
    else:
        change(connection, statement.text, rows, **times)


def _delete(
    connection: sqlite3.Connection, key: str, row: int, url: str, after: Tombstone | None, now: Now
) -> None:
    execute, time = connection.execute, now.timeline
    execute("DELETE FROM page_sources WHERE record_id = ?", (row,))
    execute(
        "INSERT INTO record_words (record_words, rowid, url) VALUES ('delete', ?, ?)", (row, url)
    )
    execute("DELETE FROM records WHERE id = ?", (row,))
    execute("DELETE FROM forgotten WHERE time < ?", (time - TOMBSTONE_SECONDS,))
    request_id = "" if after is None else after.request_id or ""
    execute("INSERT OR REPLACE INTO forgotten VALUES (?, ?, ?)", (key, request_id, time))


class _Statement(NamedTuple):
    text: str
    columns: tuple[str, ...]  # that each row brings


class _Shape:
    """A set of columns that are written together."""

    def __init__(self, fields: Sequence[str], *, with_shelf: bool) -> None:
        own = [name for name in fields if name in _LOADED]
        self._loaded = _getter([_LOADED.index(name) for name in own])
        self._error = own.index("error_message") if "error_message" in own else None
        self._has_response = "response" in fields
        self._has_shelf = with_shelf
        if self._has_response or "is_cleared" in fields:
            own += _RESPONSE
        if with_shelf:
            own.append("shelf")
        self._own = tuple(own)
        self._shared = {name: _SHARED[name] for name in fields if name in _SHARED}
        self._cleared = [None] * (len(_RESPONSE) if "is_cleared" in fields else 0)

    def values(self, state: RequestState) -> list[Any]:
        """Without those that all rows share."""
        values = [*self._loaded(state)]
        if self._error is not None and state.error_message is not None:
            values[self._error] = plain(state.error_message)
        if self._has_response:
            received: Any = state.response
            values += (
                received.status_code,
                received.final_url,
                as_json(received.headers),
                as_json(received.cookies),
                as_json(received.details),
            )
        else:
            values += self._cleared
        if self._has_shelf:
            values.append(shelf_of(state.status))
        return values

    @cache  # noqa: B019 - there are a few shapes, which stay
    def update(self, is_single: bool) -> _Statement:
        columns = ("row", *self._own)
        prefix = ":" if is_single else "given."
        written = {name: prefix + name for name in self._own} | self._shared
        assigned = ", ".join(f"{name} = {value}" for name, value in written.items())
        if is_single:
            return _Statement(f"UPDATE records SET {assigned} WHERE id = :row", columns)
        update = f"UPDATE records SET {assigned} FROM given WHERE id = given.row"
        return _Statement(f"{given(*columns)} {update}", columns)

    @cache  # noqa: B019
    def insertion(self, is_single: bool) -> _Statement:
        """The status is written even where it is that of a new row."""
        columns = ("url_key", "url", "host", *self._own)
        prefix = ":" if is_single else "given."
        written = {name: prefix + name for name in columns} | self._shared
        written = {"status": "'PENDING'", "shelf": "'OPEN'", "created_at": ":wall"} | written
        insert = f"INSERT INTO records ({', '.join(written)}) SELECT {', '.join(written.values())}"
        if is_single:
            return _Statement(insert, columns)
        return _Statement(f"{given(*columns)} {insert} FROM given", columns)


def _getter(places: list[int]) -> Callable[[RequestState], tuple[Any, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    return lambda state: tuple(state[place] for place in places)


def _shape_of(before: RequestState, after: RequestState) -> _Shape:
    is_changed = tuple(map(ne, before, after))
    return _shape(is_changed, is_changed[0] and (before.status.is_final or after.status.is_final))


@cache
def _shape(is_changed: tuple[bool, ...], with_shelf: bool) -> _Shape:
    return _Shape([*itertools.compress(_FIELDS, is_changed)], with_shelf=with_shelf)
