"""Report that a process is alive, and what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from webloom.application.shortage import shortage
from webloom.ports.heartbeats import Heartbeat, Heartbeats


@dataclass(frozen=True, kw_only=True, slots=True)
class SendHeartbeat:
    store: Heartbeats
    refusals: Callable[[], dict[str, int]]  # connections that the gate refused, by reason

    async def __call__(self, beat: Heartbeat) -> None:
        """Raises StoreUnavailable."""
        await self.store.beat(self.complete(beat))

    async def leave(self, process_id: str) -> None:
        """Raises StoreUnavailable."""
        await self.store.leave(process_id)

    def complete(self, beat: Heartbeat) -> Heartbeat:
        """With what concerns the whole process, in any role."""
        what, remedy = shortage.reason or (None, None)
        return replace(beat, refused=self.refusals(), exhausted=what, remedy=remedy)
