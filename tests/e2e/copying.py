"""Records to copy, dump and load, and the commands that do it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pymongo

from webloom.adapters.sqlite.database import open_database
from webloom.adapters.sqlite.dump import SqliteDump
from webloom.adapters.sqlite.dump_tables import TABLES
from webloom.adapters.system_clock import SystemClock
from webloom.domain.inventory import Metadata, Processing, Status
from webloom.ports.dump import WholeRecord

MADE = datetime(2026, 1, 1, tzinfo=UTC)
Documents = pymongo.MongoClient[dict[str, Any]]
COLLECTIONS = [
    *("metadata", "feeds", "import_logs", "jobs"),
    *("job_runs", "watches", "pages", "snapshots", "price_history", "change_logs", "notices"),
]


def url_of(number: int) -> str:
    return f"http://site.example/page/{number}"


def records(count: int, *, first: int = 0, size: int = 300) -> list[WholeRecord]:
    """Most have been fetched; every seventh waits to be."""
    made = []
    for number in range(first, first + count):
        made_at = MADE + timedelta(milliseconds=number)
        waits = number % 7 == 6
        made.append(
            WholeRecord(
                url=url_of(number),
                status=Status.PENDING if waits else Status.COMPLETED,
                metadata=Metadata()
                if waits
                else Metadata(
                    status_code=200,
                    headers={"content-type": "text/html", "x.number": str(number)},
                    cookies={},
                    page_source=f"<p>ä {number} " * (size // 10),
                    final_url=url_of(number),
                ),
                processing=Processing(last_request_id=None if waits else f"request {number}"),
                additional_details=None if waits else {"size": 10**10 + number},
                created_at=made_at,
                updated_at=made_at,
                token=10**15 + number,
                request_id=f"request {number}" if waits else None,
                background=False,
                waits=False,
            )
        )
    return made


async def fill(file: Path, items: Sequence[WholeRecord]) -> str:
    """The address of a file that holds these."""
    async with open_whole(file) as store:
        for start in range(0, len(items), 500):
            await store.put_if_newer("metadata", items[start : start + 500])
    return f"sqlite:///{file}"


@asynccontextmanager
async def open_whole(file: Path) -> AsyncIterator[SqliteDump]:
    async with open_database(file, SystemClock()) as database:
        yield SqliteDump(database, TABLES)


# A rest after each batch, so that it can be caught at work on a busy machine.
SLOWLY = """
import asyncio
from webloom.__main__ import main
from webloom.application.move.load import Load

at_full_speed = Load._finish

async def finish(*given):
    await at_full_speed(*given)
    await asyncio.sleep(0.4)

Load._finish = finish
main()
"""


def start(
    *arguments: str,
    env: dict[str, str],
    stderr: int = subprocess.PIPE,
    slowly: bool = False,
) -> subprocess.Popen[str]:
    program = ["-c", SLOWLY] if slowly else ["-m", "webloom"]
    return subprocess.Popen(
        [sys.executable, *program, *arguments],
        env=env,
        cwd=env["HOME"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


async def held(file: Path) -> dict[str, WholeRecord]:
    async with open_whole(file) as store, store.snapshot() as snapshot:
        found = [lines async for lines in snapshot.scan("metadata")]
    return {line.item.url: line.item for lines in found for line in lines}


def by_url(items: Sequence[WholeRecord]) -> dict[str, WholeRecord]:
    return {item.url: item for item in items}
