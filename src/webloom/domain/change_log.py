"""Which of several events of one version its change log is made of."""

from __future__ import annotations

from typing import Any, NamedTuple

from webloom.domain.inbox import Triage


class LoggedChange(NamedTuple):
    rank: Any  # the lowest is kept, and of equal ones the first; comparable within a store
    ts: int
    content: Any  # changes and alerts, as the store keeps them
    is_pending: bool  # its notifications are not made yet
    is_keyed: bool = True  # its key is a part of its id in feeds
    batch: str | None = None  # of notifications
    triage: Triage | None = None  # in the inbox


def earliest(known: LoggedChange, new: LoggedChange) -> LoggedChange:
    """Once a change is in a batch of notifications, it is not reported again. Its id in feeds gets
    the key when its time changes, so that no other change has or had the same. What was decided
    about it stays."""
    if new.rank >= known.rank:
        return known
    return new._replace(
        is_keyed=known.is_keyed or new.ts != known.ts,
        is_pending=new.is_pending if known.batch is None else known.is_pending,
        batch=known.batch,
        triage=known.triage,
    )
