"""Fetch many URLs again, or delete their records."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from webloom.application.bulk import Act, Done, Failure, all_chosen
from webloom.application.inventory.invalidate_url import InvalidateUrl
from webloom.application.inventory.submit_url import SubmitUrl
from webloom.domain.errors import BrokerUnavailable, QueueFull
from webloom.domain.inventory import RecordFilter
from webloom.ports.record_listing import RecordListing

READ_AT_ONCE = 200
MOMENT = timedelta(milliseconds=1)  # times in lists are no finer
LATEST = datetime.max.replace(tzinfo=UTC) - MOMENT
PAUSE = 0.5  # seconds, while the queue is full
MOST_PAUSES = 60  # in which it accepts nothing
STAYED_FULL = (
    "the queue was full, and accepted nothing for {:.0f} s. Start workers, or more of them, and do "
    "this again for the rest"
)


class RecordAction(StrEnum):
    REFETCH = "refetch"
    INVALIDATE = "invalidate"


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkRecords:
    records: RecordListing
    submit: SubmitUrl
    invalidate: InvalidateUrl

    async def chosen(
        self, chosen: RecordFilter, at_most: float | None = None, *, before: datetime | None = None
    ) -> list[str]:
        """URLs, as `all_chosen`; with `before`, of those that had been created by then."""
        if before is not None:
            until = min(before, LATEST) + MOMENT
            chosen = replace(chosen, created_to=min(chosen.created_to or until, until))

        async def read(cursor: str | None) -> tuple[list[str], str | None]:
            page = await self.records.page_of_records(chosen, limit=READ_AT_ONCE, cursor=cursor)
            return [each.url for each in page.records], page.next_cursor

        return await all_chosen(read, at_most)

    def act(self, action: RecordAction) -> Act:
        return _Refetch(self.submit) if action is RecordAction.REFETCH else self._forget

    async def _forget(self, url: str) -> Done | Failure:
        if await self.invalidate(url):
            return Done()
        return Failure(id=url, name=None, reason="This URL is not in the inventory")


@dataclass(slots=True)
class _Refetch:
    """Waits while the queue is full, as long as it accepts some of the others. One that accepts
    none is as good as away, so that what is left does not wait in vain, too."""

    submit: SubmitUrl
    accepted: int = 0  # of all URLs

    async def __call__(self, url: str) -> Done:
        """Raises UrlRefused, BrokerUnavailable, StoreUnavailable."""
        pauses, accepted = 0, self.accepted
        while True:
            try:
                await self.submit.one(url)
            except QueueFull as full:
                if self.accepted != accepted:
                    pauses, accepted = 0, self.accepted
                elif pauses == MOST_PAUSES:
                    raise BrokerUnavailable(STAYED_FULL.format(pauses * PAUSE)) from full
                pauses += 1
                await asyncio.sleep(PAUSE)
            else:
                self.accepted += 1
                return Done()
