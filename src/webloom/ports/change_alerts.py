from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertSource:
    """A job and run with change logs whose notifications are pending."""

    watch_id: str
    run_id: str | None  # None: the change logs name none


class ChangeAlerts(Protocol):
    """Change logs with alerts that wait for their notifications. They are taken in batches, so that
    each is reported once, even if its event is delivered again. Raises StoreUnavailable."""

    async def pending(self, *, limit: int) -> list[AlertSource]:
        """Sources whose run has ended, or is unknown: nothing else will report them."""

    async def assign_batch(self, watch_id: str, run_id: str | None, batch: str) -> list[str]:
        """Put the pending change logs that have no batch into this one, whose id is new. Returns
        all pending batches of the watch and run, with this one unless it is empty. The content of a
        batch never changes."""

    async def note_notified(self, batch: str) -> None:
        """The batch is no longer pending: its notifications are stored, or there are none."""
