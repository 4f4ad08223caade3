"""Rows of `pages` and `page_checks`, and the page that a reader sees."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import msgspec

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_versions import chain, content, joined
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.domain.storage_event import Place, StorageEvent, page_key
from webloom.domain.watch import Outcome
from webloom.ports.page_store import Checked, StoredPage, Validators

NEVER = -(1 << 63)
OUTCOMES = (Outcome.FAILED, Outcome.UNCHANGED, Outcome.CHANGED)  # the later counts
PAGE_COLUMNS = """
    pages.id, pages.job_id, pages.url, last_updated, price, availability, newest,
    snapshots.number, snapshots.hash, classification,
    checked_at, outcome, error, etag, last_modified, body_hash
"""
FROM_PAGES = """
    pages LEFT JOIN snapshots ON snapshots.id = newest
    LEFT JOIN page_checks ON page_checks.page = pages.id
"""


class _Placed(msgspec.Struct, frozen=True):
    """A part of a page, and where the event stands that it came with."""

    place: tuple[int, int, str]
    value: msgspec.Raw


class _Price(msgspec.Struct, frozen=True):
    current: Decimal
    list: Decimal | None = None
    currency: str | None = None
    change_percent: Decimal | None = None


class _Whole(msgspec.Struct):
    title: Any = None
    text: Any = None
    metadata: Any = None
    images: Any = None
    links: Any = None


class _Listed(msgspec.Struct):
    title: Any = None
    images: Any = None
    links: Any = None


NO_CONTENT = _Whole()

_whole = msgspec.json.Decoder(_Whole)
_listed = msgspec.json.Decoder(_Listed)
placed_parts = msgspec.json.Decoder(_Placed)
price_parts = msgspec.json.Decoder(_Price)


@contextmanager
def one_view(connection: sqlite3.Connection) -> Iterator[None]:
    """What several queries see is of one moment."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


def key_of(job_id: str, url: str) -> bytes:
    return bytes.fromhex(page_key(plain(job_id), plain(url)))


def number_of(connection: sqlite3.Connection, job_id: str, url: str) -> int | None:
    row = connection.execute(
        "SELECT id FROM pages WHERE key = ?", (key_of(job_id, url),)
    ).fetchone()
    return row and int(row[0])


def numbered(connection: sqlite3.Connection, job_id: str, url: str) -> tuple[int, bool]:
    """The number that stands for a page, from now on; and whether it is new."""
    known = number_of(connection, job_id, url)
    if known is not None:
        return known, False
    made = connection.execute(
        """
        INSERT INTO pages (key, job_id, url, search, last_updated) VALUES (?, ?, ?, ?, ?)
        RETURNING id
        """,
        (key_of(job_id, url), plain(job_id), plain(url), plain(url.casefold()), NEVER),
    )
    return int(made.fetchone()[0]), True


def note_content(connection: sqlite3.Connection, page: int, newest: int) -> None:
    """The page has the content of another version."""
    title = _listed.decode(content(connection, newest)).title
    [url] = connection.execute("SELECT url FROM pages WHERE id = ?", (page,)).fetchone()
    search = f"{url}\n{title}" if isinstance(title, str) else url
    connection.execute(
        "UPDATE pages SET newest = ?, search = ? WHERE id = ?",
        (newest, plain(search.casefold()), page),
    )


def note_update(connection: sqlite3.Connection, page: int, ts: int) -> bool:
    """Whether it is later than the one before."""
    changed = connection.execute(
        "UPDATE pages SET last_updated = ? WHERE id = ? AND last_updated < ?", (ts, page, ts)
    )
    return changed.rowcount > 0


def note_parts(connection: sqlite3.Connection, page: int, event: StorageEvent) -> bool:
    """Of each part the latest counts. Returns whether anything is another now."""
    price = event.price and _Price(
        current=event.price.current,
        list=event.price.list,
        currency=event.price.currency,
        change_percent=event.price.change_percent,
    )
    parts = {
        "classification": event.classification,
        "price": price,
        "availability": event.availability,
    }
    changed = False
    for name, value in parts.items():
        if value is not None and _note_part(connection, page, name, event.place, value):
            changed = True
            if name == "classification":
                kind = (event.classification or {}).get("type")
                connection.execute(
                    "UPDATE pages SET type = ? WHERE id = ?",
                    (plain(kind) if isinstance(kind, str) else None, page),
                )
    return changed


def _note_part(
    connection: sqlite3.Connection, page: int, name: str, place: Place, value: object
) -> bool:
    text = encoded({"place": place, "value": value})
    [known] = connection.execute(f"SELECT {name} FROM pages WHERE id = ?", (page,)).fetchone()
    if known is not None and (placed_parts.decode(known).place, known) >= (place, text):
        return False
    connection.execute(f"UPDATE pages SET {name} = ? WHERE id = ?", (text, page))
    return True


def note_check(connection: sqlite3.Connection, page: int, checked: Checked) -> None:
    """The latest counts, whichever comes first; its validators as well."""
    at, outcome = milliseconds(checked.at), OUTCOMES.index(checked.outcome)
    connection.execute(
        """
        INSERT INTO page_checks (page, checked_at, outcome, error, validated_at)
        VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (page) DO UPDATE
        SET checked_at = excluded.checked_at, outcome = excluded.outcome, error = excluded.error
        WHERE (checked_at, outcome) < (excluded.checked_at, excluded.outcome)
           OR checked_at IS NULL
        """,
        (page, at, outcome, checked.error and plain(checked.error), NEVER),
    )
    if checked.validators is not None:
        note_validators(connection, page, at, checked.validators)


def note_validators(
    connection: sqlite3.Connection, page: int, at: int, validators: Validators
) -> None:
    given = (validators.etag, validators.last_modified, validators.body_hash)
    connection.execute(
        """
        INSERT INTO page_checks (page, validated_at, etag, last_modified, body_hash)
        VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (page) DO UPDATE
        SET validated_at = excluded.validated_at, etag = excluded.etag,
            last_modified = excluded.last_modified, body_hash = excluded.body_hash
        WHERE (validated_at, coalesce(etag, ''), coalesce(last_modified, ''),
               coalesce(body_hash, ''))
            < (excluded.validated_at, coalesce(excluded.etag, ''),
               coalesce(excluded.last_modified, ''), coalesce(excluded.body_hash, ''))
        """,
        (page, at, *(each and plain(each) for each in given)),
    )


def forget_validators(connection: sqlite3.Connection, job_id: str, wall: int) -> None:
    """What a check before this moment brings later is not taken either."""
    connection.execute(
        """
        UPDATE page_checks SET validated_at = ?, etag = NULL, last_modified = NULL, body_hash = NULL
        WHERE page IN (SELECT id FROM pages WHERE job_id = ?)
        """,
        (wall, plain(job_id)),
    )


def find(
    connection: sqlite3.Connection, job_id: str, url: str
) -> tuple[Sequence[Any], Sequence[bytes]] | None:
    """Of PAGE_COLUMNS, and what the content is read from: none where it has none."""
    with one_view(connection):
        row = connection.execute(
            f"SELECT {PAGE_COLUMNS} FROM {FROM_PAGES} WHERE pages.key = ?", (key_of(job_id, url),)
        ).fetchone()
        return row and (row, [] if row[6] is None else chain(connection, row[6]))


def whole(found: tuple[Sequence[Any], Sequence[bytes]]) -> StoredPage:
    """What `find` has found."""
    row, bodies = found
    return page_of(row, _whole.decode(joined(bodies)) if bodies else _Whole())


def listed(connection: sqlite3.Connection, page: int) -> StoredPage:
    """Without text and metadata."""
    row = connection.execute(
        f"SELECT {PAGE_COLUMNS} FROM {FROM_PAGES} WHERE pages.id = ?", (page,)
    ).fetchone()
    newest = row[6]
    if newest is None:
        return page_of(row, NO_CONTENT)
    seen = _listed.decode(content(connection, newest))
    return page_of(row, _Whole(title=seen.title, images=seen.images, links=seen.links))


def page_of(row: Sequence[Any], seen: _Whole) -> StoredPage:
    """Of PAGE_COLUMNS."""
    classification, availability = _value(row[9]), _value(row[5])
    price = None if row[4] is None else price_parts.decode(placed_parts.decode(row[4]).value)
    return StoredPage(
        job_id=row[1],
        url=row[2],
        title=seen.title if isinstance(seen.title, str) else None,
        text=seen.text if isinstance(seen.text, str) else None,
        metadata=seen.metadata if isinstance(seen.metadata, dict) else None,
        images=seen.images if isinstance(seen.images, list) else [],
        links=seen.links if isinstance(seen.links, list) else [],
        classification=classification,
        version=row[7],
        snapshot_hash=row[8],
        last_updated=None if row[3] == NEVER else row[3],
        price=None if price is None else price.current,
        list_price=None if price is None else price.list,
        currency=None if price is None else price.currency,
        change_percent=None if price is None else price.change_percent,
        availability=availability,
        last_checked=instant(row[10]),
        last_outcome=None if row[11] is None else OUTCOMES[row[11]],
        last_error=row[12],
        validators=Validators(etag=row[13], last_modified=row[14], body_hash=row[15]),
    )


def _value(part: str | None) -> Any:
    return None if part is None else msgspec.json.decode(placed_parts.decode(part).value)
