"""The tables of watches.

A row of `snapshots` is a version: its place, its number, and what its content takes. The content
has a row of its own. A version whose content has expired stays for a while, without it, so that a
redelivered event is recognised. A version may also lack content because only its change is known.

What the tables take is counted by triggers, in the transaction of the change.
"""

from __future__ import annotations

_TABLES = """
CREATE TABLE watches (
    watch_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    next_run_at INTEGER,
    active_run_id TEXT,
    last_run_id TEXT,
    last_status TEXT,
    last_run_at INTEGER,
    failures INTEGER NOT NULL
) STRICT;
CREATE INDEX watches_by_name ON watches (name, watch_id);
CREATE INDEX watches_due ON watches (next_run_at) WHERE active_run_id IS NULL;
CREATE INDEX watches_active ON watches (active_run_id) WHERE active_run_id IS NOT NULL;

CREATE TABLE job_runs (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    watch_id TEXT NOT NULL,
    status TEXT NOT NULL,
    trigger TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    finished_at INTEGER,
    pages_total INTEGER,
    processed INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0,
    price_changes INTEGER NOT NULL DEFAULT 0,
    failures TEXT NOT NULL DEFAULT '[]',  -- of a run that has ended
    published_at INTEGER,
    ledger_until INTEGER,   -- when its rows of the ledger may go; NULL: it has none, or continues
    expire_at INTEGER       -- by our clock, as everywhere
) STRICT;
CREATE INDEX job_runs_by_watch ON job_runs (watch_id, started_at);
CREATE INDEX job_runs_by_status ON job_runs (status, started_at);
CREATE INDEX job_runs_by_start ON job_runs (started_at);
CREATE INDEX job_runs_expiring ON job_runs (expire_at) WHERE expire_at IS NOT NULL;
CREATE INDEX job_runs_with_ledger ON job_runs (ledger_until) WHERE ledger_until IS NOT NULL;

CREATE TABLE run_urls (     -- of a run in progress
    run INTEGER PRIMARY KEY,
    urls BLOB NOT NULL      -- JSON, zstd
) STRICT;

CREATE TABLE watch_ledger (
    run INTEGER NOT NULL,
    key BLOB NOT NULL,      -- of the page; of the event, where it names no run
    outcome INTEGER NOT NULL,  -- the higher counts
    is_price_change INTEGER NOT NULL,
    url TEXT,               -- of one that failed
    error TEXT,
    PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX watch_ledger_failed ON watch_ledger (run) WHERE outcome = 0;

CREATE TABLE notices (
    id INTEGER PRIMARY KEY,
    notice_id TEXT NOT NULL UNIQUE,
    watch_id TEXT NOT NULL,
    target_url TEXT NOT NULL,
    run_id TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    lines TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT,
    sent_at INTEGER,
    given_up INTEGER NOT NULL,
    expire_at INTEGER
) STRICT;
CREATE INDEX notices_of_watch ON notices (watch_id, id);
CREATE INDEX notices_due ON notices (due_at) WHERE sent_at IS NULL AND given_up = 0;
CREATE INDEX notices_expiring ON notices (expire_at) WHERE expire_at IS NOT NULL;

CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,  -- of job and URL
    job_id TEXT NOT NULL,
    url TEXT NOT NULL,
    search TEXT NOT NULL,   -- URL and title, case folded
    type TEXT,              -- of the classification
    last_updated INTEGER NOT NULL,  -- NEVER before the first event
    newest INTEGER,         -- the version whose content the page has
    classification TEXT,    -- JSON, with its place, as are those that follow
    price TEXT,
    availability TEXT
) STRICT;
CREATE INDEX pages_by_update ON pages (last_updated);
CREATE INDEX pages_by_job ON pages (job_id, last_updated);
CREATE INDEX pages_by_url ON pages (url, last_updated);

CREATE TABLE page_checks (  -- what an unchanged page is written to
    page INTEGER PRIMARY KEY,
    checked_at INTEGER,
    outcome INTEGER,
    error TEXT,
    validated_at INTEGER NOT NULL,  -- NEVER: it has no validators yet
    etag TEXT,
    last_modified TEXT,
    body_hash TEXT
) STRICT;

CREATE TABLE snapshots (
    id INTEGER PRIMARY KEY,
    page INTEGER NOT NULL,
    number INTEGER NOT NULL,
    ts INTEGER NOT NULL,
    claimed INTEGER NOT NULL,
    hash TEXT NOT NULL,
    key BLOB NOT NULL UNIQUE,
    rank INTEGER NOT NULL,  -- of the event that gave its place, the earliest of all
    content_rank INTEGER,   -- of the event that gave its content, as `rank`; NULL: none did
    digest BLOB,            -- of its content; empty: it is restored, and its content has expired
    base INTEGER,           -- the version that its content is a delta against
    below INTEGER NOT NULL,  -- how long the longest chain of deltas is that ends here, or more
    bytes INTEGER NOT NULL,  -- that its content takes; 0: it is not here
    expire_at INTEGER       -- of its content; then of the row
) STRICT;
CREATE UNIQUE INDEX snapshots_by_number ON snapshots (page, number);
CREATE INDEX snapshots_by_place ON snapshots (page, ts);
CREATE INDEX snapshots_by_base ON snapshots (base) WHERE base IS NOT NULL;
CREATE INDEX snapshots_expiring ON snapshots (expire_at, below) WHERE expire_at IS NOT NULL;

CREATE TABLE snapshot_bodies (
    id INTEGER PRIMARY KEY,
    body BLOB NOT NULL      -- zstd, of JSON
) STRICT;

CREATE TABLE change_logs (
    snapshot INTEGER PRIMARY KEY,
    page INTEGER NOT NULL,
    job_id TEXT NOT NULL,
    ts INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    run_id TEXT,
    body BLOB NOT NULL,     -- changes, alerts, reasons: zstd, of JSON
    expire_at INTEGER NOT NULL
) STRICT;
CREATE INDEX change_logs_by_time ON change_logs (ts);
CREATE INDEX change_logs_by_page ON change_logs (page, ts);
CREATE INDEX change_logs_by_job ON change_logs (job_id, ts);
CREATE INDEX change_logs_by_run ON change_logs (run_id, ts) WHERE run_id IS NOT NULL;
CREATE INDEX change_logs_expiring ON change_logs (expire_at);

CREATE TABLE price_history (
    page INTEGER NOT NULL,
    ts INTEGER NOT NULL,
    key BLOB NOT NULL UNIQUE,
    price TEXT NOT NULL,    -- decimal, without zeros at its end
    currency TEXT,
    change_percent TEXT,
    claimed INTEGER NOT NULL,
    version_key BLOB NOT NULL,
    expire_at INTEGER,      -- NULL: the newest of its page
    PRIMARY KEY (page, ts, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX price_history_expiring ON price_history (expire_at) WHERE expire_at IS NOT NULL;

CREATE TABLE watch_usage (
    collection TEXT PRIMARY KEY,
    items INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    superseded_items INTEGER NOT NULL DEFAULT 0,
    superseded_bytes INTEGER NOT NULL DEFAULT 0
) STRICT;
"""


def _counted(table: str, *, size: str, item: str = "1", superseded: str = "0") -> str:
    """Triggers that count a table. The expressions speak of a column as `row.column`."""

    def added(row: str, sign: str) -> str:
        columns = {
            "items": item,
            "bytes": size,
            "superseded_items": f"({superseded}) * ({item})",
            "superseded_bytes": f"({superseded}) * ({size})",
        }
        return ", ".join(
            f"{name} = {name} {sign} ({expression.replace('row.', f'{row}.')})"
            for name, expression in columns.items()
        )

    where = f"WHERE collection = '{table}'"
    new = f"UPDATE watch_usage SET {added('new', '+')} {where};"
    old = f"UPDATE watch_usage SET {added('old', '-')} {where};"
    return f"""
INSERT INTO watch_usage (collection) VALUES ('{table}');
CREATE TRIGGER {table}_come AFTER INSERT ON {table} BEGIN {new} END;
CREATE TRIGGER {table}_go AFTER DELETE ON {table} BEGIN {old} END;
CREATE TRIGGER {table}_change AFTER UPDATE ON {table} BEGIN {old} {new} END;
"""


# Constants stand for what a row and its places in indexes take.
WATCHES = (
    _TABLES
    + _counted("pages", size="400 + 3 * length(row.url) + length(row.search)")
    + _counted(
        "snapshots",
        size="200 + row.bytes",
        item="row.bytes > 0",
        superseded="row.expire_at IS NOT NULL",
    )
    + _counted("price_history", size="200", superseded="row.expire_at IS NOT NULL")
    + _counted(
        "change_logs",
        size="150 + length(row.body)",
        superseded="1",
    )
    + _counted("job_runs", size="300 + length(row.failures)")
)

# Of change logs with alerts: which are still to be notified. And what counting watches needs, apart
# from their URLs.
ALERTS = """
ALTER TABLE change_logs ADD COLUMN untold INTEGER NOT NULL DEFAULT 0;
ALTER TABLE change_logs ADD COLUMN batch TEXT;  -- NULL: it is in none yet
UPDATE change_logs SET untold = 1
    WHERE run_id IN (SELECT run_id FROM job_runs WHERE status = 'in_progress');
CREATE INDEX change_logs_untold ON change_logs (untold, job_id, run_id, batch) WHERE untold = 1;
CREATE INDEX change_logs_by_batch ON change_logs (batch, ts) WHERE batch IS NOT NULL;
ALTER TABLE notices ADD COLUMN batch TEXT;
UPDATE change_logs SET batch = run_id, untold = 0
    WHERE (job_id, run_id) IN (SELECT watch_id, run_id FROM notices);
UPDATE notices SET batch = run_id;

ALTER TABLE watches ADD COLUMN enabled INTEGER
    GENERATED ALWAYS AS (json_extract(config, '$.enabled')) VIRTUAL;
CREATE INDEX watches_counted ON watches (enabled, active_run_id, failures);
"""

# Whether the key of its version is a part of what a change log is known by in feeds. It is for all
# that are new; of those that are there, for all but the first of a page at one moment.
KEYED = """
ALTER TABLE change_logs ADD COLUMN is_keyed INTEGER NOT NULL DEFAULT 0;
UPDATE change_logs SET is_keyed = 1 WHERE EXISTS (
    SELECT 1 FROM change_logs AS others
    WHERE others.page = change_logs.page AND others.ts = change_logs.ts
    AND others.snapshot < change_logs.snapshot
);
"""

# What was decided about change logs and pages. The indexes hold what waits, and what is muted.
TRIAGE = """
ALTER TABLE change_logs ADD COLUMN inbox TEXT;  -- NULL: it is not in the inbox
ALTER TABLE change_logs ADD COLUMN inbox_at INTEGER;  -- NULL: it does not wait
ALTER TABLE change_logs ADD COLUMN inbox_decided_at INTEGER;
CREATE INDEX change_logs_waiting ON change_logs (inbox, inbox_at) WHERE inbox_at IS NOT NULL;
CREATE INDEX change_logs_waiting_of_job ON change_logs (job_id, inbox, inbox_at)
    WHERE inbox_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS went_unread (
    day INTEGER PRIMARY KEY,  -- since 1970
    number INTEGER NOT NULL
) STRICT;
"""
MUTING = """
ALTER TABLE pages ADD COLUMN is_muted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pages ADD COLUMN muting_at INTEGER;  -- when that was decided
CREATE INDEX pages_muted ON pages (muting_at) WHERE is_muted = 1;
"""

# What a watch has counted, and watches of other programs' jobs, which their events make.
METRICS = """
ALTER TABLE watches ADD COLUMN is_external INTEGER NOT NULL DEFAULT 0;
ALTER TABLE watches ADD COLUMN pages_processed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE watches ADD COLUMN changes_detected INTEGER NOT NULL DEFAULT 0;
ALTER TABLE watches ADD COLUMN price_changes_detected INTEGER NOT NULL DEFAULT 0;
INSERT INTO watches (watch_id, name, config, created_at, updated_at, last_run_id, last_status,
                     last_run_at, failures, is_external)
    SELECT watch_id, watch_id,
        json_object('name', watch_id, 'urls', json_array(), 'enabled', json('false'),
                    'schedule', json_object('every_minutes', 60.0)),
        min(started_at), max(updated_at), run_id, status, max(finished_at), 0, 1
    FROM job_runs WHERE trigger = 'events' GROUP BY watch_id
    ON CONFLICT (watch_id) DO NOTHING;
UPDATE watches SET (pages_processed, changes_detected, price_changes_detected) = (
    SELECT coalesce(sum(processed), 0), coalesce(sum(changes), 0), coalesce(sum(price_changes), 0)
    FROM job_runs WHERE job_runs.watch_id = watches.watch_id AND status != 'in_progress');
"""
