"""Files of SQLite that another version has left."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from contracts.adapters import Place, whole_of
from contracts.inventory_samples import LEASE, complete, state_of
from contracts.sqlite_backend import database_file, open_sqlite
from contracts.whole_samples import furnish_inventory, held, url
from fakes.clock import FakeClock
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.sqlite.schema import APPLICATION_ID, IMPORTS, TABLES, VERSION
from webloom.adapters.sqlite.watch_schema import WATCHES
from webloom.domain.errors import StoreUnavailable


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(folder=tmp_path, name="here", server=None)


def make_older(file: Path, layout: int) -> None:
    """As that layout has left it."""
    with closing(sqlite3.connect(file)) as connection:
        kinds = "'table', 'trigger'"
        made = connection.execute(f"SELECT name, type FROM sqlite_schema WHERE type IN ({kinds})")
        for name, kind in made.fetchall():
            later = WATCHES if layout == 3 else IMPORTS + WATCHES
            if f"CREATE TRIGGER {name} " in later or f"TABLE {name} " in later:
                connection.execute(f"DROP {kind} IF EXISTS {name}")
        if layout == 1:
            connection.execute("DROP TABLE copies")
        connection.execute(f"PRAGMA user_version = {layout}")
        connection.commit()


def schema_of(file: Path) -> set[tuple[str, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return set(connection.execute("SELECT type, name, sql FROM sqlite_schema"))


def layout_of(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize("layout", [1, 2, 3])
async def test_a_file_of_an_older_layout_is_brought_to_this_one_with_all_it_holds(
    place: Place, clock: FakeClock, layout: int
) -> None:
    async with open_sqlite(place, clock) as stores:
        whole = whole_of(stores)
        await furnish_inventory(whole.inventory, clock)
        before = await held(whole, "metadata")
    tables = schema_of(database_file(place))
    make_older(database_file(place), layout)
    for _ in range(2):
        async with open_sqlite(place, clock) as stores:
            whole = whole_of(stores)
            assert (await held(whole, "metadata")) == before
            await whole.whole.note("source", "1")
            assert await whole.whole.noted("source") == "1"
            state = await state_of(whole.inventory, url("running"))
            assert state.in_progress_for is not None
            assert state.in_progress_for > LEASE
    assert layout_of(database_file(place)) == VERSION == 6
    assert schema_of(database_file(place)) == tables


async def test_an_empty_file_of_layout_1_opens(place: Place, clock: FakeClock) -> None:
    with closing(sqlite3.connect(database_file(place))) as connection:
        connection.executescript(TABLES)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
    async with open_sqlite(place, clock) as stores:
        await complete(stores.store)
        await stores.whole.note("source", "1")
    assert layout_of(database_file(place)) == VERSION


async def test_a_file_of_a_later_layout_is_refused_and_left_alone(
    place: Place, clock: FakeClock
) -> None:
    async with open_sqlite(place, clock) as stores:
        await complete(stores.store)
    with closing(sqlite3.connect(database_file(place))) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(StoreUnavailable, match=r"layout 7 .* knows layout 6"):
        async with open_database(database_file(place), clock):
            pass
    assert layout_of(database_file(place)) == 7
