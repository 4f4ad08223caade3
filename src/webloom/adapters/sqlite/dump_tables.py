"""The tables of records and postings, for a dump."""

from __future__ import annotations

import sqlite3
from functools import partial

from webloom.adapters.sqlite import posting_keys
from webloom.adapters.sqlite.batches import upsert
from webloom.adapters.sqlite.dump import Table, each
from webloom.adapters.sqlite.import_run_codec import numbered
from webloom.adapters.sqlite.page_sources import compress, decompress, write_sources
from webloom.adapters.sqlite.posting_codec import (
    FROM_STORED,
    STORED,
    Words,
    add_words,
    first_place,
    stored_of,
    words_of,
)
from webloom.adapters.sqlite.posting_writes import Writing
from webloom.adapters.sqlite.primitives import Row
from webloom.adapters.sqlite.record_codec import (
    RECORD_COLUMNS,
    STATE_COLUMNS,
    record_of,
    state_of,
)
from webloom.adapters.sqlite.values import columns_of, encoded, milliseconds
from webloom.domain.inventory import shelf_of, url_key
from webloom.parsing.web_url import host_of
from webloom.ports.dump import WholeRecord
from webloom.ports.postings import StoredPosting
from webloom.stores.whole import whole_record

_STATE = STATE_COLUMNS.count(",") + 1
_RECORD_ELSEWHERE = ("metadata", "processing", "additional_details", "waits", "page_source")


def _record(row: Row) -> WholeRecord:
    source = None if row[0] is None else decompress(row[0])
    return whole_record(record_of(row[1:], source), state_of(row[-_STATE:], now=0.0))


def _sources(items: list[WholeRecord]) -> dict[str, bytes | None]:
    texts = compress([item.metadata.page_source for item in items])
    return dict(zip((item.url for item in items), texts, strict=True))


def _put_records(
    connection: sqlite3.Connection, items: list[WholeRecord], sources: dict[str, bytes | None]
) -> None:
    """What waits for a message or a retry counts as quiet: the scheduler queues it at once."""
    [newest] = connection.execute("SELECT coalesce(max(id), 0) FROM records").fetchone()
    packed: dict[int, bytes | None] = {}  # sources, by row
    for item in items:
        row = columns_of(item, item.metadata, item.processing, without=_RECORD_ELSEWHERE) | {
            "url_key": url_key(item.url),
            "host": host_of(item.url),
            "shelf": shelf_of(item.status),
            "details": None if (given := item.additional_details) is None else encoded(given),
            "lease": None,
            "retry_due": 0.0 if item.waits else None,
            "touched": 0.0,
        }
        upsert(connection, "records", "url_key", row)
        for (number,) in connection.execute(
            "SELECT id FROM records WHERE url_key = ?", (row["url_key"],)
        ):
            packed[number] = sources[item.url]
    connection.execute(
        "INSERT INTO record_words (rowid, url) SELECT id, url FROM records WHERE id > ?", (newest,)
    )
    write_sources(connection, packed)


def _posting_id(connection: sqlite3.Connection, item: StoredPosting) -> int | None:
    """A key that is not a hash belongs to another program's posting, which SQLite can't hold."""
    key = posting_keys.key_bytes(item.posting.dedupe_key)
    if key is None:
        return None
    source = posting_keys.source_of(connection, item.posting.source_url)
    found = posting_keys.find(connection, [source], [key], "id")
    return found[0][1] if found else None


def _put_postings(connection: sqlite3.Connection, items: list[StoredPosting], _: None) -> None:
    writing = Writing(connection, 0)
    number_of = partial(numbered, connection)
    [newest] = connection.execute("SELECT coalesce(max(id), 0) FROM posting_bodies").fetchone()
    words: list[tuple[str | None, Words]] = []
    for item in items:
        posting, source = item.posting, writing.source(item.posting.source_url)
        if (key := posting_keys.key_bytes(posting.dedupe_key)) is None:
            continue
        number = _posting_id(connection, item)
        if number is None:
            newest += 1
            number = newest
            posting_keys.add(connection, [(source, key, number)])
        else:
            known = _POSTINGS.find(connection, item)
            place = first_place(_listed_at(known)) | number
            words.append(("delete", words_of(place, known.posting, source)))
        place = first_place(_listed_at(item)) | number
        words.append((None, words_of(place, posting, source)))
        row = {
            "id": number,
            "source": source,
            "key": key,
            "content_hash": posting.content_hash,
            "time": _listed_at(item),
            "created_run": number_of(item.created_by.run_id),
            "created_batch": item.created_by.batch_index,
            "changed_run": number_of(item.changed_by.run_id),
            "changed_batch": item.changed_by.batch_index,
            "created_at": milliseconds(item.created_at),
            "updated_at": milliseconds(item.updated_at),
            "closed_at": milliseconds(item.closed_at),
            "closed_run": item.closed_by and number_of(item.closed_by),
            "closed_place": None if item.closed_by is None else place,
        }
        upsert(connection, "posting_bodies", "id", {"id": number, "body": encoded(posting)})
        upsert(connection, "postings", "id", row)
    posting_keys.settle(connection)
    if words:
        add_words(connection, words)


def _listed_at(item: StoredPosting) -> int:
    return milliseconds(item.posting.listed_at(item.created_at))


_POSTINGS = Table(
    columns=STORED,
    source=FROM_STORED,
    order="postings.id",
    find_by="postings.id",
    key=_posting_id,
    items=each(stored_of),
    put=_put_postings,
)
TABLES = {
    "metadata": Table(
        columns=f"source, {RECORD_COLUMNS}, {STATE_COLUMNS}",
        source="records LEFT JOIN page_sources ON record_id = id",
        order="id",
        find_by="url_key",
        key=lambda _, item: url_key(item.url),
        items=each(_record),
        put=_put_records,
        prepare=_sources,
    ),
    "jobs": _POSTINGS,
}
