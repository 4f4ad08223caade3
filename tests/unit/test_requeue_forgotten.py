from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from webloom.application.inventory.requeue_forgotten import RequeueForgotten
from webloom.domain.inventory import FetchRequest
from webloom.ports.broker import Message, QueueDepth
from webloom.ports.heartbeats import Heartbeat, SeenProcess

REQUESTS = [FetchRequest(url=f"http://site.example/{n}", request_id=f"r{n}") for n in range(3)]


def process(role: str) -> SeenProcess:
    beat = Heartbeat(
        process_id=role, role=role, host="here", pid=1, slots=1, in_flight=0, completed=0,
        retried=0, failed=0, started_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    return SeenProcess(heartbeat=beat, age=1.0)


@dataclass
class Room:
    """What the use case sees of store, broker and heartbeats."""

    alive: list[SeenProcess] = field(default_factory=lambda: [process("worker")])
    ready: int = 0
    delayed: int = 0
    fits: int = 10
    published: list[str] = field(default_factory=list)
    touched: list[FetchRequest] = field(default_factory=list)

    async def forgotten_requests(self, *, quiet_for: float, limit: int) -> list[FetchRequest]:
        return REQUESTS

    async def touch_requests(self, requests: Sequence[FetchRequest]) -> None:
        self.touched += requests

    async def depth(self, queue: str) -> QueueDepth:
        return QueueDepth(ready=self.ready, delayed=self.delayed, in_flight=None, dead=0)

    async def publish_many(self, queue: str, messages: Sequence[Message]) -> list[str | None]:
        taken = [each.id for each in messages[: self.fits]]
        self.published += taken
        return [*taken, *([None] * (len(messages) - len(taken)))]

    async def seen(self, within: float) -> list[SeenProcess]:
        return self.alive


async def requeued(room: Room) -> int:
    parts: Any = room
    return await RequeueForgotten(store=parts, broker=parts, heartbeats=parts)()


async def test_what_was_put_back_is_quiet_from_then_on() -> None:
    room = Room(fits=2)
    assert await requeued(room) == 2
    assert room.published == ["r0", "r1"]
    assert room.touched == REQUESTS[:2]


@pytest.mark.parametrize(
    "room",
    [
        Room(alive=[process("api"), process("scheduler")]),
        Room(ready=3),
        Room(ready=1, delayed=2),
    ],
    ids=["nobody serves the queue", "as many are ready", "as many wait"],
)
async def test_a_message_that_may_be_there_is_not_doubled(room: Room) -> None:
    assert await requeued(room) == 0
    assert not room.published
    assert not room.touched


async def test_fewer_messages_than_requests_mean_that_some_are_lost() -> None:
    room = Room(ready=2)
    assert await requeued(room) == 3
