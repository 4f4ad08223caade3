"""The WorkerLogs' contract."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.adapters import Processes
from fakes.clock import NOON, FakeClock
from webloom.domain.errors import BadCursor
from webloom.domain.worker_log import MOST_STORED, Level, LogEntry
from webloom.ports.worker_logs import LogFilter, WorkerLogs

LoggingProcesses = Processes[WorkerLogs]

ENTRY = LogEntry(
    at=NOON,
    level=Level.WARNING,
    role="worker",
    host="höst",
    pid=4711,
    message="a URL failed",
    fields={"url": "http://site.example/ä", "$a.b\0": "lone \ud800 \0", "error": "timeout"},
)
ALL = LogFilter()


def numbered(number: int, **changes: object) -> LogEntry:
    at = NOON + timedelta(milliseconds=number)
    return replace(ENTRY, at=at, fields={"number": str(number)}, **changes)  # type: ignore[arg-type] # fields of an entry


def numbers(entries: list[LogEntry]) -> list[int]:
    return [int(each.fields["number"]) for each in entries]


async def test_entries_are_read_as_they_were_added(logging_processes: LoggingProcesses) -> None:
    async with logging_processes.open() as one, logging_processes.open() as two:
        await one.add([ENTRY])
        [read], following = await two.entries(ALL, limit=10)
        assert replace(read, fields={}) == replace(ENTRY, fields={})
        assert read.fields["url"] == "http://site.example/ä"
        assert list(read.fields.values())[1].startswith("lone ")
        assert following is None


async def test_pages_go_from_the_latest_to_the_earliest(
    logging_processes: LoggingProcesses,
) -> None:
    async with logging_processes.open() as one, logging_processes.open() as two:
        await one.add([numbered(each) for each in (1, 3, 5)])
        await two.add([numbered(each) for each in (2, 4, 6)])
        await two.add([replace(numbered(6), fields={"number": "7"})])  # in the same millisecond
        seen, cursor = [], None
        while True:
            page, cursor = await one.entries(ALL, limit=2, cursor=cursor)
            seen += numbers(page)
            if cursor is None:
                break
        assert seen == [7, 6, 5, 4, 3, 2, 1]
        with pytest.raises(BadCursor):
            await one.entries(ALL, limit=2, cursor="nonsense")


CHOICES = [
    (LogFilter(level=Level.ERROR), [3]),
    (LogFilter(level=Level.WARNING), [3, 2]),
    (LogFilter(role="scheduler"), [2]),
    (LogFilter(role="unknown"), []),
    (LogFilter(since=NOON + timedelta(milliseconds=2)), [3, 2]),
    (LogFilter(level=Level.WARNING, since=NOON + timedelta(milliseconds=3)), [3]),
]


async def test_entries_are_chosen_by_level_role_and_time(
    logging_processes: LoggingProcesses,
) -> None:
    async with logging_processes.open() as logs:
        await logs.add(
            [
                numbered(1, level=Level.INFO),
                numbered(2, role="scheduler"),
                numbered(3, level=Level.ERROR),
            ]
        )
        for chosen, expected in CHOICES:
            page, _ = await logs.entries(chosen, limit=10)
            assert numbers(page) == expected, chosen


async def test_entries_are_kept_for_three_days(
    logging_processes: LoggingProcesses, clock: FakeClock
) -> None:
    async with logging_processes.open() as logs:
        await logs.add([numbered(1)])
        clock.advance(3 * 24 * 3600 - 1)
        assert numbers((await logs.entries(ALL, limit=10))[0]) == [1]
        await logs.add([replace(numbered(2), at=clock.now())])
        clock.advance(1.5)
        assert numbers((await logs.entries(ALL, limit=10))[0]) == [2]


async def test_the_oldest_go_when_there_are_too_many(
    logging_processes: LoggingProcesses,
) -> None:
    async with logging_processes.open() as logs:
        many = [numbered(each) for each in range(MOST_STORED + 3000)]
        for start in range(0, len(many), 5000):
            await logs.add(many[start : start + 5000])
        kept, cursor = [], None
        while True:
            page, cursor = await logs.entries(ALL, limit=5000, cursor=cursor)
            kept += numbers(page)
            if cursor is None:
                break
        assert MOST_STORED <= len(kept) <= MOST_STORED * 1.1
        assert kept[0] == len(many) - 1
        assert kept == list(range(kept[0], kept[0] - len(kept), -1))
