from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from webloom.domain.backoff import Backoff

Result = TypeVar("Result")

BUSY_SECONDS = 5.0  # how long another process may hold the write lock before a write gives up
LOCKED = Backoff(base=0.0002, cap=0.01, factor=1.2)  # by another process
PRIMARY_CODE = 0xFF  # the part of an error code that names its kind
LOG_PAGES = 4000  # of the write-ahead log, after which a commit writes them into the file
PAGE_BYTES = 4096
LOG_BYTES = LOG_PAGES * PAGE_BYTES


def connect(path: Path, wait: float = BUSY_SECONDS) -> sqlite3.Connection:
    """`wait` is for statements; opening the file always waits, as one that a killed process has
    left is locked while somebody repairs it."""
    connection = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        cached_statements=256,
    )
    try:
        connection.execute("PRAGMA cache_size = -16000")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        # Some builds of SQLite write zeros over all that is deleted, page by page.
        connection.execute("PRAGMA secure_delete = FAST")
        # A longer log could hold more new pages than the reserve has room for.
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        connection.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def when_free(action: Callable[[], Result]) -> Result:
    """Do it as soon as no other process is in the way, within BUSY_SECONDS."""
    failures, deadline = 0, time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & PRIMARY_CODE == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
        failures += 1
        time.sleep(LOCKED.delay(failures))


def is_full(error: BaseException) -> bool:
    """Whether the disk had no room, for the file, its log or the index of the log."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & PRIMARY_CODE == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_SHMSIZE


def checkpoint(connection: sqlite3.Connection) -> bool:
    """Write the log into the file, so that the next commit begins at the start of the log and needs
    no new room on the disk. False: the file has to grow for that, and the disk is full."""
    failures, deadline = 0, time.monotonic() + BUSY_SECONDS
    while True:
        try:
            [is_busy, *_] = connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        except sqlite3.OperationalError as error:
            if is_full(error):
                return False
            raise
        if not is_busy or time.monotonic() > deadline:
            return True
        failures += 1
        time.sleep(LOCKED.delay(failures))
