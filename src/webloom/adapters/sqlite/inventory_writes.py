"""The writes of the inventory, each for a batch of items inside one transaction.

Decisions are the domain's; a batch is read by one statement, decided
in Python, and written by one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from webloom.adapters.sqlite.batches import as_json, change, given, select_all
from webloom.adapters.sqlite.record_rows import OPEN, STATE_COLUMNS, state_of, url_key
from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Begin,
    Busy,
    FetchRequest,
    GiveUp,
    RequestState,
    Status,
    decide_attempt,
)
from webloom.parsing.web_url import host_of
from webloom.ports.inventory_store import NotedRequest

FORGOTTEN_SECONDS = 3600.0  # how long the last request of a deleted record is remembered


class Moment(NamedTuple):
    now: float  # on the timeline
    wall: int  # milliseconds


@dataclass(frozen=True, kw_only=True, slots=True)
class BeginAttempt:
    request: FetchRequest
    lease: float


def read_states(
    connection: sqlite3.Connection, keys: Iterable[str], now: float
) -> dict[str, RequestState]:
    rows = select_all(
        connection,
        f"url_key, {STATE_COLUMNS}",
        "records WHERE url_key IN (SELECT value FROM json_each(:keys))",
        keys=as_json(list(keys)),
    )
    return {row[0]: state_of(row[1:], now) for row in rows}


def note(connection: sqlite3.Connection, requests: list[NotedRequest], moment: Moment) -> None:
    unknown = [each.request for each in requests if each.token == 0]
    if _insert(connection, unknown, moment, unless_forgotten=True) == len(requests):
        return
    change(
        connection,
        given("key", "token", "request", "background")
        + """
        UPDATE records SET
            request_id = coalesce(request_id, given.request),
            background = given.background,
            status = CASE
                WHEN given.background THEN status
                WHEN lease IS NOT NULL THEN 'IN_PROGRESS'
                WHEN retry_due IS NOT NULL THEN 'FAILED_RETRYABLE'
                ELSE 'PENDING' END,
            shelf = iif(given.background, shelf, 'OPEN'),
            error_message = iif(given.background, error_message, NULL),
            updated_at = iif(given.background, updated_at, :wall),
            touched = :now
        FROM given
        WHERE url_key = given.key AND records.token = given.token
          AND (request_id IS NULL OR records.background > given.background)
        """,
        (
            (
                url_key(each.request.url),
                each.token,
                each.request.request_id,
                each.request.background,
            )
            for each in requests
        ),
        **moment._asdict(),
    )


def _insert(
    connection: sqlite3.Connection,
    requests: list[FetchRequest],
    moment: Moment,
    *,
    unless_forgotten: bool = False,
) -> int:
    """Create the records that do not exist, as PENDING; returns how many.

    Tokens begin with the time, so that a record which is deleted and created again never has a
    token twice. A note can come so late that its request was answered, and the record deleted.
    """
    if not requests:
        return 0
    [newest] = connection.execute("SELECT coalesce(max(id), 0) FROM records").fetchone()
    change(
        connection,
        given("url_key", "url", "host", "request_id")
        + """
        INSERT OR IGNORE INTO records
            (url_key, url, host, status, shelf, token, request_id, created_at, updated_at, touched)
        SELECT url_key, url, host, 'PENDING', 'OPEN', CAST(:now * 1000000 AS INTEGER),
               request_id, :wall, :wall, :now
        FROM given
        WHERE NOT :unless_forgotten OR NOT EXISTS
            (SELECT 1 FROM forgotten
             WHERE forgotten.url_key = given.url_key AND forgotten.request_id = given.request_id)
        """,
        ((url_key(each.url), each.url, host_of(each.url), each.request_id) for each in requests),
        unless_forgotten=unless_forgotten,
        **moment._asdict(),
    )
    words = connection.execute(
        "INSERT INTO record_words (rowid, url) SELECT id, url FROM records WHERE id > ?", (newest,)
    )
    return words.rowcount


def begin(
    connection: sqlite3.Connection, items: list[BeginAttempt], moment: Moment
) -> list[Attempt | Busy | AlreadyDone | GiveUp]:
    keys = [url_key(item.request.url) for item in items]
    states = read_states(connection, keys, moment.now)
    unknown = [item.request for key, item in zip(keys, items, strict=True) if key not in states]
    if unknown:
        _insert(connection, unknown, moment)
        states |= read_states(connection, [url_key(each.url) for each in unknown], moment.now)
    repeated = len(states) < len(items)  # a later message of a URL must see what an earlier did
    results: list[Attempt | Busy | AlreadyDone | GiveUp] = []
    started, reopened, given_up, answered = [], [], [], []
    for key, item in zip(keys, items, strict=True):
        state = states[key]
        decision = decide_attempt(state, item.request.request_id)
        if isinstance(decision, GiveUp):
            given_up.append((key, decision.retry_count, decision.reason))
            states[key] = replace(
                state,
                status=Status.FAILED_PERMANENT,
                token=state.token + 1,
                request_id=None,
                in_progress_for=None,
            )
        elif isinstance(decision, AlreadyDone):
            answered.append(key)
        elif isinstance(decision, Begin):
            attempt = _attempt(item.request, state, decision)
            background = item.request.background and state.status.is_final
            started.append((key, item.lease, background, *_numbers(attempt)))
            if state.status.is_final and not background:
                reopened.append(key)
            if repeated:
                states[key] = replace(state, token=attempt.token, in_progress_for=item.lease)
            results.append(attempt)
            continue
        results.append(decision)
    _write_given_up(connection, given_up, moment)
    _write_started(connection, started, moment)
    if answered:  # so that a note which comes late finds that the message was served
        connection.execute(
            "UPDATE records SET token = token + 1 "
            "WHERE url_key IN (SELECT value FROM json_each(?)) AND lease IS NULL",
            (as_json(answered),),
        )
    if reopened:
        connection.execute(
            "UPDATE records SET shelf = 'OPEN' WHERE url_key IN (SELECT value FROM json_each(?))",
            (as_json(reopened),),
        )
    return results


def _attempt(request: FetchRequest, state: RequestState, decision: Begin) -> Attempt:
    return Attempt(
        url=request.url,
        request_id=state.request_id or request.request_id,
        token=state.token + 1,
        number=decision.number,
        retry_count=decision.retry_count,
    )


def _numbers(attempt: Attempt) -> tuple[str, int, int, int]:
    return attempt.request_id, attempt.token, attempt.number, attempt.retry_count


def _write_started(
    connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]], moment: Moment
) -> None:
    """A background refresh leaves the record as its readers see it."""
    change(
        connection,
        given("key", "seconds", "background", "request", "token", "number", "failures")
        + """
        UPDATE records SET
            status = iif(given.background, status, 'IN_PROGRESS'),
            updated_at = iif(given.background, updated_at, :wall),
            background = given.background,
            token = given.token,
            request_id = given.request, last_request_id = given.request,
            lease = :now + given.seconds, retry_due = NULL,
            attempt_number = given.number, retry_count = given.failures,
            last_attempt_at = :wall, touched = :now
        FROM given WHERE url_key = given.key
        """,
        rows,
        **moment._asdict(),
    )


def _write_given_up(
    connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]], moment: Moment
) -> None:
    change(
        connection,
        given("key", "failures", "reason")
        + """
        UPDATE records SET status = 'FAILED_PERMANENT', shelf = 'FAILED_PERMANENT',
            request_id = NULL, lease = NULL, retry_due = NULL, background = 0, token = token + 1,
            retry_count = given.failures, error_message = given.reason,
            updated_at = :wall, touched = :now
        FROM given WHERE url_key = given.key
        """,
        rows,
        **moment._asdict(),
    )


def renew(
    connection: sqlite3.Connection, items: list[tuple[Sequence[Attempt], float]], now: float
) -> None:
    change(
        connection,
        given("key", "token", "until")
        + """
        UPDATE records SET lease = given.until FROM given
        WHERE url_key = given.key AND records.token = given.token AND lease IS NOT NULL
        """,
        (
            (url_key(attempt.url), attempt.token, now + seconds)
            for attempts, seconds in items
            for attempt in attempts
        ),
    )


def touch(connection: sqlite3.Connection, requests: list[FetchRequest], now: float) -> None:
    change(
        connection,
        given("key", "request")
        + """
        UPDATE records SET touched = :now FROM given
        WHERE url_key = given.key AND request_id = given.request
        """,
        ((url_key(each.url), each.request_id) for each in requests),
        now=now,
    )


def forget(connection: sqlite3.Connection, key: str, moment: Moment) -> bool:
    row = connection.execute(
        "SELECT id, url, request_id, last_request_id FROM records WHERE url_key = ?", (key,)
    ).fetchone()
    if row is None:
        return False
    record_id, url, request_id, last_request_id = row
    connection.execute("DELETE FROM page_sources WHERE record_id = ?", (record_id,))
    if request_id is None:
        connection.execute(
            "INSERT INTO record_words (record_words, rowid, url) VALUES ('delete', ?, ?)",
            (record_id, url),
        )
        connection.execute("DELETE FROM records WHERE id = ?", (record_id,))
        connection.execute(
            "DELETE FROM forgotten WHERE time < ?", (moment.now - FORGOTTEN_SECONDS,)
        )
        connection.execute(
            "INSERT OR REPLACE INTO forgotten VALUES (?, ?, ?)",
            (key, last_request_id or "", moment.now),
        )
        return True
    connection.execute(
        """
        UPDATE records SET
            status = CASE WHEN lease IS NOT NULL THEN 'IN_PROGRESS'
                          WHEN retry_due IS NOT NULL THEN 'FAILED_RETRYABLE'
                          ELSE 'PENDING' END,
            shelf = ?, background = 0, status_code = NULL, final_url = NULL, headers = NULL,
            cookies = NULL, details = NULL, updated_at = ?, touched = ?
        WHERE id = ?
        """,
        (OPEN, moment.wall, moment.now, record_id),
    )
    return True
