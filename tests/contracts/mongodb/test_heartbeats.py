from __future__ import annotations

from pathlib import Path

from contracts.adapters import Place
from contracts.mongodb_backend import open_mongodb_at
from contracts.test_heartbeats import WORKER
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from webloom.adapters.mongodb.heartbeats import MongoHeartbeats


async def test_a_beat_from_before_has_handled_nothing(mongod: MongoServer) -> None:
    place = Place(folder=Path(), name="old beats", server=mongod)
    async with open_mongodb_at(place, FakeClock()) as database:
        heartbeats = MongoHeartbeats(database)
        await heartbeats.beat(WORKER)
        await database.heartbeats.update_one({}, {"$unset": {"handled": True, "queues": True}})
        assert [each.heartbeat for each in await heartbeats.seen(60)] == [WORKER]
