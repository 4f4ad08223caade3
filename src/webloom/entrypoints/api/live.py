"""Changes of runs as Server-Sent Events.

    store -> one poller, while somebody listens -> each listener's pending events -> its client

A change is noticed by its time in the store, so that it does not matter which process made it, or
which one a client is connected to. Times of changes can become visible late, so that every look
goes back a little; what was told already is known. That a run goes on is told at every other look
only: what listeners cost is the sending.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Message, Send

from webloom.domain.errors import BackendRefused, Unavailable
from webloom.domain.import_run import ImportRun
from webloom.entrypoints.api.import_schemas import import_log
from webloom.entrypoints.api.responses import Refusal
from webloom.ports.import_runs import ImportRuns, RunFilter

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
HEARTBEAT_SECONDS = 15.0
SEND_SECONDS = 30.0  # for a client to take what it is sent
LOOK_BACK = timedelta(seconds=15)  # as long as a store may take to choose a new primary
PAGE = 500
MOST_LISTENERS = 1000
MOST_PENDING = 1000  # runs; a client that is further behind is dropped, and resumes

GREETING = b"retry: 2000\n\n"
HEARTBEAT = b": heartbeat\n\n"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_encoder = msgspec.json.Encoder()


def event_of(run: ImportRun) -> bytes:
    position = (run.updated_at - _EPOCH) // timedelta(microseconds=1)
    return b"id: %d\nevent: import_log\ndata: %b\n\n" % (position, _encoder.encode(import_log(run)))


def moment_of(position: str) -> datetime | None:
    """None: this is no id of an event."""
    if not (position.isascii() and position.isdigit() and len(position) <= 16):
        return None
    return _EPOCH + timedelta(microseconds=int(position))


class Listener:
    def __init__(self) -> None:
        self.has_ended = False
        self._pending: dict[str, bytes] = {}  # the latest event of each, in order
        self._woken = asyncio.Event()

    def offer(self, name: str, event: bytes) -> None:
        """It takes the place of an event of that name that waits."""
        self._pending.pop(name, None)
        self._pending[name] = event
        if len(self._pending) > MOST_PENDING:
            self.has_ended = True
        self._woken.set()

    def end(self) -> None:
        self.has_ended = True
        self._woken.set()

    async def next(self) -> bytes:
        """All that waits; empty when nothing came for a while."""
        # Cheaper than asyncio.timeout, which every event would pay for.
        timer = asyncio.get_running_loop().call_later(HEARTBEAT_SECONDS, self._woken.set)
        try:
            await self._woken.wait()
        finally:
            timer.cancel()
        self._woken.clear()
        events = b"".join(self._pending.values())
        self._pending.clear()
        return events


class LiveRuns:
    def __init__(self, store: ImportRuns, stopping: asyncio.Event) -> None:
        self._store = store
        self._stopping = stopping
        self._listeners: set[Listener] = set()
        self._polling: asyncio.Task[None] | None = None

    @property
    def is_full(self) -> bool:
        return len(self._listeners) >= MOST_LISTENERS

    async def events(self, since: datetime | None) -> AsyncGenerator[bytes, None]:
        """Ends when the process stops, or the client should begin anew; at once when it is full:
        many may have asked before the first of them was counted."""
        if self.is_full:
            return
        listener = Listener()
        self._listeners.add(listener)
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll())
        try:
            yield GREETING
            # It listens already, so that nothing can fall between this and what comes after.
            async for run in self._beginning(since):
                yield event_of(run)
            while True:
                events = await listener.next()
                if listener.has_ended:
                    return
                yield events or HEARTBEAT
        except (Unavailable, BackendRefused) as error:
            log.warning("cannot read the runs for a listener", extra={"error": str(error)})
        finally:
            self._listeners.discard(listener)

    async def _beginning(self, since: datetime | None) -> AsyncIterator[ImportRun]:
        if since is None:
            for run in await self._store.changed(None, limit=MOST_PENDING):
                yield run
            return
        async for run in self._changed(since - LOOK_BACK):
            yield run

    async def _changed(self, since: datetime) -> AsyncIterator[ImportRun]:
        while True:
            runs = await self._store.changed(since, limit=PAGE)
            for run in runs:
                yield run
            if len(runs) < PAGE or runs[-1].updated_at <= since:
                return
            since = runs[-1].updated_at

    async def _poll(self) -> None:
        since: datetime | None = None
        told: dict[str, ImportRun] = {}
        is_lost = is_between = False
        try:
            while self._listeners and not self._stopping.is_set():
                try:
                    since = since or await self._latest_change()
                    since, told = await self._look(since, told, is_between=is_between)
                    is_lost, is_between = False, not is_between
                except (Unavailable, BackendRefused) as error:
                    if not is_lost:
                        log.warning("cannot see changes of runs", extra={"error": str(error)})
                    is_lost = True
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._stopping.wait()
        finally:
            self._polling = None
            for listener in self._listeners:
                listener.end()

    async def _latest_change(self) -> datetime:
        """Or an earlier one, by the clock of changes; whatever changes from now on is later."""
        page = await self._store.page(RunFilter(), offset=0, limit=1)
        return page.runs[0].updated_at if page.runs else _LONG_AGO

    async def _look(
        self, since: datetime, told: dict[str, ImportRun], *, is_between: bool
    ) -> tuple[datetime, dict[str, ImportRun]]:
        """Tell what is new, and return where and with what to go on."""
        runs = {run.run_id: run async for run in self._changed(since - LOOK_BACK)}
        told = {run_id: told[run_id] for run_id in runs if run_id in told}
        for run_id, run in runs.items():
            before = told.get(run_id)
            if run == before or (is_between and _only_goes_on(before, run)):
                continue
            told[run_id] = run
            event = event_of(run)
            for listener in self._listeners:
                listener.offer(run_id, event)
        if is_between:  # what was passed over is for the next look
            return since, told
        return max([since, *(run.updated_at for run in runs.values())]), told


def _only_goes_on(before: ImportRun | None, run: ImportRun) -> bool:
    return before is not None and (before.status, before.cancel_requested) == (
        run.status,
        run.cancel_requested,
    )


class Live(Protocol):
    @property
    def is_full(self) -> bool: ...

    def events(self, wanted: Any, /) -> AsyncGenerator[bytes, None]: ...


def stream(live: Live, wanted: Any) -> EventStream:
    """Raises Refusal when there are too many listeners."""
    if live.is_full:
        raise Refusal(503, "There are too many listeners already. Try again.", {"Retry-After": "5"})
    return EventStream(live.events(wanted))


class EventStream(StreamingResponse):
    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
        super().__init__(events, headers=headers)
        self._events = events

    async def stream_response(self, send: Send) -> None:
        loop = asyncio.get_running_loop()

        async def bounded(message: Message) -> None:
            limit.reschedule(loop.time() + SEND_SECONDS)
            await send(message)
            limit.reschedule(None)

        async with aclosing(self._events):
            try:
                async with asyncio.timeout(None) as limit:
                    await super().stream_response(bounded)
            except TimeoutError:
                log.info("a listener takes nothing, and is dropped")
