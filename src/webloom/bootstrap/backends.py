from __future__ import annotations

from collections.abc import Collection
from contextlib import AsyncExitStack
from pathlib import Path

from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import Database, open_database
from webloom.bootstrap.brokers import queue_limits, server_broker
from webloom.bootstrap.extras import extra
from webloom.bootstrap.sqlite import sqlite_stores
from webloom.bootstrap.stores import Stores, retention
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.pipeline import Pipeline
from webloom.parsing.backend_url import SQLITE
from webloom.ports.broker import Broker
from webloom.ports.clock import Clock
from webloom.ports.connection import Connected
from webloom.settings import Settings


class Backends:
    """Opens the backends that the settings name, each once. A backend's library is an extra, and
    imported only if an address needs it."""

    def __init__(self, settings: Settings, clock: Clock, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._clock = clock
        self._stack = stack
        self._files: dict[str, Database] = {}

    async def stores(self, url: str, pipelines: Collection[Pipeline] = tuple(Pipeline)) -> Stores:
        if url.startswith(SQLITE):
            file = await self._file(url)
            # Import batches come from a broker other than this file.
            is_fed_from_outside = self._settings.broker_urls[IMPORT_QUEUE] != url
            return sqlite_stores(
                file,
                retention=retention(self._settings),
                budget=self._settings.storage_budget,
                durable_batches=is_fed_from_outside,
            )
        with extra("mongodb", url):
            from webloom.bootstrap.mongodb import open_mongodb_stores
        return await self._stack.enter_async_context(
            open_mongodb_stores(url, self._settings, self._clock, pipelines)
        )

    async def broker(self, url: str) -> tuple[Broker, Connected]:
        if url.startswith(SQLITE):
            file = await self._file(url)
            limits = queue_limits(self._settings)
            return SqliteBroker(file, limits=limits, lease=self._settings.lease), file
        return await server_broker(url, self._settings, self._clock, self._stack)

    @property
    def files(self) -> list[Path]:
        """The databases that are open."""
        return [Path(url.removeprefix(SQLITE)) for url in self._files]

    async def _file(self, url: str) -> Database:
        if url not in self._files:
            path = Path(url.removeprefix(SQLITE))
            opened = open_database(path, self._clock, limit=self._settings.most_bytes)
            self._files[url] = await self._stack.enter_async_context(opened)
        return self._files[url]
