from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from webloom.domain.sending import Lane
from webloom.domain.watch import Target


@dataclass(frozen=True, kw_only=True, slots=True)
class NotificationMessage:
    """One message. What is sent again has the same id, so that a receiver can tell."""

    message_id: str
    at: datetime  # of this attempt
    title: str  # one line
    lines: list[str]
    payload: Mapping[str, Any]  # the same for programs: JSON, and decimals for its numbers


class Notifier(Protocol):
    """To be opened by `async with`."""

    async def send(self, target: Target, message: NotificationMessage) -> None:
        """Returns when the target has taken the message. Raises NotSent; where that is retryable
        the target may have got it all the same. Raises ResourcesExhausted, too: then nothing was
        sent."""

    def lane(self, target_url: str) -> Lane:
        """What a target shares with others."""
