"""Lists of pages, versions, change logs and price records, the latest first.

What an index does not know of a filter is looked at row by row; after MOST_SCANNED rows the page of
the listing ends where it is, and says where to go on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from webloom.adapters.sqlite import page_rows
from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_rows import OUTCOMES, one_view
from webloom.adapters.sqlite.page_versions import by_number, chain
from webloom.adapters.sqlite.values import instant
from webloom.deltas import restored
from webloom.ports.page_store import ChangeFilter, ChangeLog, PageFilter, StoredPage, Version
from webloom.stores.cursors import cursor_of, values_of

MOST_SCANNED = 1000
_LAST = (1 << 63) - 1
_END = (_LAST, _LAST)  # behind all places

Read = Callable[[sqlite3.Connection], Any]


class _Change(msgspec.Struct):
    changes: dict[str, Any]
    alerts: list[str]


_changes = msgspec.json.Decoder(_Change)


def scan_index(
    connection: sqlite3.Connection,
    *,
    source: str,
    place: tuple[str, str],
    chosen: str,
    values: Mapping[str, Any],
    limit: int,
    behind: tuple[int, ...] | None,
) -> tuple[list[int], str | None]:
    """The second of the place of each row that a condition holds for, in the order of places, from
    the greatest on; and where to go on. `source` is a FROM with a WHERE that its index knows."""
    first, second = place
    most = limit + 1 if chosen == "true" else MOST_SCANNED
    rows = connection.execute(
        f"""
        SELECT {first}, {second}, {chosen} FROM {source}
        AND {first} <= :first AND ({first}, {second}) < (:first, :second)
        ORDER BY {first} DESC, {second} DESC LIMIT :most
        """,
        {
            **values,
            "first": (behind or _END)[0],
            "second": (behind or _END)[1],
            "most": most,
        },
    ).fetchall()
    found = [row for row in rows if row[2]]
    ids = [int(row[1]) for row in found[:limit]]
    if len(found) > limit:
        return ids, cursor_of(*found[limit - 1][:2])
    return ids, cursor_of(*rows[-1][:2]) if len(rows) == most else None


def pages(chosen: PageFilter, limit: int, cursor: str | None) -> Read:
    behind = None if cursor is None else values_of(cursor, int, int)
    values = {
        "url": chosen.url and plain(chosen.url),
        "job_id": chosen.job_id and plain(chosen.job_id),
        "since": chosen.changed_since,
        "text": chosen.text and plain(chosen.text.casefold()),
        "type": chosen.type and plain(chosen.type),
        "outcome": None if chosen.outcome is None else OUTCOMES.index(chosen.outcome),
    }
    known = _given(
        values, url="pages.url = :url", job_id="job_id = :job_id", since="last_updated >= :since"
    )
    looked_at = _given(
        values, text="instr(search, :text) > 0", type="type IS :type", outcome="outcome IS :outcome"
    )
    checks = "" if chosen.outcome is None else "LEFT JOIN page_checks ON page = pages.id"

    def query(connection: sqlite3.Connection) -> tuple[list[StoredPage], str | None]:
        with one_view(connection):
            ids, following = scan_index(
                connection,
                source=f"pages {checks} WHERE {known}",
                place=("last_updated", "pages.id"),
                chosen=looked_at,
                values=values,
                limit=limit,
                behind=behind,
            )
            return [page_rows.listed(connection, each) for each in ids], following

    return query


def change_logs(chosen: ChangeFilter, limit: int, cursor: str | None) -> Read:
    behind = None if cursor is None else values_of(cursor, int, int)
    values = {
        "run_id": chosen.run_id and plain(chosen.run_id),
        "job_id": chosen.job_id and plain(chosen.job_id),
        "url": chosen.url and plain(chosen.url),
        "batch": chosen.batch and plain(chosen.batch),
    }
    if chosen.batch is not None:
        known, looked_at = "batch = :batch", "true"
    elif chosen.run_id is not None:
        known = "run_id = :run_id"
        looked_at = _given(
            values,
            job_id="job_id = :job_id",
            url="page IN (SELECT id FROM pages WHERE url = :url)",
        )
    elif chosen.url is not None:
        known, looked_at = "page = :page", "true"
    else:
        known, looked_at = _given(values, job_id="job_id = :job_id"), "true"

    def query(connection: sqlite3.Connection) -> tuple[list[ChangeLog], str | None]:
        with one_view(connection):
            if known == "page = :page":
                places = _of_pages(connection, values, limit, behind)
                ids = [each for _, each in places[:limit]]
                following = cursor_of(*places[limit - 1]) if len(places) > limit else None
            else:
                ids, following = scan_index(
                    connection,
                    source=f"change_logs WHERE {known}",
                    place=("ts", "snapshot"),
                    chosen=looked_at,
                    values=values,
                    limit=limit,
                    behind=behind,
                )
            return [_change_log(connection, each) for each in ids], following

    return query


def _of_pages(
    connection: sqlite3.Connection,
    values: Mapping[str, Any],
    limit: int,
    behind: tuple[int, ...] | None,
) -> list[tuple[int, int]]:
    """The places of the latest change logs of the pages with a URL, which are one for each job that
    has it, and one more than `limit`."""
    wanted = _given(values, url="url = :url", job_id="job_id = :job_id")
    found: list[tuple[int, int]] = []
    for (page,) in connection.execute(f"SELECT id FROM pages WHERE {wanted}", values).fetchall():
        found += connection.execute(
            """
            SELECT ts, snapshot FROM change_logs
            WHERE page = ? AND ts <= ? AND (ts, snapshot) < (?, ?)
            ORDER BY ts DESC, snapshot DESC LIMIT ?
            """,
            (page, (behind or _END)[0], *(behind or _END), limit + 1),
        ).fetchall()
    return sorted(found, reverse=True)[: limit + 1]


def _change_log(connection: sqlite3.Connection, snapshot: int) -> ChangeLog:
    job_id, url, number, before, ts, run_id, body, key = connection.execute(
        """
        SELECT pages.job_id, pages.url, number,
               (SELECT max(others.number) FROM snapshots AS others
                WHERE others.page = pages.id AND others.number < snapshots.number),
               change_logs.ts, run_id, body, iif(is_keyed, snapshots.key, NULL)
        FROM change_logs JOIN snapshots ON snapshots.id = snapshot
        JOIN pages ON pages.id = change_logs.page
        WHERE snapshot = ?
        """,
        (snapshot,),
    ).fetchone()
    change = _changes.decode(restored(body))
    return ChangeLog(
        job_id=job_id,
        url=url,
        changes=change.changes,
        previous=before or number - 1,
        current=number,
        timestamp=ts,
        run_id=run_id,
        alerts=change.alerts,
        key=None if key is None else key.hex(),
    )


def versions(
    connection: sqlite3.Connection, job_id: str, url: str, limit: int, before: int | None
) -> list[Version]:
    page = page_rows.number_of(connection, job_id, url)
    rows = connection.execute(
        """
        SELECT number, hash, ts, bytes, base IS NOT NULL, expire_at FROM snapshots
        WHERE page = ? AND number < ? AND bytes > 0 ORDER BY number DESC LIMIT ?
        """,
        (page, _LAST if before is None else before, limit),
    )
    return [
        Version(
            job_id=job_id,
            url=url,
            version=number,
            snapshot_hash=snapshot_hash,
            created_at=ts,
            bytes=size,
            is_delta=bool(is_delta),
            expires_at=instant(expire_at),
        )
        for number, snapshot_hash, ts, size, is_delta, expire_at in rows
    ]


def parsed(
    connection: sqlite3.Connection, job_id: str, url: str, version: int
) -> list[bytes] | None:
    """What the content of a version is read from."""
    with one_view(connection):
        page = page_rows.number_of(connection, job_id, url)
        slot = None if page is None else by_number(connection, page, version)
        return chain(connection, slot.id) if slot is not None and slot.size else None


def _given(values: Mapping[str, Any], **conditions: str) -> str:
    """The conditions whose value is set."""
    given = (condition for name, condition in conditions.items() if values[name] is not None)
    return " AND ".join(given) or "true"
