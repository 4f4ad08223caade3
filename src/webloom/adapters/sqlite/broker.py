"""Durable queues in a SQLite table.

A message is a row: waiting (no owner), held (owner and lease) or gone. Its place in the queue is
the time when it is due. A row whose lease has run out is waiting again, marked as redelivered.

A large body lies in a row beside it, so that a claim or a renewal does not write it again.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from webloom.adapters.sqlite.batches import as_json, change, given, plain, select_all
from webloom.adapters.sqlite.consumer import Consumer, Hold, Taken
from webloom.adapters.sqlite.database import Database, Verb
from webloom.domain.errors import BrokerFull, BrokerUnavailable, QueueFull, StoreFull
from webloom.ports.broker import DeadLetter, Delivery, Message, QueueDepth

LONGEST_SLEEP = 60.0
RELEASE_SECONDS = 0.1
LARGE_BODY = 4000  # bytes, about as many as a page holds

# Of the limit of the database. The rest is for what becomes of the messages: a queue that takes it
# all could not be served.
QUEUED_UNTIL = 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class _Publish:
    queue: str
    messages: Sequence[Message]
    due: float


@dataclass(frozen=True, kw_only=True, slots=True)
class _Claim:
    queue: str
    owner: str
    most: int
    asked: float  # when, on the timeline


class SqliteBroker:
    def __init__(self, database: Database, *, limits: dict[str, int], lease: float) -> None:
        self._db = database
        self._limits = limits  # queues without one are unbounded
        self._lease = lease
        self._next_release = 0.0  # when expired leases are looked for again
        self._trouble = False  # a consumer of this process could not write
        down = BrokerUnavailable
        self._inserting = Verb(run=self._insert, unavailable=down)
        self._taking = Verb(run=self._take, durable=False, unavailable=down)
        self._lengthening = Verb(run=self._lengthen, durable=False, unavailable=down)
        self._deleting = Verb(run=self._delete, durable=False, unavailable=down)
        self._giving_back = Verb(run=self._give_back, durable=False, unavailable=down)
        self._burying = Verb(run=self._bury, unavailable=down)
        self._reviving = Verb(run=self._revive, unavailable=down)
        self._dropping = Verb(run=self._drop_dead, unavailable=down)

    async def publish(self, queue: str, message: Message, *, delay: float = 0.0) -> str:
        [standing] = await self._publish(queue, [message], delay)
        if standing is None:
            raise QueueFull(queue, self._limits[queue])
        return standing

    async def publish_many(self, queue: str, messages: Sequence[Message]) -> list[str | None]:
        return await self._publish(queue, messages, 0.0)

    async def _publish(
        self, queue: str, messages: Sequence[Message], delay: float
    ) -> list[str | None]:
        try:
            await self._db.check_room(QUEUED_UNTIL)
        except StoreFull as error:
            raise BrokerFull(str(error)) from error
        item = _Publish(queue=queue, messages=messages, due=self._db.now() + delay)
        standing = await self._db.write(self._inserting, item)
        self._db.notify()
        return standing

    @asynccontextmanager
    async def deliveries(self, queue: str, slots: int) -> AsyncIterator[AsyncIterator[Delivery]]:
        with self._db.changes() as changed:
            async with Consumer(self, queue, slots, changed).running() as consumer:
                yield consumer

    async def depth(self, queue: str) -> QueueDepth:
        now = self._db.now()

        def query(connection: sqlite3.Connection) -> QueueDepth:
            counts = connection.execute(
                """
                SELECT
                    (SELECT count(*) FROM messages
                     WHERE queue = :queue AND owner IS NULL AND due <= :now),
                    (SELECT count(*) FROM messages
                     WHERE queue = :queue AND owner IS NULL AND due > :now),
                    (SELECT count(*) FROM messages WHERE queue = :queue AND owner IS NOT NULL),
                    (SELECT count(*) FROM dead_letters WHERE queue = :queue)
                """,
                {"queue": queue, "now": now},
            ).fetchone()
            return QueueDepth(
                ready=counts[0], delayed=counts[1], in_flight=counts[2], dead=counts[3]
            )

        return await self._db.read(query, BrokerUnavailable)

    async def dead_letters(
        self, queue: str, *, limit: int, after: str | None = None
    ) -> list[DeadLetter]:
        def query(connection: sqlite3.Connection) -> list[DeadLetter]:
            rows = connection.execute(
                """
                SELECT message_id, CAST(body AS BLOB), reason, buried_at FROM dead_letters
                WHERE queue = :queue AND id > coalesce(
                    (SELECT id FROM dead_letters WHERE queue = :queue AND message_id = :after), 0)
                ORDER BY id LIMIT :limit
                """,
                {"queue": queue, "after": after, "limit": limit},
            )
            return [
                DeadLetter(
                    id=row[0],
                    body=row[1],
                    reason=row[2],
                    buried_at=datetime.fromtimestamp(row[3] / 1000, UTC),
                )
                for row in rows
            ]

        return await self._db.scan(query, BrokerUnavailable)

    async def put_back(self, queue: str, message_id: str) -> bool:
        found = await self._db.write(self._reviving, (queue, message_id))
        self._db.notify()
        return found

    async def discard(self, queue: str, message_id: str) -> bool:
        return await self._db.write(self._dropping, (queue, message_id))

    async def next_event(self, queue: str) -> float:
        """When, on the timeline, a claim could find something. A look that takes no write lock."""
        return await self._db.read(
            lambda connection: self._next_event(connection, queue), BrokerUnavailable
        )

    async def claim(self, queue: str, owner: str, most: int) -> tuple[list[Taken], float]:
        """Take messages that are ready, and say when, on the timeline, to look again."""
        item = _Claim(queue=queue, owner=owner, most=most, asked=self._db.now())
        try:
            return await self._db.write(self._taking, item)
        except BrokerUnavailable:
            self._trouble = True
            raise

    async def renew(self, owner: str) -> None:
        try:
            await self._db.write(self._lengthening, owner)
        except BrokerUnavailable:
            self._trouble = True
            raise

    def ack(self, hold: Hold) -> asyncio.Future[None]:
        return self._db.post(self._deleting, hold)

    async def retry(self, hold: Hold, after: float) -> None:
        item = (hold, self._db.now() + after)
        await self._db.write(self._giving_back, item)
        self._db.notify()

    async def bury(self, hold: Hold, reason: str) -> None:
        await self._db.write(self._burying, (hold, reason))

    def now(self) -> float:
        return self._db.now()

    @property
    def lease(self) -> float:
        return self._lease

    # What follows runs inside the writer's transaction.

    def _insert(
        self, connection: sqlite3.Connection, items: list[_Publish]
    ) -> list[list[str | None]]:
        now = self._db.now()
        waiting, room = self._waiting(connection, items)
        [number] = connection.execute("SELECT coalesce(max(id), 0) FROM messages").fetchone()
        rows, large = [], []
        standing: list[list[str | None]] = []
        for item in items:
            answers: list[str | None] = []
            for message in item.messages:
                place = (item.queue, message.key or message.id)
                if place not in waiting and (item.due > now or room[item.queue] > 0):
                    room[item.queue] -= item.due <= now
                    waiting[place] = message.id
                    number += 1
                    body = message.body
                    if len(body) > LARGE_BODY:
                        large.append((number, body))
                        body = b""
                    rows.append((number, *place, message.id, body.decode(), item.due))
                answers.append(waiting.get(place))
            standing.append(answers)
        change(
            connection,
            given("id", "queue", "key", "message_id", "body", "due")
            + "INSERT INTO messages (id, queue, key, message_id, body, due) SELECT * FROM given",
            rows,
        )
        connection.executemany("INSERT INTO large_bodies VALUES (?, ?)", large)
        return standing

    def _waiting(
        self, connection: sqlite3.Connection, items: list[_Publish]
    ) -> tuple[dict[tuple[str, str], str], dict[str, float]]:
        """The messages that stand for the keys to publish, and the room left in each queue."""
        keys = [
            (item.queue, message.key or message.id) for item in items for message in item.messages
        ]
        twins, ready = connection.execute(
            """
            SELECT
                (SELECT json_group_array(json_array(messages.queue, messages.key, message_id))
                 FROM json_each(:keys) JOIN messages INDEXED BY messages_waiting_keys
                    ON messages.queue = json_extract(value, '$[0]')
                   AND messages.key = json_extract(value, '$[1]') AND owner IS NULL),
                (SELECT json_group_object(value, (
                    SELECT count(*) FROM messages
                    WHERE queue = value AND owner IS NULL AND due <= :now))
                 FROM json_each(:queues))
            """,
            {
                "keys": as_json(keys),
                "queues": as_json(list({item.queue for item in items} & self._limits.keys())),
                "now": self._db.now(),
            },
        ).fetchone()
        room = {item.queue: math.inf for item in items}
        for queue, count in msgspec.json.decode(ready).items():
            room[queue] = self._limits[queue] - count
        return {(queue, key): mid for queue, key, mid in msgspec.json.decode(twins)}, room

    def _take(
        self, connection: sqlite3.Connection, claims: list[_Claim]
    ) -> list[tuple[list[Taken], float]]:
        now = self._db.now()
        if self._trouble or any(now - claim.asked > self._lease / 3 for claim in claims):
            # While this process could not write, the others could not renew: give them a round
            # before their messages are taken away.
            self._trouble = False
            self._next_release = now + self._lease / 2
        if now >= self._next_release:
            self._next_release = now + RELEASE_SECONDS
            self._lengthen(connection, [claim.owner for claim in claims])  # a claim proves life
            connection.execute(
                """
                UPDATE messages SET owner = NULL, lease = NULL, redelivered = 1
                WHERE owner IS NOT NULL AND lease <= ?
                """,
                (now,),
            )
        return [self._take_one(connection, claim, now) for claim in claims]

    def _take_one(
        self, connection: sqlite3.Connection, claim: _Claim, now: float
    ) -> tuple[list[Taken], float]:
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
                (claim.owner, now + self._lease, as_json([row[0] for row in rows])),
            )
        look_again = now if len(rows) == claim.most else self._next_event(connection, claim.queue)
        return [
            Taken(row, message_id, body.encode() or _large_body(connection, row), *rest)
            for row, message_id, body, *rest in rows
        ], look_again

    def _next_event(self, connection: sqlite3.Connection, queue: str) -> float:
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

    def _lengthen(self, connection: sqlite3.Connection, owners: list[str]) -> list[None]:
        for owner in owners:
            connection.execute(
                "UPDATE messages SET lease = ? WHERE owner IS NOT NULL AND owner = ?",
                (self._db.now() + self._lease, owner),
            )
        return [None] * len(owners)

    def _delete(self, connection: sqlite3.Connection, holds: list[Hold]) -> list[None]:
        change(
            connection,
            given("id", "message_id", "owner", "attempt")
            + "DELETE FROM messages WHERE (id, message_id, owner, attempt) IN given",
            [(hold.row, hold.message_id, hold.owner, hold.attempt) for hold in holds],
        )
        return [None] * len(holds)

    def _give_back(
        self, connection: sqlite3.Connection, items: list[tuple[Hold, float]]
    ) -> list[None]:
        change(
            connection,
            given("row", "name", "holder", "number", "time")
            + """
            UPDATE messages SET owner = NULL, lease = NULL, due = given.time
            FROM given WHERE id = given.row AND message_id = given.name AND owner = given.holder
                AND attempt = given.number
            """,
            [(hold.row, hold.message_id, hold.owner, hold.attempt, due) for hold, due in items],
        )
        return [None] * len(items)

    def _bury(self, connection: sqlite3.Connection, items: list[tuple[Hold, str]]) -> list[None]:
        for hold, reason in items:
            proof = (hold.row, hold.message_id, hold.owner, hold.attempt)
            connection.execute(
                """
                INSERT OR REPLACE INTO dead_letters
                    (queue, message_id, key, body, reason, buried_at)
                SELECT queue, message_id, key,
                       coalesce(CAST(large_bodies.body AS TEXT), messages.body), ?, ?
                FROM messages LEFT JOIN large_bodies ON message = id
                WHERE id = ? AND message_id = ? AND owner = ? AND attempt = ?
                """,
                (plain(reason), self._db.wall_ms(), *proof),
            )
            connection.execute(
                "DELETE FROM messages "
                "WHERE id = ? AND message_id = ? AND owner = ? AND attempt = ?",
                proof,
            )
        return [None] * len(items)

    def _revive(self, connection: sqlite3.Connection, items: list[tuple[str, str]]) -> list[bool]:
        found = []
        for queue, message_id in items:
            connection.execute(
                """
                INSERT INTO messages (queue, message_id, key, body, due)
                SELECT queue, message_id, key, body, ? FROM dead_letters
                WHERE queue = ? AND message_id = ?
                """,
                (self._db.now(), queue, message_id),
            )
            found += self._drop_dead(connection, [(queue, message_id)])
        return found

    def _drop_dead(
        self, connection: sqlite3.Connection, items: list[tuple[str, str]]
    ) -> list[bool]:
        statement = "DELETE FROM dead_letters WHERE queue = ? AND message_id = ?"
        return [connection.execute(statement, item).rowcount > 0 for item in items]


def _large_body(connection: sqlite3.Connection, row: int) -> bytes:
    found = connection.execute("SELECT body FROM large_bodies WHERE message = ?", (row,)).fetchone()
    return b"" if found is None else bytes(found[0])
