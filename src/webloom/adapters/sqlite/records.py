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
from operator import attrgetter, itemgetter, ne
from typing import Any, NamedTuple

import msgspec

from webloom.adapters.sqlite.batches import as_json, given, plain, select_all
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.page_sources import compress, write_sources
from webloom.adapters.sqlite.primitives import now_of
from webloom.adapters.sqlite.record_codec import METADATA_COLUMNS, STATE_COLUMNS, state_of
from webloom.adapters.sqlite.values import milliseconds
from webloom.domain.inventory import Completed, Failed, shelf_of, url_key
from webloom.domain.request_state import (
    TOMBSTONE_SECONDS,
    FinishAttempt,
    Known,
    RequestState,
    Tombstone,
    new_state,
    note_request,
)
from webloom.parsing.web_url import host_of
from webloom.stores.inventory import Decided, Guess
from webloom.stores.primitives import Answer, Decide, Event, Now

_RESPONSE = (*METADATA_COLUMNS.names, "details")
_metadata = attrgetter(*METADATA_COLUMNS.names)
_LOADED = STATE_COLUMNS.split(", ")  # in the order of the state's fields, then the shared ones:
_SHARED = {"last_attempt_at": ":wall", "updated_at": ":wall", "touched": ":now"}
_FIELDS = (*_LOADED, *_SHARED, "response", "is_cleared")
_COLUMNS = dict(zip(RequestState._fields, _LOADED, strict=False))
_NEW_ROW = {  # as `new_state`
    "status": "'PENDING'",
    "shelf": "'OPEN'",
    "token": ":new_token",
    "created_at": ":wall",
    "updated_at": ":wall",
    "touched": ":now",
}
_COMPARISONS = {"": "IS", "ne": "IS NOT", "lt": "<"}
_DELETED = Tombstone(None, token=1 << 63)  # no crash undoes a record that a worker has seen
_ANY = "SELECT 1 FROM forgotten LIMIT 1"
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
    guess: Guess[Any] | None
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
        """To read is cheap here. Only notes are guessed, which do little else."""
        call = _Call(decide=decide, items=items, guess=guess if decide is note_request else None)
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
        if (guessed := _guessed(connection, calls, keys, now)) is not None:
            return guessed
        loaded = _load(connection, keys.values())
        states: dict[str, Known] = {key: state for key, (_, state) in loaded.items()}
        if len(states) < len(keys):
            missing = [key for key in keys.values() if key not in states]
            states |= dict.fromkeys(missing, _DELETED) | _tombstones(connection, missing)
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
    if connection.execute(_ANY).fetchone() is None:
        return {}
    rows = connection.execute(
        """
        SELECT url_key, request_id FROM forgotten
        WHERE url_key IN (SELECT value FROM json_each(?))
        """,
        (as_json(keys),),
    )
    return {key: _DELETED._replace(request_id=request_id) for key, request_id in rows.fetchall()}


def _guessed(
    connection: sqlite3.Connection, calls: list[_Call], keys: dict[str, str], now: Now
) -> list[list[Any]] | None:
    """Answers decided on assumed states, without loading. None: one of the assumptions does not
    hold. All have to be decided again then, which changes nothing in those that are written."""
    if len(keys) < sum(len(call.items) for call in calls) or connection.execute(_ANY).fetchone():
        return None
    new = new_state("", now)
    rows: _Rows = {}
    results = []
    for call in calls:
        if call.guess is None:
            return None
        answers = []
        for url, event in call.items:
            guess = call.guess(event, now)
            if guess is None:
                return None
            after, answer = call.decide(guess.state, event, now)
            if not isinstance(after, RequestState):
                return None
            answers.append(answer)
            if guess.state is None:
                own: tuple[Any, ...] = (keys[url], url, host_of(url))
                shape, where = _shape_of(new, after), None
            else:
                own = (keys[url], *guess.conditions.values())
                shape = _shape_of(guess.state, after)
                where = _Where(tuple(guess.conditions), guess.unset, guess.is_set)
            rows.setdefault((shape, where), []).append(own + shape.values(after))
        results.append(answers)
    return results if _write(connection, rows, new) else None


def _save(
    connection: sqlite3.Connection,
    loaded: dict[str, tuple[int, RequestState]],
    changed: dict[str, tuple[str, RequestState]],
    compressed: dict[int, bytes | None],
    now: Now,
) -> None:
    new = new_state("", now)
    rows: _Rows = {}
    sources: dict[int, bytes | None] = {}
    for key, (url, after) in changed.items():
        known = loaded.get(key)
        if known is None:
            own: tuple[Any, ...] = (key, url, host_of(url))
            shape, where = _shape_of(new, after), None
        else:
            row, before = known
            own, shape, where = (row,), _shape_of(before, after), _BY_ROW
            if after.response is not None or after.is_cleared:
                sources[row] = compressed.get(id(after.response))
        rows.setdefault((shape, where), []).append(own + shape.values(after))
    _write(connection, rows, new)
    if sources:
        write_sources(connection, sources)


def _write(connection: sqlite3.Connection, rows: _Rows, new: RequestState) -> bool:
    """One statement for each set of columns that changed. False: some had changed meanwhile."""
    are_written = True
    shared = {"now": new.touched, "wall": milliseconds(new.updated_at), "new_token": new.token}
    for (shape, where), some in rows.items():
        # What all rows have in common is bound once; only the rest travels as JSON.
        columns = list(zip(*some, strict=True))
        differs = tuple(len(set(column)) > 1 for column in columns)
        statement, names = shape.statement(where, differs)
        values: dict[str, Any] = dict(zip(names, some[0], strict=True))
        if any(differs):
            values["rows"] = as_json(list(zip(*itertools.compress(columns, differs), strict=True)))
        written = connection.execute(statement, values | shared).rowcount
        are_written = are_written and written == len(some)
        if where is None and written:
            connection.execute(_ADD_WORDS, (written,))
    return are_written


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


class _Where(NamedTuple):
    """Tells the row of an update by its key and the conditions of an assumption."""

    conditions: tuple[str, ...]
    unset: tuple[str, ...] = ()
    is_set: tuple[str, ...] = ()

    def columns(self) -> list[str]:
        """That each change brings."""
        return ["row"] if self is _BY_ROW else ["url_key", *(f"if_{n}" for n in self.conditions)]

    def text(self, values: dict[str, str]) -> str:
        if self is _BY_ROW:
            return f"id = {values['row']}"
        tests = [f"records.url_key = {values['url_key']}"]
        for name in self.conditions:
            field, _, comparison = name.partition("__")
            test = f"{_COLUMNS[field]} {_COMPARISONS[comparison]}"
            tests.append(f"records.{test} {values[f'if_{name}']}")
        tests += (f"records.{_COLUMNS[field]} IS NULL" for field in self.unset)
        tests += (f"records.{_COLUMNS[field]} IS NOT NULL" for field in self.is_set)
        return " AND ".join(tests)


_BY_ROW = _Where(())
_Rows = dict[tuple["_Shape", _Where | None], list[tuple[Any, ...]]]  # without a place: new ones


class _Shape:
    """A set of columns that are written together."""

    def __init__(self, fields: Sequence[str], *, with_shelf: bool) -> None:
        own = [name for name in fields if name in _LOADED]
        own_loaded = len(own)
        self._loaded = _getter([_LOADED.index(name) for name in own])
        self._error = own.index("error_message") if "error_message" in own else None
        self._has_response = "response" in fields
        self._has_shelf = with_shelf
        if self._has_response or "is_cleared" in fields:
            own += _RESPONSE
        if with_shelf:
            own.append("shelf")
        self._own = own
        self._shared = {name: _SHARED[name] for name in fields if name in _SHARED}
        self._cleared = (None,) * (len(_RESPONSE) if "is_cleared" in fields else 0)
        self._is_plain = self._error is None and len(own) == own_loaded

    def values(self, state: RequestState) -> tuple[Any, ...]:
        """Without those that all rows share."""
        values = self._loaded(state)
        if self._is_plain:
            return values
        if self._error is not None and state.error_message is not None:
            place = self._error
            values = (*values[:place], plain(state.error_message), *values[place + 1 :])
        if self._has_response:
            received: Any = state.response
            values += (*map(_column, _metadata(received)), as_json(received.details))
        else:
            values += self._cleared
        return (*values, shelf_of(state.status)) if self._has_shelf else values

    @cache  # noqa: B019 - there are a few shapes, which stay
    def statement(self, where: _Where | None, differs: tuple[bool, ...]) -> tuple[str, list[str]]:
        """The statement, and the columns that it binds: once, or for each row where they differ.
        Without `where`, it inserts rows that don't exist yet."""
        own = ["url_key", "url", "host"] if where is None else where.columns()
        columns = [*own, *self._own]
        values = {name: f":{name}" for name in columns}
        values |= {name: f"given.{name}" for name in itertools.compress(columns, differs)}
        written = {name: values[name] for name in self._own} | self._shared
        source = ""
        if any(differs):
            rows = given(*itertools.compress(columns, differs))
            source = f"FROM ({rows} SELECT * FROM given) AS given"
        if where is None:
            written = _NEW_ROW | {name: values[name] for name in own} | written
            names, selected = ", ".join(written), ", ".join(written.values())
            text = f"INSERT INTO records ({names}) SELECT {selected} {source} WHERE true"
            return f"{text} ON CONFLICT (url_key) DO NOTHING", columns
        assigned = ", ".join(f"{name} = {value}" for name, value in written.items())
        return f"UPDATE records SET {assigned} {source} WHERE {where.text(values)}", columns


def _column(value: Any) -> Any:
    """As `stored`, and quicker: metadata has numbers, texts and pairs of texts."""
    if isinstance(value, str):
        return plain(value)
    return as_json(value) if isinstance(value, dict) else value


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
