"""What `webloom doctor` asks of SQLite."""

from __future__ import annotations

import sqlite3
from pathlib import Path

LIBRARY = sqlite3.sqlite_version
IS_TOO_OLD = sqlite3.sqlite_version_info < (3, 37, 0)
QUICK_CHECK_BYTES = 256 * 1024 * 1024  # a check of a larger file takes minutes


def damage_in(file: Path) -> str | None:
    """What is wrong with it; of a large file, only the schema is read."""
    connection = sqlite3.connect(file)
    try:
        if file.stat().st_size > QUICK_CHECK_BYTES:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            return None
        result = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        return None if result == "ok" else result
    except sqlite3.Error as error:
        return str(error)
    finally:
        connection.close()
