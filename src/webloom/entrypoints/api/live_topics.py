"""Topics as Server-Sent Events.

    source -> one poller for each topic that somebody listens to -> its listeners -> their clients

What a topic says is encoded once, and sent when it differs from what was sent before.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from webloom.domain.errors import BackendRefused, Unavailable
from webloom.entrypoints.api.live import GREETING, HEARTBEAT, MOST_LISTENERS, Listener

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    mark: object  # equal: it says the same as before
    data: bytes  # JSON


Look = Callable[[], Awaitable[Said]]  # raises Unavailable or BackendRefused


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What a topic says now."""

    look: Look
    pause: float  # between two looks
    event_pause: float  # between two events, or longer


class LiveTopics:
    def __init__(self, sources: dict[str, Source], stopping: asyncio.Event) -> None:
        self._topics = {name: _Topic(name, source, stopping) for name, source in sources.items()}
        self._stopping = stopping
        self._listeners = 0

    @property
    def names(self) -> list[str]:
        return list(self._topics)

    @property
    def is_full(self) -> bool:
        return self._listeners >= MOST_LISTENERS

    async def events(self, names: Iterable[str]) -> AsyncGenerator[bytes, None]:
        """Ends when the process stops; at once when it is full: many may have asked before the
        first of them was counted."""
        if self.is_full:
            return
        listener = Listener()
        topics = [self._topics[name] for name in names]
        self._listeners += 1
        try:
            for topic in topics:
                topic.add(listener)
            yield GREETING
            while True:
                events = await listener.next()
                if listener.has_ended or self._stopping.is_set():
                    return
                yield events or HEARTBEAT
        finally:
            self._listeners -= 1
            for topic in topics:
                topic.remove(listener)


class _Topic:
    def __init__(self, name: str, source: Source, stopping: asyncio.Event) -> None:
        self._name = name
        self._source = source
        self._stopping = stopping
        self._listeners: set[Listener] = set()
        self._latest: bytes | None = None  # while it is polled
        self._polling: asyncio.Task[None] | None = None

    def add(self, listener: Listener) -> None:
        self._listeners.add(listener)
        if self._latest is not None:
            listener.offer(self._name, self._latest)
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll())

    def remove(self, listener: Listener) -> None:
        self._listeners.discard(listener)

    async def _poll(self) -> None:
        source = self._source
        mark: object = None
        is_lost = False
        try:
            while self._listeners and not self._stopping.is_set():
                pause = source.pause
                started = time.monotonic()
                try:
                    said = await source.look()
                    if self._latest is None or said.mark != mark:
                        mark = said.mark
                        self._tell(said.data)
                        pause = max(pause, source.event_pause - (time.monotonic() - started))
                    is_lost = False
                except (Unavailable, BackendRefused) as error:
                    if not is_lost:
                        extra = {"topic": self._name, "error": str(error)}
                        log.warning("cannot see changes", extra=extra)
                    is_lost = True
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._stopping.wait()
        finally:
            self._polling = self._latest = None
            for listener in self._listeners:
                listener.end()

    def _tell(self, data: bytes) -> None:
        self._latest = b"event: %b\ndata: %b\n\n" % (self._name.encode(), data)
        for listener in self._listeners:
            listener.offer(self._name, self._latest)
