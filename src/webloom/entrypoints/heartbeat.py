"""Heartbeats of this process."""

from __future__ import annotations

import asyncio
import os
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from webloom.application.inventory.fetch_url import FetchUrl
from webloom.bootstrap.services import Services
from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import BackendRefused, Unavailable
from webloom.entrypoints.slots import Slots
from webloom.ports.heartbeats import Heartbeat

BEAT_SECONDS = 5.0


@dataclass(kw_only=True)
class Work:
    """What a process does with its queues, as its heartbeats report it."""

    slots: dict[str, Slots] = field(default_factory=dict)  # by queue
    fetch_url: FetchUrl | None = None  # of a process that serves metadata_queue

    def report(self, beat: Heartbeat) -> Heartbeat:
        handled = {queue: slots.handled for queue, slots in self.slots.items()}
        if self.fetch_url is None:
            return replace(beat, handled=handled)
        tally = self.fetch_url.tally
        return replace(
            beat,
            handled=handled,
            in_flight=len(self.fetch_url.in_flight),
            completed=tally.completed,
            retried=tally.retried,
            failed=tally.failed,
        )


def first_beat(
    services: Services, role: str, *, slots: int = 0, queues: Sequence[str] = ()
) -> Heartbeat:
    return Heartbeat(
        process_id=uuid.uuid4().hex,
        role=role,
        host=socket.gethostname(),
        pid=os.getpid(),
        slots=slots,
        in_flight=0,
        completed=0,
        retried=0,
        failed=0,
        started_at=services.clock.now(),
        queues=tuple(queues),
    )


@asynccontextmanager
async def beating(
    services: Services, beat: Heartbeat, current: Callable[[Heartbeat], Heartbeat] = lambda b: b
) -> AsyncIterator[None]:
    """Send heartbeats until the context ends, then remove them."""

    async def beat_on() -> None:
        while True:
            with suppress(Unavailable, BackendRefused):
                await services.send_heartbeat(current(beat))
            await asyncio.sleep(BEAT_SECONDS)

    task = asyncio.create_task(beat_on())
    try:
        yield
    finally:
        await cancel_and_wait(task)
        with suppress(Unavailable, BackendRefused):
            await services.send_heartbeat.leave(beat.process_id)
