"""The tables of records, imports and watches, for a dump."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from webloom.adapters.sqlite import (
    feeds,
    import_runs,
    posting_keys,
)
from webloom.adapters.sqlite.batches import as_json, plain, select_all
from webloom.adapters.sqlite.dump import Row, Table, upsert
from webloom.adapters.sqlite.notifications import NOTIFICATIONS, notification_of
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
from webloom.adapters.sqlite.primitives import Change
from webloom.adapters.sqlite.record_codec import (
    RECORD_COLUMNS,
    STATE_COLUMNS,
    record_of,
    state_of,
)
from webloom.adapters.sqlite.values import columns_of, encoded, milliseconds
from webloom.adapters.sqlite.watch_run_codec import COUNTED_RUNS
from webloom.adapters.sqlite.watches import WATCHES, watch_of
from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.domain.import_transitions import RunState
from webloom.domain.inventory import shelf_of, url_key
from webloom.domain.notification import Notification
from webloom.domain.watch import Watch
from webloom.domain.watch_run import RunState as WatchRunState
from webloom.parsing.web_url import host_of
from webloom.ports.dump import WholeRecord, WholeRun
from webloom.ports.postings import StoredPosting
from webloom.stores.whole import whole_record, whole_run, whole_watch

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
    for item in items:
        derived = {
            "url_key": url_key(item.url),
            "host": host_of(item.url),
            "shelf": shelf_of(item.status),
            "details": None if (given := item.additional_details) is None else encoded(given),
            "lease": None,
            "retry_due": 0.0 if item.waits else None,
            "touched": 0.0,
        }
        row = columns_of(item, item.metadata, item.processing, without=_RECORD_ELSEWHERE)
        upsert(connection, "records", "url_key", row | derived)
    connection.execute(
        "INSERT INTO record_words (rowid, url) SELECT id, url FROM records WHERE id > ?", (newest,)
    )
    ids = select_all(
        connection,
        "url, id",
        "records WHERE url_key IN (SELECT value FROM json_each(:keys))",
        keys=as_json([url_key(item.url) for item in items]),
    )
    write_sources(connection, {number: sources[url] for url, number in ids})


def _put_feeds(connection: sqlite3.Connection, items: list[Feed], _: None) -> None:
    for item in items:
        feeds.put(connection, item)


def _put_import_runs(connection: sqlite3.Connection, items: list[ImportRun], _: None) -> None:
    """Who holds a run stays as it is. A run in progress is the active one of its feed."""
    for run in items:
        key = plain(run.run_id)
        known = import_runs.RUNS.load(connection, [key]).get(key)
        after = RunState(run=run, started=run.started_at.timestamp(), revision=0)
        if known is not None:
            after = replace(known.state, run=run)
        import_runs.RUNS.save(connection, [Change(key, known, after)])
        if run.status is RunStatus.RUNNING:
            connection.execute(
                "UPDATE feeds SET active_run_id = ? WHERE feed_id = ? AND active_run_id IS NULL",
                (plain(run.run_id), plain(run.feed_id)),
            )


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
    number_of = partial(import_runs.numbered, connection)
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
    return milliseconds(item.posting.published_at or item.created_at)


def _watch_runs(connection: sqlite3.Connection, rows: Iterable[Row]) -> Iterator[WholeRun]:
    for row in rows:
        yield whole_run(COUNTED_RUNS.decode(connection, row))


def _run_row(item: WholeRun) -> dict[str, Any]:
    state = WatchRunState(run=item.run, expires_at=item.expires_at)
    return {"run_id": plain(item.run.run_id)} | COUNTED_RUNS.encode(state)


def _watch_row(watch: Watch) -> dict[str, Any]:
    """A run that is active here stays so."""
    row = {"watch_id": plain(watch.watch_id)} | WATCHES.encode(watch)
    del row["active_run_id"]
    return row


def _notification_row(item: Notification) -> dict[str, Any]:
    return {"notice_id": plain(item.notification_id)} | NOTIFICATIONS.encode(item)


_POSTINGS = Table(
    columns=STORED,
    source=FROM_STORED,
    order="postings.id",
    find_by="postings.id",
    key=_posting_id,
    item=stored_of,
    put=_put_postings,
)
TABLES = {
    "metadata": Table(
        columns=f"source, {RECORD_COLUMNS}, {STATE_COLUMNS}",
        source="records LEFT JOIN page_sources ON record_id = id",
        order="id",
        find_by="url_key",
        key=lambda _, item: url_key(item.url),
        item=_record,
        put=_put_records,
        prepare=_sources,
    ),
    "feeds": Table(
        columns=", ".join(("feed_id", *feeds.COLUMNS)),
        source="feeds",
        order="feed_id",
        find_by="feed_id",
        key=lambda _, item: plain(item.feed_id),
        item=feeds.feed_of,
        put=_put_feeds,
    ),
    "import_logs": Table(
        columns="body",
        source="import_runs JOIN run_names ON run_names.id = run",
        order="run",
        find_by="run_names.run_id",
        key=lambda _, item: plain(item.run_id),
        item=lambda row: import_runs.decode(row[0]),
        put=_put_import_runs,
    ),
    "jobs": _POSTINGS,
    "job_runs": Table(
        columns=COUNTED_RUNS.columns,
        source="job_runs",
        order="id",
        find_by="run_id",
        key=lambda _, item: plain(item.run.run_id),
        items=_watch_runs,
        row=_run_row,
        stays_if="job_runs.status = 'in_progress'",
    ),
    "watches": Table(
        columns=WATCHES.columns,
        source="watches",
        order="watch_id",
        find_by="watch_id",
        key=lambda _, item: plain(item.watch_id),
        item=lambda row: whole_watch(watch_of(row)),
        row=_watch_row,
    ),
    "notices": Table(
        columns=NOTIFICATIONS.columns,
        source="notices",
        order="id",
        find_by="notice_id",
        key=lambda _, item: plain(item.notification_id),
        item=notification_of,
        row=_notification_row,
    ),
}
