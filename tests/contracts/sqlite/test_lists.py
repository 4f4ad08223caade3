"""Lists are read along indexes: nothing is sorted, and no row is read that is not shown."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fakes.clock import FakeClock
from webloom.adapters.sqlite import watch_runs
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.sqlite.feeds import FEEDS
from webloom.adapters.sqlite.primitives import Table
from webloom.adapters.sqlite.sorted_list import SortedList
from webloom.adapters.sqlite.watch_codec import WATCHES
from webloom.domain.listing import EVERYTHING, ListFilter, Order, SortField
from webloom.domain.watch import RunStatus
from webloom.ports.watch_run_listing import RunFilter
from webloom.stores.cursors import ListPlace, parts_after

FILTERS = [EVERYTHING, ListFilter(text="a b"), ListFilter(tag="a")]


@pytest.mark.parametrize("table", [WATCHES, FEEDS], ids=["watches", "feeds"])
async def test_an_index_serves_every_order(
    tmp_path: Path, clock: FakeClock, table: Table[Any]
) -> None:
    async with open_database(tmp_path / "webloom.db", clock) as database:
        listed = SortedList(database, table)
        for field in SortField:
            for is_descending in (False, True):
                for wanted in FILTERS:
                    for after in (None, ListPlace("a", "b"), ListPlace(None, "b")):
                        chosen, [part, *_] = listed._chosen(wanted), parts_after(after)
                        statement = listed._statement(chosen, Order(field, is_descending), part)
                        given = {"most": 1, "value": "a", "key": "b"} | chosen.values
                        rows = await database.read(
                            lambda connection, statement=statement, given=given: connection.execute(  # type: ignore[misc]
                                f"EXPLAIN QUERY PLAN {statement}", given
                            ).fetchall()
                        )
                        plan = [row[-1] for row in rows]
                        assert not [step for step in plan if "TEMP B-TREE" in step], plan
                        read = [step for step in plan if step.startswith(("SCAN", "SEARCH"))]
                        assert read, plan
                        assert all("COVERING INDEX" in step for step in read), plan


@pytest.mark.parametrize("watch_id", [None, "w"])
@pytest.mark.parametrize("status", [None, RunStatus.FAILED])
async def test_an_index_serves_runs_of_watches_from_either_end(
    tmp_path: Path, clock: FakeClock, watch_id: str | None, status: RunStatus | None
) -> None:
    chosen = RunFilter(watch_id=watch_id, status=status)
    asked: list[str] = []

    def look(connection: sqlite3.Connection) -> list[str]:
        connection.set_trace_callback(asked.append)
        for oldest_first in (False, True):
            for behind in (None, (1, 1)):
                watch_runs.scan_runs(
                    connection, chosen, limit=1, behind=behind, oldest_first=oldest_first
                )
        connection.set_trace_callback(None)
        rows = [connection.execute(f"EXPLAIN QUERY PLAN {each}").fetchall() for each in asked]
        return [step[-1] for steps in rows for step in steps]

    async with open_database(tmp_path / "webloom.db", clock) as database:
        plan = await database.read(look)
    assert len(asked) == 4
    assert not [step for step in plan if "TEMP B-TREE" in step], plan
    assert all(step.startswith("SEARCH job_runs USING") for step in plan), plan
