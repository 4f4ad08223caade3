"""What the databases say, read by connections of the tests' own."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from pymongo.database import Database

from faults.processes import Process, eventually
from servers.mongod import MongoServer


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    url: str
    status: str
    attempt_number: int
    retry_count: int
    error_message: str | None
    request_id: str | None


WriteLock = sqlite3.Connection  # held until it is closed


class DatabaseFile:
    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def _connection(self, wait: float = 30.0) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=wait, isolation_level=None)) as connection:
            yield connection

    def stop(self, process: Process) -> None:
        """SIGSTOP, while the process holds no lock that others would wait for in vain."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            process.stop()
            connection.execute("ROLLBACK")

    def record_count(self) -> int:
        return self._count("records")

    def found_count(self, word: str) -> int:
        """Records that the index of words has for a word."""
        return self._count("record_words WHERE record_words MATCH ?", word)

    def page_source_count(self) -> int:
        return self._count("page_sources")

    def queued_count(self) -> int:
        return self._count("messages")

    def dead_letter_count(self) -> int:
        return self._count("dead_letters")

    def _count(self, source: str, *values: object) -> int:
        with self._connection() as connection:
            return int(connection.execute(f"SELECT count(*) FROM {source}", values).fetchone()[0])

    def lock_holder(self) -> tuple[int, int] | None:
        """The pid of the scheduler that holds the lock, and the fencing token."""
        with self._connection() as connection:
            row = connection.execute(
                """
                SELECT body, token FROM locks JOIN heartbeats ON process_id = owner
                WHERE name = 'scheduler'
                """
            ).fetchone()
        return row and (msgspec.json.decode(row[0])["pid"], row[1])

    def extend_record_leases(self, seconds: float) -> None:
        self._execute("UPDATE records SET lease = lease + ? WHERE lease IS NOT NULL", seconds)

    def lose_message(self, url: str) -> None:
        """Remove the message that asks for a URL from the queue."""
        self._execute("DELETE FROM messages WHERE body ->> 'url' = ?", url)

    def _execute(self, statement: str, *values: object) -> None:
        with self._connection() as connection:
            connection.execute(statement, values)

    def rows(self) -> list[Row]:
        columns = "url, status, attempt_number, retry_count, error_message, request_id"
        with self._connection() as connection:
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
        with self._connection() as connection:
            return dict(connection.execute("SELECT message_id, reason FROM dead_letters"))

    def messages(self) -> list[tuple[str, str]]:
        """(id, URL) of what is on the queue, each body well-formed."""
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT message_id, body FROM messages ORDER BY id"
            ).fetchall()
        return [(message_id, msgspec.json.decode(body)["url"]) for message_id, body in rows]

    def put_message(self, message_id: str, body: str | bytes) -> None:
        """By hand, as no publisher of ours would; bytes become text unchecked."""
        self._execute(
            """
            INSERT INTO messages (queue, message_id, key, body, due)
            VALUES ('metadata_queue', ?1, ?1, CAST(?2 AS TEXT), 0)
            """,
            message_id,
            body,
        )

    def hold_write_lock(self) -> WriteLock:
        """The caller closes it."""
        connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        return connection

    def is_write_locked(self) -> bool:
        with self._connection(wait=0) as connection:
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
            with self._connection() as connection:
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
                f"{late}: {self.statuses()}, {self.queued_count()} messages, {open_rows[:5]}"
            ) from None

    def copy_note(self) -> str | None:
        """Of a copy into this file that is under way; None too while there is no such file."""
        try:
            with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as connection:
                row = connection.execute("SELECT position FROM copies").fetchone()
        except sqlite3.OperationalError:  # there is no file yet, or no table in it
            return None
        return None if row is None else str(row[0])

    def check_words(self) -> None:
        """The index of words agrees with the records."""
        self._execute("INSERT INTO record_words (record_words, rank) VALUES ('integrity-check', 1)")

    def check(self) -> None:
        """The file is sound, and its parts agree with each other."""
        with self._connection() as connection:
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


class ServerDatabase:
    """A database on a MongoDB server."""

    def __init__(self, database: Database[dict[str, Any]]) -> None:
        self._database = database

    def copy_note(self) -> str | None:
        """Of a copy into this database that is under way."""
        found = self._database["copies"].find_one()
        return None if found is None else str(found["position"])

    def record_count(self) -> int:
        return self._database["metadata"].count_documents({})

    def url_count(self) -> int:
        return len(self._database["metadata"].distinct("url"))


@contextmanager
def database_on(server: MongoServer, name: str) -> Iterator[ServerDatabase]:
    with server.database(name) as database:
        yield ServerDatabase(database)
