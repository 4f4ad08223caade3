from __future__ import annotations

from itertools import product
from typing import Any

import pymongo
import pytest
from pymongo import ASCENDING, DESCENDING

from servers.mongod import MongoServer
from webloom.adapters.mongodb.dump import Sort, behind


@pytest.mark.parametrize(
    "sort",
    [
        pytest.param([("_id", ASCENDING)], id="by key"),
        pytest.param([("a", DESCENDING), ("b", DESCENDING)], id="as versions"),
        pytest.param([("a", ASCENDING), ("b", ASCENDING), ("c", DESCENDING)], id="as prices"),
    ],
)
def test_a_scan_goes_on_behind_any_document(mongod: MongoServer, sort: Sort) -> None:
    with pymongo.MongoClient[dict[str, Any]](mongod.url) as client:
        found = client["scan"]["documents"]
        found.drop()
        names = [name for name, _ in sort]
        rows = [dict(zip(names, place, strict=True)) for place in product("xyz", repeat=len(names))]
        found.insert_many(rows)
        scanned = found.find(sort=list(sort)).to_list()
        assert len(scanned) == 3 ** len(names)
        for place, document in enumerate(scanned):
            rest = found.find(behind(sort, document), sort=list(sort)).to_list()
            assert rest == scanned[place + 1 :]
