"""Records by URL: their states are loaded, decided and saved in the writer's transaction.

All calls that wait are one SELECT, the decisions in Python, and one UPDATE for each set of columns
that changed. Page sources are compressed before the transaction begins.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import as_json, change, given, plain, select_all
from webloom.adapters.sqlite.database import Database, Verb
from webloom.adapters.sqlite.page_sources import compress, write_sources
from webloom.adapters.sqlite.primitives import now_of
from webloom.adapters.sqlite.record_codec import STATE_COLUMNS
from webloom.adapters.sqlite.values import milliseconds
from webloom.domain.inventory import Completed, Failed, Received, shelf_of, url_key
from webloom.domain.request_state import FinishAttempt, Known, RequestState, Tombstone
from webloom.parsing.web_url import host_of
from webloom.stores.inventory import Decided, Guess
from webloom.stores.primitives import Answer, Decide, Event, Now

TOMBSTONE_SECONDS = 3600.0

_LOADED = STATE_COLUMNS.split(", ")
_ERROR_MESSAGE = _LOADED.index("error_message")
_RESPONSE = ("status_code", "final_url", "headers", "cookies", "details")
_NEW = RequestState(None, 0)  # type: ignore[arg-type]  # so that the status of a new row differs
_rows = msgspec.json.Decoder(list[tuple[str, int, RequestState]], strict=False)

Shape = tuple[str, ...]  # columns that change, those that become NULL with a minus in front


@dataclass(kw_only=True, slots=True)
class _Call:
    decide: Decide[Any, Any, Any]
    items: Sequence[tuple[str, Any]]
    sources: dict[int, bytes | None] = field(default_factory=dict)  # by id of the response


class SqliteRecords:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._reading = Verb(run=self._read)
        self._durable: Verb[_Call, list[Any]] = Verb(run=self._change)
        self._quick: Verb[_Call, list[Any]] = Verb(
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
        changed: dict[str, str] = {}  # URLs by key
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
                    changed[key] = url
                elif key in loaded:
                    _delete(connection, key, loaded.pop(key)[0], url, after, now)
                    changed.pop(key, None)
            sources |= call.sources
            results.append(answers)
        if changed:
            _Saving(connection, now, sources).save(loaded, states, changed)
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
    connection: sqlite3.Connection, keys: Iterable[str]
) -> dict[str, tuple[int, RequestState]]:
    rows = select_all(
        connection,
        f"url_key, id, json_array({STATE_COLUMNS})",
        "records WHERE url_key IN (SELECT value FROM json_each(:keys))",
        _rows,
        keys=as_json(list(keys)),
    )
    return {key: (row, state) for key, row, state in rows}


def _tombstones(connection: sqlite3.Connection, keys: list[str]) -> dict[str, Known]:
    rows = select_all(
        connection,
        "url_key, request_id",
        "forgotten WHERE url_key IN (SELECT value FROM json_each(:keys))",
        keys=as_json(keys),
    )
    return {key: Tombstone(request_id) for key, request_id in rows}


class _Saving:
    def __init__(
        self,
        connection: sqlite3.Connection,
        now: Now,
        sources: dict[int, bytes | None],
    ) -> None:
        self._connection = connection
        self._times = {"now": now.timeline, "wall": milliseconds(now.wall)}
        self._compressed = sources
        self._sources: dict[int, bytes | None] = {}  # to be written, by record

    def save(
        self,
        loaded: dict[str, tuple[int, RequestState]],
        states: dict[str, Known],
        changed: dict[str, str],
    ) -> None:
        updates: dict[Shape, list[list[Any]]] = {}
        inserts: dict[Shape, list[list[Any]]] = {}
        for key, url in changed.items():
            row, before = loaded.get(key, (0, None))
            after = states[key]
            if not isinstance(after, RequestState):
                continue
            shape, values = _difference(before or _NEW, after)
            if before is None:
                inserts.setdefault(shape, []).append([key, url, host_of(url), *values])
                continue
            if after.response is not None or after.is_cleared:
                self._sources[row] = self._compressed.get(id(after.response))
            updates.setdefault(shape, []).append([row, *values])
        for shape, rows in updates.items():
            change(self._connection, _update(shape), rows, **self._times)
        if inserts:
            self._insert(inserts)
        if self._sources:
            write_sources(self._connection, self._sources)

    def _insert(self, inserts: dict[Shape, list[list[Any]]]) -> None:
        newest = "SELECT coalesce(max(id), 0) FROM records"
        [last] = self._connection.execute(newest).fetchone()
        for shape, rows in inserts.items():
            change(self._connection, _insertion(shape), rows, **self._times)
        self._connection.execute(
            "INSERT INTO record_words (rowid, url) SELECT id, url FROM records WHERE id > ?",
            (last,),
        )


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


def _difference(before: RequestState, after: RequestState) -> tuple[Shape, list[Any]]:
    """The columns to be written, and their values but for those that all rows share."""
    shape: list[str] = []
    values: list[Any] = []
    new: Any
    for place, column in enumerate(_LOADED):
        old, new = before[place], after[place]
        if new is old or new == old:
            continue
        if new is None:
            shape.append("-" + column)
            continue
        shape.append(column)
        values.append(plain(new) if place == _ERROR_MESSAGE else new)
    if before.status is not after.status:
        shelf = shelf_of(after.status)
        if before.status is None or shelf != shelf_of(before.status):
            shape.append("shelf")
            values.append(shelf)
    if after.last_attempt_at is not None:
        shape.append("last_attempt_at")
    if after.updated_at is not None:
        shape.append("updated_at")
    if after.touched is not None:
        shape.append("touched")
    if after.response is not None:
        shape += _RESPONSE
        values += _response(after.response)
    elif after.is_cleared:
        shape += ["-" + column for column in _RESPONSE]
    return tuple(shape), values


def _response(received: Received) -> tuple[object, ...]:
    return (
        received.status_code,
        received.final_url,
        as_json(received.headers),
        as_json(received.cookies),
        as_json(received.details),
    )


_SHARED = {"last_attempt_at": ":wall", "updated_at": ":wall", "touched": ":now"}


def _written(shape: Shape) -> tuple[list[str], list[tuple[str, str]]]:
    """The columns that each row brings, and all with their expressions."""
    own = [column for column in shape if column[0] != "-" and column not in _SHARED]
    expressions = [
        (column[1:], "NULL")
        if column[0] == "-"
        else (column, _SHARED.get(column, f"given.{column}"))
        for column in shape
    ]
    return own, expressions


@cache
def _update(shape: Shape) -> str:
    own, expressions = _written(shape)
    assigned = ", ".join(f"{column} = {expression}" for column, expression in expressions)
    return f"{given('row', *own)} UPDATE records SET {assigned} FROM given WHERE id = given.row"


@cache
def _insertion(shape: Shape) -> str:
    own, expressions = _written(shape)
    names = ", ".join(column for column, _ in expressions)
    values = ", ".join(expression for _, expression in expressions)
    return (
        f"{given('url_key', 'url', 'host', *own)} "
        f"INSERT INTO records (url_key, url, host, created_at, {names}) "
        f"SELECT url_key, url, host, :wall, {values} FROM given"
    )
