"""The inventory in SQLite: one row for each URL, its page source compressed beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from webloom.adapters.sqlite import inventory_writes as writes
from webloom.adapters.sqlite.database import Database, Verb
from webloom.adapters.sqlite.inventory_outcomes import FinishAttempt, finish, pack_sources
from webloom.adapters.sqlite.inventory_writes import BeginAttempt, Moment
from webloom.adapters.sqlite.record_rows import find_records, records_page, url_key
from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Busy,
    FetchRequest,
    GivenBack,
    GiveUp,
    Outcome,
    Record,
    RecordFilter,
    RecordPage,
    RequestState,
    Status,
)
from webloom.ports.inventory_store import LargeSource, NotedRequest

WHOLE = 1 << 62  # bytes: more than any source has


class SqliteInventoryStore:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._finding = Verb(run=find_records)
        self._telling = Verb(run=self._states)
        self._noting = Verb(run=self._note)
        self._beginning = Verb(run=self._begin, durable=False)
        self._renewing = Verb(run=self._renew, durable=False)
        self._finishing = Verb(run=self._finish, prepare=pack_sources, durable=False)
        self._forgetting = Verb(run=self._forget)
        self._touching = Verb(run=self._touch, durable=False)

    async def find(self, url: str, *, with_source: bool = True) -> Record | None:
        most = WHOLE if with_source else None
        found = await self._db.look_up(self._finding, (url_key(url), most))
        return found.record if isinstance(found, LargeSource) else found

    async def find_up_to(self, url: str, most: int) -> Record | LargeSource | None:
        return await self._db.look_up(self._finding, (url_key(url), most))

    async def states(self, urls: Sequence[str]) -> list[RequestState | None]:
        return await self._db.look_up(self._telling, [url_key(url) for url in urls])

    async def note_requests(self, noted: Sequence[NotedRequest]) -> None:
        await self._db.check_room()
        await self._db.write(self._noting, noted)

    async def begin_attempt(
        self, request: FetchRequest, *, lease: float
    ) -> Attempt | Busy | AlreadyDone | GiveUp:
        item = BeginAttempt(request=request, lease=lease)
        return await self._db.write(self._beginning, item)

    async def renew_attempts(self, attempts: Sequence[Attempt], *, lease: float) -> None:
        await self._db.write(self._renewing, (attempts, lease))

    async def finish_attempt(self, attempt: Attempt, outcome: Outcome) -> bool:
        if not isinstance(outcome, GivenBack):
            await self._db.check_room()
        item = FinishAttempt(attempt=attempt, outcome=outcome)
        return await self._db.write(self._finishing, item)

    async def forget(self, url: str) -> bool:
        return await self._db.write(self._forgetting, url_key(url))

    async def page_of_records(
        self, chosen: RecordFilter, *, limit: int, cursor: str | None = None
    ) -> RecordPage:
        return await self._db.scan(records_page(chosen, limit, cursor))

    async def count_by_status(self) -> dict[Status, int]:
        def query(connection: sqlite3.Connection) -> dict[Status, int]:
            rows = connection.execute(
                """
                SELECT shelf, count(*) FROM records WHERE shelf <> 'OPEN' GROUP BY shelf
                UNION ALL
                SELECT status, count(*) FROM records WHERE shelf = 'OPEN' GROUP BY status
                """
            )
            return dict.fromkeys(Status, 0) | {Status(status): count for status, count in rows}

        return await self._db.scan(query)

    async def forgotten_requests(self, *, quiet_for: float, limit: int) -> list[FetchRequest]:
        before = self._db.now() - quiet_for

        def query(connection: sqlite3.Connection) -> list[FetchRequest]:
            quiet = """
                request_id IS NOT NULL AND touched <= :before
                AND coalesce(lease, 0) <= :before AND coalesce(retry_due, 0) <= :before
            """
            rows = connection.execute(
                f"""
                SELECT url, request_id, background, touched FROM records
                WHERE shelf = 'OPEN' AND {quiet}
                UNION ALL
                SELECT url, request_id, background, touched FROM records
                WHERE background = 1 AND shelf <> 'OPEN' AND {quiet}
                ORDER BY touched LIMIT :limit
                """,
                {"before": before, "limit": limit},
            )
            return [
                FetchRequest(url=url, request_id=request_id, background=bool(background))
                for url, request_id, background, _ in rows
            ]

        return await self._db.scan(query)

    async def touch_requests(self, requests: Sequence[FetchRequest]) -> None:
        await self._db.write(self._touching, requests)

    # What follows runs in the threads of the database.

    def _states(
        self, connection: sqlite3.Connection, items: list[list[str]]
    ) -> list[list[RequestState | None]]:
        found = writes.read_states(
            connection, {key for keys in items for key in keys}, self._db.now()
        )
        return [[found.get(key) for key in keys] for keys in items]

    def _moment(self) -> Moment:
        return Moment(self._db.now(), self._db.wall_ms())

    def _note(
        self, connection: sqlite3.Connection, items: list[Sequence[NotedRequest]]
    ) -> list[None]:
        writes.note(connection, [each for noted in items for each in noted], self._moment())
        return [None] * len(items)

    def _begin(
        self, connection: sqlite3.Connection, items: list[BeginAttempt]
    ) -> list[Attempt | Busy | AlreadyDone | GiveUp]:
        return writes.begin(connection, items, self._moment())

    def _renew(
        self, connection: sqlite3.Connection, items: list[tuple[Sequence[Attempt], float]]
    ) -> list[None]:
        writes.renew(connection, items, self._db.now())
        return [None] * len(items)

    def _finish(self, connection: sqlite3.Connection, items: list[FinishAttempt]) -> list[bool]:
        return finish(connection, items, self._moment())

    def _forget(self, connection: sqlite3.Connection, keys: list[str]) -> list[bool]:
        return [writes.forget(connection, key, self._moment()) for key in keys]

    def _touch(
        self, connection: sqlite3.Connection, items: list[Sequence[FetchRequest]]
    ) -> list[None]:
        writes.touch(connection, [each for requests in items for each in requests], self._db.now())
        return [None] * len(items)
