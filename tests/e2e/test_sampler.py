"""What the sampler counts of many runs of watches, over a SQLite file that a test writes to."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from webloom.application.overview import sampler
from webloom.application.overview.sampler_counts import DONE, FAILED, WATCH
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.bootstrap.use_cases import sampler as sampler_of
from webloom.settings import load_settings

MANY = 1200  # more than two pages


class Room:
    def __init__(self, services: Services, file: sqlite3.Connection) -> None:
        self.services = services
        self.sampler = sampler_of(services)
        self._file = file

    def put(
        self,
        *run_ids: str,
        processed: int,
        failed: int = 0,
        is_over: bool = False,
        ago: timedelta = timedelta(),
    ) -> None:
        """New ones start `ago`, and those that are there change."""
        now = datetime.now(UTC)
        begin, wall = (int(each.timestamp() * 1000) for each in (now - ago, now))
        status = "completed" if is_over else "in_progress"
        end = wall if is_over else None
        with self._file:
            self._file.executemany(
                """
                INSERT INTO job_runs (run_id, watch_id, status, trigger, started_at, updated_at,
                    finished_at, processed, failed)
                VALUES (?, 'watch', ?, 'manual', ?, ?, ?, ?, ?)
                ON CONFLICT (run_id) DO UPDATE SET status = excluded.status,
                    updated_at = excluded.updated_at, finished_at = excluded.finished_at,
                    processed = excluded.processed, failed = excluded.failed
                """,
                [(each, status, begin, wall, end, processed, failed) for each in run_ids],
            )

    def remove(self, run_id: str) -> None:
        with self._file:
            self._file.execute("DELETE FROM job_runs WHERE run_id = ?", (run_id,))

    async def counted(self) -> tuple[int, int]:
        """Done and failed, after one more look."""
        await self.sampler.poll()
        now = datetime.now(UTC)
        done, failed = (
            sum(count for _, count in self.sampler.counts.minutes((WATCH, what), now))
            for what in (DONE, FAILED)
        )
        return done, failed


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    settings = load_settings({"WEBLOOM_DATA_DIR": str(tmp_path)})
    async with open_services(settings) as services:
        with closing(sqlite3.connect(tmp_path / "webloom.db")) as file:
            yield Room(services, file)


def names(prefix: str) -> list[str]:
    return [f"{prefix}{number}" for number in range(MANY)]


async def test_many_runs_at_once_are_each_counted_once(room: Room) -> None:
    room.put(*names("before"), processed=2, failed=1, is_over=True, ago=timedelta(minutes=10))
    assert await room.counted() == (MANY, MANY)
    room.put(*names("new"), processed=1)
    assert await room.counted() == (2 * MANY, MANY)
    room.put(*names("new"), processed=4, failed=1, is_over=True)
    assert await room.counted() == (4 * MANY, 2 * MANY)
    assert await room.counted() == (4 * MANY, 2 * MANY)


async def test_a_long_run_is_counted_whatever_starts_after_it(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_ago = timedelta(days=1)
    room.put("long", "gone", processed=100, ago=long_ago)
    assert await room.counted() == (0, 0)  # at an unknown time
    room.put(*names("new"), processed=1, is_over=True)
    room.put("long", processed=110)
    room.remove("gone")
    assert await room.counted() == (MANY + 10, 0)
    room.put("long", processed=115, failed=2, is_over=True)
    assert await room.counted() == (MANY + 13, 2)
    assert room.sampler.counts.missing_watches(()) == []

    # When more go on than are asked for in one look, each has its turn.
    monkeypatch.setattr(sampler, "MARGIN", -timedelta(days=1))
    monkeypatch.setattr(sampler, "MOST_ASKED", 2)
    again = Room(room.services, room._file)
    slow = ["a", "b", "c", "d", "e"]
    room.put(*slow, processed=1, ago=long_ago)
    begun = await again.counted()
    room.put(*slow, processed=2)
    grown = [(await again.counted())[0] - begun[0] for _ in range(4)]
    assert grown == [2, 4, 5, 5]
