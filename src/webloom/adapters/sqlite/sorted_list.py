"""Lists of configured things, which can be sorted by several columns.

A page is read along the index of its order. Each filter is a set of rows that another index gives
without the rows themselves: what a person has configured can be long.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.primitives import Table
from webloom.adapters.sqlite.values import encoded
from webloom.domain.feed import FeedConfig
from webloom.domain.listing import Count, ListedState, ListFilter, Order, SortField, counted_to
from webloom.domain.search import terms_of
from webloom.domain.tags import TagCount, counted_tags, tag_key
from webloom.domain.watch import WatchConfig
from webloom.stores.cursors import ListPlace, Part, cursor_at, kind_of, parts_after, place_of

State = TypeVar("State")

tags_of = msgspec.json.Decoder(list[str]).decode


# Each has an index, with the key behind it.
COLUMNS: Final = {
    SortField.NAME: "name",
    SortField.NEXT_RUN: "next_run_at",
    SortField.LAST_RUN: "last_run_at",
    SortField.FAILURES: "failures",
    SortField.CREATED: "created_at",
}


class Search(NamedTuple):
    """The words that an item is found by. They are written with each edit: what stands there may
    come from an earlier one (`list_schema`)."""

    edited_at: datetime
    words: str


def derived(config: FeedConfig | WatchConfig, edited_at: datetime) -> dict[str, Any]:
    """The columns of tags and words."""
    keys = "\n".join(map(tag_key, config.tags))
    return {
        "tags": config.tags,
        "tag_keys": keys and f"\n{keys}\n",
        "search": Search(edited_at, config.searchable),
        "searched": edited_at,
    }


def words_of(search: Search) -> str:
    return plain(search.words)


def config_without_tags(config: Any, *others: str) -> str:
    """Tags have a column, which versions that know of none leave as it is."""
    fields = msgspec.to_builtins(config)
    for name in ("tags", *others):
        del fields[name]
    return encoded(fields)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Conditions on a row that no other column of it is read for."""

    conditions: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)


class SortedList(Generic[State]):
    """The primitive `SortedItems`."""

    def __init__(self, database: Database, table: Table[State], *, paused: str = "true") -> None:
        """`paused` is true of a row that is paused, if it is not enabled."""
        self._db = database
        self._table = table
        self._states = {
            ListedState.ENABLED: f"{table.name}_counted WHERE enabled = 1",
            ListedState.PAUSED: f"{table.name}_counted WHERE enabled = 0 AND {paused}",
            ListedState.FAILING: f"{table.name}_by_failures WHERE failures > 0",
            ListedState.CHECKING: f"{table.name}_active WHERE active_run_id IS NOT NULL",
        }

    def _chosen(self, chosen: ListFilter) -> _Chosen:
        found, name = _Chosen(), self._table.name
        if terms := terms_of(chosen.text or ""):
            values = {f"term{n}": plain(term.needle) for n, term in enumerate(terms)}
            found.values.update(values)
            contained = " AND ".join(f"instr(search, :{each})" for each in values)
            self._add(found, f"{name}_by_search WHERE {contained}")
        if chosen.tag is not None:
            found.values["tag"] = plain(f"\n{tag_key(chosen.tag)}\n")
            self._add(found, f"{name}_tagged WHERE tag_keys <> '' AND instr(tag_keys, :tag)")
        if chosen.state is not None:
            self._add(found, self._states[chosen.state])
        return found

    def _add(self, chosen: _Chosen, rows: str) -> None:
        subquery = f"SELECT rowid FROM {self._table.name} INDEXED BY {rows}"
        chosen.conditions.append(f"rowid IN ({subquery})")

    async def page(
        self, chosen: ListFilter, order: Order, *, limit: int, cursor: str | None
    ) -> tuple[list[State], str | None]:
        wanted = self._chosen(chosen)
        after = None if cursor is None else place_of(cursor, kind_of(order.field))

        def query(connection: sqlite3.Connection) -> tuple[list[State], str | None]:
            places: list[ListPlace] = []
            for part in parts_after(after):
                if len(places) <= limit:
                    more = limit + 1 - len(places)
                    places += self._scan(connection, wanted, order, more, part)
            shown = places[:limit]
            found = self._table.load(connection, [each.key for each in shown])
            states = [found[each.key].state for each in shown if each.key in found]
            return states, cursor_at(shown[-1]) if len(places) > limit else None

        return await self._db.scan(query)

    def _scan(
        self,
        connection: sqlite3.Connection,
        chosen: _Chosen,
        order: Order,
        most: int,
        part: Part,
    ) -> list[ListPlace]:
        statement = self._statement(chosen, order, part)
        values = chosen.values | {"most": most}
        if part.after is not None:
            values |= {"value": part.after.value, "key": part.after.key}
        return [ListPlace(*row) for row in connection.execute(statement, values)]

    def _statement(self, chosen: _Chosen, order: Order, part: Part) -> str:
        column, key = COLUMNS[order.field], self._table.key
        index = f"{self._table.name}_by_{column}"
        direction, behind = ("DESC", "<") if order.is_descending else ("ASC", ">")
        kind = "NOT NULL" if part.has_value else "NULL"
        conditions = [f"{column} IS {kind}", *chosen.conditions]
        if part.after is not None and part.has_value:
            conditions.append(f"({column}, {key}) {behind} (:value, :key)")
        elif part.after is not None:
            conditions.append(f"{key} {behind} :key")
        return f"""
            SELECT {column}, {key} FROM {self._table.name} INDEXED BY {index}
            WHERE {" AND ".join(conditions)}
            ORDER BY {column} {direction}, {key} {direction} LIMIT :most
        """

    async def count(self, chosen: ListFilter, *, most: int) -> Count:
        wanted = self._chosen(chosen)
        where = " AND ".join(wanted.conditions) or "true"
        counting = (
            f"SELECT count(*) FROM (SELECT 1 FROM {self._table.name} WHERE {where} LIMIT :most)"
        )
        values = wanted.values | {"most": most + 1}
        [count] = await self._db.scan(
            lambda connection: connection.execute(counting, values).fetchone()
        )
        return counted_to(most, count)

    async def tags(self) -> list[TagCount]:
        tagged = f"{self._table.name} INDEXED BY {self._table.name}_tagged WHERE tag_keys <> ''"

        def query(connection: sqlite3.Connection) -> list[TagCount]:
            rows = connection.execute(f"SELECT tags FROM {tagged}")
            return counted_tags(tags_of(tags) for (tags,) in rows)

        return await self._db.scan(query)
