"""Mark entries of the inbox as done or unread, or snooze them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webloom.domain.errors import BulkRefused
from webloom.domain.inbox import Decision
from webloom.ports.clock import Clock
from webloom.ports.inbox import Inbox

MOST_DECIDED = 1000  # entries that one call names


@dataclass(frozen=True, kw_only=True, slots=True)
class DecideEntries:
    inbox: Inbox
    clock: Clock

    async def __call__(self, ids: Sequence[str], wanted: Decision) -> list[str]:
        """The ids that no entry has. Raises BulkRefused, StoreUnavailable."""
        if len(ids) > MOST_DECIDED:
            raise BulkRefused(
                f"ids: {len(ids):,} are too many for one request: send at most {MOST_DECIDED:,}"
            )
        return await self.inbox.decide(ids, wanted, now=self.clock.now())
