"""Versions of pages of a SQLite file, whole: to be carried elsewhere, or brought here.

A version whose content has expired is not carried. They come with the latest of each page first, so
that each is read with the one before it.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from webloom.adapters.sqlite import page_rows, page_versions
from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database, Verb
from webloom.adapters.sqlite.page_versions import Slot, by_key
from webloom.adapters.sqlite.values import instant, milliseconds
from webloom.adapters.sqlite.watch_archives import Row, WatchArchive, until_large
from webloom.domain.errors import StoreUnavailable
from webloom.domain.storage_event import Place
from webloom.parsing.deltas import applied, compressed
from webloom.ports.archive import Fingerprint, Slice
from webloom.ports.watch_archive import (
    Packed,
    WholeLog,
    WholeVersion,
    fingerprint_of,
    is_newer_version,
    packed,
    plain_content,
)

_ORDER = ("page", "ts", "claimed", "hash", "key")
_LAST = (1 << 62, 0, 0, "", "")  # is behind all others


class _Batch(NamedTuple):
    versions: Sequence[WholeVersion]
    packed: dict[str, Packed]


class SqliteVersionArchive(WatchArchive[WholeVersion]):
    name = "snapshots"
    source = "snapshots JOIN pages ON pages.id = snapshots.page"
    columns = (
        "snapshots.id, pages.job_id, pages.url, number, snapshots.page, ts, claimed, hash, "
        "snapshots.key, base, bytes, expire_at"
    )
    carried = "(bytes > 0 OR content_rank IS NULL) AND (expire_at IS NULL OR expire_at > :soon)"
    by_key = "snapshots.key = ?"

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._storing: Verb[_Batch, None] = Verb(run=_store)

    def key(self, item: WholeVersion) -> bytes:
        return bytes.fromhex(item.key)

    def slice(
        self, connection: sqlite3.Connection, position: str | None, limit: int, soon: int
    ) -> Slice[WholeVersion]:
        *after, key = _LAST if position is None else msgspec.json.decode(position)
        order = [f"snapshots.{name}" for name in _ORDER]
        rows = connection.execute(
            f"""
            SELECT {self.columns} FROM {self.source}
            WHERE snapshots.page <= :0 AND ({", ".join(order)}) < (:0, :1, :2, :3, :4)
                AND {self.carried}
            ORDER BY {", ".join(f"{name} DESC" for name in order)} LIMIT :limit
            """,
            {str(place): value for place, value in enumerate((*after, bytes.fromhex(key)))}
            | {"soon": soon, "limit": limit},
        ).fetchall()
        items = until_large(self._items(connection, rows))
        if len(items) == len(rows) < limit:
            return Slice(items=items, position=None)
        *place, key = rows[len(items) - 1][4:9]
        return Slice(items=items, position=msgspec.json.encode([*place, key.hex()]).decode())

    def _content(
        self, connection: sqlite3.Connection, row: Row, base: int | None, newer: bytes
    ) -> bytes:
        """`newer` is the content of `base`."""
        try:
            if base is None or row[9] != base:
                return page_versions.content(connection, row[0])
            body = connection.execute(
                "SELECT body FROM snapshot_bodies WHERE id = ?", (row[0],)
            ).fetchone()
            return applied(body[0], newer)
        except ValueError as error:
            raise StoreUnavailable(
                f"version {row[3]} of {row[2]} can't be read: {error}"
            ) from error

    def item(self, connection: sqlite3.Connection, row: Row) -> WholeVersion:
        return next(self._items(connection, [row]))

    def here(
        self, connection: sqlite3.Connection, items: Sequence[WholeVersion]
    ) -> list[WholeVersion | None]:
        rows = [self.row_of(connection, each) for each in items]
        found = self._items(connection, [row for row in rows if row is not None])
        return [None if row is None else next(found) for row in rows]

    def _items(self, connection: sqlite3.Connection, rows: Sequence[Row]) -> Iterator[WholeVersion]:
        """Each is read with the content of the one before, where it is a delta against that."""
        base, data = None, b""
        for row in rows:
            content = None
            if row[10]:
                data = self._content(connection, row, base, data)
                base, content = row[0], plain_content(data)
            yield _version_of(row, content)

    async def write(self, items: Sequence[WholeVersion]) -> Fingerprint:
        def missing(connection: sqlite3.Connection) -> list[WholeVersion]:
            return [each for each in items if by_key(connection, self.key(each)) is None]

        new = await self._db.scan(missing)
        made = await asyncio.to_thread(packed, new, _may_be_delta)
        await self._db.write(self._storing, _Batch(items, made))
        return fingerprint_of(items)

    def put(self, connection: sqlite3.Connection, item: WholeVersion) -> None:
        _store(connection, [_Batch([item], {})])

    def is_newer(self, one: WholeVersion, other: WholeVersion) -> bool:
        return is_newer_version(one, other)


def _version_of(row: Row, content: bytes | None) -> WholeVersion:
    _, job_id, url, number, _, ts, claimed, snapshot_hash, key, *_, expire_at = row
    return WholeVersion(
        key=key.hex(),
        job_id=job_id,
        url=url,
        number=number,
        place=Place(ts, claimed, snapshot_hash),
        content=content,
        expires_at=instant(expire_at),
    )


def _may_be_delta(version: WholeVersion, newer: WholeVersion) -> bool:
    """No base goes before what depends on it."""
    if newer.expires_at is None or version.expires_at is None:
        return newer.expires_at is None
    return version.expires_at <= newer.expires_at


def _store(connection: sqlite3.Connection, batches: list[_Batch]) -> list[None]:
    for batch in batches:
        fresh: dict[str, int] = {}  # versions that are new here, by their keys
        for version in batch.versions:
            slot = by_key(connection, bytes.fromhex(version.key))
            if slot is None:
                fresh[version.key] = _add(connection, version, batch.packed, fresh)
            else:
                _update(connection, slot, version)
    return [None] * len(batches)


def _add(
    connection: sqlite3.Connection,
    version: WholeVersion,
    made: dict[str, Packed],
    fresh: dict[str, int],
) -> int:
    page, _ = page_rows.numbered(connection, version.job_id, version.url)
    slot = add_row(connection, page, version)
    if version.content is not None:
        pack = made.get(version.key)
        if pack is None or (pack.base is not None and pack.base not in fresh):
            pack = Packed(compressed(version.content), None, 0)
        base = None if pack.base is None else fresh[pack.base]
        _fill(connection, slot, version, pack, base)
    return slot


def add_row(connection: sqlite3.Connection, page: int, version: WholeVersion | WholeLog) -> int:
    """A version without content."""
    place, key = version.place, bytes.fromhex(version.key)
    _free_number(connection, page, version.number)
    [slot] = connection.execute(
        """
        INSERT INTO snapshots (page, ts, claimed, hash, key, number, rank, below, bytes, expire_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?) RETURNING id
        """,
        (
            page,
            place.ts,
            place.claimed,
            plain(place.snapshot_hash),
            key,
            version.number,
            place.ts,
            milliseconds(version.expires_at),
        ),
    ).fetchone()
    return int(slot)


def _free_number(connection: sqlite3.Connection, page: int, number: int) -> None:
    """Who has it gets another: from its own item, or together with its page."""
    connection.execute(
        "UPDATE snapshots SET number = -id - 1 WHERE page = ? AND number = ?", (page, number)
    )


def settle_numbers(connection: sqlite3.Connection, page: int) -> None:
    """Of versions that only this store has."""
    rows = connection.execute(
        """
        SELECT id, number, ts, claimed, hash, key FROM snapshots WHERE page = ?
        ORDER BY ts, claimed, hash, key
        """,
        (page,),
    ).fetchall()
    before, astray = 0, []
    for slot, number, *place in rows:
        if number > before:
            before = number
        else:
            astray.append((slot, tuple(place)))
    connection.executemany(
        "UPDATE snapshots SET number = -id - 1 WHERE id = ?", [(slot,) for slot, _ in astray]
    )
    for _, place in astray:
        page_versions.renumber(connection, page, place, can_fall=False)


def _fill(
    connection: sqlite3.Connection,
    slot: int,
    version: WholeVersion,
    pack: Packed,
    base: int | None,
) -> None:
    digest = hashlib.blake2b(version.content or b"", digest_size=16).digest()
    connection.execute("INSERT INTO snapshot_bodies (id, body) VALUES (?, ?)", (slot, pack.body))
    connection.execute(
        """
        UPDATE snapshots SET content_rank = ?, digest = ?, base = ?, below = ?, bytes = ?,
            expire_at = ?
        WHERE id = ?
        """,
        (
            version.place.ts,
            digest,
            base,
            pack.below,
            len(pack.body),
            milliseconds(version.expires_at),
            slot,
        ),
    )


def _update(connection: sqlite3.Connection, slot: Slot, version: WholeVersion) -> None:
    """What the source knows better."""
    if slot.size == 0 and slot.content_rank is None and version.content is not None:
        pack = Packed(compressed(version.content), None, 0)
        _fill(connection, slot.id, version, pack, None)
    if version.place.ts < slot.ts:
        connection.execute(
            "UPDATE snapshots SET ts = ?1, rank = ?1 WHERE id = ?2", (version.place.ts, slot.id)
        )
    expire_at = milliseconds(version.expires_at)
    if slot.size and expire_at is not None and (slot.expire_at or 0) < expire_at:
        connection.execute(
            """
            UPDATE snapshots SET expire_at = max(?1, coalesce(
                (SELECT max(others.expire_at) FROM snapshots AS others WHERE others.base = ?2), 0))
            WHERE id = ?2
            """,
            (expire_at, slot.id),
        )
    if version.number != slot.number:
        _free_number(connection, slot.page, version.number)
        connection.execute(
            "UPDATE snapshots SET number = ? WHERE id = ?", (version.number, slot.id)
        )


def make_newest(connection: sqlite3.Connection, slot: Slot) -> None:
    """It is whole, and does not expire."""
    if slot.base is None:
        connection.execute("UPDATE snapshots SET expire_at = NULL WHERE id = ?", (slot.id,))
    else:
        data = page_versions.content(connection, slot.id)
        page_versions.write_content(
            connection, slot.id, compressed(data), base=None, expire_at=None
        )
