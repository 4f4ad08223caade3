"""Telling the others that this process is alive."""

from __future__ import annotations

import asyncio
import os
import socket
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from webloom.application.inventory.fetch_url import FetchUrl
from webloom.bootstrap import Services
from webloom.domain.errors import BackendRefused, Unavailable
from webloom.ending import ended
from webloom.entrypoints.slots import Slots
from webloom.ports.heartbeats import Heartbeat

BEAT_SECONDS = 5.0

Served = dict[str, Slots]  # by queue


def first_beat(services: Services, role: str, slots: int = 0) -> Heartbeat:
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
    )


@asynccontextmanager
async def beating(
    services: Services, beat: Heartbeat, current: Callable[[Heartbeat], Heartbeat] = lambda b: b
) -> AsyncIterator[None]:
    """Beat until the context ends, then say goodbye."""

    async def beat_on() -> None:
        while True:
            with suppress(Unavailable, BackendRefused):
                await services.heartbeats.beat(current(beat))
            await asyncio.sleep(BEAT_SECONDS)

    task = asyncio.create_task(beat_on())
    try:
        yield
    finally:
        await ended(task)
        with suppress(Unavailable, BackendRefused):
            await services.heartbeats.leave(beat.process_id)


def with_tally(fetch_url: FetchUrl, served: Served) -> Callable[[Heartbeat], Heartbeat]:
    handled = with_handled(served)

    def current(beat: Heartbeat) -> Heartbeat:
        return replace(
            handled(beat),
            in_flight=len(fetch_url.in_flight),
            completed=fetch_url.tally.completed,
            retried=fetch_url.tally.retried,
            failed=fetch_url.tally.failed,
        )

    return current


def with_handled(served: Served) -> Callable[[Heartbeat], Heartbeat]:
    def current(beat: Heartbeat) -> Heartbeat:
        return replace(beat, handled={queue: slots.handled for queue, slots in served.items()})

    return current
