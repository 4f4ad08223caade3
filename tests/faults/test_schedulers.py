"""Of two schedulers one acts; when it dies the other takes over."""

from __future__ import annotations

import time
from collections.abc import Callable

from faults.client import client_of
from faults.conftest import MakeFleet
from faults.database import DatabaseFile
from faults.processes import Process, eventually
from faults.site import Site

Say = Callable[[str], None]
TICK = "0.5"  # seconds; the lock is held for two ticks


def is_held_by(database: DatabaseFile, process: Process, since: int) -> bool:
    """By a later token."""
    pid, token = database.lock_holder() or (0, 0)
    return pid == process.pid and token > since


async def test_a_scheduler_takes_over_from_one_that_was_killed_and_brings_back_what_was_lost(
    site: Site, fleets: MakeFleet, say: Say
) -> None:
    fleet = fleets(site)
    database = DatabaseFile(fleet.database)
    await fleet.start("api")
    one = await fleet.start("scheduler", tick=TICK, quiet="1")
    two = await fleet.start("scheduler", tick=TICK, quiet="1")
    holder = await eventually(database.lock_holder, what="one holds the lock")
    assert holder is not None
    pid, token = holder
    victim, heir = (one, two) if pid == one.pid else (two, one)
    lost, kept = site.url("/lost"), site.url("/kept")
    async with client_of(fleet.base) as client:
        await client.insist([lost, kept], batch=2)
    victim.kill()
    killed = time.monotonic()
    database.lose_message(lost)
    await eventually(lambda: is_held_by(database, heir, token), what="the other has it")
    taken_over = time.monotonic() - killed
    assert "put forgotten requests back" not in heir.output  # the queue has no worker
    await fleet.start("worker")
    await database.settled()
    back = time.monotonic() - killed
    say(f"taken over after {taken_over:.2f} s, the lost message was served after {back:.2f} s")
    assert "put forgotten requests back on the queue" in heir.output
    assert database.statuses() == {"COMPLETED": 2}
    assert (site.count("/lost"), site.count("/kept")) == (1, 1)
    assert [row.attempt_number for row in database.rows()] == [1, 1]
    fleet.check()
    database.check()


async def test_a_scheduler_that_finds_everything_forgotten_causes_no_second_fetch(
    site: Site, fleets: MakeFleet, say: Say
) -> None:
    site.seconds = 0.3
    fleet = fleets(site, slots=4, lease=5)
    database = DatabaseFile(fleet.database)
    await fleet.start("api")
    await fleet.start("scheduler", tick="0.1", quiet="0.2")
    await fleet.start("scheduler", tick="0.1", quiet="0.2")
    await fleet.start("worker")
    async with client_of(fleet.base) as client:
        await client.insist([site.url(f"/page/{number}") for number in range(40)], batch=40)
    await database.settled()
    say(f"{site.requests} requests for 40 URLs")
    assert site.requests == 40
    assert database.statuses() == {"COMPLETED": 40}
    fleet.check()
    database.check()
