"""kill -9, again and again: what was accepted is answered, once."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from e2e.running import SAYS_WHEN_READY
from faults.client import Client, client_of
from faults.conftest import MakeFleet
from faults.database import DatabaseFile
from faults.processes import Fleet, Process, eventually
from faults.site import Site

Say = Callable[[str], None]


class Reaper:
    """Keeps one process of a role running, and kills it at random moments, by what it has `done`:
    on a slow machine it would get nowhere in any number of seconds."""

    def __init__(
        self, fleet: Fleet, role: str, rng: random.Random, done: Callable[[], int], life: int
    ) -> None:
        self.kills = 0
        self.kills_during_start = 0
        self.slowest_start = 0.0
        self._fleet = fleet
        self._role = role
        self._rng = rng
        self._done = done
        self._life = life  # the most that it may get done before it is killed, about

    async def run(self, kills: int, is_over: Callable[[], bool]) -> Process:
        """So often at least, and until it is over; the process that is left is ready."""
        process = await self._fleet.start(self._role)
        while self.kills < kills or not is_over():
            await self._works(is_over)
            process.kill()
            self.kills += 1
            started = time.monotonic()
            process = self._fleet.launch(self._role)
            if self._rng.random() < 0.2:
                await asyncio.sleep(self._rng.uniform(0.0, 0.3))
                self.kills_during_start += SAYS_WHEN_READY[self._role] not in process.output
                process.kill()
                started = time.monotonic()
                process = self._fleet.launch(self._role)
            await process.said(SAYS_WHEN_READY[self._role])
            self.slowest_start = max(self.slowest_start, time.monotonic() - started)
        return process

    async def _works(self, is_over: Callable[[], bool]) -> None:
        enough = self._done() + self._rng.randint(self._life // 2, self._life)
        await eventually(lambda: self._done() >= enough or is_over(), what=f"{self._role} works on")
        await asyncio.sleep(self._rng.uniform(0.0, 0.1))


async def test_every_accepted_url_gets_one_final_record_though_api_and_worker_are_killed(
    site: Site, fleets: MakeFleet, rng: random.Random, say: Say
) -> None:
    started = time.monotonic()
    site.seconds = 0.02
    fleet = fleets(site, lease=2, retry_delay=0.2, slots=8)
    urls = [site.url(f"/page/{number}") for number in range(5000)]
    rng.shuffle(urls)

    async with client_of(fleet.base) as client:
        api = Reaper(fleet, "api", rng, lambda: len(client.accepted), life=600)
        worker = Reaper(fleet, "worker", rng, lambda: site.requests, life=600)
        submitting = asyncio.create_task(_submit(client, urls))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(api.run(10, submitting.done))
                group.create_task(worker.run(10, lambda: len(site.arrivals) == len(urls)))
            await submitting
        finally:
            submitting.cancel()

    database = DatabaseFile(fleet.database)
    await database.settled()
    seconds = time.monotonic() - started
    fleet.check()
    rows = database.rows()
    statuses = Counter(row.status for row in rows)
    fetches = Counter(site.count(f"/page/{number}") for number in range(5000))
    say(
        f"{seconds:.0f} s; {api.kills} API kills, {worker.kills} worker kills, "
        f"{api.kills_during_start + worker.kills_during_start} more while starting; "
        f"slowest starts {api.slowest_start:.1f} s and {worker.slowest_start:.1f} s"
    )
    say(f"the client saw {dict(client.answers)}")
    say(f"records {dict(statuses)}; fetches for one URL {dict(sorted(fetches.items()))}")
    say(f"attempts {dict(sorted(Counter(row.attempt_number for row in rows).items()))}")
    assert client.accepted == set(urls)
    assert Counter(row.url for row in rows) == Counter(urls), "one record for each accepted URL"
    assert statuses["COMPLETED"] + statuses["FAILED_PERMANENT"] == 5000
    assert statuses["FAILED_PERMANENT"] <= 2, "the site is healthy"
    assert max(row.attempt_number for row in rows) <= 3
    assert max(row.retry_count for row in rows) <= 3
    assert database.dead_letter_count() == 0
    assert site.requests < 5000 * 1.3, "what was done is not done again and again"
    database.check()


def accepts(client: Client, so_many: int) -> bool:
    return len(client.accepted) >= so_many


async def kill_while_it_accepts(
    api: Process, client: Client, site: Site, sent: list[str], answers: int
) -> None:
    """32 callers post new URLs until their connection breaks."""

    async def post() -> None:
        while True:
            sent.append(site.url(f"/page/{len(sent)}"))
            if await client.post(sent[-1]) is None:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(32):
            group.create_task(post())
        enough = len(client.accepted) + answers
        await eventually(partial(accepts, client, enough), what="the API accepts")
        api.kill()


async def _submit(client: Client, urls: Sequence[str]) -> None:
    """Singles and batches at the same time."""
    async with asyncio.TaskGroup() as group:
        group.create_task(client.insist(urls[:3500], batch=100))
        group.create_task(client.insist(urls[3500:4500], batch=20))
        for start in range(4500, 5000, 125):
            group.create_task(client.insist(urls[start : start + 125], batch=1))


async def test_every_202_that_reached_a_client_is_stored_though_the_api_was_killed_meanwhile(
    site: Site, fleets: MakeFleet, rng: random.Random, say: Say
) -> None:
    fleet = fleets(site, queue_limit=1_000_000, slots=64)
    database = DatabaseFile(fleet.database)
    sent: list[str] = []
    async with client_of(fleet.base) as client:
        for _ in range(6):
            api = await fleet.start("api")
            await kill_while_it_accepts(api, client, site, sent, rng.randint(20, 100))
            messages, rows = database.messages(), database.rows()
            assert client.accepted <= {url for _, url in messages}
            assert client.accepted <= {row.url for row in rows}
            assert {(row.request_id, row.url) for row in rows} <= set(messages), (
                "a note without a message"
            )
    stored = {url for _, url in messages}
    say(
        f"{len(sent)} sent, {len(client.accepted)} answered 202, {len(stored)} stored, "
        f"{len(stored) - len(rows)} of them not noted yet"
    )
    assert len(client.accepted) > 100
    assert len(stored) == len(messages), "one message for each URL"
    assert stored <= set(sent)
    assert not client.server_errors
    await fleet.start("worker")
    await database.settled()
    assert {row.url for row in database.rows() if row.status == "COMPLETED"} == stored
    fleet.check()
    database.check()


async def test_a_url_that_kills_its_worker_fails_after_three_attempts_and_takes_no_other_with_it(
    site: Site, fleets: MakeFleet, say: Say
) -> None:
    site.seconds = 0.15
    fleet = fleets(site, lease=5, slots=8)
    deadly = site.url("/deadly")
    others = [site.url(f"/page/{number}") for number in range(300)]
    database = DatabaseFile(fleet.database)
    deaths: list[int | None] = []

    async def keep_a_worker() -> None:
        while True:
            worker = await fleet.start("worker", deadly_path="/deadly")
            deaths.append(await worker.ended())
            # The two leases of a delivery are renewed at times that drift apart: here the message
            # comes back well before its attempt counts as lost.
            database.extend_record_leases(0.5)

    await fleet.start("api")
    async with client_of(fleet.base) as client:
        await client.insist([*others[:150], deadly, *others[150:]], batch=1000)
    keeping = asyncio.create_task(keep_a_worker())
    try:
        await database.settled()
    finally:
        keeping.cancel()
    row = database.row(deadly)
    losses = Counter(each.retry_count for each in database.rows() if each.url != deadly)
    say(f"the worker died {len(deaths)} times; attempts that its neighbours lost: {dict(losses)}")
    assert deaths == [-9, -9, -9]
    assert (row.status, row.attempt_number, row.retry_count) == ("FAILED_PERMANENT", 3, 3)
    assert row.error_message == "the worker stopped during each of 3 attempts"
    assert database.statuses() == {"COMPLETED": 300, "FAILED_PERMANENT": 1}
    assert max(losses) <= 1, "a neighbour takes the blame once at most"
    assert database.dead_letter_count() == 0
    fleet.check()
    database.check()
