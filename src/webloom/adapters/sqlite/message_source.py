"""Messages that consumers hold: rows of `messages` with an owner and a lease.

A row whose lease has run out is ready again, and marked as redelivered.
"""

from __future__ import annotations

import asyncio
import sqlite3
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from webloom.adapters.consumer import Received
from webloom.adapters.sqlite.batches import as_json, change, given, plain, select_all
from webloom.adapters.sqlite.database import Database, Item, Operation, Result
from webloom.domain.errors import BrokerUnavailable

LONGEST_SLEEP = 60.0
RELEASE_SECONDS = 0.1
SLOW_SECONDS = 0.1  # that a claim waited, after which the database may have been locked for longer


# Row, which another message has once this one is gone; message id; owner; attempt.
Handle = tuple[int, str, str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Claim:
    queue: str
    owner: str
    most: int
    asked: float  # when, on the timeline


class MessageLeases:
    """The leases of one process, on all queues. Its methods run inside the writer's transaction."""

    def __init__(self, database: Database, seconds: float) -> None:
        self.seconds = seconds
        self._db = database
        self._next_release = 0.0  # when expired leases are looked for again
        self._is_put_off = False  # that look, because claims were slow
        self._failed = False  # a consumer of this process could not write
        down = BrokerUnavailable
        self.claim = Operation(run=self._claim, durable=False, unavailable=down)
        self.extend = Operation(run=self._extend, durable=False, unavailable=down)
        self.delete = Operation(run=self._delete, durable=False, unavailable=down)
        self.give_back = Operation(run=self._give_back, durable=False, unavailable=down)
        self.dead_letter = Operation(run=self._dead_letter, unavailable=down)

    async def write(self, operation: Operation[Item, Result], item: Item) -> Result:
        try:
            return await self._db.write(operation, item)
        except BrokerUnavailable:
            self._failed = True
            raise

    def _claim(
        self, connection: sqlite3.Connection, claims: list[_Claim]
    ) -> list[tuple[list[Received[Handle]], float]]:
        now = self._db.now()
        waited = max(now - claim.asked for claim in claims)
        is_slow = waited > SLOW_SECONDS and not self._is_put_off  # once: it may always be so
        if self._failed or is_slow or waited > self.seconds / 3:
            # While this process could not write, the others could not extend their leases either:
            # they get the time to do so before their messages are taken away.
            self._failed = False
            self._is_put_off = True
            self._next_release = now + self.seconds / 2
        if now >= self._next_release:
            self._is_put_off = False
            self._next_release = now + RELEASE_SECONDS
            self._extend(connection, [claim.owner for claim in claims])  # a claim proves life
            connection.execute(
                """
                UPDATE messages SET owner = NULL, lease = NULL, redelivered = 1
                WHERE owner IS NOT NULL AND lease <= ?
                """,
                (now,),
            )
        return [self._claim_one(connection, claim, now) for claim in claims]

    def _claim_one(
        self, connection: sqlite3.Connection, claim: _Claim, now: float
    ) -> tuple[list[Received[Handle]], float]:
        """What was taken, and when, on the timeline, to look again."""
        rows = select_all(
            connection,
            "id, message_id, body, attempt + 1, redelivered",
            """(SELECT * FROM messages INDEXED BY messages_waiting
                WHERE queue = :queue AND owner IS NULL AND due <= :now
                ORDER BY due, id LIMIT :most)""",
            queue=claim.queue,
            now=now,
            most=claim.most,
        )
        if rows:
            connection.execute(
                """
                UPDATE messages SET owner = ?, lease = ?, attempt = attempt + 1
                WHERE id IN (SELECT value FROM json_each(?))
                """,
                (claim.owner, now + self.seconds, as_json([row[0] for row in rows])),
            )
        look_again = now if len(rows) == claim.most else self.next_event(connection, claim.queue)
        return [
            Received(
                (row, message_id, claim.owner, attempt),
                message_id,
                body.encode() or _large_body(connection, row),
                attempt,
                bool(redelivered),
            )
            for row, message_id, body, attempt, redelivered in rows
        ], look_again

    def next_event(self, connection: sqlite3.Connection, queue: str) -> float:
        """When, on the timeline, a claim could find something."""
        due, lease = connection.execute(
            """
            SELECT (SELECT min(due) FROM messages WHERE queue = ? AND owner IS NULL),
                   (SELECT min(lease) FROM messages WHERE owner IS NOT NULL)
            """,
            (queue,),
        ).fetchone()
        return min(
            (time for time in (due, lease) if time is not None),
            default=self._db.now() + LONGEST_SLEEP,
        )

    def _extend(self, connection: sqlite3.Connection, owners: list[str]) -> list[None]:
        for owner in owners:
            connection.execute(
                "UPDATE messages SET lease = ? WHERE owner IS NOT NULL AND owner = ?",
                (self._db.now() + self.seconds, owner),
            )
        return [None] * len(owners)

    def _delete(self, connection: sqlite3.Connection, held: list[Handle]) -> list[None]:
        change(
            connection,
            given("id", "message_id", "owner", "attempt")
            + "DELETE FROM messages WHERE (id, message_id, owner, attempt) IN given",
            held,
        )
        return [None] * len(held)

    def _give_back(
        self, connection: sqlite3.Connection, items: list[tuple[Handle, float, int]]
    ) -> list[None]:
        change(
            connection,
            given("row", "name", "holder", "number", "time", "counted")
            + """
            UPDATE messages SET owner = NULL, lease = NULL, due = given.time,
                attempt = attempt - 1 + given.counted
            FROM given WHERE id = given.row AND message_id = given.name AND owner = given.holder
                AND attempt = given.number
            """,
            [(*held, due, counted) for held, due, counted in items],
        )
        return [None] * len(items)

    def _dead_letter(
        self, connection: sqlite3.Connection, items: list[tuple[Handle, str]]
    ) -> list[None]:
        for held, reason in items:
            connection.execute(
                """
                INSERT OR REPLACE INTO dead_letters
                    (queue, message_id, key, body, reason, buried_at)
                SELECT queue, message_id, key,
                       coalesce(CAST(large_bodies.body AS TEXT), messages.body), ?, ?
                FROM messages LEFT JOIN large_bodies ON message = id
                WHERE id = ? AND message_id = ? AND owner = ? AND attempt = ?
                """,
                (plain(reason), self._db.wall_ms(), *held),
            )
        return self._delete(connection, [held for held, _ in items])


class SqliteSource:
    is_connected = True

    def __init__(self, database: Database, leases: MessageLeases, queue: str) -> None:
        self.woken = asyncio.Event()
        self.lease = leases.seconds
        self._db = database
        self._leases = leases
        self._queue = queue
        self._owner = uuid.uuid4().hex
        self._look_at = 0.0  # on the timeline: before that, a claim finds nothing
        self._committed = False  # something, since the last look

    def committed(self) -> None:
        self._committed = True
        if self._look_at > self._db.now():
            self.woken.set()

    async def receive(self, most: int) -> tuple[Sequence[Received[Handle]], float | None]:
        found: list[Received[Handle]] = []
        if self._committed and self._look_at > self._db.now():
            self._committed = False  # first, so that a commit during the look is not missed
            self._look_at = await self.next_event()
        if self._look_at <= self._db.now():
            self._committed = False
            found, self._look_at = await self.claim(most)
        # A commit since then may have left more, and did not wake a consumer that was awake.
        return found, 0.0 if self._committed else self._look_at - self._db.now()

    async def next_event(self) -> float:
        """A look that takes no write lock."""
        return await self._db.read(
            lambda connection: self._leases.next_event(connection, self._queue), BrokerUnavailable
        )

    async def claim(self, most: int) -> tuple[list[Received[Handle]], float]:
        claim = _Claim(queue=self._queue, owner=self._owner, most=most, asked=self._db.now())
        return await self._leases.write(self._leases.claim, claim)

    async def idle(self) -> float | None:
        return None

    async def renew(self, held: Sequence[Handle]) -> Collection[Handle]:
        if held:
            await self._leases.write(self._leases.extend, self._owner)
        return ()

    def ack(self, held: Handle) -> asyncio.Future[None]:
        return self._db.post(self._leases.delete, held)

    async def retry(self, held: Handle, after: float) -> None:
        await self._give_back(held, after, counted=True)

    async def release(self, held: Handle) -> None:
        await self._give_back(held, 0.0, counted=False)

    async def _give_back(self, held: Handle, after: float, *, counted: bool) -> None:
        item = (held, self._db.now() + after, int(counted))
        await self._db.write(self._leases.give_back, item)
        self._db.notify()

    async def dead_letter(self, held: Handle, reason: str) -> None:
        await self._db.write(self._leases.dead_letter, (held, reason))

    async def close(self) -> None:
        pass


def _large_body(connection: sqlite3.Connection, row: int) -> bytes:
    found = connection.execute("SELECT body FROM large_bodies WHERE message = ?", (row,)).fetchone()
    return b"" if found is None else bytes(found[0])
