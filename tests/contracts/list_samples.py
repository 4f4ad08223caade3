"""Watches and feeds, as the items of lists that are alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from contracts.import_samples import config as feed_config
from contracts.watch_samples import config as watch_config
from webloom.bootstrap.stores import Stores
from webloom.domain.listing import ListFilter


class Listed(ABC):
    name: str  # of the table or collection
    sqlite_key: str

    @abstractmethod
    async def add(self, stores: Stores, item_id: str, **config: Any) -> None: ...

    @abstractmethod
    async def edit(self, stores: Stores, item_id: str, **changes: Any) -> None: ...

    @abstractmethod
    async def found(self, stores: Stores, text: str) -> list[str]: ...


class _Watches(Listed):
    name = "watches"
    sqlite_key = "watch_id"

    async def add(self, stores: Stores, item_id: str, **config: Any) -> None:
        made = replace(watch_config(), **config)
        await stores.watches.add_watch(item_id, made, next_run_at=None)

    async def edit(self, stores: Stores, item_id: str, **changes: Any) -> None:
        known = await stores.watches.find_watch(item_id)
        assert known is not None
        await stores.watches.edit_watch(item_id, replace(known.config, **changes), next_run_at=None)

    async def found(self, stores: Stores, text: str) -> list[str]:
        found, _ = await stores.watches.watches(ListFilter(text=text), limit=100)
        return [each.watch_id for each in found]


class _Feeds(Listed):
    name = "feeds"
    sqlite_key = "feed_id"

    async def add(self, stores: Stores, item_id: str, **config: Any) -> None:
        made = replace(feed_config(item_id), **config)
        await stores.imports.feeds.add(item_id, made, next_run_at=None)

    async def edit(self, stores: Stores, item_id: str, **changes: Any) -> None:
        known = await stores.imports.feeds.find(item_id)
        assert known is not None
        await stores.imports.feeds.edit(item_id, replace(known.config, **changes), next_run_at=None)

    async def found(self, stores: Stores, text: str) -> list[str]:
        found, _ = await stores.imports.feeds.page(ListFilter(text=text), limit=100)
        return [each.feed_id for each in found]


LISTS = [_Watches(), _Feeds()]
