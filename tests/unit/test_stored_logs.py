"""How what a process logs gets into its store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from fakes.clock import FakeClock
from webloom.domain.worker_log import LogEntry
from webloom.entrypoints import stored_logs
from webloom.entrypoints.stored_logs import LogCollector

log = logging.getLogger("webloom.test")


class Slow:
    """Services whose store goes on with what it has begun, as a writer thread does."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.begun, self.opened = asyncio.Event(), asyncio.Event()
        self.stored: list[str] = []

    async def store_logs(self, entries: Sequence[LogEntry]) -> None:
        self.begun.set()
        await asyncio.shield(asyncio.ensure_future(self._commit(entries)))

    async def _commit(self, entries: Sequence[LogEntry]) -> None:
        await self.opened.wait()
        self.stored += [each.message for each in entries]


def record(message: str, **fields: object) -> logging.LogRecord:
    return log.makeRecord(
        log.name, logging.INFO, __file__, 1, message, (), None, extra=dict(fields)
    )


async def test_what_is_being_stored_when_the_process_ends_is_stored_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stored_logs, "STORE_SECONDS", 0.01)
    collector, services = LogCollector("worker"), Slow()
    given: Any = services
    async with collector.storing(given):
        collector.emit(record("first"))
        await services.begun.wait()
        collector.emit(record("last"))
        services.opened.set()
    assert services.stored == ["first", "last"]


class _Broken:
    def __str__(self) -> str:
        raise RuntimeError("it has no text")


def test_a_value_without_a_text_does_not_reach_whoever_logs_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    collector = LogCollector("worker")
    collector.emit(record("odd", value=_Broken()))
    assert "it has no text" in capsys.readouterr().err
