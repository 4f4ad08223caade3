from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from webloom.domain.price_history import PriceCurve, PriceRecord, PriceSummary
from webloom.domain.reason import Reason
from webloom.domain.reason_words import sentences


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    watch_id: str
    url: str
    version: int
    snapshot_hash: str
    created_at: int  # `ts` of its event
    bytes: int  # in the store
    is_delta: bool
    expires_at: datetime | None  # None: it is the newest


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeLog:
    watch_id: str
    url: str
    changes: Mapping[str, Any]
    previous: int  # version
    current: int
    timestamp: int  # `ts` of its event
    run_id: str | None = None
    reasons: list[Reason] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)  # as stored; `sentences` are for readers
    # Unique among the changes of the page with this timestamp, and never changed. None: written by
    # an earlier version of Webloom, as the only one with that timestamp.
    key: str | None = None

    @property
    def sentences(self) -> list[str]:
        """Why people are notified: the reasons in words, or the texts of another program or an
        earlier version, which gave no reasons. Empty: they are not notified."""
        return sentences(self.reasons) if self.reasons else self.alerts


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeFilter:
    watch_id: str | None = None
    url: str | None = None
    run_id: str | None = None
    batch: str | None = None  # of `ChangeAlerts`; all else is ignored then


class PageHistory(Protocol):
    """Versions, changes and prices of pages, which `Pages.store_event` writes.

    The work for one page of a list is bounded. Raises StoreUnavailable.
    """

    async def versions(
        self, watch_id: str, url: str, *, limit: int, before: int | None = None
    ) -> list[Version]:
        """The newest first, those with a lower number than `before`."""

    async def parsed(self, watch_id: str, url: str, version: int) -> Mapping[str, Any] | None:
        """The content of a version as it was given; None: it has expired, or never existed."""

    async def change_logs(
        self, chosen: ChangeFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[ChangeLog], str | None]:
        """The latest first, with the cursor of the next page. Raises BadCursor."""

    async def prices(
        self, watch_id: str, url: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[PriceRecord], str | None]:
        """The latest first, with the cursor of the next page. Raises BadCursor."""

    async def price_summary(self, watch_id: str, url: str, *, now: datetime) -> PriceSummary | None:
        """Of the latest 100,000 records at most; None: there are none."""

    async def price_curve(
        self, watch_id: str, url: str, *, since: int | None, points: int
    ) -> PriceCurve:
        """Of the latest 100,000 records at most, with at most so many points, 4 or more.

        `since` is in milliseconds; None: from the first.
        """
