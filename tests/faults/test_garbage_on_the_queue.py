"""What no publisher of ours would put on the queue."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from faults.client import client_of
from faults.conftest import MakeFleet
from faults.database import DatabaseFile
from faults.processes import eventually, eventually_async
from faults.site import Site

Say = Callable[[str], None]

GARBAGE: dict[str, str | bytes] = {
    "empty": "",
    "not-json": "{not json",
    "not-utf-8": b'{"url": "http://\xff\xfe/", "request_id": "x"}',
    "cut-character": b"\xe2\x82",
    "nul": b"\x00\x00",
    "a-number": "42",
    "null": "null",
    "a-list": '["http://a.test/"]',
    "wrong-type": '{"url": 5, "request_id": "x"}',
    "no-url": '{"request_id": "x"}',
    "lone-surrogate": '{"url": "http://a.test/\\ud800", "request_id": "x"}',
    "deep": "[" * 100_000,
    "not-normal": '{"url": "HTTP://A.test:80/#x", "request_id": "x"}',
    "not-a-url": '{"url": "what is this", "request_id": "x"}',
    "file": '{"url": "file:///etc/passwd", "request_id": "x"}',
}


async def test_garbage_is_buried_with_its_reason_and_the_worker_lives_on(
    site: Site, fleets: MakeFleet, say: Say
) -> None:
    fleet = fleets(site, lease=2)
    database = DatabaseFile(fleet.database)
    await fleet.start("api")
    for name, body in GARBAGE.items():
        database.put_message(name, body)
    worker = await fleet.start("worker")
    async with client_of(fleet.base) as client:
        await client.insist([site.url("/behind")], batch=1)
        await database.settled()

        async def all_are_reported() -> bool:
            _, health = await client.get("/health")
            return [each["dead"] for each in health["queues"][:1]] == [len(GARBAGE)]

        await eventually_async(all_are_reported, what="/health tells of the dead letters")
    buried = database.dead_letters()
    for name, reason in buried.items():
        say(f"{name}: {reason[:100]}")
    assert buried.keys() == GARBAGE.keys()
    assert all(reason.startswith("not a fetch request: ") for reason in buried.values())
    assert database.statuses() == {"COMPLETED": 1}
    assert worker.alive
    fleet.check()
    database.check()


async def test_a_forbidden_url_on_the_queue_fails_and_nothing_connects_to_it(
    site: Site, fleets: MakeFleet
) -> None:
    async with Site(host="127.0.0.2") as canary:
        fleet = fleets(site)
        database = DatabaseFile(fleet.database)
        await fleet.start("api")
        await fleet.start("worker")
        forbidden = [
            canary.url("/secret"),
            f"http://localhost:{canary.port}/",
            fleet.base + "/health",  # Webloom itself
        ]
        for number, url in enumerate(forbidden):
            body = msgspec.json.encode({"url": url, "request_id": f"r{number}"})
            database.put_message(f"r{number}", body)
        async with client_of(fleet.base) as client:
            await client.insist([site.url("/behind")], batch=1)
            await eventually(lambda: database.record_count() == 4, what="4 records")
            await database.settled()
            listed = (await client.get("/metadata", url=site.url("/behind")))[1]
        assert canary.connections == 0
        assert listed["status"] == "COMPLETED"
        for url in forbidden:
            row = database.row(url)
            assert (row.status, row.attempt_number) == ("FAILED_PERMANENT", 1), row
            assert row.error_message
        assert database.dead_letter_count() == 0
        fleet.check()
        database.check()
