"""Every queue: how deep it is, and how quickly it is worked off."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from webloom.application.overview.caching import probe
from webloom.application.overview.sampler_counts import HANDLED, Counts
from webloom.application.overview.snapshot import Down, QueueState
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.page import CHECK_QUEUE
from webloom.ports.broker import Broker, QueueDepth
from webloom.ports.clock import Clock
from webloom.ports.connection import BrokerLink

RATE_MINUTES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueStates:
    queues: list[QueueState]
    down: list[Down]  # brokers

    def of(self, name: str) -> QueueState:
        return next(queue for queue in self.queues if queue.name == name)


class LookAtQueues:
    def __init__(
        self,
        *,
        broker: Broker,
        links: Sequence[BrokerLink],
        limits: Mapping[str, int],
        storage_queue: str,
        counts: Counts,
        clock: Clock,
    ) -> None:
        self._broker = broker
        self._links = links
        self._limits = limits
        self._order = [METADATA_QUEUE, IMPORT_QUEUE, CHECK_QUEUE, storage_queue]
        self._counts = counts
        self._clock = clock

    async def __call__(self) -> QueueStates:
        looks = await asyncio.gather(*(self._look(link) for link in self._links))
        depths = {name: depth for found, _ in looks for name, depth in found.items()}
        now = self._clock.now()
        queues = [self._state(name, depths.get(name), now) for name in self._order]
        down = [
            _down(link, problem)
            for link, (_, problem) in zip(self._links, looks, strict=True)
            if problem is not None
        ]
        return QueueStates(queues=queues, down=down)

    async def _look(self, link: BrokerLink) -> tuple[dict[str, QueueDepth], str | None]:
        """Of a broker that does not answer, nobody waits for the second queue."""
        depths: dict[str, QueueDepth] = {}
        for name in link.queues:
            depth, problem = await probe(self._broker.depth(name))
            if depth is None:
                return depths, problem
            depths[name] = depth
        return depths, None

    def _state(self, name: str, depth: QueueDepth | None, now: datetime) -> QueueState:
        of_queue = (HANDLED, name)
        return QueueState(
            name=name,
            limit=self._limits[name],
            ready=None if depth is None else depth.ready,
            delayed=None if depth is None else depth.delayed,
            in_flight=None if depth is None else depth.in_flight,
            dead=None if depth is None else depth.dead,
            handled=[count for _, count in self._counts.minutes(of_queue, now)],
            handled_per_minute=self._counts.rate(of_queue, now, RATE_MINUTES),
        )


def _down(link: BrokerLink, problem: str) -> Down:
    connection = link.connected.connection()
    return Down(
        name=f"broker of {', '.join(link.queues)}",
        kind=connection.kind,
        address=connection.address,
        reason=problem,
    )
