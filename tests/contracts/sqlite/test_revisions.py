from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from contracts import inventory_samples
from contracts.adapters import Place
from contracts.sqlite_backend import database_file, open_sqlite
from contracts.test_heartbeats import WORKER
from fakes.clock import FakeClock


async def test_a_file_from_before_is_completed_when_it_is_opened(
    tmp_path: Path, clock: FakeClock
) -> None:
    place = Place(folder=tmp_path, name="old", server=None)
    async with open_sqlite(place, clock) as stores:
        await stores.heartbeats.beat(WORKER)
    with closing(sqlite3.connect(database_file(place))) as database:
        triggers = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%_seen'"
        for [name] in database.execute(triggers).fetchall():
            database.execute(f"DROP TRIGGER {name}")
        database.execute("DROP TABLE revisions")
        [body] = database.execute("SELECT body FROM heartbeats").fetchone()
        old = msgspec.json.decode(body)
        del old["handled"]
        database.execute("UPDATE heartbeats SET body = ?", (msgspec.json.encode(old),))
        database.commit()
    async with open_sqlite(place, clock) as stores:
        assert [each.heartbeat for each in await stores.heartbeats.seen(60)] == [WORKER]
        before = await stores.revisions.revision("inventory")
        await inventory_samples.complete(stores.store)
        assert await stores.revisions.revision("inventory") != before
