"""Stores what this process logs, for `webloom logs` and the admin UI."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime

from webloom.bootstrap.services import Services
from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import BackendRefused, Unavailable
from webloom.domain.worker_log import Level, LogBuffer, LogEntry, bounded
from webloom.entrypoints.log_lines import fields_of

STORE_SECONDS = 1.0
LAST_SECONDS = 2.0  # at the end of the process
_LEVELS = {logging.INFO: Level.INFO, logging.WARNING: Level.WARNING}  # above: error


class LogCollector(logging.Handler):
    """Buffers what the process logs, in any thread."""

    def __init__(self, role: str) -> None:
        super().__init__(logging.INFO)
        self._role, self._host, self._pid = role, socket.gethostname(), os.getpid()
        self._buffer = LogBuffer()
        self._lock = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            entry = self._entry(record)
        except Exception:  # of what was logged
            self.handleError(record)
            return
        with self._lock:
            self._buffer.add(bounded(entry))

    def _entry(self, record: logging.LogRecord) -> LogEntry:
        fields = {name: str(value) for name, value in fields_of(record)}
        if record.exc_info and (error := record.exc_info[1]):
            fields["error"] = f"{type(error).__name__}: {error}"
        return LogEntry(
            at=datetime.fromtimestamp(record.created, UTC),
            level=_LEVELS.get(record.levelno, Level.ERROR),
            role=self._role,
            host=self._host,
            pid=self._pid,
            message=record.getMessage(),
            fields=fields,
        )

    @asynccontextmanager
    async def storing(self, services: Services) -> AsyncIterator[None]:
        """Store what was collected about once a second, and once more at the end."""

        stopping = asyncio.Event()

        async def store_on() -> None:
            is_last = False
            while not is_last:
                with suppress(TimeoutError):
                    async with asyncio.timeout(STORE_SECONDS):
                        is_last = await stopping.wait()
                await self._store(services)

        task = asyncio.create_task(store_on())
        try:
            yield
        finally:
            stopping.set()  # what is cancelled while it is stored may be stored nevertheless
            try:
                await asyncio.wait({task}, timeout=LAST_SECONDS)
            finally:
                await cancel_and_wait(task)

    async def _store(self, services: Services) -> None:
        """What can't be stored now stays in the buffer."""
        with self._lock:
            entries = self._buffer.take(services.clock.now())
        if not entries:
            return
        try:
            await services.store_logs(entries)
        except (Unavailable, BackendRefused):
            with self._lock:
                self._buffer.put_back(entries)


@contextmanager
def collecting_logs(role: str) -> Iterator[LogCollector]:
    """Collect log entries until the context ends."""
    collector, logger = LogCollector(role), logging.getLogger("webloom")
    logger.addHandler(collector)
    try:
        yield collector
    finally:
        logger.removeHandler(collector)
