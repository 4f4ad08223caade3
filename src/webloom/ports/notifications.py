from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from webloom.domain.notification import Notification


@dataclass(frozen=True, kw_only=True, slots=True)
class DueTarget:
    """A target with notifications to send now."""

    url: str
    has_failed: bool  # an attempt to send one of its pending notifications, due or not


class Notifications(Protocol):
    """The outbox: notifications that are pending, and those that were sent or given up.

    Every write is atomic and can be repeated. Raises StoreUnavailable.
    """

    async def add(self, notifications: Sequence[Notification]) -> None:
        """An existing id, pending or not, is left as it is."""

    async def due_targets(self, now: datetime, *, limit: int) -> list[DueTarget]:
        """Targets with due notifications, the longest overdue first."""

    async def due(
        self, now: datetime, *, limit: int, target_url: str | None = None
    ) -> list[Notification]:
        """Pending and due, the longest overdue first; of one target, if given."""

    async def note_sent(self, notification_ids: Sequence[str], at: datetime) -> None:
        """Without effect on those that are not pending."""

    async def note_failed(
        self, notification_ids: Sequence[str], *, error: str, retry_at: datetime | None
    ) -> None:
        """Record another failed attempt. `retry_at` None: they are given up. All change at once:
        the notifications of a digest stay together because they are due at the same moment."""

    async def failing(self, *, limit: int) -> list[Notification]:
        """Targets that can't be reached: for each, the notification that was tried last, if that
        attempt failed. By target; expired ones don't count."""

    async def of_watch(
        self, watch_id: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[Notification], str | None]:
        """The latest first, with the cursor of the next page. Raises BadCursor."""
