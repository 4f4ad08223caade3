"""A database with any number of completed records, written by SQLite itself in seconds."""

import asyncio
import json
import sqlite3
import time
from pathlib import Path

from webloom.bootstrap.connections import open_services
from webloom.domain.inventory import url_key
from webloom.settings import load_settings

HOSTS = 500
HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-length": "13012",
    "server": "nginx",
    "date": "Sun, 15 Nov 2026 08:00:00 GMT",
    "cache-control": "max-age=600",
    "etag": '"5f3c-61b2"',
    "last-modified": "Sat, 14 Nov 2026 20:11:09 GMT",
    "vary": "Accept-Encoding",
    "x-frame-options": "SAMEORIGIN",
    "x-content-type-options": "nosniff",
}
DETAILS = {
    "redirect_chain": [],
    "timings_ms": {"dns": 1.2, "connect": 10.1, "first_byte": 35.4, "total": 41.9},
    "http_version": "1.1",
    "content_type": "text/html; charset=utf-8",
    "content_length": 13012,
    "content_hash": "sha256:" + "0" * 64,
    "tls": None,
}


def record_url(number: int) -> str:
    return f"https://host{number % HOSTS}.example.com/category/{number % 97}/item-{number}"


def record_host(number: int) -> str:
    return f"host{number % HOSTS}.example.com"


async def write_records(folder: Path, count: int) -> None:
    """One record a second up to now; one of a hundred has failed."""
    settings = load_settings({"WEBLOOM_DATA_DIR": str(folder)})
    async with open_services(settings):
        pass  # creates the tables
    await asyncio.to_thread(_fill, settings.database, count)


def _fill(path: Path, count: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    now = int(time.time() * 1000)
    headers, details = json.dumps(HEADERS), json.dumps(DETAILS)
    rows = (
        (
            url_key(record_url(number)),
            record_url(number),
            record_host(number),
            "FAILED_PERMANENT" if number % 100 == 0 else "COMPLETED",
            headers,
            details,
            now - (count - number) * 1000,
            now,
        )
        for number in range(count)
    )
    with connection:
        connection.executemany(
            """
            INSERT INTO records (url_key, url, host, status, shelf, token, attempt_number,
                status_code, final_url, headers, cookies, details, created_at, updated_at, touched)
            VALUES (?1, ?2, ?3, ?4, ?4, 1, 1, 200, ?2, ?5, '{}', ?6, ?7, ?8, 0)
            """,
            rows,
        )
        connection.execute("INSERT INTO record_words (record_words) VALUES ('rebuild')")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
