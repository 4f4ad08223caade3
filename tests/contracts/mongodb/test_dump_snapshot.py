from __future__ import annotations

from dataclasses import replace

import pymongo
import pytest

from contracts.adapters import WHOLE, Whole
from contracts.inventory_samples import complete
from contracts.whole_samples import SITE, held
from servers.mongod import MongoServer

[REPLICA_SET] = [each for each in WHOLE if each.server == "replicas"]


@pytest.mark.thorough
@pytest.mark.parametrize("source", [REPLICA_SET], indirect=True, ids=["replica-set"])
async def test_a_snapshot_that_has_expired_is_left_and_everything_is_read_once(
    source: Whole, replica_set: MongoServer
) -> None:
    await complete(source.inventory, f"{SITE}0")
    [one] = (await held(source, "metadata"))["metadata"]
    records = [replace(one, url=f"{SITE}{number}") for number in range(300)]
    await source.whole.put_if_newer("metadata", records)
    too_old = {"failCommands": ["getMore"], "errorCode": 239}
    command = {"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": too_old}
    async with source.whole.snapshot() as snapshot:
        with pymongo.MongoClient[dict[str, object]](replica_set.url) as client:
            client.admin.command(command)
        lines = [line async for lines in snapshot.scan("metadata") for line in lines]
    assert sorted(line.item.url for line in lines) == sorted(each.url for each in records)
