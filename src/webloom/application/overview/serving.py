"""Which queues have nobody who serves them."""

from __future__ import annotations

from collections.abc import Iterable

from webloom.ports.heartbeats import Heartbeat


def unserved(queues: Iterable[str], alive: Iterable[Heartbeat]) -> list[str]:
    """The queues that none of the living processes serves, in their order."""
    beats = list(alive)
    return [queue for queue in queues if not any(beat.serves(queue) for beat in beats)]
