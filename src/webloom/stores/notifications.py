from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from webloom.domain.notification import Notification, failed, sent
from webloom.stores.primitives import Documents, Now, whole_milliseconds


class _Sent(NamedTuple):
    at: datetime
    keep: timedelta


class _Failed(NamedTuple):
    error: str
    retry_at: datetime | None
    keep: timedelta


class StoredNotifications:
    """The writes of the port `Notifications`; a backend adds the queries."""

    def __init__(self, documents: Documents[Notification], *, keep: timedelta) -> None:
        self._documents = documents
        self._keep = keep

    async def add(self, notifications: Sequence[Notification]) -> None:
        await self._documents.change(_add, [(each.notification_id, each) for each in notifications])

    async def note_sent(self, notification_ids: Sequence[str], at: datetime) -> None:
        event = _Sent(whole_milliseconds(at), self._keep)
        await self._documents.change(_note_sent, [(each, event) for each in notification_ids])

    async def note_failed(
        self, notification_ids: Sequence[str], *, error: str, retry_at: datetime | None
    ) -> None:
        at = None if retry_at is None else whole_milliseconds(retry_at)
        event = _Failed(error, at, self._keep)
        await self._documents.change(_note_failed, [(each, event) for each in notification_ids])


def _add(known: Notification | None, new: Notification, now: Now) -> tuple[Notification, None]:
    return known or replace(new, due_at=whole_milliseconds(new.due_at)), None


def _note_sent(
    known: Notification | None, event: _Sent, now: Now
) -> tuple[Notification | None, None]:
    if known is None:
        return None, None
    return sent(known, at=event.at, expires_at=now.expiry + event.keep), None


def _note_failed(
    known: Notification | None, event: _Failed, now: Now
) -> tuple[Notification | None, None]:
    if known is None:
        return None, None
    expires_at = now.expiry + event.keep
    return failed(known, error=event.error, retry_at=event.retry_at, expires_at=expires_at), None
