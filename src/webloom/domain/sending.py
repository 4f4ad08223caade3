"""Which targets may be sent to at the same time, so that those that hang keep none waiting."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """What the messages to a target share with others."""

    name: str  # how they are sent
    limit: int  # targets of the lane that are sent to at the same time
    destination: str  # targets that hang together: a server, or a service


@dataclass(frozen=True, kw_only=True, slots=True)
class Sending:
    lane: Lane
    has_failed: bool  # its last attempt


class Running:
    """What is being sent now, counted.

    One destination has half of its lane at most, and so have all targets that failed lately
    together: the other half is left for those that answer.
    """

    def __init__(self) -> None:
        self._all: Counter[str] = Counter()  # by lane
        self._failed: Counter[str] = Counter()
        self._destinations: Counter[tuple[str, str]] = Counter()

    def is_full(self, lane: Lane) -> bool:
        return self._all[lane.name] >= lane.limit

    def may_start(self, new: Sending) -> bool:
        lane = new.lane
        half = max(1, lane.limit // 2)
        if self.is_full(lane) or self._destinations[lane.name, lane.destination] >= half:
            return False
        return not new.has_failed or self._failed[lane.name] < half

    def start(self, new: Sending) -> None:
        self._count(new, 1)

    def end(self, ended: Sending) -> None:
        self._count(ended, -1)

    def _count(self, sending: Sending, change: int) -> None:
        lane = sending.lane
        self._all[lane.name] += change
        self._failed[lane.name] += change * sending.has_failed
        self._destinations[lane.name, lane.destination] += change
        if not self._destinations[lane.name, lane.destination]:
            del self._destinations[lane.name, lane.destination]
