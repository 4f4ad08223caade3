from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from webloom.adapters.sqlite.connecting import connect

WATCH_SECONDS = 0.02  # how soon a commit of another process is seen


class CommitPoller(threading.Thread):
    """Sees commits of other processes by SQLite's data version, which only moves with them."""

    def __init__(
        self, path: Path, loop: asyncio.AbstractEventLoop, notify: Callable[[], None]
    ) -> None:
        super().__init__(name="webloom-watch", daemon=True)
        self._path = path
        self._loop = loop
        self._notify = notify
        self._stopping = threading.Event()

    def run(self) -> None:
        connection = None
        seen = None
        while not self._stopping.wait(WATCH_SECONDS):
            try:
                connection = connection or connect(self._path)
                version = connection.execute("PRAGMA data_version").fetchone()[0]
            except sqlite3.Error:  # the next look will tell
                continue
            if version != seen:
                seen = version
                self._loop.call_soon_threadsafe(self._notify)
        if connection is not None:
            connection.close()

    def stop(self) -> None:
        self._stopping.set()
        self.join()
