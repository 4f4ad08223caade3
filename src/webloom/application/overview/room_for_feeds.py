"""Whether imports wait because there is no room for feeds: the one rule for /health and the admin
UI."""

from __future__ import annotations

from collections.abc import Iterable

from webloom.ports.heartbeats import Heartbeat


def no_room_for_feeds(alive: Iterable[Heartbeat]) -> str | None:
    """What is wrong, as a sentence, of the first process that has none."""
    for beat in alive:
        if beat.imports_wait is not None:
            return f"Imports wait for room: on {beat.host}, {beat.imports_wait}."
    return None
