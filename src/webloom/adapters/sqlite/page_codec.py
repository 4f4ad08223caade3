"""Rows of `pages` and `page_checks`: the latest of each part of a page."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from webloom.adapters.sqlite.batches import plain, update
from webloom.adapters.sqlite.index_scan import consistent_read
from webloom.adapters.sqlite.page_contents import bodies_of, content
from webloom.adapters.sqlite.values import encoded, instant
from webloom.domain.inbox import Muting
from webloom.domain.page_check import OUTCOMES, Checked, Validators
from webloom.domain.page_parts import PARTS, latest, parts_of
from webloom.domain.storage_event import EventPrice, Place, StorageEvent, page_key
from webloom.ports.pages import StoredPage

Value = TypeVar("Value")

NEVER = -(1 << 63)
PRICE_FIELDS = ("current", "list", "currency", "change_percent")
COLUMNS = f"""
    pages.job_id, pages.url, last_updated, {", ".join(PARTS)}, newest,
    snapshots.number, snapshots.hash, checked_at, outcome, error, etag, last_modified, body_hash
"""
SOURCE = """
    pages LEFT JOIN snapshots ON snapshots.id = newest
    LEFT JOIN page_checks ON page_checks.page = pages.id
"""
_SELECT = f"SELECT {COLUMNS} FROM {SOURCE}"


class Part(msgspec.Struct, Generic[Value], frozen=True):
    place: Place
    value: Value


class _Listed(msgspec.Struct):
    title: Any = None
    images: Any = None
    links: Any = None


class _Whole(_Listed):
    text: Any = None
    metadata: Any = None


_whole = msgspec.json.Decoder(_Whole)
_listed = msgspec.json.Decoder(_Listed)
parts = msgspec.json.Decoder(Part[Any])
price_parts = msgspec.json.Decoder(Part[EventPrice])
PART_DECODERS: dict[str, msgspec.json.Decoder[Part[Any]]] = dict.fromkeys(PARTS, parts) | {
    "price": price_parts
}


def key_of(watch_id: str, url: str) -> bytes:
    return bytes.fromhex(page_key(plain(watch_id), plain(url)))


def number_of(connection: sqlite3.Connection, watch_id: str, url: str) -> int | None:
    row = connection.execute(
        "SELECT id FROM pages WHERE key = ?", (key_of(watch_id, url),)
    ).fetchone()
    return row and int(row[0])


def numbered(connection: sqlite3.Connection, watch_id: str, url: str) -> tuple[int, bool]:
    """The id of a page, which is added if necessary; and whether it is new."""
    known = number_of(connection, watch_id, url)
    if known is not None:
        return known, False
    made = connection.execute(
        """
        INSERT INTO pages (key, job_id, url, search, last_updated) VALUES (?, ?, ?, ?, ?)
        RETURNING id
        """,
        (key_of(watch_id, url), plain(watch_id), plain(url), plain(url.casefold()), NEVER),
    )
    return int(made.fetchone()[0]), True


# What events and checks write


def note_content(connection: sqlite3.Connection, page: int, newest: int) -> None:
    """The page has the content of another version."""
    title = _listed.decode(content(connection, newest)).title
    [url] = connection.execute("SELECT url FROM pages WHERE id = ?", (page,)).fetchone()
    search = f"{url}\n{title}" if isinstance(title, str) else url
    update(connection, "pages", page, {"newest": newest, "search": plain(search.casefold())})


def note_parts(connection: sqlite3.Connection, page: int, event: StorageEvent) -> bool:
    """Returns whether anything of the page has changed."""
    last_updated, *texts = connection.execute(
        f"SELECT last_updated, {', '.join(PARTS)} FROM pages WHERE id = ?", (page,)
    ).fetchone()
    known = dict(zip(PARTS, texts, strict=True))
    changed: dict[str, Any] = {}
    if event.ts > last_updated:
        changed["last_updated"] = event.ts
    for name, value in parts_of(event).items():
        new, text = Part(event.place, value), known[name]
        if latest(None if text is None else PART_DECODERS[name].decode(text), new) is new:
            changed[name] = part_text(event.place, value)
    if event.classification is not None and "classification" in changed:
        changed["type"] = type_of(event.classification)
    update(connection, "pages", page, changed)
    return bool(changed)


def part_text(place: Place, value: Any) -> str:
    if isinstance(value, EventPrice):
        value = {name: getattr(value, name) for name in PRICE_FIELDS}
    return encoded({"place": place, "value": value})


def type_of(classification: Mapping[str, Any]) -> str | None:
    kind = classification.get("type")
    return plain(kind) if isinstance(kind, str) else None


def note_check(connection: sqlite3.Connection, page: int, checked: Checked) -> None:
    """The latest check counts, and of those with validators the latest one's."""
    at, outcome = checked.order
    new = (at, outcome, checked.error and plain(checked.error))
    validation: tuple[Any, ...] | None = None
    if (given := checked.validators) is not None:
        values = (given.etag, given.last_modified, given.body_hash)
        validation = (at, *(each and plain(each) for each in values))
        # Fast path: it is later than all that is known, as nearly every check is.
        written = connection.execute(
            """
            UPDATE page_checks SET checked_at = ?, outcome = ?, error = ?, validated_at = ?,
                etag = ?, last_modified = ?, body_hash = ?
            WHERE page = ? AND checked_at < ? AND validated_at < ?
            """,
            (*new, *validation, page, at, at),
        )
        if written.rowcount:
            return
    row = connection.execute(
        """
        SELECT checked_at, outcome, error, validated_at, etag, last_modified, body_hash
        FROM page_checks WHERE page = ?
        """,
        (page,),
    ).fetchone()
    known: tuple[Any, ...] = row or (None, None, None, NEVER, None, None, None)
    check, validated = known[:3], known[3:]
    if known[0] is None or known[:2] < (at, outcome):
        check = new
    if validation is not None and _order(validated) < _order(validation):
        validated = validation
    if (*check, *validated) != known:
        connection.execute(
            "INSERT OR REPLACE INTO page_checks (page, checked_at, outcome, error, validated_at, "
            "etag, last_modified, body_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (page, *check, *validated),
        )


def _order(validated: Sequence[Any]) -> tuple[Any, ...]:
    at, etag, last_modified, body_hash = validated
    given = Validators(etag=etag, last_modified=last_modified, body_hash=body_hash)
    return at, *given.order


def forget_validators(connection: sqlite3.Connection, watch_id: str, wall: int) -> None:
    """Those of a check before this moment that arrive later are ignored as well."""
    connection.execute(
        """
        UPDATE page_checks SET validated_at = ?, etag = NULL, last_modified = NULL, body_hash = NULL
        WHERE page IN (SELECT id FROM pages WHERE job_id = ?)
        """,
        (wall, plain(watch_id)),
    )


def is_muted(connection: sqlite3.Connection, page: int) -> bool:
    found = connection.execute("SELECT 1 FROM pages WHERE id = ? AND is_muted = 1", (page,))
    return found.fetchone() is not None


def muting_of(is_muted: int, muting_at: int | None) -> Muting | None:
    return None if muting_at is None else Muting(is_muted=bool(is_muted), decided_at=muting_at)


def note_muting(connection: sqlite3.Connection, key: bytes, muting: Muting) -> None:
    """The latest counts."""
    connection.execute(
        """
        UPDATE pages SET is_muted = ?, muting_at = ?
        WHERE key = ? AND ifnull(muting_at < ?, true)
        """,
        (muting.is_muted, muting.decided_at, key, muting.decided_at),
    )


# What readers see


def find_page(
    connection: sqlite3.Connection, watch_id: str, url: str
) -> tuple[Sequence[Any], Sequence[bytes]] | None:
    """For `page_of`: its row, and the bodies of its content."""
    with consistent_read(connection):
        row = connection.execute(
            f"{_SELECT} WHERE pages.key = ?", (key_of(watch_id, url),)
        ).fetchone()
        return row and (row, bodies_of(connection, row[6]))


def listed_page(connection: sqlite3.Connection, page: int) -> StoredPage:
    """Without text and metadata."""
    row = connection.execute(f"{_SELECT} WHERE pages.id = ?", (page,)).fetchone()
    has_content = row[6] is not None
    return _page(row, _listed.decode(content(connection, row[6])) if has_content else _Listed())


def page_of(row: Sequence[Any], data: bytes | None) -> StoredPage:
    return _page(row, _Whole() if data is None else _whole.decode(data))


def _page(row: Sequence[Any], seen: _Listed) -> StoredPage:
    watch_id, url, last_updated, classification, price_text, availability, _, *version = row[:9]
    checked_at, outcome, error, *validators = row[9:]
    price = None if price_text is None else price_parts.decode(price_text).value
    text, metadata = (seen.text, seen.metadata) if isinstance(seen, _Whole) else (None, None)
    return StoredPage(
        watch_id=watch_id,
        url=url,
        title=seen.title if isinstance(seen.title, str) else None,
        text=text if isinstance(text, str) else None,
        metadata=metadata if isinstance(metadata, dict) else None,
        images=seen.images if isinstance(seen.images, list) else [],
        links=seen.links if isinstance(seen.links, list) else [],
        classification=_value(classification),
        version=version[0],
        snapshot_hash=version[1],
        last_updated=None if last_updated == NEVER else last_updated,
        price=None if price is None else price.current,
        list_price=None if price is None else price.list,
        currency=None if price is None else price.currency,
        change_percent=None if price is None else price.change_percent,
        availability=_value(availability),
        last_checked=instant(checked_at),
        last_outcome=None if outcome is None else OUTCOMES[outcome],
        last_error=error,
        validators=Validators(
            etag=validators[0], last_modified=validators[1], body_hash=validators[2]
        ),
    )


def _value(part: str | None) -> Any:
    return None if part is None else parts.decode(part).value
