"""Ask the store and the brokers how they are, all at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from webloom.application.overview.caching import PROBE_SECONDS, probe
from webloom.application.overview.facts import Backend, Facts, QueueState, Waiting
from webloom.ports.broker import Broker, QueueDepth
from webloom.ports.connection import BrokerConnection, Connected
from webloom.ports.feeds import Feeds
from webloom.ports.heartbeats import Heartbeat, Heartbeats
from webloom.ports.page_storage import PageStorage
from webloom.ports.room import Room
from webloom.ports.watches import Watches

if TYPE_CHECKING:
    from webloom.application.move.restore import UnfinishedRestore

Result = TypeVar("Result")
SHOWN_SECONDS = 300.0  # how long a process that has ended is shown


class Brokers(NamedTuple):
    backends: list[Backend]
    queues: list[QueueState]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadBrokers:
    broker: Broker
    connections: Sequence[BrokerConnection]
    limits: Mapping[str, int]  # of each queue, in the order in which they are shown
    seconds: float | None = PROBE_SECONDS

    async def __call__(self) -> Brokers:
        read = await asyncio.gather(*(self._read(connection) for connection in self.connections))
        found = {name: asdict(depth) for _, depths in read for name, depth in depths.items()}
        return Brokers(
            backends=[backend for backend, _ in read],
            queues=[
                QueueState(name=name, limit=limit, **found.get(name, {}))
                for name, limit in self.limits.items()
            ],
        )

    async def _read(self, connection: BrokerConnection) -> tuple[Backend, dict[str, QueueDepth]]:
        """Stops at the first queue whose broker does not answer."""
        first, *others = connection.queues
        name = f"broker of {', '.join(connection.queues)}"
        backend, depth = await _ask(
            name, connection.connected, self.broker.depth(first), self.seconds
        )
        backend = replace(backend, queues=connection.queues)
        depths = {} if depth is None else {first: depth}
        for queue in others if depths else ():
            depth, problem = await probe(self.broker.depth(queue), self.seconds)
            if depth is None:
                return replace(backend, problem=problem), depths
            depths[queue] = depth
        return backend, depths


@dataclass(frozen=True, kw_only=True, slots=True)
class GatherFacts:
    heartbeats: Heartbeats
    page_storage: PageStorage
    room: Room
    store_connection: Connected
    read_brokers: Callable[[], Coroutine[Any, Any, Brokers]]
    read_waiting: Callable[[], Awaitable[Waiting]]
    read_restore: Callable[[], Awaitable[UnfinishedRestore | None]]
    is_restoring: Callable[[], Awaitable[bool]]
    seconds: float | None = PROBE_SECONDS  # None: as long as the adapters try

    async def __call__(self) -> Facts:
        (
            (store, seen),
            (is_full, _),
            (restore, _),
            (is_restoring, _),
            brokers,
        ) = await asyncio.gather(
            self._ask_store(self.heartbeats.seen(SHOWN_SECONDS)),
            probe(self.page_storage.is_full(), self.seconds),
            probe(self.read_restore(), self.seconds),
            probe(self.is_restoring(), self.seconds),
            self.read_brokers(),
        )
        facts = Facts(
            store=store,
            brokers=brokers.backends,
            queues=brokers.queues,
            processes=seen or (),
            is_full=bool(is_full),
            full=self.room.full,
            restore=restore,
            is_restoring=bool(is_restoring),
        )
        if facts.roles is None or "scheduler" in facts.roles:
            return facts
        return replace(facts, waiting=await self.read_waiting())

    async def after_writing(self, beat: Heartbeat, facts: Facts) -> Facts:
        """The facts, and whether a store that can be read can be written to."""
        if facts.store.problem is not None:
            return facts
        store, _ = await self._ask_store(self.heartbeats.beat(beat))
        return replace(facts, store=store, full=self.room.full)

    async def _ask_store(self, call: Awaitable[Result]) -> tuple[Backend, Result | None]:
        return await _ask("store", self.store_connection, call, self.seconds)


async def waiting_now(feeds: Feeds, watches: Watches, seconds: float | None) -> Waiting:
    """Nothing, if the store does not answer: that is a trouble of its own."""
    (found, _), (counts, _) = await asyncio.gather(
        probe(feeds.all(), seconds), probe(watches.count_watches(), seconds)
    )
    return Waiting() if found is None or counts is None else Waiting.of(found, counts)


async def _ask(
    name: str, connected: Connected, call: Awaitable[Result], seconds: float | None
) -> tuple[Backend, Result | None]:
    started = time.perf_counter()
    result, problem = await probe(call, seconds)
    backend = Backend(
        name=name,
        connection=connected.connection(),
        problem=problem,
        answers=problem is None,
        milliseconds=round((time.perf_counter() - started) * 1000, 2),
    )
    return backend, result
