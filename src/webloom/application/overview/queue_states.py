"""Every queue: its depth, and how fast it is consumed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from webloom.application.overview.caching import probe
from webloom.application.overview.sampler_counts import HANDLED, Counts
from webloom.application.overview.snapshot import Down, QueueState
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


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadQueues:
    broker: Broker
    links: Sequence[BrokerLink]
    limits: Mapping[str, int]  # of each queue, in the order in which they are shown
    counts: Counts
    clock: Clock

    async def __call__(self) -> QueueStates:
        answers = await asyncio.gather(*(self._depths(link) for link in self.links))
        depths = {name: depth for found, _ in answers for name, depth in found.items()}
        return QueueStates(
            queues=[self._state(name, depths.get(name)) for name in self.limits],
            down=[
                Down.of(f"broker of {', '.join(link.queues)}", link.connected, problem)
                for link, (_, problem) in zip(self.links, answers, strict=True)
                if problem is not None
            ],
        )

    async def _depths(self, link: BrokerLink) -> tuple[dict[str, QueueDepth], str | None]:
        """Stops at the first queue whose broker does not answer."""
        depths: dict[str, QueueDepth] = {}
        for name in link.queues:
            depth, problem = await probe(self.broker.depth(name))
            if depth is None:
                return depths, problem
            depths[name] = depth
        return depths, None

    def _state(self, name: str, depth: QueueDepth | None) -> QueueState:
        now, counted_as = self.clock.now(), (HANDLED, name)
        return QueueState(
            name=name,
            limit=self.limits[name],
            **({} if depth is None else asdict(depth)),
            handled=[count for _, count in self.counts.minutes(counted_as, now)],
            handled_per_minute=self.counts.rate(counted_as, now, RATE_MINUTES),
        )
