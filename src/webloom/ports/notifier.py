from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from webloom.domain.sending import Lane
from webloom.domain.watch import Target


@dataclass(frozen=True, kw_only=True, slots=True)
class NotificationMessage:
    """One message. A repeat has the same id, so that receivers can recognise it."""

    message_id: str
    at: datetime  # of this attempt
    title: str  # one line
    lines: list[str]
    payload: Mapping[str, Any]  # the same for programs: JSON, and decimals for its numbers


class Notifier(Protocol):
    """To be opened by `async with`."""

    async def send(self, target: Target, message: NotificationMessage) -> None:
        """Returns when the target has accepted the message. Raises NotSent; if that is retryable,
        the target may have received it anyway. Raises ResourcesExhausted: nothing was sent."""

    def lane(self, target_url: str) -> Lane:
        """The limits that a target shares with others."""
