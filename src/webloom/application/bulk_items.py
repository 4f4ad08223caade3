"""Actions on many watches or feeds, and how they are undone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from webloom.application.bulk import Act, Done, Failure, all_chosen
from webloom.application.editing import checking
from webloom.application.started import Started
from webloom.domain.errors import BackendRefused, BulkRefused, Unavailable, WebloomError
from webloom.domain.feed import Feed
from webloom.domain.listing import ListFilter
from webloom.domain.tags import checked_tags, with_tags, without_tags
from webloom.domain.watch import Watch

Item = TypeVar("Item", Watch, Feed)

READ_AT_ONCE = 200
NEXT_RUN = "next_run_at"  # moves with `enabled` and the schedule; restored with them


class BulkAction(StrEnum):
    RUN = "run"
    PAUSE = "pause"
    RESUME = "resume"
    TAG = "tag"
    UNTAG = "untag"
    SCHEDULE = "schedule"
    REMOVE = "remove"
    RESTORE = "restore"  # what another action has changed


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkOptions:
    """What an action needs to know."""

    tags: list[str] = field(default_factory=list)
    schedule: Mapping[str, Any] = field(default_factory=dict)  # fields of the configuration
    with_pages: bool = False  # of watches that are removed
    before: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # to restore, by id


class Created(NamedTuple):
    item_id: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class BulkItems(ABC, Generic[Item]):
    """The actions are those of the use cases for one item, so that they mean the same."""

    start: Callable[[str, str], Awaitable[Started[Any] | None]]  # a run: item id, trigger

    @abstractmethod
    async def find(self, item_id: str) -> Item | None: ...

    @abstractmethod
    async def page(
        self, chosen: ListFilter, cursor: str | None
    ) -> tuple[list[Created], str | None]:
        """The earliest created first, and the cursor of the next page."""

    @abstractmethod
    async def edit(self, item_id: str, **changes: Any) -> Item | None:
        """`next_run_at` is among the changes to restore. None: there is none with this id."""

    @abstractmethod
    async def remove(self, item_id: str, options: BulkOptions) -> None: ...

    @abstractmethod
    def check(self, schedule: Mapping[str, Any]) -> None:
        """Raises ValueError or WebloomError for one that no item can have."""

    async def chosen(
        self, chosen: ListFilter, at_most: float | None = None, *, before: datetime | None = None
    ) -> list[str]:
        """As `all_chosen`; with `before`, those that had been created by then."""

        async def read(cursor: str | None) -> tuple[list[str], str | None]:
            found, following = await self.page(chosen, cursor)
            ids = [each.item_id for each in found if before is None or each.at <= before]
            return ids, following if len(ids) == len(found) else None

        return await all_chosen(read, at_most)

    def act(self, action: BulkAction, options: BulkOptions) -> Act:
        """Raises BulkRefused for what would be wrong for every item."""
        with checking("tags", BulkRefused):
            checked_tags(options.tags)
        if options.schedule:
            with checking("schedule", BulkRefused):
                self.check(options.schedule)
        for before in options.before.values():
            with checking("items", BulkRefused):
                self._check_before(before)
        needed = {
            BulkAction.TAG: ("tags", options.tags),
            BulkAction.UNTAG: ("tags", options.tags),
            BulkAction.SCHEDULE: ("schedule", options.schedule),
            BulkAction.RESTORE: ("items", options.before),
        }
        name, given = needed.get(action, ("", True))
        if not given:
            raise BulkRefused(f"{name}: {action} needs it")

        async def act(item_id: str) -> Done | Failure:
            item = await self.find(item_id)
            if item is None:
                return Failure(id=item_id, name=None, reason="It does not exist")
            try:
                result = await self._act(item_id, item, action, options)
            except (Unavailable, BackendRefused):
                raise
            except (WebloomError, ValueError) as error:
                result = str(error)
            if isinstance(result, str):
                return Failure(id=item_id, name=item.config.name, reason=result)
            return result

        return act

    def _check_before(self, before: Mapping[str, Any]) -> None:
        """Raises ValueError or WebloomError for what no item can have had."""
        checked_tags(before.get("tags", []))
        others = before.keys() - {"enabled", "tags", NEXT_RUN}
        if others:
            self.check({name: before[name] for name in others})

    async def _act(
        self, item_id: str, item: Item, action: BulkAction, options: BulkOptions
    ) -> Done | str:
        """Or why it failed."""
        match action:
            case BulkAction.RUN:
                run = await self.start(item_id, "manual")
                if run is None:
                    return "It was removed meanwhile"
                return Done() if run.is_new else "It is running already"
            case BulkAction.REMOVE:
                await self.remove(item_id, options)
                return Done()
            case BulkAction.PAUSE:
                changes: Mapping[str, Any] = {"enabled": False}
            case BulkAction.RESUME:
                changes = {"enabled": True}
            case BulkAction.TAG:
                add = partial(with_tags, added=options.tags)
                return await self._change_tags(item_id, item, add)
            case BulkAction.UNTAG:
                drop = partial(without_tags, removed=options.tags)
                return await self._change_tags(item_id, item, drop)
            case BulkAction.SCHEDULE:
                changes = options.schedule
            case BulkAction.RESTORE:
                changes = options.before[item_id]
        settings = changes.keys() - {NEXT_RUN}
        before = {name: getattr(item.config, name) for name in changes if name in settings}
        if all(before[name] == changes[name] for name in settings):
            return Done()
        edited = await self.edit(item_id, **changes)
        if edited is None:
            return "It was removed meanwhile"
        if item.next_run_at is not None and edited.next_run_at != item.next_run_at:
            before[NEXT_RUN] = item.next_run_at
        return Done(before)

    async def _change_tags(
        self, item_id: str, item: Item, change: Callable[[list[str]], list[str]]
    ) -> Done | str:
        """Of those that the item has when it is written: others may change them meanwhile."""
        if change(item.config.tags) == item.config.tags:
            return Done()
        before = item.config.tags

        def changed(tags: list[str]) -> list[str]:
            nonlocal before
            before = tags
            return change(tags)

        edited = await self.edit(item_id, tags=changed)
        return "It was removed meanwhile" if edited is None else Done({"tags": before})
