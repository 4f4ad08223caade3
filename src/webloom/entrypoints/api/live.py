"""Server-Sent Events: one poller per feed of events, while it has listeners.

store -> Poller -> each Listener's pending events -> its client
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing, suppress

from starlette.responses import StreamingResponse
from starlette.types import Message, Send

from webloom.domain.errors import BackendRefused, Unavailable
from webloom.entrypoints.api.responses import Refusal

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 15.0
SEND_SECONDS = 30.0  # for a client to accept what it is sent
MOST_LISTENERS = 1000  # of one stream
MOST_PENDING = 1000  # events; a client that is further behind is dropped, and resumes

GREETING = b"retry: 2000\n\n"
HEARTBEAT = b": heartbeat\n\n"


class Listener:
    def __init__(self) -> None:
        self.has_ended = False
        self._pending: dict[str, bytes] = {}  # the latest event of each name, in order
        self._woken = asyncio.Event()

    def offer(self, name: str, event: bytes) -> None:
        """Replaces a pending event of that name."""
        self._pending.pop(name, None)
        self._pending[name] = event
        if len(self._pending) > MOST_PENDING:
            self.has_ended = True
        self._woken.set()

    def end(self) -> None:
        self.has_ended = True
        self._woken.set()

    async def next(self) -> bytes:
        """All pending events; empty when there is none for a while."""
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


class Poller(ABC):
    """Polls while it has listeners, and offers them what is new."""

    def __init__(self, name: str, pause: float, stopping: asyncio.Event) -> None:
        self.name = name
        self._pause = pause  # seconds between two polls, or longer
        self._stopping = stopping
        self._listeners: set[Listener] = set()
        self._polling: asyncio.Task[None] | None = None

    @abstractmethod
    def reset(self) -> None:
        """Forget what was sent: there were no listeners for a while."""

    @abstractmethod
    async def poll(self) -> float:
        """Offer what is new; returns the seconds to wait at least. Raises Unavailable or
        BackendRefused."""

    def add(self, listener: Listener) -> None:
        self._listeners.add(listener)
        if self._polling is None:
            self.reset()
            self._polling = asyncio.create_task(self._run())

    def remove(self, listener: Listener) -> None:
        self._listeners.discard(listener)

    def offer(self, name: str, event: bytes) -> None:
        for listener in self._listeners:
            listener.offer(name, event)

    async def _run(self) -> None:
        is_lost = False
        try:
            while self._listeners and not self._stopping.is_set():
                pause = self._pause
                try:
                    pause = max(pause, await self.poll())
                    is_lost = False
                except (Unavailable, BackendRefused) as error:
                    if not is_lost:
                        extra = {"stream": self.name, "error": str(error)}
                        log.warning("cannot see changes", extra=extra)
                    is_lost = True
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._stopping.wait()
        finally:
            self._polling = None
            for listener in self._listeners:
                listener.end()


class Live:
    """Streams of one kind, as many as MOST_LISTENERS."""

    def __init__(self, stopping: asyncio.Event) -> None:
        self.stopping = stopping
        self._listeners = 0

    @property
    def is_full(self) -> bool:
        return self._listeners >= MOST_LISTENERS

    async def listen(
        self, pollers: Collection[Poller], first: AsyncIterator[bytes]
    ) -> AsyncGenerator[bytes, None]:
        """Ends when the process stops, when the client has to reconnect, and at once when it is
        full: `stream` can't count listeners that have not begun."""
        if self.is_full:
            return
        listener = Listener()
        self._listeners += 1
        try:
            for poller in pollers:
                poller.add(listener)
            yield GREETING
            # It listens already, so that nothing is missed between this and the events after it.
            async for event in first:
                yield event
            while True:
                events = await listener.next()
                if listener.has_ended or self.stopping.is_set():
                    return
                yield events or HEARTBEAT
        except (Unavailable, BackendRefused) as error:
            log.warning("cannot begin a stream", extra={"error": str(error)})
        finally:
            self._listeners -= 1
            for poller in pollers:
                poller.remove(listener)


async def no_events() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for event in nothing:
        yield event


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
                log.info("a listener reads nothing, and is dropped")


def stream(live: Live, events: AsyncGenerator[bytes, None]) -> EventStream:
    """Raises Refusal when there are too many listeners."""
    if live.is_full:
        raise Refusal(503, "There are too many listeners already. Try again.", {"Retry-After": "5"})
    return EventStream(events)
