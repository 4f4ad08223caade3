"""Import, pause, resume, tag, schedule or remove many feeds, and undo it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webloom.application.bulk_items import READ_AT_ONCE, BulkItems, BulkOptions, Created
from webloom.application.imports.manage_feeds import ManageFeeds, refuse_bad
from webloom.domain.feed import Feed, FeedConfig
from webloom.domain.listing import ListFilter, Order, SortField
from webloom.ports.feeds import Feeds


@dataclass(frozen=True, kw_only=True)
class BulkFeeds(BulkItems[Feed]):
    store: Feeds
    manage: ManageFeeds

    async def find(self, item_id: str) -> Feed | None:
        return await self.store.find(item_id)

    async def page(
        self, chosen: ListFilter, cursor: str | None
    ) -> tuple[list[Created], str | None]:
        found, following = await self.store.page(
            chosen, limit=READ_AT_ONCE, cursor=cursor, order=Order(SortField.CREATED)
        )
        return [Created(each.feed_id, each.created_at) for each in found], following

    def check(self, schedule: Mapping[str, Any]) -> None:
        refuse_bad(FeedConfig(url="", name="", **schedule))

    async def edit(self, item_id: str, **changes: Any) -> Feed | None:
        return await self.manage.edit(item_id, **changes)

    async def remove(self, item_id: str, options: BulkOptions) -> None:
        await self.manage.remove(item_id)
