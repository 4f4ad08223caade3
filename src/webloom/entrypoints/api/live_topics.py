"""Topics as Server-Sent Events. A topic's event is encoded once, and sent when it has changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass

from webloom.entrypoints.api.live import Listener, Live, Poller, no_events


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    mark: object  # equal: it says the same as before
    data: bytes  # JSON


Look = Callable[[], Awaitable[Said]]  # raises Unavailable or BackendRefused


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What a topic says now."""

    look: Look
    pause: float  # seconds between two polls
    event_pause: float  # seconds between two events, or longer


class LiveTopics(Live):
    def __init__(self, sources: dict[str, Source], stopping: asyncio.Event) -> None:
        super().__init__(stopping)
        self._topics = {name: _Topic(name, source, stopping) for name, source in sources.items()}

    @property
    def names(self) -> list[str]:
        return list(self._topics)

    def events(self, names: Iterable[str]) -> AsyncGenerator[bytes, None]:
        return self.listen([self._topics[name] for name in names], no_events())


class _Topic(Poller):
    def __init__(self, name: str, source: Source, stopping: asyncio.Event) -> None:
        super().__init__(name, source.pause, stopping)
        self._source = source
        self.reset()

    def reset(self) -> None:
        self._latest: bytes | None = None
        self._mark: object = None

    def add(self, listener: Listener) -> None:
        super().add(listener)
        if self._latest is not None:
            listener.offer(self.name, self._latest)

    async def poll(self) -> float:
        started = time.monotonic()
        said = await self._source.look()
        if self._latest is not None and said.mark == self._mark:
            return 0.0
        self._mark = said.mark
        self._latest = b"event: %b\ndata: %b\n\n" % (self.name.encode(), said.data)
        self.offer(self.name, self._latest)
        return self._source.event_pause - (time.monotonic() - started)
