"""The end of an attempt: its outcome, and the page source that it brought.

As the other writes of the inventory, a batch of items inside one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from webloom.adapters.sqlite.batches import as_json, change, given, plain, select_all
from webloom.adapters.sqlite.inventory_writes import Moment
from webloom.adapters.sqlite.page_sources import compress, write_sources
from webloom.adapters.sqlite.record_rows import url_key
from webloom.domain.inventory import (
    Attempt,
    Completed,
    Failed,
    Outcome,
    Received,
    RetryLater,
    Status,
)


@dataclass(kw_only=True, slots=True)
class FinishAttempt:
    attempt: Attempt
    outcome: Outcome
    packed: bytes | None = None  # the page source, compressed

    @property
    def received(self) -> Received | None:
        return self.outcome.received if isinstance(self.outcome, (Completed, Failed)) else None


def pack_sources(items: list[FinishAttempt]) -> None:
    packed = compress([_source_of(item.received) for item in items])
    for item, source in zip(items, packed, strict=True):
        item.packed = source


def _source_of(received: Received | None) -> str | None:
    return None if received is None else received.page_source


def finish(
    connection: sqlite3.Connection,
    items: list[FinishAttempt],
    moment: Moment,
) -> list[bool]:
    stand = _standing(connection, [item.attempt for item in items])
    results = []
    settled: list[tuple[int, Attempt, Completed | Failed]] = []
    sources: dict[int, bytes | None] = {}
    postponed, released = [], []
    for item in items:
        row = stand.pop((url_key(item.attempt.url), item.attempt.token), None)
        results.append(row is not None)
        if row is None:
            continue
        match item.outcome:
            case Completed() | Failed() as outcome:
                settled.append((row, item.attempt, outcome))
                if outcome.received is not None:
                    sources[row] = item.packed
            case RetryLater() as later:
                postponed.append((row, later.seconds, plain(later.reason), later.retry_count))
            case _:
                released.append((row,))
    _write_settled(connection, settled, moment)
    write_sources(connection, sources)
    _write_postponed(connection, postponed, moment)
    _write_released(connection, released, moment)
    return results


def _standing(
    connection: sqlite3.Connection, attempts: Sequence[Attempt]
) -> dict[tuple[str, int], int]:
    """The rows of those attempts that nobody has taken over or finished."""
    rows = select_all(
        connection,
        "url_key, token, id",
        """records WHERE url_key IN (SELECT value FROM json_each(:keys)) AND lease IS NOT NULL""",
        keys=as_json([url_key(attempt.url) for attempt in attempts]),
    )
    return {(key, token): row for key, token, row in rows}


def _write_settled(
    connection: sqlite3.Connection,
    settled: list[tuple[int, Attempt, Completed | Failed]],
    moment: Moment,
) -> None:
    """Without a response, what an earlier one brought stays."""
    change(
        connection,
        given("row", "status", "failures", "reason", "received",
              "code", "final", "headers", "cookies", "details")
        + """
        UPDATE records SET status = given.status, shelf = given.status,
            request_id = NULL, lease = NULL, retry_due = NULL, background = 0,
            retry_count = given.failures, error_message = given.reason,
            updated_at = :wall, touched = :now,
            status_code = iif(given.received, given.code, status_code),
            final_url = iif(given.received, given.final, final_url),
            headers = iif(given.received, given.headers, records.headers),
            cookies = iif(given.received, given.cookies, records.cookies),
            details = iif(given.received, given.details, records.details)
        FROM given WHERE id = given.row
        """,
        (
            (row, *_ending(attempt, outcome), *_response(outcome.received))
            for row, attempt, outcome in settled
        ),
        **moment._asdict(),
    )  # fmt: skip


def _ending(attempt: Attempt, outcome: Completed | Failed) -> tuple[Status, int, str | None]:
    if isinstance(outcome, Failed):
        return Status.FAILED_PERMANENT, outcome.retry_count, plain(outcome.reason)
    return Status.COMPLETED, attempt.retry_count, None


def _response(received: Received | None) -> tuple[object, ...]:
    if received is None:
        return (False, None, None, None, None, None)
    return (
        True,
        received.status_code,
        received.final_url,
        as_json(received.headers),
        as_json(received.cookies),
        as_json(received.details),
    )


def _write_postponed(
    connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]], moment: Moment
) -> None:
    change(
        connection,
        given("row", "seconds", "reason", "failures")
        + """
        UPDATE records SET
            status = iif(status = 'IN_PROGRESS', 'FAILED_RETRYABLE', status),
            updated_at = iif(status = 'IN_PROGRESS', :wall, updated_at), touched = :now,
            lease = NULL, retry_due = :now + given.seconds,
            error_message = given.reason, retry_count = given.failures
        FROM given WHERE id = given.row
        """,
        rows,
        **moment._asdict(),
    )


def _write_released(connection: sqlite3.Connection, rows: list[tuple[int]], moment: Moment) -> None:
    change(
        connection,
        given("row")
        + """
        UPDATE records SET
            status = iif(status = 'IN_PROGRESS', 'PENDING', status),
            updated_at = iif(status = 'IN_PROGRESS', :wall, updated_at), touched = :now,
            lease = NULL, attempt_number = attempt_number - 1
        FROM given WHERE id = given.row
        """,
        rows,
        **moment._asdict(),
    )
