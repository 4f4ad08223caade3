from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertSource:
    """A job and run with change logs whose notifications are pending."""

    job_id: str
    run_id: str | None  # None: the change logs name none


class ChangeAlerts(Protocol):
    """Change logs with alerts, until notifications are made of them: batch by batch, so that each
    is reported once, even if an event of its version comes again. Raises StoreUnavailable."""

    async def pending(self, *, limit: int) -> list[AlertSource]:
        """Sources whose run has ended, or is unknown: nothing else will report them."""

    async def assign_batch(self, job_id: str, run_id: str | None, batch: str) -> list[str]:
        """Put the pending change logs that have no batch into this one, whose id is new. Returns
        all pending batches of the job and run, with this one unless it is empty. The content of a
        batch never changes."""

    async def note_notified(self, batch: str) -> None:
        """The batch is not pending any more: its notifications are stored, or nobody wants any."""
