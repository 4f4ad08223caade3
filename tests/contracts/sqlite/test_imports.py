"""What is special to postings in a SQLite file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from contracts.import_samples import (
    SOURCE,
    all_read,
    apply,
    begin,
    end,
    key_of,
    postings,
    reading,
)
from webloom.adapters.sqlite import import_run_codec, import_runs, posting_keys
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.sqlite.import_run_codec import RUNS
from webloom.adapters.sqlite.imports import sqlite_imports
from webloom.adapters.sqlite.primitives import Change
from webloom.adapters.sqlite.values import instant
from webloom.adapters.system_clock import SystemClock
from webloom.domain.import_run import Counts, RunStatus
from webloom.domain.import_transitions import RunState
from webloom.ports.import_runs import RunFilter


@pytest.mark.parametrize("limit", [1, 7, 100, 1000])
async def test_keys_come_in_order_from_the_gathered_and_the_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """Some are in the one index and some in the other, and pages go along both."""
    monkeypatch.setattr(posting_keys, "MOST_FRESH", 40)
    names = [f"p{number}" for number in range(250)]
    async with open_database(tmp_path / "webloom.db", SystemClock()) as database:
        store = sqlite_imports(database, durable_batches=False)
        claim = await begin(store)
        for index, start in enumerate(range(0, len(names), 30)):
            await apply(store, claim, index, postings(*names[start : start + 30]))
        found: list[str] = []
        while page := await store.postings.open_keys(
            SOURCE, after=found[-1] if found else "", limit=limit
        ):
            found += page
    with closing(sqlite3.connect(tmp_path / "webloom.db")) as file:
        for table in ("posting_keys", "fresh_keys"):
            assert file.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0
    assert found == sorted(key_of(name) for name in names)


async def test_a_run_that_had_its_number_before_its_row_is_counted_in_the_end(
    tmp_path: Path,
) -> None:
    async with open_database(tmp_path / "webloom.db", SystemClock()) as database:
        store = sqlite_imports(database, durable_batches=False)
        claim = await begin(store)
        run = await store.listed_runs.find(claim.run.run_id)
    assert run is not None
    now = 0.0
    every = import_runs.AllRuns(lambda: now)
    with closing(sqlite3.connect(tmp_path / "webloom.db")) as file:

        def add(run_id: str) -> None:
            named = replace(run, run_id=run_id)
            RUNS.save(file, [Change(run_id, None, RunState(run=named, started=0.0))])

        import_run_codec.numbered(file, "named by a posting")
        add("later")
        assert every.count(file) == 2
        add("named by a posting")
        add("last")
        now += import_runs.COUNT_ALL_SECONDS / 2
        assert every.count(file) == 3
        now += import_runs.COUNT_ALL_SECONDS / 2
        assert every.count(file) == 4
        assert every.count(file) == 4


async def test_a_run_that_the_version_before_left_under_way_is_gone_on_with(tmp_path: Path) -> None:
    async with open_database(tmp_path / "webloom.db", SystemClock()) as database:
        store = sqlite_imports(database, durable_batches=False)
        claim = await begin(store)
        await apply(store, claim, 0, postings("a", "b"))
        await store.runs.note_reading(claim, reading(fetched=2, published=1))
    with closing(sqlite3.connect(tmp_path / "webloom.db")) as file:
        [[body]] = file.execute("SELECT body FROM import_runs").fetchall()
        run = msgspec.json.decode(body)
        del run["third_party"], run["reading"]["batches"]
        file.execute("UPDATE import_runs SET body = ?", (msgspec.json.encode(run).decode(),))
        file.commit()
    async with open_database(tmp_path / "webloom.db", SystemClock()) as database:
        store = sqlite_imports(database, durable_batches=False)
        ended = await end(store, claim, all_read(2, 1))
    assert (ended.status, ended.counts) == (RunStatus.COMPLETED, Counts(new=2))


async def test_no_page_of_a_scan_costs_more_than_the_first(tmp_path: Path) -> None:
    path = tmp_path / "webloom.db"
    async with open_database(path, SystemClock()) as database:
        store = sqlite_imports(database, durable_batches=False)
        for name in ("a", "b", "c"):
            await begin(store, name)
    many = 20_000
    with closing(sqlite3.connect(path)) as file:
        file.execute(
            """
            WITH RECURSIVE later (number) AS (
                SELECT 0 UNION ALL SELECT number + 1 FROM later LIMIT ?
            )
            INSERT INTO import_runs SELECT run + 3 + 3 * number, feed_id, source_url, search,
                status, started_at + number, updated_at, body, revision, started, owner, token,
                lease, ending
            FROM later CROSS JOIN import_runs
            """,
            (many,),
        )
        file.commit()
        [earliest] = file.execute("SELECT min(started_at) FROM import_runs").fetchone()
        for chosen in (RunFilter(), RunFilter(text="feed"), RunFilter(status=RunStatus.RUNNING)):
            for number in (many, many // 2, 100):
                taken = 0

                def count() -> None:
                    nonlocal taken
                    taken += 1

                file.set_progress_handler(count, 1)
                at = replace(chosen, until=instant(earliest + number))
                assert len(import_runs.scan(file, at, "DESC", ["a run"], 100)) == 100
                file.set_progress_handler(None, 0)
                assert taken < 10_000
