"""The tables of pages, versions, prices and changes, for a dump."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from webloom.adapters.sqlite import (
    page_codec,
    page_contents,
    page_logs,
    page_prices,
    page_versions,
)
from webloom.adapters.sqlite.batches import plain, update, upsert
from webloom.adapters.sqlite.dump import Table, each
from webloom.adapters.sqlite.page_codec import NEVER
from webloom.adapters.sqlite.page_contents import Content
from webloom.adapters.sqlite.page_storage import expiry as after
from webloom.adapters.sqlite.page_versions import Slot
from webloom.adapters.sqlite.primitives import Row
from webloom.adapters.sqlite.values import columns_of, instant, milliseconds
from webloom.deltas import applied, compressed
from webloom.domain.errors import StoreUnavailable
from webloom.domain.page_check import OUTCOMES
from webloom.domain.page_parts import PARTS
from webloom.domain.retention import Retention, outlives
from webloom.domain.storage_event import Place, renumbered
from webloom.parsing.storage_event import canonical
from webloom.ports.dump import WholeLog, WholePage, WholePrice, WholeVersion
from webloom.stores.whole import json_value, part_events, whole_page


class Expiry(NamedTuple):
    """Of what is superseded now, in milliseconds."""

    versions: int
    prices: int

    @classmethod
    def at(cls, wall: int, keep: Retention) -> Expiry:
        return cls(after(wall, keep.snapshots), after(wall, keep.prices))


def page_tables(expiry: Callable[[], Expiry]) -> dict[str, Table]:
    return {
        "pages": Table(
            columns=f"{page_codec.COLUMNS}, validated_at, is_muted, muting_at",
            source=page_codec.SOURCE,
            order="pages.id",
            find_by="pages.key",
            key=lambda _, item: page_codec.key_of(item.watch_id, item.url),
            items=each(_page),
            put=_put_pages,
        ),
        "snapshots": Table(
            columns="snapshots.id, pages.job_id, pages.url, number, ts, claimed, hash, "
            "snapshots.key, base, bytes, expire_at",
            source="snapshots JOIN pages ON pages.id = snapshots.page",
            order="page DESC, ts DESC, claimed DESC, hash DESC, snapshots.key DESC",
            find_by="snapshots.key",
            carried="(bytes > 0 OR content_rank IS NULL)",
            items=_versions,
            prepare=lambda items: (expiry(), _contents(items)),
            put=_put_versions,
        ),
        "price_history": Table(
            columns=page_prices.COLUMNS,
            source=page_prices.SOURCE,
            order="page, ts DESC, price_history.key DESC",
            find_by="price_history.key",
            items=each(page_prices.price_of),
            prepare=lambda items: expiry(),
            put=_put_prices,
        ),
        "change_logs": Table(
            columns=page_logs.COLUMNS,
            source=page_logs.SOURCE,
            order="change_logs.page, change_logs.ts, snapshot",
            find_by="snapshots.key",
            items=each(page_logs.log_of),
            prepare=lambda items: expiry(),
            put=_put_logs,
        ),
    }


# Pages


def _page(row: Row) -> WholePage:
    texts = dict(zip(PARTS, row[3:6], strict=True))
    places = {
        name: page_codec.parts.decode(text).place
        for name, text in texts.items()
        if text is not None
    }
    *_, validated_at, is_muted, muting_at = row
    return whole_page(
        page_codec.page_of(row[:-3], None),
        places,
        None if validated_at == NEVER else validated_at,
        page_codec.muting_of(is_muted, muting_at),
    )


def _put_pages(connection: sqlite3.Connection, items: list[WholePage], _: None) -> None:
    """As events do it."""
    for item in items:
        page, _is_new = page_codec.numbered(connection, item.watch_id, item.url)
        for event in part_events(item).values():
            page_codec.note_parts(connection, page, event)
        _note_update(connection, page, item.last_updated)
        if item.muting is not None:
            key = page_codec.key_of(item.watch_id, item.url)
            page_codec.note_muting(connection, key, item.muting)
        if item.checked_at is not None or item.validated_at is not None:
            row = columns_of(item.validators) | {
                "page": page,
                "checked_at": item.checked_at,
                "outcome": None if item.outcome is None else OUTCOMES.index(item.outcome),
                "error": item.error and plain(item.error),
                "validated_at": NEVER if item.validated_at is None else item.validated_at,
            }
            upsert(connection, "page_checks", "page", row)


def _note_update(connection: sqlite3.Connection, page: int, ts: int | None) -> None:
    connection.execute(
        "UPDATE pages SET last_updated = max(last_updated, coalesce(?, ?)) WHERE id = ?",
        (ts, NEVER, page),
    )


# Versions


def _versions(connection: sqlite3.Connection, rows: Iterable[Row]) -> Iterator[WholeVersion]:
    """Each is read with the content of the one before, where it is a delta against that."""
    last, data = None, b""
    for number, watch_id, url, version, *place, key, base, size, expire_at in rows:
        content = None
        if size:
            try:
                if base is not None and base == last:
                    [body] = connection.execute(
                        "SELECT body FROM snapshot_bodies WHERE id = ?", (number,)
                    ).fetchone()
                    data = applied(body, data)
                else:
                    data = page_contents.content(connection, number)
            except ValueError as error:
                problem = f"version {version} of {url} can't be read: {error}"
                raise StoreUnavailable(problem) from error
            last, content = number, json_value(data)
        yield WholeVersion(
            key=key.hex(),
            watch_id=watch_id,
            url=url,
            number=version,
            place=Place(*place),
            content=content,
            expires_at=instant(expire_at),
        )


def _contents(items: list[WholeVersion]) -> dict[str, tuple[bytes, bytes]]:
    """With their digests. Whole: `_settle` makes deltas."""
    filled = ((item.key, item.content) for item in items if item.content is not None)
    data = ((key, canonical(content)) for key, content in filled)
    return {key: (compressed(each), page_contents.digest_of(each)) for key, each in data}


def _put_versions(
    connection: sqlite3.Connection,
    items: list[WholeVersion],
    prepared: tuple[Expiry, dict[str, tuple[bytes, bytes]]],
) -> None:
    expiry, contents = prepared
    pages = set()
    for version in items:
        slot = _put_slot(connection, version)
        pages.add(slot.page)
        if slot.size or version.content is None:
            continue
        body, digest = contents[version.key]
        page_contents.write_content(connection, slot.id, body, base=None, expire_at=slot.expire_at)
        row = {"content_rank": slot.rank, "digest": digest}
        update(connection, "snapshots", slot.id, row)
    for page in pages:
        _settle(connection, page, expiry)


def _put_slot(connection: sqlite3.Connection, version: WholeVersion | WholeLog) -> Slot:
    """Another version that has the number gets a new one when the page is settled. A version stays
    for as long as others are deltas against it."""
    page, _ = page_codec.numbered(connection, version.watch_id, version.url)
    place, key = version.place, bytes.fromhex(version.key)
    connection.execute(
        "UPDATE snapshots SET number = -id - 1 WHERE page = ? AND number = ? AND key != ?",
        (page, version.number, key),
    )
    row = {
        "page": page,
        "key": key,
        "number": version.number,
        "ts": place.ts,
        "claimed": place.claimed,
        "hash": plain(place.snapshot_hash),
        "rank": place.ts,
        "expire_at": milliseconds(version.expires_at),
    }
    upsert(connection, "snapshots", "key", row, below=0, bytes=0)
    connection.execute(
        """
        UPDATE snapshots SET expire_at = max(expire_at, (
            SELECT coalesce(max(expire_at), 0) FROM snapshots AS delta
            WHERE delta.base = snapshots.id
        )) WHERE key = ?
        """,
        (key,),
    )
    slot = page_versions.by_key(connection, key)
    assert slot is not None  # noqa: S101 - it was just written
    return slot


def _settle(connection: sqlite3.Connection, page: int, expiry: Expiry) -> None:
    """Numbers of versions that only this store has; what is superseded; what the page shows."""
    rows = connection.execute(
        """
        SELECT id, key, number, claimed, bytes FROM snapshots WHERE page = ?
        ORDER BY ts, claimed, hash, key
        """,
        (page,),
    ).fetchall()
    numbers = renumbered(((slot, number, claimed) for slot, _, number, claimed, _ in rows), 0)
    changed = {slot: new for slot, number, new in numbers if number != new}
    page_versions.set_numbers(connection, changed)
    newest = page_versions.newest(connection, page)
    if newest is None:
        return
    if newest.base is not None or newest.expire_at is not None:
        whole = compressed(page_contents.content(connection, newest.id))
        page_contents.write_content(connection, newest.id, whole, base=None, expire_at=None)
    connection.execute(
        """
        UPDATE snapshots SET expire_at = ?
        WHERE page = ? AND bytes > 0 AND expire_at IS NULL AND id != ?
        """,
        (expiry.versions, page, newest.id),
    )
    for key in [key for _, key, *_, size in rows if size]:
        _make_delta(connection, key)
    _note_update(connection, page, newest.ts)
    [shown] = connection.execute("SELECT newest FROM pages WHERE id = ?", (page,)).fetchone()
    if shown != newest.id:
        page_codec.note_content(connection, page, newest.id)


def _make_delta(connection: sqlite3.Connection, key: bytes) -> None:
    """Unless it outlives the next newer one, or that is one itself: no chain gets too long."""
    slot = page_versions.by_key(connection, key)
    newer = None if slot is None else page_versions.next_with_content(connection, slot)
    if slot is None or newer is None or slot.expire_at is None:
        return
    is_whole = slot.base is None and newer.base is None
    if is_whole and not outlives(slot.expire_at, newer.expire_at):
        data = page_contents.content(connection, newer.id)
        content = Content(data, newer.digest or b"")
        page_contents.supersede(connection, slot, newer, content, slot.expire_at)


# Prices and changes


def _put_prices(connection: sqlite3.Connection, items: list[WholePrice], expiry: Expiry) -> None:
    pages: Counter[int] = Counter()
    for item in items:
        page, _ = page_codec.numbered(connection, item.watch_id, item.url)
        page_prices.put(connection, page, item, expiry.prices)
        pages[page] += 1
    for page, new in pages.items():
        page_prices.keep_latest(connection, page, expiry.prices, new=new)


def _put_logs(connection: sqlite3.Connection, items: list[WholeLog], expiry: Expiry) -> None:
    """A version that is not in the dump is known without its content, as if that had expired."""
    for item in items:
        slot = page_versions.by_key(connection, bytes.fromhex(item.key))
        if slot is None:
            slot = _put_slot(connection, item)
            row = {"content_rank": slot.rank, "digest": b""}
            update(connection, "snapshots", slot.id, row)
            _settle(connection, slot.page, expiry)
        content = page_logs.content(item.changes, item.alerts, item.reasons)
        page_logs.put(connection, slot, item, compressed(canonical(content)), item.place.ts)
