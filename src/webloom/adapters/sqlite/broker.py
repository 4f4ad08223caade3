"""Durable queues in a SQLite table.

A message is a row: ready or delayed (no owner), held (owner and lease) or gone. Its place in the
queue is the time when it is due. A large body is in a row of `large_bodies`, so that a claim or a
renewal does not write it again.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from webloom.adapters.consumer import Consumer
from webloom.adapters.sqlite.batches import as_json, change, given
from webloom.adapters.sqlite.database import Database, Operation
from webloom.adapters.sqlite.message_source import MessageLeases, SqliteSource
from webloom.domain.errors import BrokerFull, BrokerUnavailable, QueueFull, StoreFull
from webloom.ports.broker import DeadLetter, Delivery, Message, QueueDepth

LARGE_BODY = 4000  # bytes, about as many as a page holds

# Of the limit of the database. The rest is for what becomes of the messages: a queue that takes it
# all could not be served.
QUEUED_UNTIL = 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class _Publish:
    queue: str
    messages: Sequence[Message]
    due: float


class SqliteBroker:
    def __init__(self, database: Database, *, limits: dict[str, int], lease: float) -> None:
        self._db = database
        self._limits = limits  # queues without one are unbounded
        self._leases = MessageLeases(database, lease)
        self._inserting = Operation(run=self._insert, unavailable=BrokerUnavailable)
        self._reviving = Operation(run=self._revive, unavailable=BrokerUnavailable)
        self._dropping = Operation(run=self._drop_dead, unavailable=BrokerUnavailable)

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
            raise BrokerFull(error.exhausted) from error
        item = _Publish(queue=queue, messages=messages, due=self._db.now() + delay)
        standing = await self._db.write(self._inserting, item)
        self._db.notify()
        return standing

    @asynccontextmanager
    async def deliveries(self, queue: str, slots: int) -> AsyncIterator[AsyncIterator[Delivery]]:
        source = SqliteSource(self._db, self._leases, queue)
        with self._db.on_commit(source.committed):
            async with Consumer(source, queue, slots).running() as consumer:
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
