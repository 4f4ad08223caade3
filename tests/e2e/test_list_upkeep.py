"""The scheduler keeps lists searchable while a process of an earlier version edits their items."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from e2e.running import until
from webloom.bootstrap.connections import open_services
from webloom.domain.listing import ListFilter
from webloom.entrypoints.scheduler import run_scheduler
from webloom.settings import load_settings


async def test_a_scheduler_makes_searchable_what_an_earlier_version_has_edited(
    tmp_path: Path,
) -> None:
    settings = load_settings({"WEBLOOM_DATA_DIR": str(tmp_path)})
    async with open_services(settings) as services:
        await services.manage_watches.add(["http://shop.example/"], name="alpha", enabled=False)
        with closing(sqlite3.connect(tmp_path / "webloom.db")) as connection, connection:
            connection.execute(
                "UPDATE watches SET config = json_set(config, '$.name', 'beta'), name = 'beta', "
                "updated_at = updated_at + 1"
            )

        async def is_found() -> bool:
            return bool((await services.watches.watches(ListFilter(text="beta"), limit=1))[0])

        assert not await is_found()
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(run_scheduler(services, stop))
            try:
                await until(is_found, what="the new name to be found")
            finally:
                stop.set()
