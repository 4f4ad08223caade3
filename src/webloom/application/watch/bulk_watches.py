"""Run, pause, resume, tag, schedule or remove many watches, and undo it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webloom.application.bulk import all_chosen
from webloom.application.bulk_items import READ_AT_ONCE, BulkItems, BulkOptions, Created
from webloom.application.watch.manage_watches import ManageWatches
from webloom.domain.listing import ListFilter, Order, SortField
from webloom.domain.watch import Watch
from webloom.ports.pages import PageFilter, Pages
from webloom.ports.watches import Watches


@dataclass(frozen=True, kw_only=True)
class BulkWatches(BulkItems[Watch]):
    store: Watches
    pages: Pages
    manage: ManageWatches

    async def find(self, item_id: str) -> Watch | None:
        return await self.store.find_watch(item_id)

    async def page(
        self, chosen: ListFilter, cursor: str | None
    ) -> tuple[list[Created], str | None]:
        found, following = await self.store.watches(
            chosen, limit=READ_AT_ONCE, cursor=cursor, order=Order(SortField.CREATED)
        )
        return [Created(each.watch_id, each.created_at) for each in found], following

    async def chosen_by_pages(self, chosen: PageFilter, at_most: float | None = None) -> list[str]:
        """The watches of all pages that a filter finds; `at_most` counts the pages. Raises as
        `all_chosen`."""

        async def read(cursor: str | None) -> tuple[list[str], str | None]:
            found, following = await self.pages.list_pages(
                chosen, limit=READ_AT_ONCE, cursor=cursor
            )
            return [each.watch_id for each in found], following

        return list(dict.fromkeys(await all_chosen(read, at_most)))

    def check(self, schedule: Mapping[str, Any]) -> None:
        schedule["schedule"].refuse_bad(self.manage.cron)

    async def edit(self, item_id: str, **changes: Any) -> Watch | None:
        return await self.manage.edit(item_id, **changes)

    async def remove(self, item_id: str, options: BulkOptions) -> None:
        await self.manage.remove(item_id, with_pages=options.with_pages)
