"""Runs: who holds one, and how it is counted. Each function is a verb, inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from dataclasses import replace

import msgspec

from webloom.adapters.sqlite import import_feeds
from webloom.adapters.sqlite.batches import Moment, plain
from webloom.adapters.sqlite.import_runs_rows import (
    Row,
    find,
    insert,
    number_of,
    one,
    write,
)
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.domain.feed import Feed, FeedConfig, failures_after
from webloom.domain.import_run import (
    MOST_FAILURES,
    Counts,
    Failure,
    ImportRun,
    Phase,
    Reading,
    RunStatus,
    merged_failures,
    merged_reasons,
)
from webloom.domain.third_party import at_end
from webloom.parsing.web_url import host_of
from webloom.ports.import_store import Claim, Ending, NewRun

# A run that is asked to end needs no host.
_MAY_BEGIN = f"""
    json_extract(body, '$.cancel_requested') OR host_of(coalesce(
        (SELECT coalesce({import_feeds.MOVED_TO}, url) FROM feeds
         WHERE feeds.feed_id = import_runs.feed_id), source_url
    )) NOT IN (SELECT value FROM json_each(?))
"""

_failures = msgspec.json.Decoder(list[Failure])
_reasons = msgspec.json.Decoder(dict[str, int])


def start(
    connection: sqlite3.Connection, feed_id: str, new: NewRun, moment: Moment
) -> ImportRun | None:
    if (known := one(connection, new.run_id)) is not None:
        return known.run
    feed = import_feeds.one(connection, feed_id)
    if feed is None:
        return None
    if (active := _active(connection, feed)) is not None:
        return active
    if new.due is not None and (feed.next_run_at is None or feed.next_run_at > new.due):
        return None
    run = ImportRun(
        run_id=plain(new.run_id),
        feed_id=feed.feed_id,
        source_url=feed.config.url,
        source_name=feed.config.name,
        status=RunStatus.RUNNING,
        trigger=new.trigger,
        started_at=instant(moment.wall),
        updated_at=instant(moment.wall),
        batch_size=new.batch_size,
        concurrency=new.concurrency,
        reading=Reading(phase=Phase.WAITING),
        counts=Counts(),
        retry_of=new.retry_of,
    )
    [revision] = connection.execute(
        "UPDATE feeds SET active_run_id = ? WHERE feed_id = ? RETURNING revision",
        (run.run_id, feed.feed_id),
    ).fetchone()
    insert(
        connection,
        run,
        revision=revision,
        started=moment.now,
        owner=new.owner,
        lease=moment.now + new.lease,
    )
    return run


def _active(connection: sqlite3.Connection, feed: Feed) -> ImportRun | None:
    row = feed.active_run_id and one(connection, feed.active_run_id)
    return row.run if row and row.run.status is RunStatus.RUNNING else None


def claim(
    connection: sqlite3.Connection,
    owner: str,
    lease: float,
    run_id: str | None,
    busy_hosts: Collection[str],
    moment: Moment,
) -> Claim | None:
    connection.execute(
        """
        UPDATE feeds SET active_run_id = NULL WHERE active_run_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM run_names JOIN import_runs ON run = id
            WHERE run_id = active_run_id AND status = 'running')
        """
    )
    free = "status = 'running' AND (owner IS NULL OR owner = ? OR lease <= ?)"
    chosen: tuple[object, ...] = (plain(owner), moment.now)
    if run_id is None:
        order = "ORDER BY owner IS NOT ?, started_at, run LIMIT 1"
        if busy_hosts:
            connection.create_function("host_of", 1, host_of, deterministic=True)
            free += f" AND (owner = ? OR {_MAY_BEGIN})"
            chosen = (*chosen, plain(owner), encoded(sorted(busy_hosts)))
        rows = find(connection, f"{free} {order}", *chosen, plain(owner))
    else:
        rows = find(connection, f"{free} AND run = ?", *chosen, number_of(connection, run_id))
    if not rows:
        return None
    [row] = rows
    token = row.token + (row.owner != plain(owner))
    connection.execute(
        "UPDATE import_runs SET owner = ?, token = ?, lease = ? WHERE run = ?",
        (plain(owner), token, moment.now + lease, row.number),
    )
    feed = import_feeds.one(connection, row.run.feed_id) or _removed(row.run)
    return Claim(run=row.run, feed=feed, token=token)


def _removed(run: ImportRun) -> Feed:
    """What is left to know of a feed that is no longer there."""
    return Feed(
        feed_id=run.feed_id,
        config=FeedConfig(url=run.source_url, name=run.source_name, enabled=False),
        created_at=run.started_at,
        updated_at=run.updated_at,
        next_run_at=None,
        active_run_id=run.run_id,
    )


def held(connection: sqlite3.Connection, claim: Claim) -> Row | None:
    """The run of a claim that stands."""
    row = one(connection, claim.run.run_id)
    if row is None or row.token != claim.token or row.run.status is not RunStatus.RUNNING:
        return None
    return row


def lengthen(connection: sqlite3.Connection, claim: Claim, until: float) -> bool:
    row = held(connection, claim)
    if row is None:
        return False
    connection.execute("UPDATE import_runs SET lease = ? WHERE run = ?", (until, row.number))
    return True


def give_up(connection: sqlite3.Connection, claim: Claim) -> None:
    row = held(connection, claim)
    if row is not None:
        connection.execute("UPDATE import_runs SET owner = NULL WHERE run = ?", (row.number,))


def note(
    connection: sqlite3.Connection, claim: Claim, reading: Reading, moment: Moment
) -> ImportRun | None:
    row = held(connection, claim)
    if row is None:
        return None
    return _rewritten(connection, row, counted(connection, row, reading), moment)


def cancel(connection: sqlite3.Connection, run_id: str, moment: Moment) -> ImportRun | None:
    row = one(connection, run_id)
    if row is None or row.run.status is not RunStatus.RUNNING:
        return None if row is None else row.run
    return _rewritten(connection, row, replace(row.run, cancel_requested=True), moment)


def _rewritten(
    connection: sqlite3.Connection, row: Row, run: ImportRun, moment: Moment
) -> ImportRun:
    if run != row.run:
        run = replace(run, updated_at=max(row.run.updated_at, instant(moment.wall)))
        write(connection, row.number, run)
    return run


def counted(connection: sqlite3.Connection, row: Row, reading: Reading) -> ImportRun:
    """The run with what the producer says and what the ledger adds up to."""
    batches, *sums = connection.execute(
        """
        SELECT count(*), coalesce(sum(new), 0), coalesce(sum(updated), 0),
               coalesce(sum(unchanged), 0), coalesce(sum(duplicate), 0), coalesce(sum(failed), 0)
        FROM import_batches WHERE run = ?
        """,
        (row.number,),
    ).fetchone()
    failures, reasons = _failed(connection, row.number) if sums[4] else ([], {})
    mine = Counts(duplicate=reading.duplicates, failed=reading.failed)
    return replace(
        row.run,
        reading=reading,
        counts=mine.plus(Counts(*sums)),
        processed_batches=batches,
        failures=merged_failures(reading.failures, failures),
        failure_reasons=merged_reasons(reading.failure_reasons, reasons),
    )


def _failed(connection: sqlite3.Connection, number: int) -> tuple[list[Failure], dict[str, int]]:
    """The records that failed in batches: the first, and the reasons of all."""
    of_run = "FROM import_batches WHERE run = ? AND failed > 0 ORDER BY batch_index"
    shown: list[Failure] = []
    with closing(connection.execute(f"SELECT failures {of_run}", (number,))) as rows:
        for (failures,) in rows:
            shown = merged_failures(shown, _failures.decode(failures))
            if len(shown) == MOST_FAILURES:
                break
    reasons: dict[str, int] = {}
    for (more,) in connection.execute(f"SELECT reasons {of_run}", (number,)):
        reasons = merged_reasons(reasons, _reasons.decode(more))
    return shown, reasons


def finish(
    connection: sqlite3.Connection,
    claim: Claim,
    reading: Reading,
    ending: Ending,
    moment: Moment,
) -> ImportRun | None:
    row = one(connection, claim.run.run_id)
    if row is None or row.run.status is not RunStatus.RUNNING:
        return None if row is None else row.run
    if row.token != claim.token:
        return None
    run = _ended(connection, row, counted(connection, row, reading), ending, moment)
    write(connection, row.number, run)
    connection.execute("UPDATE import_runs SET owner = NULL WHERE run = ?", (row.number,))
    _set_free(connection, row, run, ending)
    return run


def _ended(
    connection: sqlite3.Connection, row: Row, run: ImportRun, ending: Ending, moment: Moment
) -> ImportRun:
    [closed] = connection.execute(
        "SELECT count(*) FROM postings WHERE closed_run = ?", (row.number,)
    ).fetchone()
    run = at_end(run, ending.error)
    return replace(
        run,
        updated_at=max(run.updated_at, instant(moment.wall)),
        reading=replace(run.reading, phase=Phase.FINISHED),
        closed_jobs=closed,
        finished_at=instant(moment.wall),
        duration_ms=round((moment.now - row.started) * 1000),
    )


def _set_free(connection: sqlite3.Connection, row: Row, run: ImportRun, ending: Ending) -> None:
    """A feed that was edited since the run began keeps its next time, and what the run fetched
    is not what the next one wants."""
    feed = import_feeds.one(connection, run.feed_id)
    if feed is None or feed.active_run_id != run.run_id:
        return
    if feed.last_run_id is not None:
        connection.execute(
            "DELETE FROM import_batches WHERE run = ?",
            (number_of(connection, feed.last_run_id),),
        )
    connection.execute(
        """
        UPDATE feeds SET active_run_id = NULL, last_run_id = :run_id, last_status = :status,
            last_error = :error, last_run_at = :finished_at,
            failures = :failures,
            next_run_at = iif(revision = :revision, :next_run_at, next_run_at),
            last_fetch = iif(revision = :revision, coalesce(:fetch, last_fetch), last_fetch)
        WHERE feed_id = :feed_id
        """,
        {
            "run_id": run.run_id,
            "status": run.status,
            "failures": failures_after(
                feed.failures, run.status, is_cancelled=run.cancel_requested
            ),
            "error": run.error and plain(run.error),
            "finished_at": milliseconds(run.finished_at),
            "revision": row.revision,
            "next_run_at": milliseconds(ending.next_run_at),
            "fetch": None if ending.last_fetch is None else encoded(ending.last_fetch),
            "feed_id": feed.feed_id,
        },
    )


def remove_feed(connection: sqlite3.Connection, feed_id: str, moment: Moment) -> bool:
    feed = import_feeds.one(connection, feed_id)
    if feed is None:
        return False
    connection.execute("DELETE FROM feeds WHERE feed_id = ?", (feed.feed_id,))
    if feed.active_run_id is not None:
        cancel(connection, feed.active_run_id, moment)
    return True
