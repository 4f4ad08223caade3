"""The tables, and what is done to the file when it is opened.

A record changes its status three times and more while it is fetched. The indexes of the listing
hold its shelf instead, which changes once: open records are few and can be looked through.

A million postings come in one import, so that every page which a new one touches counts. Their
rows and bodies are written at the end of their tables. The listing reads the index of words, which
merges what is new by and by, and whose rows are the places of postings in the listing.

The body of a large message has a row of its own, which is written once: a change to a row that
spans many pages writes all of them again.
"""

from __future__ import annotations

import sqlite3

from webloom.adapters.sqlite import list_schema as lists
from webloom.adapters.sqlite.connecting import is_full
from webloom.adapters.sqlite.watch_schema import (
    ALERTS,
    KEYED,
    METRICS,
    MUTING,
    TRIAGE,
    WATCHES,
)
from webloom.ports.clock import Clock

APPLICATION_ID = 0x57EB1003
VERSION = 6

TABLES = """
CREATE TABLE timeline (  -- one row: what is added to the steady clock of this boot
    boot_id TEXT NOT NULL,
    offset REAL NOT NULL
) STRICT;

CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    message_id TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    due REAL NOT NULL,      -- on the timeline
    owner TEXT,             -- the consumer that holds it
    lease REAL,             -- until when, on the timeline
    attempt INTEGER NOT NULL DEFAULT 0,
    redelivered INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX messages_waiting ON messages (queue, due) WHERE owner IS NULL;
CREATE INDEX messages_waiting_keys ON messages (queue, key) WHERE owner IS NULL;
CREATE INDEX messages_held ON messages (lease) WHERE owner IS NOT NULL;

CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    message_id TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    reason TEXT NOT NULL,
    buried_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX dead_letters_of_queue ON dead_letters (queue, message_id);

CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    url_key TEXT NOT NULL UNIQUE,  -- a hash of the URL
    url TEXT NOT NULL,
    host TEXT NOT NULL,
    status TEXT NOT NULL,
    shelf TEXT NOT NULL,    -- a final status, or OPEN: what the indexes know of the status
    token INTEGER NOT NULL DEFAULT 0,
    request_id TEXT,        -- the outstanding request
    background INTEGER NOT NULL DEFAULT 0,
    lease REAL,             -- of the running attempt, on the timeline
    retry_due REAL,         -- on the timeline
    attempt_number INTEGER NOT NULL DEFAULT 0,
    retry_count INTEGER NOT NULL DEFAULT 0,
    error_message TEXT,
    last_attempt_at INTEGER,
    last_request_id TEXT,
    status_code INTEGER,
    final_url TEXT,
    headers TEXT,
    cookies TEXT,
    details TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,  -- the last change that a reader sees
    touched REAL NOT NULL   -- the last change of any kind, on the timeline
) STRICT;
CREATE INDEX records_by_shelf ON records (shelf, created_at);
CREATE INDEX records_by_host ON records (host, shelf, created_at);
CREATE INDEX records_refreshing ON records (touched) WHERE background = 1;

CREATE VIRTUAL TABLE record_words USING fts5 (url, content='records', content_rowid='id');

CREATE TABLE page_sources (
    record_id INTEGER PRIMARY KEY,
    source BLOB NOT NULL    -- UTF-8, zstd
) STRICT;

CREATE TABLE forgotten (    -- records that were deleted lately
    url_key TEXT PRIMARY KEY,
    request_id TEXT NOT NULL,  -- the last one that was answered
    time REAL NOT NULL
) STRICT;

CREATE TABLE locks (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    token INTEGER NOT NULL,
    lease REAL NOT NULL
) STRICT;

CREATE TABLE heartbeats (
    process_id TEXT PRIMARY KEY,
    body BLOB NOT NULL,
    beat REAL NOT NULL
) STRICT;
"""
COPIES = """
CREATE TABLE copies (       -- how far a copy from another store has come
    source TEXT PRIMARY KEY,
    position TEXT NOT NULL
) STRICT;
"""
IMPORTS = """
CREATE TABLE large_bodies (
    message INTEGER PRIMARY KEY,  -- whose own body is empty
    body BLOB NOT NULL
) STRICT;
CREATE TRIGGER large_bodies_go AFTER DELETE ON messages WHEN old.body = '' BEGIN
    DELETE FROM large_bodies WHERE message = old.id;
END;

CREATE TABLE feeds (
    feed_id TEXT PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    config TEXT NOT NULL,
    revision INTEGER NOT NULL,  -- grows with every edit
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    next_run_at INTEGER,
    active_run_id TEXT,
    last_run_id TEXT,
    last_status TEXT,
    last_error TEXT,
    last_run_at INTEGER,
    failures INTEGER NOT NULL,
    last_fetch TEXT NOT NULL
) STRICT;

CREATE TABLE run_names (    -- of every run that a row speaks of
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE import_runs (
    run INTEGER PRIMARY KEY,
    feed_id TEXT NOT NULL,
    source_url TEXT NOT NULL,
    search TEXT NOT NULL,   -- where a text is looked for, case folded
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    body TEXT NOT NULL,     -- all that a reader sees
    revision INTEGER,       -- of the feed when the run was started
    started REAL NOT NULL,  -- on the timeline
    owner TEXT,             -- the producer that holds it
    token INTEGER NOT NULL,
    lease REAL NOT NULL     -- on the timeline
) STRICT;
CREATE INDEX import_runs_by_source ON import_runs (source_url, started_at);
CREATE INDEX import_runs_by_status ON import_runs (status, started_at);
CREATE INDEX import_runs_by_start ON import_runs (started_at);
CREATE INDEX import_runs_by_change ON import_runs (updated_at);

CREATE TABLE import_batches (  -- the ledger; of a feed's last run, and of one under way
    run INTEGER NOT NULL,
    batch_index INTEGER NOT NULL,
    new INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    unchanged INTEGER NOT NULL,
    duplicate INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    failures TEXT,          -- the first
    reasons TEXT,           -- of all
    PRIMARY KEY (run, batch_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE sources (      -- feeds that postings came from
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE postings (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    key BLOB NOT NULL,      -- the dedupe key, 20 bytes
    content_hash TEXT NOT NULL,
    time INTEGER NOT NULL,  -- when it was published, else created
    created_run INTEGER NOT NULL,
    created_batch INTEGER NOT NULL,
    changed_run INTEGER NOT NULL,
    changed_batch INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    closed_at INTEGER,
    closed_run INTEGER,
    closed_place INTEGER    -- in the listing, of one that is closed
) STRICT;
CREATE TABLE posting_keys (  -- the index of keys
    source INTEGER NOT NULL,
    prefix INTEGER NOT NULL,  -- the first bytes of the key
    posting INTEGER NOT NULL,
    PRIMARY KEY (source, prefix, posting)
) STRICT, WITHOUT ROWID;
CREATE TABLE fresh_keys (   -- those that will move there
    source INTEGER NOT NULL,
    prefix INTEGER NOT NULL,
    posting INTEGER NOT NULL,
    PRIMARY KEY (source, prefix, posting)
) STRICT, WITHOUT ROWID;
CREATE INDEX postings_closed ON postings (closed_place) WHERE closed_run IS NOT NULL;
CREATE INDEX postings_closed_by ON postings (closed_run) WHERE closed_run IS NOT NULL;

CREATE TABLE posting_bodies (
    id INTEGER PRIMARY KEY,  -- the posting's
    body TEXT NOT NULL      -- as JSON
) STRICT;

CREATE VIRTUAL TABLE posting_words USING fts5 (  -- its rows are places
    title, company, location, source,
    content='', columnsize=0, tokenize='unicode61 remove_diacritics 2'
);
"""
# A number for each pipeline, which grows with every change that a reader can see. It is added to
# any file that lacks it: a Webloom that does not know it still keeps it up.
_VISIBLE = " OR ".join(
    f"old.{column} <> new.{column}"
    for column in ("token", "status", "updated_at", "attempt_number", "retry_count")
)
_COUNTED = {
    "inventory": ["records"],
    "watch": ["watches", "job_runs", "pages", "page_checks", "change_logs", "notices"],
}
REVISIONS = """
CREATE TABLE IF NOT EXISTS revisions (
    pipeline TEXT PRIMARY KEY,
    number INTEGER NOT NULL DEFAULT 0
) STRICT;
""" + "".join(
    f"""
CREATE TRIGGER IF NOT EXISTS {table}_{verb.lower()}_seen AFTER {verb} ON {table}
{f"WHEN {_VISIBLE}" if (table, verb) == ("records", "UPDATE") else ""} BEGIN
    UPDATE revisions SET number = number + 1 WHERE pipeline = '{pipeline}';
END;
"""
    for pipeline, tables in _COUNTED.items()
    for table in tables
    for verb in ("INSERT", "UPDATE", "DELETE")
)
# Where feeds have moved to. It is added to any file that lacks it, too, for the same reason.
MOVED = """
CREATE INDEX IF NOT EXISTS feeds_moved ON feeds (json_extract(config, '$.moved_to'));
"""
# Targets that can't be reached; the same.
TRIED = """
CREATE INDEX IF NOT EXISTS notices_failed ON notices (target_url, id)
    WHERE sent_at IS NULL AND attempts > 0;
CREATE INDEX IF NOT EXISTS notices_sent ON notices (target_url, id) WHERE sent_at IS NOT NULL;
"""
# What processes did; added to any file that lacks it.
WORKER_LOGS = """
CREATE TABLE IF NOT EXISTS worker_logs (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    level TEXT NOT NULL,
    role TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    message TEXT NOT NULL,
    fields TEXT NOT NULL    -- as JSON
) STRICT;
CREATE INDEX IF NOT EXISTS worker_logs_by_time ON worker_logs (at);
"""
# As JSON: what the end of a run means for its feed.
ENDING = "ALTER TABLE import_runs ADD COLUMN ending TEXT;"
# As JSON: the changes that a notification reports, as data.
NOTIFIED = "ALTER TABLE notices ADD COLUMN changes TEXT NOT NULL DEFAULT '[]';"
ADDED = {
    ("change_logs", "is_keyed"): KEYED,
    ("change_logs", "inbox"): TRIAGE,
    ("pages", "is_muted"): MUTING,
    ("import_runs", "ending"): ENDING,
    ("notices", "changes"): NOTIFIED,
    **{(table, "search"): lists.columns(table) for table in lists.TABLES},
    **{(table, "searched"): lists.searched(table) for table in lists.TABLES},
    ("feeds", "enabled"): lists.ENABLED,
}
# What brings a file of this layout to the next.
CHANGES = {1: COPIES, 2: IMPORTS, 3: WATCHES, 4: ALERTS, 5: METRICS}


class NotOurs(Exception):
    """The file holds something that this version of Webloom did not write."""


def prepare(connection: sqlite3.Connection, clock: Clock) -> float:
    """Create the tables where they are missing; returns the offset of the timeline."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    _create_or_check(connection)
    _add_columns(connection)
    for statement in _statements(REVISIONS + MOVED + TRIED + WORKER_LOGS + lists.INDEXES):
        connection.execute(statement)
    connection.executemany(
        "INSERT OR IGNORE INTO revisions (pipeline) VALUES (?)", [(each,) for each in _COUNTED]
    )
    offset = _timeline_offset(connection, clock)
    connection.execute("COMMIT")
    _make_searchable(connection)
    return float(offset)


def _make_searchable(connection: sqlite3.Connection) -> None:
    """Unless the disk is full: then the scheduler does it later."""
    some = 1
    while some:
        connection.execute("BEGIN IMMEDIATE")
        try:
            some = lists.make_searchable(connection)
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            connection.execute("ROLLBACK")
            if not is_full(error):
                raise
            return


def _create_or_check(connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    if version == 0 and owner == 0:
        if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            raise NotOurs("it is another program's SQLite database")
        for statement in _statements(TABLES + COPIES + IMPORTS + WATCHES + ALERTS + METRICS):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    elif owner != APPLICATION_ID:
        raise NotOurs("it is another program's SQLite database")
    elif 1 <= version < VERSION:
        for older in range(version, VERSION):
            for statement in _statements(CHANGES[older]):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    elif version != VERSION:
        raise NotOurs(
            f"it has layout {version} and this Webloom knows layout {VERSION}: "
            "use the version of Webloom that wrote it, or a newer one"
        )


def _add_columns(connection: sqlite3.Connection) -> None:
    """To any file that lacks them: a Webloom that does not know them can still use the file."""
    for (table, column), script in ADDED.items():
        found = connection.execute(
            "SELECT 1 FROM pragma_table_xinfo(?) WHERE name = ?", (table, column)
        ).fetchone()
        if found is None:
            for statement in _statements(script):
                connection.execute(statement)


def _statements(script: str) -> list[str]:
    found, rest = [], ""
    for line in script.splitlines(keepends=True):
        rest += line
        if sqlite3.complete_statement(rest):
            found.append(rest)
            rest = ""
    return found


def _timeline_offset(connection: sqlite3.Connection, clock: Clock) -> float:
    row = connection.execute("SELECT boot_id, offset FROM timeline").fetchone()
    if row is not None and row[0] == clock.boot_id():
        return float(row[1])
    # The machine has been restarted: no process that held a lease is alive.
    # A wall clock that is behind must not put all that waits into the future.
    [last_beat] = connection.execute("SELECT coalesce(max(beat), 0) FROM heartbeats").fetchone()
    offset = max(clock.now().timestamp(), last_beat) - clock.steady()
    connection.execute("DELETE FROM timeline")
    connection.execute("INSERT INTO timeline VALUES (?, ?)", (clock.boot_id(), offset))
    connection.execute("UPDATE messages SET lease = 0 WHERE owner IS NOT NULL")
    connection.execute("UPDATE records SET lease = 0 WHERE lease IS NOT NULL")
    connection.execute("UPDATE import_runs SET lease = 0 WHERE owner IS NOT NULL")
    connection.execute("UPDATE locks SET lease = 0")
    connection.execute("DELETE FROM heartbeats")
    return float(offset)
