"""Logs that other programs have written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from bson.datetime_ms import DatetimeMS
from bson.objectid import ObjectId

from contracts.test_worker_logs import ENTRY
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.worker_logs import LARGEST, MongoWorkerLogs
from webloom.domain.retention import Retention
from webloom.domain.worker_log import MOST_IN_ENTRY, MOST_STORED, Level, LogEntry
from webloom.ports.worker_logs import LogFilter

ALL = LogFilter()


@pytest.fixture
def logs(mongodb: MongoDatabase) -> MongoWorkerLogs:
    return MongoWorkerLogs(mongodb, retention=Retention())


async def read(logs: MongoWorkerLogs, chosen: LogFilter = ALL) -> list[LogEntry]:
    """All of them, two at a time."""
    found, cursor = await logs.entries(chosen, limit=2)
    while cursor is not None:
        more, cursor = await logs.entries(chosen, limit=2, cursor=cursor)
        found += more
    return found


FIELDS: list[tuple[dict[str, Any], dict[str, str], str]] = [
    ({}, {}, "none"),
    ({"fields": None}, {}, "null"),
    ({"fields": {"url": "http://a/", "n": 1}}, {"url": "http://a/", "n": "1"}, "a mapping"),
    ({"fields": "text"}, {"fields": "text"}, "a text"),
    ({"fields": [{"name": "a"}, 7]}, {"fields": "7"}, "a list of other things"),
    ({"fields": [{"name": 1, "value": None}]}, {"1": ""}, "values of other types"),
    ({"jobId": "j", "url": 5}, {"jobId": "j", "url": "5"}, "fields of the document itself"),
]


@pytest.mark.parametrize(("given", "shown", "why"), FIELDS, ids=[row[2] for row in FIELDS])
async def test_what_can_be_read_is_shown(
    logs: MongoWorkerLogs,
    mongodb: MongoDatabase,
    given: dict[str, Any],
    shown: dict[str, str],
    why: str,
) -> None:
    at = mongodb.wall()
    await mongodb.worker_logs.insert_one({"timestamp": at, **given})
    [entry] = await read(logs)
    assert entry == LogEntry(
        at=at, level=Level.INFO, role="", host="", pid=0, message="", fields=shown
    )


async def test_fields_of_other_types_do_not_fail_the_list(
    logs: MongoWorkerLogs, mongodb: MongoDatabase
) -> None:
    at = mongodb.wall()
    await logs.add([ENTRY])
    odd: dict[str, Any] = {
        "level": 30, "role": ["worker"], "host": {"name": "h"}, "pid": "12", "message": 5,
        "expireAt": "never", "made": DatetimeMS(1 << 60),
    }  # fmt: skip
    await mongodb.worker_logs.insert_many(
        [
            odd | {"timestamp": at - timedelta(seconds=1)},
            odd | {"timestamp": at, "_id": "not an ObjectId"},
            *(odd | {"timestamp": each} for each in (None, "today", 1_700_000_000_000)),
            odd | {"timestamp": DatetimeMS(1 << 60)},
            odd | {"timestamp": DatetimeMS(-(1 << 60)), "expireAt": at + timedelta(days=1)},
            {"level": "error", "message": "without a time"},
            {"timestamp": at, "message": "too large", "more": "x" * LARGEST},
        ]
    )
    found = await read(logs)
    assert {each.message for each in found} == {ENTRY.message, "5"}
    [foreign] = [each for each in found if each.message == "5"]
    assert (foreign.level, foreign.role, foreign.pid) == (Level.INFO, "['worker']", 0)


async def test_levels_are_known_by_their_usual_names(
    logs: MongoWorkerLogs, mongodb: MongoDatabase
) -> None:
    at = mongodb.wall()
    names = ("debug", "Info", "warn", "WARNING", "ERROR", "fatal", "err")
    await mongodb.worker_logs.insert_many(
        [{"timestamp": at, "level": name, "message": name} for name in names]
    )
    for level, first in ((Level.INFO, 0), (Level.WARNING, 2), (Level.ERROR, 4)):
        found = await read(logs, LogFilter(level=level))
        assert {each.message for each in found} == {*names[first:]}
        assert all(each.level in level.and_above for each in found)


async def test_a_long_text_is_cut(logs: MongoWorkerLogs, mongodb: MongoDatabase) -> None:
    long = {f"f{number}": "x" * 1000 for number in range(20)}
    await mongodb.worker_logs.insert_one(
        {"timestamp": mongodb.wall(), "message": "m" * 5000, **long}
    )
    [entry] = await read(logs)
    texts = [entry.message, *entry.fields, *entry.fields.values()]
    assert sum(map(len, texts)) <= MOST_IN_ENTRY
    assert all(each.endswith("x…") for each in entry.fields.values())


async def test_without_a_date_of_expiry_they_are_shown_as_long_as_our_own(
    logs: MongoWorkerLogs, mongodb: MongoDatabase
) -> None:
    keep = timedelta(days=Retention().worker_logs)
    old, new = mongodb.wall() - keep, mongodb.wall() - keep + timedelta(hours=1)
    await mongodb.worker_logs.insert_many(
        [{"timestamp": old, "message": "old"}, {"timestamp": new, "message": "new"}]
    )
    assert [each.message for each in await read(logs)] == ["new"]


@pytest.mark.parametrize("dated", [MOST_STORED // 2, MOST_STORED + 10])
async def test_they_do_not_keep_ours_from_being_bounded(
    logs: MongoWorkerLogs, mongodb: MongoDatabase, dated: int
) -> None:
    """Without a time, a document counts as the oldest."""
    at = datetime(2026, 11, 1, tzinfo=UTC)
    documents: list[dict[str, Any]] = [
        {"_id": ObjectId(), "timestamp": at + timedelta(milliseconds=number)}
        for number in range(dated)
    ]
    documents += [{"message": "x", "timestamp": number} for number in range(MOST_STORED)]
    await mongodb.worker_logs.insert_many(documents)
    await logs.add([ENTRY])
    left = await mongodb.worker_logs.count_documents({})
    assert left <= MOST_STORED
    assert await mongodb.worker_logs.count_documents({"timestamp": at + timedelta(seconds=9)}) == 1
