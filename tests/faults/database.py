"""What the database says, read by a connection of the test's own."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from faults.processes import Process, eventually


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    url: str
    status: str
    attempt_number: int
    retry_count: int
    error_message: str | None
    request_id: str | None


class DatabaseFile:
    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def connection(self, wait: float = 30.0) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=wait, isolation_level=None)) as connection:
            yield connection

    def stop(self, process: Process) -> None:
        """SIGSTOP, while the process holds no lock that others would wait for in vain."""
        with self.connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            process.stop()
            connection.execute("ROLLBACK")

    def count(self, source: str) -> int:
        with self.connection() as connection:
            return int(connection.execute(f"SELECT count(*) FROM {source}").fetchone()[0])

    def execute(self, statement: str, *values: object) -> None:
        """A change by hand."""
        with self.connection() as connection:
            connection.execute(statement, values)

    def rows(self) -> list[Row]:
        columns = "url, status, attempt_number, retry_count, error_message, request_id"
        with self.connection() as connection:
            found = connection.execute(f"SELECT {columns} FROM records ORDER BY id").fetchall()
        return [
            Row(
                url=url,
                status=status,
                attempt_number=number,
                retry_count=failures,
                error_message=error,
                request_id=request,
            )
            for url, status, number, failures, error, request in found
        ]

    def row(self, url: str) -> Row:
        [found] = [row for row in self.rows() if row.url == url]
        return found

    def statuses(self) -> Counter[str]:
        return Counter(row.status for row in self.rows())

    def dead_letters(self) -> dict[str, str]:
        """Message id -> reason."""
        with self.connection() as connection:
            return dict(connection.execute("SELECT message_id, reason FROM dead_letters"))

    def messages(self) -> list[tuple[str, str]]:
        """(id, URL) of what is on the queue, each body well-formed."""
        with self.connection() as connection:
            rows = connection.execute(
                "SELECT message_id, body FROM messages ORDER BY id"
            ).fetchall()
        return [(message_id, msgspec.json.decode(body)["url"]) for message_id, body in rows]

    def put_message(self, message_id: str, body: str | bytes) -> None:
        """By hand, as no publisher of ours would; bytes become text unchecked."""
        self.execute(
            """
            INSERT INTO messages (queue, message_id, key, body, due)
            VALUES ('metadata_queue', ?1, ?1, CAST(?2 AS TEXT), 0)
            """,
            message_id,
            body,
        )

    def hold_write_lock(self) -> sqlite3.Connection:
        """The caller closes it."""
        connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        return connection

    def is_write_locked(self) -> bool:
        with self.connection(wait=0) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                    return True
                raise
            connection.execute("ROLLBACK")
        return False

    async def settled(self) -> None:
        """Wait until no record is open and no message is left."""

        def look() -> bool:
            with self.connection() as connection:
                [left] = connection.execute(
                    """
                    SELECT (SELECT count(*) FROM records WHERE shelf = 'OPEN')
                         + (SELECT count(*) FROM messages)
                    """
                ).fetchone()
            return bool(left == 0)

        try:
            await eventually(look, what="every request has its final answer")
        except AssertionError as late:
            open_rows = [row for row in self.rows() if row.request_id is not None]
            raise AssertionError(
                f"{late}: {self.statuses()}, {self.count('messages')} messages, {open_rows[:5]}"
            ) from None

    def check(self) -> None:
        """The file is sound, and its parts agree with each other."""
        with self.connection() as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            connection.execute("INSERT INTO record_words (record_words) VALUES ('integrity-check')")
            [wrong_shelves] = connection.execute(
                """
                SELECT count(*) FROM records WHERE shelf <>
                    iif(status IN ('COMPLETED', 'FAILED_PERMANENT'), status, 'OPEN')
                """
            ).fetchone()
            assert wrong_shelves == 0
            [lost_sources] = connection.execute(
                """
                SELECT count(*) FROM records WHERE status = 'COMPLETED'
                AND id NOT IN (SELECT record_id FROM page_sources)
                """
            ).fetchone()
            assert lost_sources == 0
