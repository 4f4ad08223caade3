"""What happened to the messages of a test, and whether a broker may have let it happen."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from webloom.ports.broker import Delivery

ON_ITS_WAY = 3.0  # seconds that an acknowledgement may take to the broker, generously


class Event(NamedTuple):
    what: str  # accepted, unsure, got, acked, moved, and what a process has to say otherwise
    name: str
    at: float  # seconds on the machine's steady clock
    more: tuple[str, ...] = ()

    @classmethod
    def parse(cls, line: str) -> Event:
        what, name, at, *more = line.split()
        return cls(what, name, float(at), tuple(more))


class Fault(NamedTuple):
    begun: float
    ended: float

    def touches(self, moment: float) -> bool:
        """What was done then may not have reached the broker."""
        return self.begun - ON_ITS_WAY <= moment <= self.ended + ON_ITS_WAY


@dataclass(kw_only=True)
class Journal:
    events: list[Event] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def note(self, what: str, name: str) -> None:
        self.events.append(Event(what, name, time.monotonic()))

    @contextmanager
    def fault(self) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self.faults.append(Fault(begun, time.monotonic()))

    def names(self, what: str) -> set[str]:
        return {event.name for event in self.events if event.what == what}

    async def acking(self, deliveries: AsyncIterator[Delivery]) -> None:
        """One slot that acknowledges whatever comes."""
        while True:
            delivery = await anext(deliveries)
            self.note("got", delivery.message_id)
            await delivery.ack()
            self.note("acked", delivery.message_id)

    def missing(self, dead: Collection[str]) -> set[str]:
        return self.names("accepted") - self.names("acked") - set(dead)

    def check(self, dead: Collection[str], say: Callable[[str], None]) -> None:
        """Everything accepted is acknowledged or dead, and what was acknowledged stays away."""
        acks = Counter(event.name for event in self.events if event.what == "acked")
        accepted = self.names("accepted")
        twice = sum(times > 1 for times in acks.values())
        again = self._again()
        say(
            f"{len(accepted)} accepted, {len(acks)} acknowledged, {len(dead)} dead, "
            f"{twice} served more than once"
        )
        lost = self.missing(dead)
        assert not lost, f"{len(lost)} of {len(accepted)} are lost: {sorted(lost)[:5]}"
        assert not again, f"came again long after their acknowledgement: {again[:5]}"

    def _again(self) -> list[tuple[str, float]]:
        """Deliveries of acknowledged messages that nothing explains, and how long after.

        A publish without an answer may have been made twice, and what was under way while
        something died may be there twice.
        """
        history: dict[str, list[Event]] = defaultdict(list)
        for event in sorted(self.events, key=lambda event: event.at):
            history[event.name].append(event)
        found = []
        for name, events in history.items():
            if any(event.what == "unsure" or self._faulty(event.at) for event in events):
                continue
            acked: float | None = None
            for event in events:
                if event.what == "got" and acked is not None:
                    found.append((name, event.at - acked))
                if event.what == "acked":
                    acked = event.at
        return found

    def _faulty(self, moment: float) -> bool:
        return any(fault.touches(moment) for fault in self.faults)
